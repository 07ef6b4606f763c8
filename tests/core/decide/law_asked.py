"""The law of the machine for what people ask: steer, pause, resume, abort, land, drop; and for endings."""

from __future__ import annotations

import builders as b
from builders import BASE, Row
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, Steer
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits

READY = b.based()
CALLING = b.call(READY)
SNAP = b.answer(CALLING, b.COMPLETE)
JUDGING = b.work(READY, "t1")
GUARDS = b.guarding(READY)
PUBLISH = b.conclude(GUARDS, b.guard())
FINISH = decide(PUBLISH, e.ResultPublished(branch="ralph/fix-1", commit="r", tree="t1"))
ENDING = b.iterate(b.based(b.order(limits=Limits(iterations=1))), "t1")  # exhausted, not yet ended
WAITING = b.waiting()
PAUSED = b.paused_judging()
LIVE = {
    "baseline": b.started(),
    "working": READY,
    "judging": JUDGING,
    "waiting": WAITING,
    "paused": PAUSED,
}
RUN_1 = model_actions.RunAgent(iteration=1, call=1)
USER = "paused by the user"


def done(outcome: str, reason: str, grade: str | None = None) -> tuple[actions.Action, ...]:
    return (actions.Finish(outcome, reason, grade),)  # type: ignore[arg-type]


STEERS = [
    Row(
        f"a steer waits for the next prompt: {phase}",
        loop.with_control(steers=(Steer("first"),)),
        e.Steered(text="then", author="me", at=5.0),
        {"control.steers": (Steer("first"), Steer("then", at=5.0, author="me")), "now": 5.0},
    )
    for phase, loop in {**LIVE, "ended": b.outcome("exhausted")}.items()
]
STINTS = [
    Row(
        f"a new stint may find another sandbox: {phase}",
        loop,
        e.StintStarted(pid=2, host="h", version="1", protection="S1"),
        {"work.protection": "S1", **({"proof.protection": "S1"} if loop.proof.protection else {})},
    )
    for phase, loop in LIVE.items()
]
STINTS += [
    Row(
        "a pause that was asked of a runner that is gone is over",
        CALLING.with_control(pause_reason="lunch", pause_now=True),
        e.StintStarted(pid=2, host="h", version="1", protection=CALLING.work.protection),
        {"control.pause_reason": "", "control.pause_now": False},
    )
]
PAUSES = [
    Row(
        "a pause during a call waits for it",
        CALLING,
        e.PauseAsked(reason="lunch"),
        {"control.pause_reason": "lunch"},
    ),
    Row(
        "also when asked for at once: the shell stops it",
        CALLING,
        e.PauseAsked(now=True),
        {"control.pause_reason": USER, "control.pause_now": True},
    ),
    Row("a pause during a judgement waits for it", JUDGING, e.PauseAsked(), {"control.pause_reason": USER}),
    Row(
        "a pause during the baseline waits for it",
        LIVE["baseline"],
        e.PauseAsked(),
        {"control.pause_reason": USER},
    ),
    Row(
        "asked for at once and then without haste: at once",
        decide(CALLING, e.PauseAsked(now=True)),
        e.PauseAsked(reason="lunch"),
        {"control.pause_reason": "lunch"},
    ),
    Row(
        "a judgement that is stopped now is held as it stands",
        JUDGING,
        e.PauseAsked(reason="lunch", now=True),
        {
            "phase": "paused",
            "control.held_todo": JUDGING.todo,
            "control.held_phase": "judging",
            "reason": "lunch",
            "todo": (),
        },
    ),
    Row(
        "a baseline that is stopped now is held as it stands",
        LIVE["baseline"],
        e.PauseAsked(now=True),
        {
            "phase": "paused",
            "control.held_todo": LIVE["baseline"].todo,
            "control.held_phase": "baseline",
            "reason": USER,
            "todo": (),
        },
    ),
    Row(
        "a snapshot that cannot be taken now is held",
        SNAP,
        e.PauseAsked(now=True),
        {"phase": "paused", "control.held_todo": SNAP.todo, "reason": USER, "todo": ()},
    ),
    Row(
        "a snapshot that is owed is taken before a pause",
        SNAP,
        e.PauseAsked(),
        {"control.pause_reason": USER},
    ),
    Row(
        "a call that has not started is not started",
        READY,
        e.PauseAsked(),
        {"phase": "paused", "control.held_todo": (RUN_1,), "reason": USER, "todo": ()},
    ),
    Row(
        "a wait is left at once",
        WAITING,
        e.PauseAsked(),
        {"phase": "paused", "reason": USER, "todo": ()},
    ),
    Row("paused twice loses nothing that is held", PAUSED, e.PauseAsked(reason="x", now=True), {}),
    Row("a loop that is about to end is not paused", FINISH, e.PauseAsked(now=True), {}),
    Row(
        "nor one that is about to end while it waits",
        decide(WAITING, e.AbortAsked()),
        e.PauseAsked(),
        {},
    ),
]
ABORTS = [
    *(
        Row(
            f"an abort ends at once what is not a call: {phase}",
            loop,
            e.AbortAsked(reason="enough"),
            {"control.abort_reason": "enough", "todo": done("aborted", "enough")},
        )
        for phase, loop in LIVE.items()
    ),
    Row(
        "an abort during a call keeps its tree first",
        CALLING,
        e.AbortAsked(),
        {"control.abort_reason": "aborted by the user"},
    ),
    Row(
        "so does one before the snapshot",
        SNAP,
        e.AbortAsked(),
        {"control.abort_reason": "aborted by the user"},
    ),
    Row(
        "an abort takes the place of another ending",
        ENDING,
        e.AbortAsked(),
        {"control.abort_reason": "aborted by the user", "todo": done("aborted", "aborted by the user")},
    ),
    Row(
        "an abort before the result is published leaves it unpublished",
        PUBLISH,
        e.AbortAsked(),
        {"control.abort_reason": "aborted by the user", "todo": done("aborted", "aborted by the user")},
    ),
    Row("an abort after it was published comes too late", FINISH, e.AbortAsked(), {}),
]


def ending(loop: Loop) -> Row:
    owed = loop.todo[0]
    assert isinstance(owed, actions.Finish)
    change: dict[str, object] = {"phase": "ended", "outcome": owed.outcome, "reason": owed.reason, "todo": ()}
    if loop.control.abort_reason:
        change["control.abort_reason"] = ""
    if loop.grade != owed.grade:
        change["grade"] = owed.grade
    return Row(
        f"{loop.phase} ends {owed.outcome}",
        loop,
        e.LoopEnded(outcome=owed.outcome, reason=owed.reason, grade=owed.grade),
        change,
    )


ENDS = [
    *(ending(decide(loop, e.AbortAsked(reason="enough"))) for loop in LIVE.values()),
    ending(FINISH),
    ending(ENDING),
    ending(decide(PUBLISH, e.AbortAsked())),
]
MORE = e.ResumeAsked(more_iterations=2, more_time=10.0, more_cost=1.5, more_tokens=7)
BOUND = Limits(iterations=1, time=100.0, cost=1.0, tokens=50)
SPENT = b.spent(b.based(b.order(limits=BOUND)), 40, 0.5)
EXHAUSTED = b.close(b.judge(decide(SPENT, b.snapshot("t1", SPENT)), b.red(count=2)))
BROKEN_BASE = b.close(b.judge(b.started(), b.at_base(b.red(status="error", cause="missing"))))
BETWEEN = b.judge(
    decide(b.answer(decide(CALLING, e.PauseAsked())), b.snapshot("t1", CALLING)), b.red(count=2)
)
BETWEEN = BETWEEN.with_progress(integrity_hits=1).with_agents(
    denials_in_row=1, faults_in_row=1, outages_in_row=1
)
FRESH = {"outcome": None, "reason": "", "proof.verdicts_tree": ""}
COUNTED = (
    b.outcome("stalled")
    .with_agents(faults_in_row=2, outages_in_row=1, denials_in_row=1)
    .with_progress(integrity_hits=2)
    .with_proof(finals_tree="t1", guards_tree="t1")
)
RESUMES = [
    Row(
        "a held judgement is taken up as it stands, with the claim it belongs to",
        PAUSED,
        e.ResumeAsked(),
        {
            "phase": "judging",
            "control.held_todo": (),
            "control.held_phase": "working",
            "reason": "",
            "todo": PAUSED.control.held_todo,
        },
    ),
    Row(
        "a held baseline is taken up as it stands",
        decide(LIVE["baseline"], e.PauseAsked(now=True)),
        e.ResumeAsked(),
        {
            "phase": "baseline",
            "control.held_todo": (),
            "control.held_phase": "working",
            "reason": "",
            "todo": LIVE["baseline"].todo,
        },
    ),
    Row(
        "a held call is called",
        decide(READY, e.PauseAsked()),
        e.ResumeAsked(),
        {"phase": "working", "control.held_todo": (), "reason": "", "todo": (RUN_1,)},
    ),
    Row(
        "paused between two iterations: the next call, and every count stays",
        BETWEEN,
        e.ResumeAsked(),
        {
            "phase": "working",
            "reason": "",
            "work.tree_before": "t1",
            "iteration": 2,
            "todo": (actions.RunAgent(2, 2),),
        },
    ),
    Row(
        "paused in a wait: the wait begins again",
        decide(WAITING, e.PauseAsked()),
        e.ResumeAsked(),
        {"phase": "waiting", "reason": "", "todo": WAITING.todo},
    ),
    Row(
        "paused and nearly paused again: the second asking is forgotten",
        BETWEEN.with_control(pause_reason="again"),
        e.ResumeAsked(),
        {
            "phase": "working",
            "control.pause_reason": "",
            "reason": "",
            "work.tree_before": "t1",
            "iteration": 2,
            "todo": (actions.RunAgent(2, 2),),
        },
    ),
    Row(
        "exhausted and resumed with raised limits: it goes on",
        EXHAUSTED,
        MORE,
        {
            **FRESH,
            "limits": Limits(iterations=3, time=110.0, cost=2.5, tokens=57),
            "progress.history": (),
            "phase": "working",
            "iteration": 2,
            "work.tree_before": "t1",
            "todo": (actions.RunAgent(2, 2),),
        },
    ),
    Row(
        "exhausted and resumed without more: it ends again before it spends",
        EXHAUSTED,
        e.ResumeAsked(),
        {
            **FRESH,
            "progress.history": (),
            "phase": "working",
            "todo": done("exhausted", "1 of 1 iterations used"),
        },
    ),
    Row(
        "what is not limited is not raised",
        b.outcome("blocked"),
        MORE,
        {
            **FRESH,
            "limits": Limits(iterations=17),
            "progress.history": (),
            "phase": "working",
            "iteration": 2,
            "work.tree_before": "t1",
            "todo": (actions.RunAgent(2, 2),),
        },
    ),
    Row(
        "stalled and resumed: every count starts anew, and so does the judgement",
        COUNTED,
        e.ResumeAsked(),
        {
            **FRESH,
            "proof.finals_tree": "",
            "proof.guards_tree": "",
            "agents.faults_in_row": 0,
            "agents.outages_in_row": 0,
            "agents.denials_in_row": 0,
            "progress.integrity_hits": 0,
            "progress.history": (),
            "phase": "working",
            "iteration": 4,
            "todo": (actions.RunAgent(4, 4),),
        },
    ),
    Row(
        "ended while a pause was asked: the resume forgets the asking",
        b.close(
            decide(
                b.answer(decide(CALLING, e.PauseAsked(now=True)), fault=Fault("missing", "x")),
                b.snapshot(BASE, CALLING),
            )
        ),
        e.ResumeAsked(),
        {
            **FRESH,
            "control.pause_reason": "",
            "control.pause_now": False,
            "phase": "working",
            "iteration": 1,
            "todo": (actions.RunAgent(1, 2),),
        },
    ),
    Row(
        "a login that expired is tried again",
        b.close(b.work(READY, BASE, fault=Fault("auth", "x"))),
        e.ResumeAsked(),
        {**FRESH, "phase": "working", "iteration": 1, "todo": (actions.RunAgent(1, 2),)},
    ),
    Row(
        "three crashes and a resume: a breath, then another call",
        b.close(b.faulted(3)),
        e.ResumeAsked(),
        {
            **FRESH,
            "agents.faults_in_row": 0,
            "phase": "waiting",
            "control.wait_reason": "crash: busy",
            "todo": (actions.Wait(seconds=1.0, until=None, why="crash: busy"),),
        },
    ),
    Row(
        "broken before the baseline was in: the baseline is taken again",
        BROKEN_BASE,
        e.ResumeAsked(),
        {"outcome": None, "reason": "", "phase": "baseline", "proof.baseline": {}, "todo": b.started().todo},
    ),
]
WAITS = [
    Row(
        "the wait is over: the fault is forgotten and the agent called",
        WAITING,
        e.WaitOver(),
        {
            "phase": "working",
            "call.fault": None,
            "iteration": 1,
            "control.wait_reason": "",
            "todo": (actions.RunAgent(1, 2),),
        },
    ),
    Row(
        "a wait until a named time is over: the time is forgotten",
        b.waiting(reset_at=90.0),
        e.WaitOver(),
        {
            "phase": "working",
            "call.fault": None,
            "iteration": 1,
            "control.wait_until": None,
            "control.wait_reason": "",
            "todo": (actions.RunAgent(1, 2),),
        },
    ),
    Row(
        "the wait is over and the time is up",
        replace(b.waiting("crash"), limits=Limits(time=4.0), spend=replace(WAITING.spend, waited=4.0)),
        e.WaitOver(),
        {"phase": "working", "call.fault": None, "todo": done("exhausted", "time limit of 4 s reached")},
    ),
]
ROWS = [*STEERS, *STINTS, *PAUSES, *ABORTS, *ENDS, *RESUMES, *WAITS]

REFUSED: list[tuple[str, Loop, e.AnyEvent, str]] = [
    ("verified is final", b.outcome("verified"), e.ResumeAsked(), "verified is final"),
    ("aborted is final", b.outcome("aborted"), e.ResumeAsked(), "aborted is final"),
    ("aborted while paused", decide(PAUSED, e.AbortAsked()), e.ResumeAsked(), "it is about to end"),
    ("no wait is owed", decide(WAITING, e.AbortAsked()), e.WaitOver(), "nothing was waited for"),
    (
        "another outcome",
        ENDING,
        e.LoopEnded(outcome="verified", reason="", grade="A"),
        "the loop was not to be finished this way",
    ),
    (
        "a better grade",
        FINISH,
        e.LoopEnded(outcome="verified", reason="", grade="A"),
        "the loop was not to be finished this way",
    ),
    (
        "nothing to finish",
        READY,
        e.LoopEnded(outcome="aborted", reason=""),
        "the loop was not to be finished this way",
    ),
    (
        "nothing owed",
        PAUSED,
        e.LoopEnded(outcome="aborted", reason=""),
        "the loop was not to be finished this way",
    ),
]
