"""Approval points: what waits for a person's yes because the configuration says so (`approve`).

Whoever drives a loop, and however it is taken up: nothing is called before its start is approved.
"""

from __future__ import annotations

from ralph.core.model.loop import Loop
from ralph.core.model.order import ApprovalPoint
from ralph.errors import NeedsHuman

WAITS = "it waits for approval to start"


def pending(loop: Loop) -> ApprovalPoint | None:
    """What a yes to this loop would be a yes to now."""
    if waits_for_start(loop):
        return "start"
    return "land" if loop.landing.result and waits_to_land(loop, loop.landing.result) else None


def waits_for_start(loop: Loop) -> bool:
    """Its end needs no yes."""
    unapproved = "start" in loop.sealed.people.approve and "start" not in loop.control.approved
    return unapproved and not loop.control.abort_reason and loop.phase != "ended"


def waits_to_land(loop: Loop, commit: str) -> bool:
    """A yes is bound to the commit that was looked at."""
    wanted = "land" in loop.sealed.people.approve and not loop.landing.state
    return wanted and loop.control.approved.get("land") != commit


def refuse_start(loop: Loop) -> None:
    if waits_for_start(loop):
        raise _unapproved(loop.sealed.loop, "start", WAITS)


def refuse_landing(loop: Loop, commit: str) -> None:
    if waits_to_land(loop, commit):
        raise _unapproved(loop.sealed.loop, "land", f"{commit[:12]} waits for approval to land")


def _unapproved(name: str, point: ApprovalPoint, why: str) -> NeedsHuman:
    return NeedsHuman(
        f"loop '{name}': {why}",
        code=f"E-APPROVE-{point.upper()}",
        why=f'approve = ["{point}"] in the configuration',
        next=f"ralph approve {name}",
    )
