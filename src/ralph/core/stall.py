"""Is the work going anywhere? Rules 13 to 15, over the footprints of finished iterations.

Faults never come here: a crash or a usage limit says nothing about the work. The answer is a
`Track`: go on, ask for another approach (redirect), or end the loop as stalled.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.model import Footprint

NO_PROGRESS = 3
REDIRECT_AT = 3
SAME_ERROR = 5
KEPT = 12  # footprints a loop remembers; every rule looks at fewer


class Track(Struct, frozen=True):
    kind: Literal["going", "redirect", "stalled"]
    why: str = ""


def look(history: tuple[Footprint, ...]) -> Track:
    """The strictest answer of the three rules."""
    answers = (_no_progress(history), _oscillation(history), _same_error(history))
    for kind in ("stalled", "redirect"):
        for answer in answers:
            if answer is not None and answer.kind == kind:
                return answer
    return Track("going")


def _no_progress(history: tuple[Footprint, ...]) -> Track | None:
    idle = 0
    for footprint in reversed(history):
        if footprint.tree != footprint.before or footprint.progress:
            break
        idle += 1
    if idle >= NO_PROGRESS:
        return Track("stalled", f"{idle} iterations in a row changed nothing")
    return None


def _same_error(history: tuple[Footprint, ...]) -> Track | None:
    same = 0
    for footprint in reversed(history):
        if not footprint.signature or footprint.signature != history[-1].signature or footprint.progress:
            break
        same += 1
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


def score(previous: Footprint | None, current: Footprint) -> int:
    """Worth of one iteration: what it fixed and changed, less what it broke or repeated."""
    points = 1 if current.tree != current.before else -3
    if previous is not None:
        points += 3 * max(0, previous.red - current.red) - 3 * max(0, current.red - previous.red)
        if current.signature and current.signature == previous.signature:
            points -= 2
        elif previous.signature:
            points += 2
    return points
