"""The law of the machine for calls that failed and left nothing: refund, wait, go on, or give up."""

from __future__ import annotations

import builders as b
import pytest
from builders import BASE, Row
from msgspec.structs import replace
from test_machine_table import ABORTING, CALLING, READY, SNAP, done, fault, pause

from ralph.core.decide.failover import FAULT_CAP, LIMIT_CAP
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import AgentSession, Fault, Steer
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Usage


def after_faults(count: int, kind: str = "crash") -> Loop:
    """So many faults in a row, and the snapshot of the next one owed."""
    return fault(kind, b.call(decide(b.faulted(count, kind), e.WaitOver())))


LIMITS_HIT = SNAP.with_agents(outages_in_row=LIMIT_CAP - 1).with_call(fault=Fault("limit", "busy"))
REFUND = {"work.commit": "c-t0", "iteration": 0}
NOTHING = b.snapshot(BASE, SNAP)
ROWS = [
    Row(
        "a crash that left nothing is refunded and retried after a breath",
        fault("crash"),
        NOTHING,
        {
            **REFUND,
            "agents.faults_in_row": 1,
            "phase": "waiting",
            "control.wait_reason": "crash: busy",
            "todo": (model_actions.Wait(seconds=1.0, until=None, why="crash: busy"),),
        },
    ),
    Row(
        "a steer that went down with its call joins the next prompt, before newer ones",
        decide(fault("context", b.call(decide(READY, e.Steered(text="one")))), e.Steered(text="two")),
        NOTHING,
        {
            "work.commit": "c-t0",
            "agents.faults_in_row": 1,
            "control.steers": (Steer("one"), Steer("two")),
            "control.steers_in_call": (),
            "todo": (actions.RunAgent(iteration=1, call=2),),
        },
    ),
    Row(
        "an interrupted call is called again at once and counts as no fault",
        fault("interrupted"),
        NOTHING,
        {"work.commit": "c-t0", "todo": (actions.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "an expired login needs a human",
        fault("auth"),
        NOTHING,
        {**REFUND, "todo": done("blocked", "the agent's login has expired: busy")},
    ),
    Row(
        "used-up credit needs a human",
        fault("credit"),
        NOTHING,
        {**REFUND, "todo": done("blocked", "busy")},
    ),
    Row(
        "a program that changed in mid-loop needs a human",
        fault("upgraded"),
        NOTHING,
        {**REFUND, "todo": done("blocked", "busy")},
    ),
    *(
        Row(
            f"{kind} is healed by time and counted apart from crashes",
            after_faults(2, kind),
            NOTHING,
            {
                "iteration": 0,
                "agents.outages_in_row": 3,
                "phase": "waiting",
                "control.wait_reason": f"{kind}: busy",
                "todo": (actions.Wait(seconds=80.0, until=None, why=f"{kind}: busy"),),
            },
        )
        for kind in ("overload", "server", "network")
    ),
    Row(
        "the agent's own bound on turns is a fault without a wait",
        fault("turns"),
        NOTHING,
        {"work.commit": "c-t0", "agents.faults_in_row": 1, "todo": (actions.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "the bound on money of one call is no fault of the agent",
        fault("budget"),
        NOTHING,
        {"work.commit": "c-t0", "todo": (actions.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "an agent that cannot be started breaks the loop",
        fault("missing"),
        NOTHING,
        {**REFUND, "todo": done("broken", "the agent cannot be started: busy")},
    ),
    Row(
        "the second fault in a row is not the last",
        after_faults(FAULT_CAP - 2),
        NOTHING,
        {
            "iteration": 0,
            "agents.faults_in_row": 2,
            "phase": "waiting",
            "control.wait_reason": "crash: busy",
            "todo": (actions.Wait(seconds=2.0, until=None, why="crash: busy"),),
        },
    ),
    Row(
        "three faults in a row: the machinery is broken",
        after_faults(FAULT_CAP - 1),
        NOTHING,
        {
            "iteration": 0,
            "agents.faults_in_row": 3,
            "todo": done("broken", "3 faults in a row, the last: busy"),
        },
    ),
    Row(
        "a usage limit is no crash: it is counted by itself",
        after_faults(2, "limit"),
        NOTHING,
        {
            "iteration": 0,
            "agents.outages_in_row": 3,
            "phase": "waiting",
            "control.wait_reason": "limit: busy",
            "todo": (actions.Wait(seconds=1200.0, until=None, why="limit: busy"),),
        },
    ),
    Row(
        "a usage limit that never lifts ends the loop",
        LIMITS_HIT,
        NOTHING,
        {**REFUND, "agents.outages_in_row": 10, "todo": done("broken", "10 faults in a row, the last: busy")},
    ),
    Row(
        "a pause asked during a call that failed",
        b.answer(decide(CALLING, e.PauseAsked(reason="lunch")), fault=Fault("crash", "busy")),
        NOTHING,
        {**REFUND, "agents.faults_in_row": 1, "control.pause_reason": "", **pause("lunch", "working", ())},
    ),
    Row(
        "an abort comes before everything a fault could mean",
        b.answer(ABORTING, fault=Fault("auth", "busy")),
        NOTHING,
        {**REFUND, "todo": done("aborted", "enough")},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_line(row: Row) -> None:
    """A fault changes exactly the named fields, and what is owed follows."""
    after = decide(row.before, row.event)
    assert b.changes(row.before, after) == row.changes


def ended(loop: Loop, **fields: object) -> Loop:
    """The loop after its open call came to an end."""
    return decide(loop, e.AgentEnded(iteration=1, call=1, **fields))  # type: ignore[arg-type]


def kept(loop: Loop) -> Loop:
    return replace(loop, order=replace(loop.sealed, keep_session=True))


def test_a_conversation_is_kept_only_when_asked_for() -> None:
    """A fresh conversation each time by default; else the newest, unless it may be what went wrong."""
    session = AgentSession("s1", "claude", tokens=5)
    assert ended(CALLING, session=session).call.session is None
    loop = kept(CALLING)
    assert ended(loop, session=session).call.session == session
    assert ended(loop, session=session, fault=Fault("limit", "busy")).call.session == session
    earlier = loop.with_call(session=session)
    assert ended(earlier, fault=Fault("auth", "busy")).call.session == session
    for kind in ("context", "crash", "protocol", "hollow", "request"):
        assert ended(earlier, session=session, fault=Fault(kind, "busy")).call.session is None  # type: ignore[arg-type]


def test_a_prompt_that_was_too_long_is_halved() -> None:
    """Each context fault halves what the next prompt quotes; a call that could read it all ends that."""
    loop = ended(CALLING, fault=Fault("context", "busy"))
    assert loop.call.prompt_halvings == 1
    deep = CALLING.with_call(prompt_halvings=4)
    assert ended(deep, fault=Fault("context", "busy")).call.prompt_halvings == 4
    assert ended(deep, fault=Fault("limit", "busy")).call.prompt_halvings == 4
    assert ended(deep).call.prompt_halvings == 0


def test_programs_are_pinned_by_agent() -> None:
    """The first hash of a program is remembered; a human who resumes accepts a new one."""
    loop = ended(CALLING, program="abc")
    assert loop.agents.programs == {CALLING.sealed.agent.name: "abc"}
    assert ended(CALLING).agents.programs == {}


def test_an_estimated_cost_marks_the_whole() -> None:
    """One computed figure in a sum makes the sum an estimate."""
    assert not ended(CALLING, usage=Usage(5, 0.5)).spend.estimated
    assert ended(CALLING, usage=Usage(5, 0.5, estimated=True)).spend.estimated
