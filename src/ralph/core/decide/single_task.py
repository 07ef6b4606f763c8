"""A loop of one task, without a plan: what `next_item` answers for a plan, answered for the whole task.

The two have the same functions (`after_judging.Mode`).
"""

from __future__ import annotations

from ralph.core.model.actions import Finish, PublishResult
from ralph.core.model.events import PlanRead
from ralph.core.model.gate import WITHOUT_WITNESS, Grade
from ralph.core.model.loop import Loop
from ralph.core.proof import exit_gate

IN_ITEMS = False


def already_done(loop: Loop) -> Finish | None:
    """The proof was green before any agent call: there is nothing to do."""
    criterion, baseline = loop.sealed.criterion, loop.proof.baseline
    if loop.rules < 2:
        said = "already satisfied: the checks passed before any agent call"
        return Finish("verified", said) if exit_gate.satisfied_first(criterion, baseline) else None
    if not exit_gate.already_satisfied(criterion, baseline):
        return None
    return Finish("satisfied", exit_gate.satisfied_words(criterion, baseline))


def exit_terms(loop: Loop) -> exit_gate.Terms:
    criterion, claim = loop.sealed.criterion, loop.call.claim
    # COMPLETE again for a tree that only lacked proof; once is enough where the class knows no witness.
    known = criterion.task_class in WITHOUT_WITNESS or loop.proof.claimed_tree == loop.work.tree
    last = known and claim is not None and claim.status == "COMPLETE"
    return exit_gate.Terms(criterion, "task", claim, last_word=last)


def missing_for_tick(loop: Loop) -> tuple[str, ...]:  # noqa: ARG001
    return ()


def to_publish(loop: Loop, grade: Grade) -> PublishResult:
    return PublishResult(tree=loop.work.tree, grade=grade)


def take_notes(loop: Loop, read: PlanRead | None, *, changed: bool) -> Loop:  # noqa: ARG001
    return loop


def next_step(loop: Loop, *, can_call: bool) -> tuple[Loop, str]:  # noqa: ARG001
    return loop, "call"
