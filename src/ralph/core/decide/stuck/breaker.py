"""The circuit breaker of a loop: whether it may go on calling the agent, why, and what led there.

    CLOSED     the loop works and is watched
    OPEN       no agent call: a fault is waited out, or the loop has ended and a human must look
    HALF_OPEN  one call tries whether it goes on

Here: the states, the table of moves and what one judged iteration does to them. What counts as trouble is
in `signs`, what is asked of the agent then in `strategies`, what people are warned of in `health`; `apply`
puts them to work in the machine. Pure: times arrive with the facts.
"""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from ralph.core.decide.stuck.thresholds import MAX_TURNS, PROBE_ABOVE, WATCH
from ralph.core.model.breaker_state import Breaker, Footprint, State, Trouble, Turn
from ralph.core.text.clean import one_line

Cause = Literal["trip", "probe", "works"]
Risk = Literal["LOW", "MEDIUM", "HIGH"]
# Every move there is. A pair that is not here changes nothing.
TABLE: dict[tuple[State, Cause], State] = {
    ("CLOSED", "trip"): "OPEN",
    ("HALF_OPEN", "trip"): "OPEN",
    ("OPEN", "trip"): "OPEN",
    ("OPEN", "probe"): "HALF_OPEN",
    ("HALF_OPEN", "works"): "CLOSED",
}
MAX_SENTENCE = 300


def move_state(breaker: Breaker, cause: Cause, why: str, *, at: float, iteration: int) -> Breaker:
    """The breaker after this; unchanged where the table names no move."""
    to = TABLE.get((breaker.state, cause))
    if to is None:
        return breaker
    why = one_line(why, MAX_SENTENCE)
    if to == breaker.state:
        return replace(breaker, why=why)
    turn = Turn(at=at, iteration=iteration, was=breaker.state, to=to, why=why)
    return replace(
        breaker,
        state=to,
        why=why,
        since=iteration,
        opens=breaker.opens + (to == "OPEN"),
        trail=(*breaker.trail, turn)[-MAX_TURNS:],
    )


def open_on_stall(
    breaker: Breaker, trouble: Trouble, why: str, marks: tuple[str, ...], *, at: float, iteration: int
) -> Breaker:
    """Waiting cannot help: open, until a human has looked."""
    after = move_state(breaker, "trip", why, at=at, iteration=iteration)
    return replace(after, trouble=trouble, diagnosis=one_line(why, MAX_SENTENCE), marks=marks, watch=0)


def note_answered_call(breaker: Breaker, *, at: float, iteration: int) -> Breaker:
    """A call came through after a fault. A stall is not overcome by that: its probe has yet to be judged."""
    if breaker.probing:
        return breaker
    return move_state(breaker, "works", "a call came through", at=at, iteration=iteration)


def note_judged_iteration(breaker: Breaker, footprint: Footprint, *, at: float) -> Breaker:
    """A judged iteration decides a probe, or is one of those that are watched after it."""
    back = recurs(breaker, footprint)
    number, score = footprint.iteration, footprint.score
    if breaker.probing:
        if score > PROBE_ABOVE and not back:
            worked = f"the probe worked: score {score:+d}"
            closed = move_state(breaker, "works", worked, at=at, iteration=number)
            return replace(closed, watch=WATCH)
        known = "retry" if back else f"score {score:+d}, and more than {PROBE_ABOVE} was needed"
        why = f"one more iteration did not help ({known}): {breaker.diagnosis}"
        return move_state(breaker, "trip", why, at=at, iteration=number)
    if not breaker.watch or breaker.state != "CLOSED":
        return breaker
    if back:
        count = WATCH - breaker.watch + 1
        soon = f"{count} iteration{'s' if count > 1 else ''} after a resume"
        why = f"it came back {soon}: {breaker.diagnosis}"
        return replace(move_state(breaker, "trip", why, at=at, iteration=number), watch=0)
    left = breaker.watch - 1
    return replace(breaker, watch=left) if left else _overcome(breaker)


def note_loop_end(breaker: Breaker, why: str, *, verified: bool, at: float, iteration: int) -> Breaker:
    """The loop ends: a probe that was under way is decided by that, one way or the other."""
    cause: Cause = "works" if verified else "trip"
    if breaker.state != "HALF_OPEN":
        return breaker
    after = move_state(breaker, cause, why, at=at, iteration=iteration)
    return _overcome(after) if verified else after


def _overcome(breaker: Breaker) -> Breaker:
    return replace(breaker, trouble=None, diagnosis="", marks=(), watch=0)


def recurs(breaker: Breaker, footprint: Footprint) -> bool:
    """Is this the trouble that opened it, at its first sign?"""
    if breaker.trouble is None or footprint.progress:
        return False
    if breaker.trouble == "no-progress":
        return footprint.tree == footprint.before
    if breaker.trouble == "same-error":
        return footprint.signature in breaker.marks or footprint.outline in breaker.marks
    return footprint.tree in breaker.marks or footprint.red_digest in breaker.marks


def marks_of(trouble: Trouble, history: tuple[Footprint, ...]) -> tuple[str, ...]:
    """What the trouble would be known by if it came back."""
    if trouble == "same-error":
        # Known by its outline only where nothing but that stayed the same.
        numbers = len({one.signature for one in history[-2:]}) > 1
        found = [(one.outline if numbers else "") or one.signature for one in history[-1:]]
    elif trouble == "circular":
        found = [mark for footprint in history[-2:] for mark in (footprint.tree, footprint.red_digest)]
    else:
        found = []
    return tuple(dict.fromkeys(mark for mark in found if mark))
