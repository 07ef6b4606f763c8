"""A loop of one task, without a plan: what `next_item` answers for a plan, answered for the whole task.

The two have the same functions (`after_judging.Mode`).
"""

from __future__ import annotations

from ralph.core.model.actions import Finish, PublishResult
from ralph.core.model.events import PlanRead
from ralph.core.model.gate import WITHOUT_WITNESS, Grade
from ralph.core.model.loop import Loop
from ralph.core.proof import exit_gate
from ralph.core.proof.grade import BOXED, TesterWord

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
    return exit_gate.Terms(criterion, "task", claim, last_word=last, tester=_tester_word(loop))


def _tester_word(loop: Loop) -> TesterWord | None:
    """What the proof may make of the tester's tests; None where no tester was to write any."""
    team, state = loop.sealed.team, loop.team
    if team is None or "tester" not in team.roles:
        return None
    if not state.sealed or state.tests is None:
        return TesterWord(sealed=False, doubt=state.without.get("tester", ""))
    if state.tests.protection not in BOXED:
        level = state.tests.protection or "S0"
        return TesterWord(sealed=True, doubt=f"sandbox {level}: what the tester could see is not known")
    return TesterWord(sealed=True)


def missing_for_tick(loop: Loop) -> tuple[str, ...]:  # noqa: ARG001
    return ()


def to_publish(loop: Loop, grade: Grade) -> PublishResult:
    return PublishResult(tree=loop.work.tree, grade=grade)


def take_notes(loop: Loop, read: PlanRead | None, *, changed: bool) -> Loop:  # noqa: ARG001
    return loop


def next_step(loop: Loop, *, can_call: bool) -> tuple[Loop, str]:  # noqa: ARG001
    return loop, "call"
