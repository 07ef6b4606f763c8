"""How long a call has to wait, and for what: a fault that time heals, agents that rest, the hour's cap."""

from __future__ import annotations

from ralph.core import failover, outage
from ralph.core.events import Wait
from ralph.core.loop import Loop
from ralph.core.model import Fault

HOUR = 3600.0
BACK_OFF = {  # first wait in seconds after a fault that time can heal; doubled with each in a row
    "limit": 300.0,
    "overload": 20.0,
    "server": 20.0,
    "network": 20.0,
    "hollow": 20.0,
    "protocol": 1.0,
    "request": 1.0,
    "disk": 30.0,
    "crash": 1.0,
    "timeout": 1.0,
    "idle": 1.0,
}


def nobody_awake(loop: Loop) -> Wait:
    """Every agent rests: until the first is back. `handlers` has seen to it that one ever is."""
    until = failover.earliest(loop) or loop.now + HOUR
    return Wait(seconds=max(1.0, until - loop.now), until=until, why=f"all agents rest; {loop.stood_in}")


def cool_down(loop: Loop) -> Wait | None:
    """A fault of the last call that time can heal: until the named time, else backing off."""
    fault: Fault | None = loop.fault
    if fault is None or fault.kind not in BACK_OFF:
        return None
    why = f"{fault.kind}: {fault.message}"
    if fault.reset_at is not None:
        seconds = max(1.0, fault.reset_at - loop.now)
        return Wait(seconds=seconds, until=loop.now + seconds, why=why)
    in_row = max(0, loop.faults - 1, loop.limits_hit - 1)
    seconds = min(BACK_OFF[fault.kind] * 2**in_row, HOUR)
    return outage.wait(loop, fault, seconds) if fault.address else Wait(seconds=seconds, until=None, why=why)


def hourly_wait(loop: Loop) -> Wait | None:
    cap = loop.limits.calls_per_hour
    if cap is None or len(loop.call_times) < cap:
        return None
    seconds = min(HOUR, loop.call_times[-cap] + HOUR - loop.now)
    if seconds <= 0:
        return None
    return Wait(seconds=seconds, until=loop.now + seconds, why=f"{cap} calls an hour used")
