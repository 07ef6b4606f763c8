"""Rule 10: when the work of an iteration goes back to an earlier checkpoint, and what is said of it.

Work is kept. It goes back only from a tree that an integrity guard accused, that holds nothing any more, or
that was worse than the best one for two iterations in a row, the second no better than the first; what is set
aside stays under a ref. Green work that only lacks a witness is no failure, whatever `--on-fail` says. Which
checkpoint is the best is `after_judging`'s matter.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.decide.stuck.measure import score
from ralph.core.decide.stuck.thresholds import WORSE_IN_ROW
from ralph.core.model.actions import RestoreWorkspace
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Checkpoint

ACCUSED = "tests or checks were tampered with in it"
WORSE = "it was worse than that for two iterations in a row (new failures, or tests that do not load)"
EMPTIED = "it left no file at all"
FAILED = "it did not pass, and this loop does not keep failed work"
GIVEN_UP = "the item was given up"
NOTHING = frozenset(  # git's id of a tree without files: there is no work in it to keep
    {
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    }
)


def take_back(loop: Loop, *, accused: bool) -> RestoreWorkspace | None:
    """Back to the best checkpoint, or None: the work is kept."""
    best, kept = loop.progress.best, loop.sealed.on_fail
    assert best is not None
    if kept == "keep" or best.tree == loop.work.tree or not loop.progress.history:
        return None
    why = _why_first(loop, accused=accused) if loop.rules < 2 else _why(loop, accused=accused)
    if not why:
        return None
    return RestoreWorkspace(to=best, rejected=_rejected(loop, loop.progress.history[-1].red), why=why)


def _why(loop: Loop, *, accused: bool) -> str:
    if accused:
        return ACCUSED
    if loop.work.tree in NOTHING:
        return EMPTIED
    current, newest = loop.progress.history[-1], loop.progress.recent[-WORSE_IN_ROW:]
    if current.red == 0:
        return ""
    if loop.sealed.on_fail == "revert":
        return FAILED
    if current.cut or len(newest) < WORSE_IN_ROW or not all(one.worse for one in newest):
        return ""
    first, second = ((one.unloaded, one.red) for one in newest)
    return WORSE if second >= first else ""  # who is on the way back to green is not stopped half way


def _why_first(loop: Loop, *, accused: bool) -> str:
    """By the first rules an iteration that was worth nothing went back. Only their records still ask."""
    best, current = loop.progress.best, loop.progress.recent[-1]
    if best is None or loop.control.pause_reason:
        return ""
    first = replace(current, red=best.red, signature="")
    worth = score(loop.progress.recent[-2] if len(loop.progress.recent) > 1 else first, current)
    if loop.sealed.on_fail == "auto" and not accused and (current.progress or worth > 0):
        return ""
    return WORSE


def to_verified(loop: Loop) -> RestoreWorkspace | None:
    """Work on an item that is given up goes: back to the newest tree of which everything is verified."""
    base = loop.build.base
    if base is None or base.tree == loop.work.tree:
        return None
    return RestoreWorkspace(to=base, rejected=_rejected(loop), why=GIVEN_UP)


def _rejected(loop: Loop, red: int = -1) -> Checkpoint:
    return Checkpoint(iteration=loop.iteration, tree=loop.work.tree, commit=loop.work.commit, red=red)


def sentence_for_prompt(loop: Loop, owed: RestoreWorkspace, iteration: int) -> str:
    """For the next prompt; "" for a call that was not to change anything, which is told otherwise."""
    if owed.to.iteration == iteration:
        return ""
    to = f"the state after iteration {owed.to.iteration}" if owed.to.iteration else "the state at the start"
    words = f"The work of iteration {iteration} was reverted to {to}: {owed.why}"
    if owed.rejected is None:
        return words
    return f"{words}; it is kept as refs/ralph/{loop.sealed.loop}/rejected/{owed.rejected.iteration}"


def forgiven(loop: Loop) -> Loop:
    """What was taken back is worse no longer: the next two iterations count anew."""
    if not loop.progress.recent:
        return loop
    return loop.with_progress(
        history=(*loop.progress.history[:-1], replace(loop.progress.history[-1], worse=False))
    )
