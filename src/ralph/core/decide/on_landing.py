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
    if loop.landing.state not in (wanted, underway) or loop.landing.was_dropped:
        _illegal(loop, event, f"landing state is {loop.landing.state or 'none'}")
    return loop.with_landing(state=underway, old=event.old, new=event.new)


def landing_ended(loop: Loop, event: LandingEnded) -> Loop:
    underway = {"land": "landing", "undo": "undoing"}[event.direction]
    if loop.landing.state != underway:
        _illegal(loop, event, f"landing state is {loop.landing.state or 'none'}")
    after = {("land", True): "landed", ("land", False): "", ("undo", True): "", ("undo", False): "landed"}
    return loop.with_landing(state=after[event.direction, event.done])


def loop_dropped(loop: Loop, event: LoopDropped) -> Loop:
    if loop.landing.state in ("landing", "undoing"):
        _illegal(loop, event, "a landing is under way")
    return loop.with_landing(was_dropped=True)
