"""A network that is down is waited out by looking at the address, without spending calls or iterations."""

from __future__ import annotations

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.decide.failover import MAX_WAIT_SECONDS
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, FaultKind
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits

DOWN = Fault("network", "refused", address="model.example:443")
NOON = 12 * 3600.0


def failed(loop: Loop, at: float, fault: Fault = DOWN) -> Loop:
    """One more call that failed with this and left nothing."""
    loop = b.answer(b.call(loop, at), fault=fault)
    return decide(loop, replace(b.snapshot(loop.work.tree_before, loop), at=at))


def based(**limits: float) -> Loop:
    return b.based(b.order(limits=Limits(iterations=3, **limits)))


def test_the_address_is_looked_at() -> None:
    """The wait names the address and since when it is down; the iteration is given back."""
    loop = failed(based(), NOON)
    why = "network down since 12:00:00 UTC, probing model.example:443: refused"
    assert loop.todo == (actions.Wait(20.0, None, why, probe="model.example:443", most=MAX_WAIT_SECONDS),)
    assert (loop.phase, loop.control.wait_reason, loop.iteration) == ("waiting", why, 0)


def test_faults_in_a_row_are_one_outage() -> None:
    """Further faults do not move its beginning; a call that worked ends it."""
    loop = failed(based(), NOON)
    loop = failed(decide(loop, e.WaitOver(at=NOON + 60)), NOON + 61)
    assert "since 12:00:00 UTC" in loop.control.wait_reason
    assert loop.todo[0].seconds == 40.0
    loop = b.iterate(decide(loop, e.WaitOver(at=NOON + 90)), "t1")
    loop = failed(loop, NOON + 3600)
    assert "since 13:00:00 UTC" in loop.control.wait_reason


@pytest.mark.parametrize("kind", ["network", "server"])
def test_without_an_address_it_is_an_ordinary_wait(kind: FaultKind) -> None:
    """Where nobody knows the address, or a proxy stands between, the wait is as for any such fault."""
    loop = failed(based(), NOON, Fault(kind, "refused"))
    assert loop.todo == (actions.Wait(20.0, None, f"{kind}: refused"),)
    assert loop.agents.down_since == 0.0


def test_the_time_limit_bounds_the_looking() -> None:
    """No wait lasts longer than the loop has time, and one that cannot fit at all ends the loop."""
    loop = failed(based(time=100.0), NOON)
    assert isinstance(loop.todo[0], actions.Wait)
    assert loop.todo[0].most == pytest.approx(100.0)
    ended = failed(based(time=19.0), NOON)
    assert isinstance(ended.todo[0], actions.Finish)
    assert "waiting would exceed the time limit" in ended.todo[0].reason
    assert "probing model.example:443" in ended.todo[0].reason
