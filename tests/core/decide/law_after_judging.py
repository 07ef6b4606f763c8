"""The law of what follows a judgement: leave, end, pause, take back, wait, or call the agent again.

Here a line names the fields that matter; the rest is in law_machine.py, field by field.
"""

from __future__ import annotations

from typing import Any

import builders as b
from builders import BASE, Row
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.decide.stuck.strategies import RUNGS, demand_text
from ralph.core.decide.stuck.take_back import ACCUSED as ACCUSED_WHY
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.breaker_state import Footprint, Trouble
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.spend import Limits, Spend
from ralph.core.model.verdict import Checkpoint, Verdict

TWO = b.order(b.gate(), b.gate("lint", proof=False))
READY = b.based()
C_CLASS = b.order(b.gate(), task_class="implement-feature")
GREEN_BASE = b.based(C_CLASS, b.green(per_test=True))  # no witness possible: grade C at best


def done(outcome: str, reason: str) -> tuple[model_actions.Action, ...]:
    return (actions.Finish(outcome, reason),)  # type: ignore[arg-type]


def again(iteration: int, call: int | None = None) -> tuple[actions.Action, ...]:
    return (actions.RunAgent(iteration=iteration, call=call or iteration),)


def last(loop: Loop, verdict: Verdict) -> tuple[Loop, e.GateEnded]:
    return loop, e.GateEnded(iteration=loop.iteration, verdict=verdict)


def snap(loop: Loop, tree: str, claim: Claim | None = None) -> tuple[Loop, e.CheckpointMade]:
    """The next call ended and left this tree."""
    loop = b.answer(b.call(loop), claim)
    return loop, b.snapshot(tree, loop)


def snap_owed(loop: Loop) -> tuple[Loop, e.CheckpointMade]:
    return loop, b.snapshot(BASE, loop)


def found(*results: Any, loop: Loop | None = None) -> tuple[Loop, e.GuardsEnded]:
    loop = loop or b.guarding(READY)
    tree = results[0].tree
    return loop, e.GuardsEnded(iteration=loop.iteration, tree=tree, results=results)


def sealed(limits: Limits | None = None, **more: Any) -> Order:
    return b.order(limits=limits, **more)


def judging(limits: Limits | None = None, spend: Spend | None = None, **more: Any) -> Loop:
    """A first snapshot under these limits, with this already spent."""
    work: dict[str, Any] = {key: more.pop(key) for key in ("claim", "denials") if key in more}
    loop = b.work(b.based(sealed(limits, **more)), "t1", **work)
    return replace(loop, spend=spend) if spend else loop


def nothing(count: int) -> Loop:
    """So many iterations that changed nothing, and the snapshot of the next one owed."""
    loop = READY
    for _ in range(count):
        loop = b.work(loop, BASE)
    return b.answer(b.call(loop))


def same_error(count: int, **order: Any) -> Loop:
    """So many iterations with a new tree and the same error, and the next one at its last verdict."""
    loop = b.based(sealed(on_fail="keep", **order))
    for turn in range(count):
        loop = b.iterate(loop, f"t{turn + 1}")
    return b.work(loop, f"t{count + 1}")


def turns(count: int) -> Loop:
    """Two versions taking turns, each with its own error; the first was progress, which counts for none."""
    loop = b.based(sealed(on_fail="keep"), b.red(count=9))
    for turn in range(count):
        loop = b.iterate(loop, f"ab{turn % 2}", b.red(tree=f"ab{turn % 2}", count=5 + turn % 2))
    return b.work(loop, f"ab{count % 2}")


def asked(why: str, trouble: Trouble, rung: int) -> str:
    """A demand in the words of the ladder, after this many before it."""
    rungs = RUNGS[trouble]
    return demand_text(why, rungs[rung], tuple(one.strategy for one in rungs[:rung]))


THREE_TIMES = "the same error 3 times in a row: try a different approach"
KEEP = sealed(on_fail="keep")
HYGIENE = b.guard("t1", "TODO", name="stubs", integrity=False)
# Fast it looked like a witness, in the fresh checkout like none: the claim decides.
BY_EXIT = b.judge(b.work(b.based(C_CLASS, b.red(per_test=True)), "t1"), b.green())
UNCLAIMED = b.conclude(b.judge(BY_EXIT, b.final(b.green(per_test=True))), b.guard())
AT_WORK = Claim("IN_PROGRESS")
NO_TEST = b.green(per_test=True)  # green, and nothing of it was red before
UNSHOWN = b.guarding(GREEN_BASE, "t1", NO_TEST)
CHOOSY = b.based(b.order(task_class="implement-feature", min_grade="A"), NO_TEST)
NOTHING_RED = "no check that failed before passes now: this shows only that nothing got worse"
OWN = (
    "the witness is the agent's own: 1 test red on the base source and green now, "
    "1 of 1 sabotages were noticed"
)
# Judged in full where the sandbox was weaker than the grade asks for.
TOP = b.order(min_grade="A")
WITNESSED = b.green(per_test=True, witness_count=1)
BOXED = b.guarding(b.based(TOP, b.red(per_test=True)), "t1", WITNESSED)
UNBOXED = b.conclude(b.weakened(BOXED), b.guard())
SHORT = "the proof is grade B and A is required: sandbox S0: which files the checks loaded is not proven"
ACCUSED = b.conclude(b.guarding(b.based(KEEP)), b.guard("t1", "test_a"))  # kept, integrity 1
TIDIED = b.conclude(b.guarding(ACCUSED, "t2"), b.guard("t2", "TODO", name="stubs", integrity=False))
NO_WITNESS = (
    "all checks pass, but none of them failed before: "
    "write a test for the new behaviour, then say COMPLETE in the status block"
)
JUDGED = [
    Row(
        "red: the sentences say why, the footprint is kept, the agent is called again",
        *last(judging(), b.red(count=2)),
        {
            "phase": "working",
            "proof.not_yet": ("test: fail",),
            "progress.history": (Footprint(1, "t1", BASE, "test:d2", 2, "test:s2", progress=True),),
            "progress.best": Checkpoint(1, "t1", "c-t1", passing=0, red=2),
            "work.tree_before": "t1",
            "iteration": 2,
            "progress.redirect": "",
            "todo": again(2),
        },
    ),
    Row(
        "red in the fresh checkout only: the fresh verdict is the one that counts",
        *last(b.judge(judging(), b.green()), b.final(b.red(count=2))),
        {
            "phase": "working",
            "proof.not_yet": ("test: fail",),
            "progress.history": (Footprint(1, "t1", BASE, "test:d2", 2, "test:s2", progress=True),),
            "todo": again(2),
        },
    ),
    Row(
        "a tree that was red in the fresh checkout is not asked again: that could only be luckier",
        *snap(b.judge(judging(), b.green(), b.final(b.red(count=2))), "t1", b.COMPLETE),
        {"phase": "working", "proof.not_yet": ("test: fail",), "todo": again(3)},
    ),
    Row(
        "green, but never red before: the guards may find a witness, so it is judged in full",
        *last(b.work(GREEN_BASE, "t1"), NO_TEST),
        {"phase": "judging", "proof.stage": "final", "todo": (actions.RunGates("final", "t1", ("test",)),)},
    ),
    Row(
        "green, but never red before, in the fresh checkout too: the guards are asked",
        *last(b.judge(b.work(GREEN_BASE, "t1"), NO_TEST), b.final(NO_TEST)),
        {"phase": "judging", "todo": (actions.RunGuards(tree="t1"),)},
    ),
    Row(
        "green, but never red before, while the agent says it is at work: not yet",
        *last(b.work(GREEN_BASE, "t1", AT_WORK), NO_TEST),
        {
            "phase": "working",
            "proof.not_yet": (NO_WITNESS,),
            "proof.unproven": (NOTHING_RED,),
            "proof.finals_tree": "",
            "todo": again(2),
        },
    ),
    Row(
        "green, but never red before, where only a witness of the user's would do: no guard is asked",
        *last(b.work(CHOOSY, "t1", b.COMPLETE), NO_TEST),
        {
            "phase": "working",
            "proof.not_yet": (f"the proof is grade C and A is required: {NOTHING_RED}",),
            "proof.finals_tree": "",
            "todo": again(2),
        },
    ),
    Row(
        "what was in progress is judged in full when the agent says nothing more",
        *snap(b.iterate(GREEN_BASE, "t1", NO_TEST, claim=AT_WORK), "t1"),
        {"phase": "judging", "proof.stage": "final", "todo": (actions.RunGates("final", "t1", ("test",)),)},
    ),
    Row(
        "the agent's own tests show it: verified without a claim",
        *found(*b.measured(), loop=UNSHOWN),
        {
            "phase": "judging",
            "grade": "B",
            "proof.not_yet": (),
            "proof.unproven": (OWN,),
            "todo": (actions.PublishResult(tree="t1", grade="B"),),
        },
    ),
    Row(
        "the agent's own tests notice no sabotage and there is no claim: not yet",
        *found(*b.measured(noticed=0), loop=UNSHOWN),
        {"phase": "working", "proof.not_yet": (NO_WITNESS,), "grade": None, "todo": again(2)},
    ),
    Row(
        "nothing shows it and there is no claim: not yet",
        *found(b.guard(), loop=UNSHOWN),
        {"phase": "working", "proof.not_yet": (NO_WITNESS,), "todo": again(2)},
    ),
    Row(
        "nothing shows it, but the agent says it is done: grade C",
        *found(b.guard(), loop=b.guarding(GREEN_BASE, "t1", NO_TEST, claim=b.COMPLETE)),
        {"phase": "judging", "grade": "C", "todo": (actions.PublishResult(tree="t1", grade="C"),)},
    ),
    Row(
        "guards that did not look at all verify nothing",
        b.guarding(READY),
        e.GuardsEnded(iteration=1, tree="t1", results=()),
        {"phase": "working", "proof.not_yet": ("no guard has checked this tree",), "todo": again(2)},
    ),
    Row(
        "a claim without a new tree completes a proof: nothing is judged again",
        *snap(UNCLAIMED, "t1", b.COMPLETE),
        {"phase": "judging", "grade": "C", "todo": (actions.PublishResult(tree="t1", grade="C"),)},
    ),
    Row(
        "without the claim nothing moves",
        *snap(UNCLAIMED, "t1"),
        {"phase": "working", "proof.not_yet": (NO_WITNESS,), "todo": again(3)},
    ),
    Row(
        "a result short of the asked grade is not verified, and says why",
        *found(b.guard(), loop=b.weakened(BOXED)),
        {
            "phase": "working",
            "proof.not_yet": (SHORT,),
            "proof.unproven": ("sandbox S0: which files the checks loaded is not proven",),
            "todo": again(2),
        },
    ),
    Row(
        "in a weaker sandbox too, the fresh verdicts are those that are told",
        *last(
            b.judge(b.work(b.based(TOP, b.red(count=2, per_test=True)), "t1"), WITNESSED).with_work(
                protection="S0"
            ),
            b.final(b.red(count=2)),
        ),
        {"phase": "working", "proof.not_yet": ("test: fail",), "todo": again(2)},
    ),
    Row(
        "the same tree in a stronger sandbox is judged there again, in full",
        *snap(UNBOXED.with_work(protection="S2"), "t1"),
        {
            "phase": "judging",
            "proof.stage": "fast",
            "proof.verdicts": {},
            "proof.finals_tree": "",
            "proof.guards_tree": "",
            "proof.protection": "S2",
            "todo": (actions.RunGates("fast", "t1", ("test",)),),
        },
    ),
    Row(
        "the fresh verdicts of another tree prove nothing about this one",
        *last(b.work(TIDIED, "t1"), b.green()),
        {
            "phase": "judging",
            "proof.finals": {},
            "proof.finals_tree": "t1",
            "todo": (actions.RunGates("final", "t1", ("test",)),),
        },
    ),
    Row(
        "the last iteration that was allowed may still be verified",
        *last(judging(Limits(iterations=1)), b.green()),
        {"phase": "judging", "todo": (actions.RunGates("final", "t1", ("test",)),)},
    ),
]
GUARDED = [
    Row(
        "a first iteration that leaves as much red as there was is kept",
        *last(b.work(b.based(None, b.red(count=2)), "t1"), b.red(count=2)),
        {"phase": "working", "todo": again(2)},
    ),
    Row(
        "a first iteration that leaves more red than there was is kept: the next one may mend it",
        *last(b.work(b.based(None, b.red(count=2)), "t1"), b.red(count=3)),
        {"phase": "working", "todo": again(2)},
    ),
    Row(
        "an integrity finding accuses the tree: never the best, taken back",
        *found(b.guard(name="protected"), b.guard("t1", "test_a")),
        {
            "phase": "working",
            "proof.not_yet": ("inventory: test_a is gone",),
            "progress.integrity_hits": 1,
            "progress.accused_trees": ("t1",),
            "progress.best": Checkpoint(0, BASE, "c0", passing=0, red=3),
            "progress.history": (Footprint(1, "t1", BASE, "test_a", 0, "test_a", progress=False),),
            "todo": (
                actions.RestoreWorkspace(
                    READY.progress.best, Checkpoint(1, "t1", "c-t1", red=0), ACCUSED_WHY
                ),
            ),
        },
    ),
    Row(
        "two findings in one judgement are one offence",
        *found(b.guard("t1", "test_a", "test_b"), b.guard("t1", "conftest", name="protected")),
        {
            "progress.integrity_hits": 1,
            "progress.history": (
                Footprint(
                    1, "t1", BASE, "test_a|test_b|conftest", 0, "test_a|test_b|conftest", progress=False
                ),
            ),
        },
    ),
    Row(
        "an accused tree is kept when the user keeps everything",
        *found(b.guard("t1", "test_a"), loop=b.guarding(b.based(KEEP))),
        {"phase": "working", "progress.integrity_hits": 1, "todo": again(2)},
    ),
    Row(
        "twice accused: a human must look",
        *snap(ACCUSED, "t1"),
        {
            "progress.integrity_hits": 2,
            "progress.accused_trees": ("t1",),
            "todo": done("blocked", "tests or gates were tampered with twice; a human must review the tree"),
        },
    ),
    Row(
        "an accused tree stays accused, however it looks when it comes back",
        *last(b.work(TIDIED, "t1"), b.red(count=1)),
        {
            "progress.integrity_hits": 2,
            "progress.accused_trees": ("t1",),
            "progress.best": TIDIED.progress.best,
            "todo": done("blocked", "tests or gates were tampered with twice; a human must review the tree"),
        },
    ),
    Row(
        "another accused tree joins the first",
        *found(b.guard("t3", "test_b"), loop=b.guarding(ACCUSED, "t3")),
        {"progress.integrity_hits": 2, "progress.accused_trees": ("t1", "t3")},
    ),
    Row(
        "a hygiene finding only says not yet",
        *found(HYGIENE),
        {
            "phase": "working",
            "proof.not_yet": ("stubs: TODO is gone",),
            "progress.integrity_hits": 0,
            "progress.best": Checkpoint(1, "t1", "c-t1", passing=1, red=0),
            "progress.history": (Footprint(1, "t1", BASE, "TODO", 0, "TODO", progress=True),),
            "todo": again(2),
        },
    ),
    Row(
        "a finding in the last iteration before a pause",
        *found(HYGIENE, loop=decide(b.guarding(READY), e.PauseAsked(reason="lunch"))),
        {
            "phase": "paused",
            "reason": "lunch",
            "control.pause_reason": "",
            "control.held_todo": (),
            "control.held_phase": "working",
            "todo": (),
        },
    ),
    Row(
        "a finding and the hour's calls used up",
        *found(HYGIENE, loop=b.guarding(b.based(sealed(Limits(calls_per_hour=1))))),
        {"phase": "waiting", "control.wait_until": 3600.0, "control.wait_reason": "1 calls per hour used"},
    ),
]
STALLS = [
    Row("twice nothing changed", *snap_owed(nothing(1)), {"phase": "working", "todo": again(3)}),
    Row(
        "three times nothing changed: stalled",
        *snap_owed(nothing(2)),
        {"phase": "working", "todo": done("stalled", "3 iterations in a row changed nothing")},
    ),
    Row(
        "the same error twice: the next prompt asks for another approach (rule 12)",
        *last(same_error(1), b.red(tree="t2", count=3)),
        {"progress.redirect": asked("the same error twice in a row", "same-error", 0), "todo": again(3)},
    ),
    Row(
        "the same error three times: another approach is demanded",
        *last(same_error(2), b.red(tree="t3", count=3)),
        {"progress.redirect": asked(THREE_TIMES, "same-error", 1), "todo": again(4)},
    ),
    Row(
        "the demand is dropped once something else fails",
        *last(b.work(b.judge(same_error(2), b.red(tree="t3", count=3)), "t4"), b.red(tree="t4", count=4)),
        {"progress.redirect": "", "todo": again(5)},
    ),
    Row(
        "the same error five times: stalled",
        *last(same_error(4), b.red(tree="t5", count=3)),
        {"phase": "judging", "todo": done("stalled", "the same error 5 times in a row")},
    ),
    Row(
        "stalled comes before a pause",
        *last(decide(same_error(4), e.PauseAsked()), b.red(tree="t5", count=3)),
        {"phase": "judging", "todo": done("stalled", "the same error 5 times in a row")},
    ),
    Row(
        "a demand for another approach survives a pause",
        *last(decide(same_error(2), e.PauseAsked()), b.red(tree="t3", count=3)),
        {"phase": "paused", "progress.redirect": asked(THREE_TIMES, "same-error", 1)},
    ),
    Row(
        "two versions alternate: another approach is demanded",
        *last(turns(4), b.red(tree="ab0", count=5)),
        {
            "progress.redirect": asked(
                "the same two versions alternate: stop undoing and redoing, try a different approach",
                "circular",
                0,
            ),
            "todo": again(6),
        },
    ),
    Row(
        "two versions go on taking turns: stalled",
        *last(turns(6), b.red(tree="ab0", count=5)),
        {"todo": done("stalled", "the same two versions alternate (6 iterations)")},
    ),
]
ROWS = [*JUDGED, *GUARDED, *STALLS]
