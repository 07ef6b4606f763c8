"""Is the work going anywhere? Rules 12 to 15, over the footprints of finished iterations.

An error that changes in its numbers alone ("0 != 3", then "1 != 3") may be work that comes closer, so it is
not the same error again; only so many of them in a row without fewer red are.

Faults never come here: a crash or a usage limit says nothing about the work. The answer is a
`Track`: go on, ask for another approach (redirect), or end the loop as stalled. What is asked for then
is in `strategies`, what an end means for the next call in `breaker`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from ralph.core.model.breaker_state import Trouble
from ralph.core.model.events import RULES
from ralph.core.model.verdict import Footprint

NO_PROGRESS = 3
REDIRECT_AT = 3
SAME_ERROR = 5
SAME_OUTLINE = 10  # the same error but for its numbers: they may come closer, or be noise
AIMLESS = 20  # whatever was said, never fewer red
EARLY = 2  # in a row: not yet a redirect by its rule, but the next prompt asks for something else
MAX_KEPT = 24  # footprints a loop remembers; every rule looks at fewer
FIXED_CAP = 10  # checks newly passing or failing that count in one score
ITEM_DONE = 5


class Track(Struct, frozen=True):
    kind: Literal["going", "redirect", "stalled"]
    why: str = ""


def look(history: tuple[Footprint, ...]) -> Track:
    """The strictest answer of the rules."""
    return diagnose(history)[0]


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
    if _idle(history) >= EARLY:
        return "no-progress", f"{EARLY} iterations in a row changed nothing"
    if _alike(history) >= EARLY:
        return "same-error", "the same error twice in a row"
    return None


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
    if idle >= NO_PROGRESS:
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
    if same >= SAME_ERROR:
        return Track("stalled", f"the same error {same} times in a row")
    if same >= REDIRECT_AT:
        return Track("redirect", f"the same error {same} times in a row: try a different approach")
    return None


def _same_outline(fruitless: tuple[Footprint, ...]) -> Track | None:
    same = _alike(fruitless, lambda footprint: footprint.outline)
    if same < SAME_OUTLINE:
        return None
    return Track("stalled", f"the same error {same} times in a row, only its numbers change")


def _aimless(fruitless: tuple[Footprint, ...]) -> Track | None:
    if len(fruitless) < AIMLESS:
        return None
    return Track("stalled", f"{len(fruitless)} iterations in a row made nothing more green")


def _oscillation(history: tuple[Footprint, ...]) -> Track | None:
    trees = tuple(footprint.tree for footprint in history)
    reds = tuple(footprint.red_digest for footprint in history)
    for marks, what in ((trees, "the same two versions"), (reds, "the same two sets of failures")):
        turns = _alternating(marks)
        if turns >= 6:
            return Track("stalled", f"{what} alternate ({turns} iterations)")
        if turns >= 4:
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


def score(previous: Footprint | None, current: Footprint, *, items: int = 0, reverted: bool = False) -> int:
    """Worth of one iteration: what it fixed, finished and changed, less what it broke, repeated or undid."""
    points = 1 if current.tree != current.before else -3
    points += ITEM_DONE * items - reverted
    if previous is not None:
        fixed, broke = previous.red - current.red, current.red - previous.red
        if current.unloaded < previous.unloaded:  # what is red now stood behind what could not be loaded
            fixed, broke = previous.unloaded - current.unloaded, 0
        points += 3 * min(FIXED_CAP, max(0, fixed))
        points -= 3 * min(FIXED_CAP, max(0, broke))
        if current.signature and current.signature == previous.signature:
            points -= 2
        elif previous.signature:
            points += 2
    return points
