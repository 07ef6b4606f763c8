"""The law of the machine for who drives a loop: the queue, stints under the worker, who stopped it."""

from __future__ import annotations

import builders as b
from builders import Row
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.decide.stints.on_asked import CHOSEN
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, SealedAgent, Steer
from ralph.core.model.loop import HostState
from ralph.core.model.spend import Limits, Usage
from ralph.core.model.verdict import Checkpoint

READY = b.based()
CALLING = b.call(READY)
JUDGING = b.work(READY, "t1")
AT_WORK = {"baseline": b.started(), "working": READY, "judging": JUDGING, "waiting": b.waiting()}
QUEUED = {phase: decide(loop, e.LoopQueued()) for phase, loop in AT_WORK.items()}
QUEUED_CALL = decide(CALLING, e.LoopQueued())
PAUSED = b.paused_judging()
LIVE = {**AT_WORK, "paused": PAUSED, "queued": QUEUED["working"]}
ORDERED = e.LoopQueued(priority="high", env={"PATH": "/bin"}, needs=("KEY",), at=7.0)
HOSTED = e.StintStarted(pid=2, host="h", version="1", protection="S2", hosted=True, at=9.0)
BY_HAND = e.StintStarted(pid=2, host="h", version="1", protection="S2")


def handed(held: object, phase: str) -> dict[str, object]:
    """What changes when a loop is handed over; that `working` is held needs no change."""
    found = {
        "phase": "queued",
        "todo": (),
        "control.held_todo": held,
        "now": 7.0,
        "host.background": True,
        "host.priority": "high",
        "host.queued_at": 7.0,
        "host.needs": ("KEY",),
        "host.env": {"PATH": "/bin"},
    }
    return found if phase == "working" else found | {"control.held_phase": phase}


def taken(phase: str, **more: object) -> dict[str, object]:
    found = {"phase": phase, "todo": AT_WORK[phase].todo, "control.held_todo": ()}
    if phase != "working":
        found["control.held_phase"] = "working"
    return {**found, **more}


QUEUES = [
    *(
        Row(f"handed over, what is owed is held: {phase}", loop, ORDERED, handed(loop.todo, phase))
        for phase, loop in AT_WORK.items()
    ),
    Row(
        "queued again: the newest word counts, and what is held stays held",
        QUEUED["judging"],
        ORDERED,
        {
            key: value
            for key, value in handed((), "working").items()
            if key not in ("phase", "todo", "control.held_todo", "host.background")
        },
    ),
    *(
        Row(
            f"a priority can be changed while it lives: {phase}",
            loop,
            e.PriorityAsked(priority="critical"),
            {"host.priority": "critical"},
        )
        for phase, loop in LIVE.items()
    ),
    Row(
        "a note reaches a queued loop",
        QUEUED["working"],
        e.Steered(text="then", at=5.0),
        {"control.steers": (Steer("then", at=5.0),), "now": 5.0},
    ),
    Row(
        "a queued loop that a person pauses is paused, and holds what it owes",
        QUEUED["judging"],
        e.PauseAsked(),
        {"phase": "paused", "reason": "paused by the user"},
    ),
    *(
        Row(
            f"a queued loop that is aborted owes its end: {phase}",
            loop,
            e.AbortAsked(reason="enough"),
            taken(phase, todo=(actions.Finish("aborted", "enough"),), **{"control.abort_reason": "enough"}),
        )
        for phase, loop in QUEUED.items()
    ),
    Row(
        "with a call of a dead runner still open, that is accounted for first",
        QUEUED_CALL,
        e.AbortAsked(reason="enough"),
        {
            "phase": "working",
            "todo": CALLING.todo,
            "control.held_todo": (),
            "control.abort_reason": "enough",
        },
    ),
]
STINTS = [
    *(
        Row(
            f"the worker has a place for it: it goes on as it stood: {phase}",
            loop,
            HOSTED,
            taken(phase, now=9.0, **{"host.stints": 1, "host.stint_at": 9.0}),
        )
        for phase, loop in QUEUED.items()
    ),
    Row(
        "taken up by hand it is the worker's no more",
        QUEUED["working"],
        BY_HAND,
        taken("working", **{"host.background": False}),
    ),
    Row(
        "stints without a fact of work between them are counted",
        decide(CALLING, HOSTED),
        replace(HOSTED, at=11.0),
        {"host.stints": 2, "host.stint_at": 11.0, "now": 11.0},
    ),
    Row(
        "one fact of work, and the count begins anew",
        decide(READY, HOSTED),
        e.AgentStarted(iteration=1, call=1, agent="demo", prompt="p", at=12.0),
        {
            "host.stints": 0,
            "now": 12.0,
            "last_work_at": 12.0,
            "call.number": 1,
            "call.running": True,
            "call.prompt": "p",
            "call.times": (12.0,),
            "spend": replace(READY.spend, calls=1),
        },
    ),
    Row(
        "the worker takes up a loop whose runner died, and the pause that was asked for stands",
        CALLING.with_control(pause_reason="lunch", pause_now=True),
        HOSTED,
        {"host.background": True, "host.stints": 1, "host.stint_at": 9.0, "now": 9.0},
    ),
]
STOPS = [
    Row(
        f"it is on record who stopped it: {by}",
        READY,
        e.PauseAsked(reason="x", by=by),
        {
            "phase": "paused",
            "control.held_todo": READY.todo,
            "control.stopped_by": by,
            "reason": "x",
            "todo": (),
        },
    )
    for by in ("signal", "machine", "limit")
]
BY_SIGNAL = decide(READY, e.PauseAsked(reason="x", by="signal"))
STOPS += [
    Row(
        "what a signal stopped and then a person, a person stopped",
        BY_SIGNAL,
        e.PauseAsked(reason="stay"),
        {"control.stopped_by": "person"},
    ),
    Row(
        "what the machine stops again and again, the rule for faults stops for good",
        decide(READY, e.PauseAsked(reason="x", by="machine")),
        e.PauseAsked(reason="given up", by="limit"),
        {"control.stopped_by": "limit", "reason": "given up"},
    ),
    Row(
        "resumed: whoever stopped it is forgotten",
        BY_SIGNAL,
        e.ResumeAsked(author="worker"),
        {
            "phase": "working",
            "todo": READY.todo,
            "control.held_todo": (),
            "control.stopped_by": "person",
            "reason": "",
        },
    ),
]
MORE = e.ResumeAsked(author="me", more_iterations=2, more_time=5.0)
RAISES = [
    Row(
        f"more room joins a loop at work: {phase}",
        loop,
        MORE,
        {"limits": replace(loop.limits, iterations=17)},
    )
    for phase, loop in {**AT_WORK, "queued": QUEUED["working"]}.items()
]
RAISES += [
    Row(
        "asked to go on before it has paused: it does not pause",
        CALLING.with_control(pause_reason="lunch", pause_now=True, stopped_by="signal"),
        e.ResumeAsked(),
        {"control.pause_reason": "", "control.pause_now": False, "control.stopped_by": "person"},
    )
]
OTHER = SealedAgent("other")
SPARE = decide(READY, e.PauseAsked()).with_control(held_todo=(actions.RunAgent(1, 1, 1),))
SPARE = SPARE.with_agents(programs={"demo": "x"}, rest_until={0: 9.0}, faults_in_row=2)
ENDED = b.outcome("stalled")
BACK = Checkpoint(iteration=1, tree="t7", commit="c7")
CHOICES = [
    Row(
        "another agent is called in place of the one that rests",
        SPARE,
        e.ResumeAsked(agent=OTHER),
        {
            "phase": "working",
            "todo": (actions.RunAgent(1, 1, 0),),
            "control.held_todo": (),
            "reason": "",
            "order": replace(SPARE.sealed, agent=OTHER),
            "agents.programs": {},
            "agents.rest_until": {},
            "agents.faults_in_row": 0,
        },
    ),
    Row(
        "the work goes on from a chosen checkpoint, and what is left behind has its own",
        ENDED,
        e.ResumeAsked(to=BACK),
        {
            "phase": "working",
            "outcome": None,
            "reason": "",
            "proof.verdicts_tree": "",
            "progress.history": (),
            "progress.best": BACK,
            "todo": (actions.RestoreWorkspace(BACK, None, CHOSEN),),
        },
    ),
    Row(
        "a call that was asked for and never begun is no iteration",
        decide(b.based(), e.PauseAsked(now=True)),
        e.ResumeAsked(to=BACK),
        {
            "phase": "working",
            "reason": "",
            "iteration": 0,
            "control.held_todo": (),
            "progress.best": BACK,
            "todo": (actions.RestoreWorkspace(BACK, None, CHOSEN),),
        },
    ),
    Row(
        "but not beyond its limits",
        replace(ENDED, limits=Limits(iterations=1)),
        e.ResumeAsked(to=BACK),
        {
            "phase": "working",
            "outcome": None,
            "reason": "",
            "proof.verdicts_tree": "",
            "progress.history": (),
            "todo": (actions.Finish("exhausted", "3 of 1 iterations used"),),
        },
    ),
]
CAPPED = b.call(b.based(b.order(limits=Limits(iteration_cost=2.0))))
VERIFIED = b.verified()
PEOPLE = [
    *(
        Row(
            f"a person's yes is on record with what was meant: {phase}",
            loop,
            e.Approved(point="land", commit="c9", author="me"),
            {"control.approved": {"land": "c9"}},
        )
        for phase, loop in {**LIVE, "ended": VERIFIED}.items()
    ),
    Row(
        "what a person clears is known to no later call, the rest is",
        VERIFIED.with_agents(learnings=("tea", "milk")),
        e.LearningsCleared(notes=("tea", "never noted")),
        {"agents.learnings": ("milk",)},
    ),
    Row(
        "what a call cost is known until the next",
        CAPPED,
        e.AgentEnded(iteration=1, call=1, usage=Usage(cost=3.0)),
        {
            "call.running": False,
            "call.cost": 3.0,
            "spend": replace(CAPPED.spend, cost=3.0),
            "todo": (actions.TakeSnapshot(1),),
        },
    ),
    Row(
        "a call that stopped at its own bound has kept it",
        CAPPED,
        e.AgentEnded(iteration=1, call=1, usage=Usage(cost=3.0), fault=Fault("budget", "x")),
        {
            "call.running": False,
            "call.fault": Fault("budget", "x"),
            "spend": replace(CAPPED.spend, cost=3.0),
            "todo": (actions.TakeSnapshot(1),),
        },
    ),
]
ROWS = [*QUEUES, *STINTS, *STOPS, *RAISES, *CHOICES, *PEOPLE]
assert HostState() == READY.host
