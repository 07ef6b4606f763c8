"""The law of the machine for calls that failed and left nothing: refund, wait, go on, or give up."""

from __future__ import annotations

import builders as b
from builders import BASE, Row
from law_machine import ABORTING, CALLING, READY, SNAP, done, fault, pause
from msgspec.structs import replace

from ralph.core.decide.failover import CUT_CAP, FAULT_CAP, LIMIT_CAP
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, Steer
from ralph.core.model.loop import Loop


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
        {"work.commit": "c-t0", "agents.cut_in_row": 1, "todo": (actions.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "a call that somebody asked to stop is not counted at all",
        b.answer(decide(CALLING, e.PauseAsked(reason="lunch", now=True)), fault=Fault("interrupted", "busy")),
        NOTHING,
        {
            **REFUND,
            "control.pause_reason": "",
            "control.pause_now": False,
            **pause("lunch", "working", ()),
        },
    ),
    Row(
        "interrupted again and again under one runner, with nobody asking, ends it",
        fault("interrupted").with_agents(cut_in_row=CUT_CAP - 1),
        NOTHING,
        {
            **REFUND,
            "agents.cut_in_row": CUT_CAP,
            "todo": done("broken", f"{CUT_CAP} faults in a row, the last: busy"),
        },
    ),
    Row(
        "an expired login needs a human",
        fault("auth"),
        NOTHING,
        {**REFUND, "todo": done("blocked", "the agent was not let in: busy")},
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
        "three timeouts in a row: the agent gets nowhere, and nothing is broken",
        after_faults(FAULT_CAP - 1, "timeout"),
        NOTHING,
        {
            "iteration": 0,
            "agents.faults_in_row": 3,
            "todo": done("stalled", "3 faults in a row, the last: busy"),
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


def ended(loop: Loop, **fields: object) -> Loop:
    """The loop after its open call came to an end."""
    return decide(loop, e.AgentEnded(iteration=1, call=1, **fields))  # type: ignore[arg-type]


def kept(loop: Loop) -> Loop:
    return replace(loop, order=replace(loop.sealed, keep_session=True))
