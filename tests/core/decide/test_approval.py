"""Approval points, and the bound on the cost of one call: what a loop does not do without a yes."""

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.decide.failover import limit_reached
from ralph.core.decide.machine import decide
from ralph.core.decide.stints.approval import pending, refuse_landing
from ralph.core.model import events as e
from ralph.core.model.agent import Fault
from ralph.core.model.loop import Loop
from ralph.core.model.order import PeopleTerms
from ralph.core.model.spend import Limits, Usage
from ralph.errors import NeedsHuman

BOTH = PeopleTerms(approve=("start", "land"))
STINT = e.StintStarted(pid=1, host="h", version="1", protection="S2")
HOSTED = replace(STINT, hosted=True)


def begun():
    return decide(Loop(), e.LoopStarted(order=b.order(approve=BOTH.approve), rules=e.RULES))


@pytest.mark.parametrize("event", [STINT, HOSTED])
def test_nobody_drives_what_nobody_approved(event):
    """Neither a terminal nor the worker takes up a loop whose start waits for a yes; after it both do."""
    loop = begun()
    waiting = decide(loop, e.PauseAsked(now=True, by="limit"))
    for one in (loop, waiting, decide(loop, e.LoopQueued())):
        with pytest.raises(NeedsHuman) as refused:
            decide(one, event)
        assert (refused.value.code, refused.value.next) == ("E-APPROVE-START", "ralph approve fix-1")
    with pytest.raises(NeedsHuman):
        decide(waiting, e.ResumeAsked())
    yes = decide(waiting, e.Approved(point="start"))
    assert decide(decide(yes, e.ResumeAsked()), event).phase == "baseline"


def test_an_unapproved_loop_can_be_given_up():
    """What waits for a yes ends by a no: abort needs none."""
    waiting = decide(begun(), e.PauseAsked(now=True, by="limit"))
    ended = decide(decide(waiting, e.AbortAsked()), STINT)
    assert [type(one).__name__ for one in ended.todo] == ["Finish"]


def test_a_yes_to_land_is_bound_to_one_commit():
    """What was approved may land; another result of the same loop may not."""
    loop = b.verified()
    loop = replace(loop, order=replace(loop.sealed, people=BOTH)).with_control(approved={"start": ""})
    assert pending(loop) == "land"
    yes = decide(loop, e.Approved(point="land", commit=loop.landing.result))
    refuse_landing(yes, loop.landing.result)
    assert pending(yes) is None
    with pytest.raises(NeedsHuman):
        refuse_landing(yes, "another")
    assert pending(yes.with_landing(result="another")) == "land"


def test_one_call_beyond_its_bound_is_the_last():
    """A call that cost too much ends the loop after its judgement; `resume` gives another try."""
    loop = b.call(b.based(b.order(limits=Limits(iteration_cost=2.0))))
    dear = decide(loop, e.AgentEnded(iteration=1, call=1, usage=Usage(cost=2.5)))
    found = limit_reached(dear)
    assert found is not None
    assert (found.outcome, found.reason) == ("exhausted", "one agent call cost 2.50 USD, the limit is 2 USD")
    for usage, fault in ((Usage(cost=2.0), None), (Usage(), None), (Usage(cost=9.0), Fault("budget", "x"))):
        assert (
            limit_reached(decide(loop, e.AgentEnded(iteration=1, call=1, usage=usage, fault=fault))) is None
        )
    again = decide(replace(b.outcome("exhausted"), limits=loop.limits).with_call(cost=2.5), e.ResumeAsked())
    assert limit_reached(again) is None


def test_calls_that_use_up_their_bound_for_nothing_end_the_loop():
    """An agent that stops at its bound again and again and changes nothing is stalled: no loop is endless."""
    loop = b.based(b.order(limits=Limits(iterations=15, iteration_cost=2.0)))
    for number in range(3):
        loop = b.call(loop)
        loop = b.answer(loop, fault=Fault("budget", "2 USD used"))
        loop = decide(loop, b.snapshot(loop.work.tree_before, loop))
        if number < 2 and loop.phase == "waiting":
            loop = decide(loop, e.WaitOver())
    assert loop.todo[0].outcome == "stalled"
