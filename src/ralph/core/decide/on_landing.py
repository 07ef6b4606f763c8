"""What becomes of an ended loop: its result is landed, taken back, or the loop is dropped."""

from __future__ import annotations

from typing import NoReturn

import msgspec.structs

from ralph.core.model.events import Event, LandingEnded, LandingStarted, LoopDropped
from ralph.core.model.loop import Loop
from ralph.errors import IllegalEvent

replace = msgspec.structs.replace


def _illegal(loop: Loop, event: Event, why: str) -> NoReturn:
    raise IllegalEvent(f"{type(event).__name__} in phase {loop.phase}: {why}")


def landing_started(loop: Loop, event: LandingStarted) -> Loop:
    wanted = {"land": "", "undo": "landed"}[event.direction]
    underway = {"land": "landing", "undo": "undoing"}[event.direction]
    if loop.landing not in (wanted, underway) or loop.dropped:
        _illegal(loop, event, f"landing state is {loop.landing or 'none'}")
    return replace(loop, landing=underway, landing_old=event.old, landing_new=event.new)


def landing_ended(loop: Loop, event: LandingEnded) -> Loop:
    underway = {"land": "landing", "undo": "undoing"}[event.direction]
    if loop.landing != underway:
        _illegal(loop, event, f"landing state is {loop.landing or 'none'}")
    after = {("land", True): "landed", ("land", False): "", ("undo", True): "", ("undo", False): "landed"}
    return replace(loop, landing=after[event.direction, event.done])


def loop_dropped(loop: Loop, event: LoopDropped) -> Loop:
    if loop.landing in ("landing", "undoing"):
        _illegal(loop, event, "a landing is under way")
    return replace(loop, dropped=True)
