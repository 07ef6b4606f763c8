"""Is the work going anywhere? Rules 12 to 15, over the footprints of finished iterations.

An error that changes in its numbers alone ("0 != 3", then "1 != 3") may be work that comes closer, so it is
not the same error again; only so many of them in a row without fewer red are.

A call that something else ended (a usage limit, an outage) says nothing about the work, also
where it left half of some: such a footprint is passed over. The answer is a
`Track`: go on, ask for another approach (redirect), or end the loop as stalled. What is asked for then
is in `strategies`, what an end means for the next call in `breaker`. Nothing is measured here (`measure`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from ralph.core.decide.stuck import thresholds as limit
from ralph.core.model.breaker_state import Footprint, Trouble
from ralph.core.model.events import RULES


class Track(Struct, frozen=True):
    kind: Literal["going", "redirect", "stalled"]
    why: str = ""


def diagnose(history: tuple[Footprint, ...], rules: int = RULES) -> tuple[Track, Trouble | None]:
    """The strictest answer, and the trouble it tells of."""
    fruitless = _fruitless(history)
    answers: tuple[tuple[Track | None, Trouble], ...] = (
        (_no_progress(history), "no-progress"),
        (_oscillation(fruitless if rules > 1 else history), "circular"),
        (_same_error(history), "same-error"),
    )
    if rules > 1:
        answers = (*answers, (_same_outline(fruitless), "same-error"), (_aimless(fruitless), "no-progress"))
    for kind in ("stalled", "redirect"):
        for answer, trouble in answers:
            if answer is not None and answer.kind == kind:
                return answer, trouble
    return Track("going"), None


def first_signs(history: tuple[Footprint, ...]) -> tuple[Trouble, str] | None:
    """Twice is not yet a rule's business; the next prompt asks for another approach all the same."""
    if _idle(history) >= limit.EARLY_SIGN:
        return "no-progress", f"{limit.EARLY_SIGN} iterations in a row changed nothing"
    if _alike(history) >= limit.EARLY_SIGN:
        return "same-error", "the same error twice in a row"
    return None


def downward_signs(history: tuple[Footprint, ...], *, only_tests_wanted: bool) -> tuple[Trouble, str] | None:
    """What the newest scores say where no rule does. They redirect and never end."""
    if is_getting_worse(history) and history[-1].score < 0:
        return "no-progress", f"the last {limit.TREND} iterations made things worse"
    if only_testing(history) and not only_tests_wanted:
        words = f"{limit.TESTING_WINDOW} iterations in a row changed only tests, without progress"
        return "test-loop", words
    return None


def is_getting_worse(history: tuple[Footprint, ...]) -> bool:
    """Are the last three iterations worth less than nothing, together?"""
    return len(history) >= limit.TREND and worth(history) < 0


def worth(history: tuple[Footprint, ...]) -> int:
    return sum(footprint.score for footprint in history[-limit.TREND :])


def only_testing(history: tuple[Footprint, ...]) -> bool:
    """More than four fifths of the newest work saw to tests, and nothing came of it."""
    newest = history[-limit.TESTING_WINDOW :]
    if len(newest) < limit.TESTING_WINDOW or any(footprint.progress for footprint in newest):
        return False
    return sum(footprint.testing for footprint in newest) > limit.TESTING_SHARE * len(newest)


def _fruitless(history: tuple[Footprint, ...]) -> tuple[Footprint, ...]:
    """The newest iterations in a row without progress."""
    last = max((at for at, footprint in enumerate(history, 1) if footprint.progress), default=0)
    return history[last:]


def _idle(history: tuple[Footprint, ...]) -> int:
    idle = 0
    for footprint in reversed(history):
        if footprint.tree != footprint.before or footprint.progress:
            break
        idle += 1
    return idle


def _no_progress(history: tuple[Footprint, ...]) -> Track | None:
    idle = _idle(history)
    if idle >= limit.IDLE_STALL:
        return Track("stalled", f"{idle} iterations in a row changed nothing")
    return None


def _signature(footprint: Footprint) -> str:
    return footprint.signature


def _alike(history: tuple[Footprint, ...], mark: Callable[[Footprint], str] = _signature) -> int:
    same = 0
    for footprint in reversed(history):
        if not mark(footprint) or mark(footprint) != mark(history[-1]) or footprint.progress:
            break
        same += 1
    return same


def _same_error(history: tuple[Footprint, ...]) -> Track | None:
    same = _alike(history)
    if same >= limit.ERROR_STALL:
        return Track("stalled", f"the same error {same} times in a row")
    if same >= limit.ERROR_REDIRECT:
        return Track("redirect", f"the same error {same} times in a row: try a different approach")
    return None


def _same_outline(fruitless: tuple[Footprint, ...]) -> Track | None:
    same = _alike(fruitless, lambda footprint: footprint.outline)
    if same < limit.OUTLINE_STALL:
        return None
    return Track("stalled", f"the same error {same} times in a row, only its numbers change")


def _aimless(fruitless: tuple[Footprint, ...]) -> Track | None:
    if len(fruitless) < limit.AIMLESS_STALL:
        return None
    return Track("stalled", f"{len(fruitless)} iterations in a row made nothing more green")


def _oscillation(history: tuple[Footprint, ...]) -> Track | None:
    trees = tuple(footprint.tree for footprint in history)
    reds = tuple(footprint.red_digest for footprint in history)
    for marks, what in ((trees, "the same two versions"), (reds, "the same two sets of failures")):
        turns = _alternating(marks)
        if turns >= limit.TURNS_STALL:
            return Track("stalled", f"{what} alternate ({turns} iterations)")
        if turns >= limit.TURNS_REDIRECT:
            return Track("redirect", f"{what} alternate: stop undoing and redoing, try a different approach")
    return None


def _alternating(marks: tuple[str, ...]) -> int:
    """How many of the newest marks go A, B, A, B."""
    if marks[-1:] == marks[-2:-1]:
        return 0
    turns = 2
    while turns < len(marks) and marks[-turns - 1] == marks[-turns + 1]:
        turns += 1
    return turns
