"""The law of the machine, line by line: in this state, this fact changes exactly these fields.

What follows a judgement (take-back, stall, endings, waits) has its own lines in law_after_judging.py.
"""

from __future__ import annotations

import builders as b
from builders import BASE, Row
from msgspec.structs import replace

from ralph.core.decide.machine import decide, fold
from ralph.core.decide.stuck.take_back import WORSE
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, Steer
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits, Spend, Usage
from ralph.core.model.verdict import Checkpoint, Verdict

TWO = b.order(b.gate(), b.gate("lint", proof=False))
NEW = Loop()
BEGUN = fold([e.LoopStarted(rules=e.RULES, order=b.order())])
READY = b.based()  # the first call is owed
CALLING = b.call(READY)
SNAP = b.answer(CALLING, b.COMPLETE)  # a snapshot is owed
SLOW = b.answer(b.call(b.based(None, b.red(count=3, seconds=2.0))))
JUDGING = b.work(READY, "t1")
FINAL = b.judge(JUDGING, b.green())
GUARDS = b.guarding(READY)
PUBLISH = b.conclude(GUARDS, b.guard())
FINISH = decide(PUBLISH, e.ResultPublished(branch="ralph/fix-1", commit="r", tree="t1"))
WAITING = b.waiting()
PAUSED = b.paused_judging()
ABORTING = decide(CALLING, e.AbortAsked(reason="enough"))
RESTORE = b.judge(b.work(b.iterate(READY, "t1", b.red(count=4)), "t2", lines=8), b.red(tree="t2", count=9))
ASIDE = "it is kept as refs/ralph/fix-1/rejected/2"
WORSE_TWICE = tuple(map(b.compared, RESTORE.progress.recent))
FORGIVEN = (*WORSE_TWICE[:-1], replace(WORSE_TWICE[-1], worse=False))
TAKEN_BACK = f"The work of iteration 2 was reverted to the state at the start: {WORSE}; {ASIDE}"
LIVE = {
    "proof.baseline": b.started(),
    "working": READY,
    "judging": JUDGING,
    "waiting": WAITING,
    "paused": PAUSED,
}
RUN_1 = model_actions.RunAgent(iteration=1, call=1)


def pause(reason: str, phase: str, held: tuple[actions.Action, ...]) -> dict[str, object]:
    change: dict[str, object] = {"phase": "paused", "reason": reason, "todo": ()}
    return {**change, "control.held_todo": held, "control.held_phase": phase} if held else change


def fault(kind: str, loop: Loop = CALLING) -> Loop:
    return b.answer(loop, fault=Fault(kind, "busy"))  # type: ignore[arg-type]


def ask(stage: str, tree: str, *gates: str) -> tuple[actions.Action, ...]:
    return (actions.RunGates(stage=stage, tree=tree, gates=gates or ("test",)),)  # type: ignore[arg-type]


def done(outcome: str, reason: str, grade: str | None = None) -> tuple[actions.Action, ...]:
    return (actions.Finish(outcome, reason, grade),)  # type: ignore[arg-type]


def gate_ended(verdict: Verdict) -> e.GateEnded:
    return e.GateEnded(iteration=0, verdict=verdict)


BASE_RED = b.at_base(b.red(count=3))
BASE_GREEN = b.at_base(b.green())
NO_TOOL = b.at_base(b.red(status="error", cause="missing", summary="no such program"))
SEALED = b.order(limits=Limits(iterations=4))

START = [
    Row(
        "a loop starts with its order sealed and a workspace owed",
        NEW,
        e.LoopStarted(rules=e.RULES, order=SEALED),
        {
            "order": SEALED,
            "rules": e.RULES,
            "phase": "baseline",
            "limits": SEALED.limits,
            "work.tree": BASE,
            "work.tree_before": BASE,
            "work.commit": "c0",
            "landing.branch": "ralph/fix-1",
            "todo": (actions.MakeWorkspace(),),
        },
    ),
    Row(
        "a stint tells the sandbox level",
        BEGUN,
        e.StintStarted(pid=1, host="h", version="1", protection="S3"),
        {"work.protection": "S3"},
    ),
    Row(
        "the workspace is there: every gate judges the base",
        fold([e.LoopStarted(rules=e.RULES, order=TWO)]),
        e.WorkspaceMade(path="/w"),
        {"work.workspace": "/w", "todo": ask("baseline", BASE, "test", "lint")},
    ),
    Row(
        "without a gate nothing can be proven and no agent is called",
        fold([e.LoopStarted(rules=e.RULES, order=replace(TWO, criterion=replace(TWO.criterion, gates=())))]),
        e.WorkspaceMade(path="/w"),
        {
            "work.workspace": "/w",
            "todo": done("broken", "no check is required, so nothing can prove this task"),
        },
    ),
]
BASELINE = [
    Row(
        "one baseline verdict of two: the other is still owed",
        b.started(TWO),
        gate_ended(BASE_RED),
        {"proof.baseline": {"test": BASE_RED}, "todo": ask("baseline", BASE, "lint")},
    ),
    Row(
        "a red baseline: the first call is owed",
        b.started(),
        gate_ended(BASE_RED),
        {
            "proof.baseline": {"test": BASE_RED},
            "proof.verdicts": {"test": BASE_RED},
            "proof.verdicts_tree": BASE,
            "progress.best": Checkpoint(0, BASE, "c0", passing=0, red=3),
            "phase": "working",
            "iteration": 1,
            "todo": (RUN_1,),
        },
    ),
    Row(
        "the proof is green already: satisfied without any agent call",
        b.started(),
        gate_ended(BASE_GREEN),
        {
            "proof.baseline": {"test": BASE_GREEN},
            "proof.verdicts": {"test": BASE_GREEN},
            "proof.verdicts_tree": BASE,
            "progress.best": Checkpoint(0, BASE, "c0", passing=1, red=0),
            "todo": done("satisfied", "test was green before any agent call"),
        },
    ),
    Row(
        "a required gate whose tool is missing breaks the loop before any agent call",
        b.started(),
        gate_ended(NO_TOOL),
        {
            "proof.baseline": {"test": NO_TOOL},
            "todo": done("broken", 'gate "test" cannot run: no such program'),
        },
    ),
    Row(
        "a pause asked during the baseline comes after it",
        decide(b.started(), e.PauseAsked(reason="lunch")),
        gate_ended(BASE_RED),
        {
            "proof.baseline": {"test": BASE_RED},
            "proof.verdicts": {"test": BASE_RED},
            "proof.verdicts_tree": BASE,
            "progress.best": Checkpoint(0, BASE, "c0", passing=0, red=3),
            "phase": "paused",
            "control.pause_reason": "",
            "reason": "lunch",
            "todo": (),
        },
    ),
]
CALLS = [
    Row(
        "a call is counted when it starts, before the agent is spawned",
        decide(READY, e.Steered(text="use tabs")),
        e.AgentStarted(iteration=1, call=1, agent="demo", prompt="p"),
        {
            "call.number": 1,
            "call.running": True,
            "call.prompt": "p",
            "control.steers": (),
            "control.steers_in_call": (Steer("use tabs"),),
            "spend": Spend(calls=1),
            "call.times": (0.0,),
        },
    ),
    Row(
        "a new call forgets the claim, the fault and (without an hourly limit) the times of those before",
        READY.with_call(claim=b.COMPLETE, fault=Fault("context", "too long"), times=(1.0, 2.0)),
        e.AgentStarted(iteration=1, call=1, agent="demo", prompt="p"),
        {
            "call.number": 1,
            "call.running": True,
            "call.prompt": "p",
            "call.claim": None,
            "call.fault": None,
            "spend": Spend(calls=1),
            "call.times": (0.0,),
        },
    ),
    Row(
        "a call that ended owes a snapshot; what it did not tell stays unknown",
        CALLING,
        e.AgentEnded(iteration=1, call=1, claim=b.COMPLETE, denials=("rm",)),
        {
            "call.running": False,
            "call.claim": b.COMPLETE,
            "call.denials": ("rm",),
            "agents.denials_in_row": 1,
            "spend": Spend(calls=1, blind=1),
            "todo": (actions.TakeSnapshot(iteration=1),),
        },
    ),
    Row(
        "a call that was refused nothing ends the row of denials",
        replace(
            CALLING.with_agents(denials_in_row=1).with_call(denials=("rm",)),
            spend=Spend(calls=1, tokens=5, cost=0.5),
        ),
        e.AgentEnded(iteration=1, call=1, fault=Fault("crash", "x"), usage=Usage(tokens=7, cost=0.25)),
        {
            "call.running": False,
            "call.fault": Fault("crash", "x"),
            "call.denials": (),
            "agents.denials_in_row": 0,
            "spend": Spend(calls=1, tokens=12, cost=0.75),
            "todo": (actions.TakeSnapshot(iteration=1),),
        },
    ),
    Row(
        "the first cost that is told is the first that counts",
        CALLING,
        e.AgentEnded(iteration=1, call=1, usage=Usage(tokens=7, cost=0.25)),
        {
            "call.running": False,
            "spend": Spend(calls=1, tokens=7, cost=0.25),
            "todo": (actions.TakeSnapshot(iteration=1),),
        },
    ),
    Row(
        "a cost that is not told leaves the known one as it is",
        replace(CALLING, spend=Spend(calls=1, tokens=5, cost=0.5)),
        e.AgentEnded(iteration=1, call=1),
        {
            "call.running": False,
            "spend": Spend(calls=1, tokens=5, cost=0.5, blind=1),
            "todo": (actions.TakeSnapshot(iteration=1),),
        },
    ),
]
CHANGED = {"work.tree": "t1", "work.commit": "c-t1", "work.changed_lines": 8}
SNAPSHOTS = [
    Row(
        "a new tree is judged by every gate; said to be complete, in checkouts made anew",
        SNAP.with_agents(faults_in_row=2, outages_in_row=1).with_progress(
            revert_note="iteration 0 was taken back"
        ),
        b.snapshot("t1", SNAP, lines=8),
        {
            **CHANGED,
            "agents.faults_in_row": 0,
            "agents.outages_in_row": 0,
            "progress.revert_note": "",
            "phase": "judging",
            "proof.stage": "fast",
            "proof.verdicts": {},
            "proof.verdicts_tree": "t1",
            "proof.protection": "S2",
            "todo": (actions.RunGates("fast", "t1", ("test",), fresh=True),),
        },
    ),
    Row(
        "not said to be complete, but checks that take long: also in checkouts made anew",
        SLOW,
        b.snapshot("t1", SLOW, lines=8),
        {
            **CHANGED,
            "phase": "judging",
            "proof.stage": "fast",
            "proof.verdicts": {},
            "proof.verdicts_tree": "t1",
            "proof.protection": "S2",
            "todo": (actions.RunGates("fast", "t1", ("test",), fresh=True),),
        },
    ),
    Row(
        "a fault that left a changed tree is judged as usual and refunds nothing",
        fault("crash"),
        b.snapshot("t1", SNAP, lines=8),
        {
            **CHANGED,
            "phase": "judging",
            "proof.stage": "fast",
            "proof.verdicts": {},
            "proof.verdicts_tree": "t1",
            "proof.protection": "S2",
            "todo": ask("fast", "t1"),
        },
    ),
    Row(
        "stopped now with a changed tree: the checkpoint is kept, its judgement waits for the resume",
        b.answer(decide(CALLING, e.PauseAsked(now=True)), fault=Fault("interrupted", "stopped")),
        b.snapshot("t1", SNAP, lines=8),
        {
            **CHANGED,
            "proof.stage": "fast",
            "proof.verdicts": {},
            "proof.verdicts_tree": "t1",
            "proof.protection": "S2",
            "control.pause_reason": "",
            "control.pause_now": False,
            **pause("paused by the user", "judging", ask("fast", "t1")),
        },
    ),
    Row(
        "aborted with a changed tree: the checkpoint is kept, nothing is judged",
        b.answer(ABORTING, fault=Fault("interrupted", "stopped")),
        b.snapshot("t1", SNAP, lines=8),
        {**CHANGED, "todo": done("aborted", "enough")},
    ),
]
JUDGEMENT = [
    Row(
        "one fast verdict of two",
        b.work(b.based(TWO, b.red(count=3), b.green("lint")), "t1"),
        gate_ended(b.green("lint")),
        {"proof.verdicts": {"lint": b.green("lint")}, "todo": ask("fast", "t1", "test")},
    ),
    Row(
        "green in a checkout made anew counts as final: the guards are asked at once",
        JUDGING,
        gate_ended(b.final(b.green())),
        {
            "proof.verdicts": {"test": b.final(b.green())},
            "proof.finals": {"test": b.final(b.green())},
            "proof.stage": "final",
            "proof.finals_tree": "t1",
            "todo": (actions.RunGuards(tree="t1"),),
        },
    ),
    Row(
        "one of two was judged in an incremental checkout: all again in fresh ones",
        b.judge(b.work(b.based(TWO, b.red(count=3), b.green("lint")), "t1"), b.final(b.green())),
        gate_ended(b.green("lint")),
        {
            "proof.verdicts": {"test": b.final(b.green()), "lint": b.green("lint")},
            "proof.stage": "final",
            "proof.finals_tree": "t1",
            "todo": ask("final", "t1", "test", "lint"),
        },
    ),
    Row(
        "green in the incremental checkout: the same again in a fresh one",
        JUDGING,
        gate_ended(b.green()),
        {
            "proof.verdicts": {"test": b.green()},
            "proof.stage": "final",
            "proof.finals_tree": "t1",
            "todo": ask("final", "t1"),
        },
    ),
    Row(
        "one final verdict of two",
        b.judge(b.work(b.based(TWO, b.red(count=3), b.green("lint")), "t1"), b.green(), b.green("lint")),
        gate_ended(b.final(b.green())),
        {"proof.finals": {"test": b.final(b.green())}, "todo": ask("final", "t1", "lint")},
    ),
    Row(
        "green in the fresh checkout: the guards look at that tree",
        FINAL,
        gate_ended(b.final(b.green())),
        {"proof.finals": {"test": b.final(b.green())}, "todo": (actions.RunGuards(tree="t1"),)},
    ),
    Row(
        "no guard finds anything: the result is published with its grade",
        GUARDS,
        e.GuardsEnded(iteration=1, tree="t1", results=(b.guard(),)),
        {
            "proof.guards": (b.guard(),),
            "proof.guards_tree": "t1",
            "grade": "B",
            "proof.unproven": ("test: read by exit code only, not per test",),
            "todo": (actions.PublishResult(tree="t1", grade="B"),),
        },
    ),
    Row(
        "published: verified",
        PUBLISH,
        e.ResultPublished(branch="ralph/other", commit="r", tree="t1"),
        {
            "landing.branch": "ralph/other",
            "landing.result": "r",
            "todo": done("verified", "every check passed on this tree", "B"),
        },
    ),
    Row(
        "taken back: the workspace stands at the best checkpoint and the agent is called again",
        RESTORE,
        e.WorkspaceRestored(iteration=2, tree=BASE, rejected="x"),
        {
            "work.tree": BASE,
            "work.commit": "c0",
            "work.changed_lines": 0,
            "work.tree_before": BASE,
            "progress.revert_note": TAKEN_BACK,
            "progress.history": FORGIVEN,
            "iteration": 3,
            "todo": (actions.RunAgent(iteration=3, call=3),),
        },
    ),
    Row(
        "taken back while a pause is asked: no further call",
        decide(RESTORE, e.PauseAsked(reason="lunch")),
        e.WorkspaceRestored(iteration=2, tree=BASE),
        {
            "work.tree": BASE,
            "work.commit": "c0",
            "work.changed_lines": 0,
            "progress.revert_note": TAKEN_BACK,
            "progress.history": FORGIVEN,
            "control.pause_reason": "",
            **pause("lunch", "working", ()),
        },
    ),
]
ROWS = [*START, *BASELINE, *CALLS, *SNAPSHOTS, *JUDGEMENT]
