"""The law of the machine for calls that failed and left nothing: refund, wait, go on, or give up."""

from __future__ import annotations

import builders as b
import pytest
from builders import BASE, Row
from msgspec.structs import replace
from test_machine_table import ABORTING, CALLING, READY, SNAP, done, fault, pause

from ralph.core import events as e
from ralph.core.handlers import FAULT_CAP, LIMIT_CAP
from ralph.core.loop import Loop
from ralph.core.machine import decide
from ralph.core.model import Fault, Steer


def after_faults(count: int, kind: str = "crash") -> Loop:
    """So many faults in a row, and the snapshot of the next one owed."""
    return fault(kind, b.call(decide(b.faulted(count, kind), e.WaitOver()).loop))


LIMITS_HIT = replace(SNAP, limits_hit=LIMIT_CAP - 1, fault=Fault("limit", "busy"))
REFUND = {"commit": "c-t0", "iteration": 0}
NOTHING = b.snapshot(BASE, SNAP)
ROWS = [
    Row(
        "a crash that left nothing is refunded and retried after a breath",
        fault("crash"),
        NOTHING,
        {
            **REFUND,
            "faults": 1,
            "phase": "waiting",
            "wait_why": "crash: busy",
            "todo": (e.Wait(seconds=1.0, until=None, why="crash: busy"),),
        },
    ),
    Row(
        "a steer that went down with its call joins the next prompt, before newer ones",
        decide(
            fault("context", b.call(decide(READY, e.Steered(text="one")).loop)), e.Steered(text="two")
        ).loop,
        NOTHING,
        {
            "commit": "c-t0",
            "faults": 1,
            "steers": (Steer("one"), Steer("two")),
            "given": (),
            "todo": (e.RunAgent(iteration=1, call=2),),
        },
    ),
    Row(
        "an interrupted call is called again at once and counts as no fault",
        fault("interrupted"),
        NOTHING,
        {"commit": "c-t0", "todo": (e.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "an expired login needs a human",
        fault("auth"),
        NOTHING,
        {**REFUND, "todo": done("blocked", "the agent's login has expired: busy")},
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
            "faults": 2,
            "phase": "waiting",
            "wait_why": "crash: busy",
            "todo": (e.Wait(seconds=2.0, until=None, why="crash: busy"),),
        },
    ),
    Row(
        "three faults in a row: the machinery is broken",
        after_faults(FAULT_CAP - 1),
        NOTHING,
        {"iteration": 0, "faults": 3, "todo": done("broken", "3 faults in a row, the last: busy")},
    ),
    Row(
        "a usage limit is no crash: it is counted by itself",
        after_faults(2, "limit"),
        NOTHING,
        {
            "iteration": 0,
            "limits_hit": 3,
            "phase": "waiting",
            "wait_why": "limit: busy",
            "todo": (e.Wait(seconds=1200.0, until=None, why="limit: busy"),),
        },
    ),
    Row(
        "a usage limit that never lifts ends the loop",
        LIMITS_HIT,
        NOTHING,
        {**REFUND, "limits_hit": 10, "todo": done("broken", "10 faults in a row, the last: busy")},
    ),
    Row(
        "a pause asked during a call that failed",
        b.answer(decide(CALLING, e.PauseAsked(reason="lunch")).loop, fault=Fault("crash", "busy")),
        NOTHING,
        {**REFUND, "faults": 1, "pausing": "", **pause("lunch", "working", ())},
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
    after, actions = decide(row.before, row.event)
    assert b.changes(row.before, after) == row.changes
    assert actions == after.todo
