"""The one clock: everything that asks for the time, or waits for it to pass, does so through this.

A function that decides by time takes a `Clock`, or the moment as a number, so that a test or the simulator
can write the time. The real one is made at the edges (commands, `app`) and by what waits for the kernel:
processes and locks, which no script can hurry. `tools/house.py` holds the list.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol
else:
    Protocol = object  # keepers read the clock too, and `typing` would cost them as much as all the rest


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, as wall clocks say; may jump."""

    def monotonic(self) -> float:
        """Seconds that only grow; what they count from means nothing."""

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def wait_until(ready: Callable[[], bool], clock: Clock, *, seconds: float, every: float) -> bool:
    """Ask `ready` until it says yes; False when it has not within `seconds`. It is asked at least once."""
    until = clock.monotonic() + seconds
    while not ready():
        if clock.monotonic() > until:
            return False
        clock.sleep(every)
    return True
