"""What people who look elsewhere are told of a loop, and the line that an activity log gets for a fact."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from ralph.core.model.events import AnyEvent, Approved, LandingEnded, LoopEnded, LoopStarted, PauseAsked
from ralph.core.model.loop import Loop
from ralph.core.text.clean import one_line

SHARE = 0.8  # of a limit: then people can still do something about it
WAITS_FOR_PEOPLE = frozenset({"blocked", "unproven"})
MAX_WIDTH = 300


class Notice(Struct, frozen=True):
    kind: Literal["end", "blocked", "budget"]
    text: str


def notices_of(before: Loop, event: AnyEvent, after: Loop) -> Iterator[Notice]:
    """What is worth telling about this fact. Each fact is appended once, so each is told of once at most."""
    if isinstance(event, LoopEnded):
        grade = f" ({event.grade})" if event.grade else ""
        waits = event.outcome in WAITS_FOR_PEOPLE
        yield Notice("blocked" if waits else "end", _line(f"{event.outcome}{grade}: {event.reason}"))
    elif _left_for_people(before, event, after):
        yield Notice("blocked", _line(f"paused: {after.control.pause_reason or after.reason}"))
    if after.phase == "ended":
        return
    was = limit_shares(before)
    for what, share in limit_shares(after).items():
        if was.get(what, 0.0) < SHARE <= share:
            yield Notice("budget", f"{share:.0%} of the {what.removesuffix('s')} limit is used")


def _left_for_people(before: Loop, event: AnyEvent, after: Loop) -> bool:
    """Paused by trouble, also after a signal; or by a rule, when it asks: in a call that may never come."""
    by, was = after.control.stopped_by, before.control.stopped_by
    if by == "limit":
        return isinstance(event, PauseAsked) and was != by
    return by == "machine" and after.phase == "paused" and (before.phase, was) != ("paused", by)


def limit_shares(loop: Loop) -> dict[str, float]:
    """How much of each limit is used; what is not bounded or not known is left out."""
    limits, spend = loop.limits, loop.spend
    used = {
        "iterations": (loop.iteration, limits.iterations),
        "time": (loop.elapsed_seconds, limits.time),
        "cost": (spend.cost, limits.cost),
        "tokens": (spend.tokens, limits.tokens),
    }
    return {what: amount / most for what, (amount, most) in used.items() if amount is not None and most}


def activity_line(event: AnyEvent, loop: Loop) -> str:
    """Time, word, id, repository and what about it, with tabs between them; "" for a fact of other kinds."""
    match event:
        case LoopStarted():
            word, text = "start", loop.sealed.task
        case LoopEnded():
            word, text = "end", f"{event.outcome}: {event.reason}"
        case Approved():
            word, text = "approval", f"{event.point} {event.commit[:12]}".rstrip()
        case LandingEnded(done=True):
            word, text = ("merge" if event.direction == "land" else "undo"), loop.landing.new[:12]
        case _:
            return ""
    at = datetime.fromtimestamp(event.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return "\t".join((at, word, f"ralph-{loop.sealed.loop}", _line(loop.sealed.repo), _line(text)))


def _line(text: str) -> str:
    return one_line(text, MAX_WIDTH)
