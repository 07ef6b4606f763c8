"""The network is down: how long that is waited for, and in which words. Who looks at it is the shell.

A fault that names the address it could not reach is waited out with looking: the agent is called again as
soon as the address answers. One that answers from the start was not the trouble (a stream that broke, say):
then the ordinary wait counts. Calls, iterations and money are not spent on finding out.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from ralph.core.events import Wait
from ralph.core.loop import Loop
from ralph.core.model import Fault

LONGEST = 3600.0  # then the agent itself has another try: it may know of a way that we do not


def noted(loop: Loop, fault: Fault) -> Loop:
    """Remember since when: faults in a row are one outage."""
    if not fault.address:
        return loop
    going_on = loop.limits_hit > 0 and loop.down_since > 0
    return loop if going_on else replace(loop, down_since=loop.now)


def wait(loop: Loop, fault: Fault, seconds: float) -> Wait:
    """`seconds` is how long is waited if the address turns out to answer."""
    time = loop.limits.time
    left = LONGEST if time is None else min(LONGEST, max(1.0, time - loop.elapsed))
    since = datetime.fromtimestamp(loop.down_since or loop.now, UTC).strftime("%H:%M:%S")
    why = f"network down since {since} UTC, probing {fault.address}: {fault.message}"
    return Wait(seconds=seconds, until=None, why=why, probe=fault.address, most=left)
