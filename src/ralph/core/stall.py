"""Is the work going anywhere? Rules 12 to 15, over the footprints of finished iterations.

Faults never come here: a crash or a usage limit says nothing about the work. The answer is a
`Track`: go on, ask for another approach (redirect), or end the loop as stalled. What is asked for then
is in `ladder`, what an end means for the next call in `breaker`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.ladder import Trouble
from ralph.core.model import Footprint

NO_PROGRESS = 3
REDIRECT_AT = 3
SAME_ERROR = 5
EARLY = 2  # in a row: not yet a redirect by its rule, but the next prompt asks for something else
KEPT = 12  # footprints a loop remembers; every rule looks at fewer
FIXED_CAP = 10  # checks newly passing or failing that count in one score
ITEM_DONE = 5


class Track(Struct, frozen=True):
    kind: Literal["going", "redirect", "stalled"]
    why: str = ""


def look(history: tuple[Footprint, ...]) -> Track:
    """The strictest answer of the three rules."""
    return diagnose(history)[0]


def diagnose(history: tuple[Footprint, ...]) -> tuple[Track, Trouble | None]:
    """The strictest answer, and the trouble it tells of."""
    answers: tuple[tuple[Track | None, Trouble], ...] = (
        (_no_progress(history), "no-progress"),
        (_oscillation(history), "circular"),
        (_same_error(history), "same-error"),
    )
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


def _alike(history: tuple[Footprint, ...]) -> int:
    same = 0
    for footprint in reversed(history):
        if not footprint.signature or footprint.signature != history[-1].signature or footprint.progress:
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


def _oscillation(history: tuple[Footprint, ...]) -> Track | None:
    trees = tuple(footprint.tree for footprint in history)
    reds = tuple(footprint.red_digest for footprint in history)
    for marks, what in ((trees, "the same two versions"), (reds, "the same two sets of failures")):
        turns = _alternating(marks)
        if turns >= 6:
            return Track("stalled", f"{what} take turns ({turns} iterations)")
        if turns >= 4:
            return Track("redirect", f"{what} take turns: stop undoing and redoing, try a different approach")
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
        points += 3 * min(FIXED_CAP, max(0, previous.red - current.red))
        points -= 3 * min(FIXED_CAP, max(0, current.red - previous.red))
        if current.signature and current.signature == previous.signature:
            points -= 2
        elif previous.signature:
            points += 2
    return points
