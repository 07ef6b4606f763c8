"""The law of several agents: who is called, who rests how long, and when the wanted one comes back."""

from __future__ import annotations

import builders as b
import pytest
from builders import BASE
from msgspec.structs import replace

from ralph.core.decide import failover
from ralph.core.decide.failover import FAULT_CAP
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import AgentSession, Fault, SealedAgent
from ralph.core.model.loop import Loop
from ralph.errors import IllegalEvent

TWO = replace(b.order(), spares=(SealedAgent("codex", argv=("codex",), model="m2", env={"A": "1"}),))
START = 1_000.0


def called(loop: Loop, at: float = START) -> Loop:
    """The call that is owed has begun."""
    owed = loop.todo[0]
    assert isinstance(owed, actions.RunAgent), loop.todo
    started = e.AgentStarted(owed.iteration, owed.call, "x", "p", using=owed.agent, at=at)  # type: ignore[call-arg]
    return decide(loop, started)


def failed(loop: Loop, kind: str, *, reset: float | None = None, at: float = START, tree: str = BASE) -> Loop:
    """The call that is owed failed this way and left nothing."""
    loop = called(loop, at)
    ended = e.AgentEnded(
        iteration=loop.iteration,
        call=loop.call.number,
        fault=Fault(kind, "busy", reset),
        at=at,  # type: ignore[arg-type]
    )
    loop = decide(loop, ended)
    snap = e.CheckpointMade(iteration=loop.iteration, tree=tree, commit=loop.work.commit, at=at)
    return decide(loop, snap)


READY = b.based(TWO)


@pytest.mark.parametrize(
    ("kind", "reset", "until"),
    [
        ("limit", START + 50, START + 50),
        ("limit", None, START + 3600),
        ("limit", START - 50, START + 1),
        ("overload", None, START + 300),
        ("server", None, START + 300),
        ("auth", None, failover.NEVER),
        ("credit", None, failover.NEVER),
        ("missing", None, failover.NEVER),
        ("upgraded", None, failover.NEVER),
        ("request", None, failover.NEVER),
    ],
)
def test_the_next_one_stands_in_at_once(kind, reset, until):
    """What another agent may not have is no reason to wait: it is called at once, and it is said why."""
    loop = failed(READY, kind, reset=reset)
    assert loop.todo == (actions.RunAgent(iteration=1, call=2, agent=1),)
    assert loop.agents.rest_until == {0: until}
    assert loop.agents.failover_reason == f"demo: {kind}, busy"
    assert (loop.iteration, loop.agents.faults_in_row, loop.agents.outages_in_row) == (1, 0, 0)


@pytest.mark.parametrize("kind", ["network", "interrupted", "context", "disk", "budget"])
def test_what_another_agent_would_meet_too_is_as_with_one(kind):
    """No network, no disk, an interruption: another agent would not fare better."""
    single = failed(b.based(b.order()), kind)
    assert failed(READY, kind).todo == single.todo
    assert failed(READY, kind).agents.rest_until == {}


def test_crashes_in_a_row_are_broken():
    """A crash alone is tried again; as many in a row as would end the loop let the other one stand in."""
    loop = failed(READY, "crash")
    for _ in range(FAULT_CAP - 1):
        assert isinstance(loop.todo[0], actions.Wait)
        loop = failed(decide(loop, e.WaitOver(at=START)), "crash")
    assert loop.todo == (actions.RunAgent(iteration=1, call=FAULT_CAP + 1, agent=1),)
    assert loop.agents.rest_until == {0: START + failover.BROKEN}


def test_the_wanted_one_comes_back():
    """When the limit is lifted the next iteration is the first agent's again."""
    loop = failed(READY, "limit", reset=START + 50)
    loop = called(loop, START + 10)
    assert loop.call.agent == 1
    loop = b.answer(loop)
    loop = decide(loop, e.CheckpointMade(1, "t1", "c-t1", at=START + 60))
    loop = decide(loop, e.GateEnded(1, b.red(tree="t1"), at=START + 60))
    loop = b.restored(loop)
    assert loop.todo == (actions.RunAgent(iteration=2, call=3, agent=0),)


def test_all_at_their_limit_wait_for_the_first_that_is_back():
    """Nobody is called before the earliest reset, and then it is the one whose reset that was."""
    loop = failed(READY, "limit", reset=START + 500)
    loop = failed(loop, "limit", reset=START + 90)
    assert isinstance(loop.todo[0], actions.Wait)
    assert (loop.todo[0].until, loop.todo[0].seconds) == (START + 90, 90)
    assert "no agent is available" in loop.todo[0].why
    loop = decide(loop, e.WaitOver(at=START + 91))
    assert loop.todo == (actions.RunAgent(iteration=1, call=3, agent=1),)


def test_all_gone_for_good_needs_a_human():
    """Two expired logins: there is nothing to wait for."""
    loop = failed(failed(READY, "auth"), "auth")
    assert isinstance(loop.todo[0], actions.Finish)
    assert loop.todo[0].outcome == "blocked"


def test_a_conversation_does_not_pass_from_one_to_the_other():
    """What one agent was told, another was not."""
    loop = failed(READY, "limit").with_call(session=AgentSession("s", agent="demo"))
    assert called(loop).call.session is None


def test_each_agent_has_an_order_of_its_own():
    """Command, environment and model are those of the agent that is called; the rest is the loop's."""
    order = failover.with_agent(TWO, 1)
    assert (order.agent.name, order.agent.argv, order.agent.model, order.agent.env) == (
        "codex",
        ("codex",),
        "m2",
        {"A": "1"},
    )
    assert order.criterion == TWO.criterion
    assert failover.with_agent(TWO, 0) is TWO
    assert failover.agent_names(TWO) == (TWO.agent.name, "codex")


def test_an_unasked_agent_is_no_event():
    """The machine refuses a call by another agent than the one it asked for."""
    with pytest.raises(IllegalEvent):
        decide(READY, e.AgentStarted(1, 1, "x", "p", using=1))
