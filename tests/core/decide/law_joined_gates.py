"""Gates that join the order of a loop that stopped: judged at the base first, then the tree at hand is."""

from __future__ import annotations

import builders as b
from builders import BASE, Row
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Checkpoint

NEW = b.gate("new")
OLD = b.green(per_test=True)  # green before and after
NEW_GREEN = b.green("new")
NEW_RED = b.red("new")


def ended_unproven(task_class: str = "regression", **more: object) -> Loop:
    loop = b.based(b.order(task_class=task_class, min_grade="B", **more), OLD)
    loop = b.conclude(b.guarding(loop, "t1", OLD, claim=b.COMPLETE), b.guard())
    if task_class != "regression":
        loop = b.work(loop, "t1", claim=b.COMPLETE)
    return b.close(loop)


def joined(loop: Loop, *gates: Gate) -> Loop:
    return decide(loop, e.ResumeAsked(gates=gates or (NEW,)))


def rejudged(loop: Loop, base: object, now: object) -> Loop:
    """The gate joined and said this of the base, and the tree at hand was judged by all gates, in full."""
    loop = b.judge(joined(loop), b.at_base(base))  # type: ignore[arg-type]
    loop = b.judge(loop, OLD, now)  # type: ignore[arg-type]
    if isinstance(loop.todo[0], actions.RunGates):
        loop = b.judge(loop, b.final(OLD), b.final(now))  # type: ignore[arg-type]
    return b.conclude(loop, b.guard()) if isinstance(loop.todo[0], actions.RunGuards) else loop


UNPROVEN = ended_unproven()
AT_BASE = actions.RunGates(stage="baseline", tree=BASE, gates=("new",))
AGAIN = actions.RunGates(stage="fast", tree="t1", gates=("test", "new"), fresh=True)
ASKED_PAUSE = decide(joined(UNPROVEN), e.PauseAsked(reason="lunch"))
IN = b.at_base(NEW_RED)
RESTING = joined(decide(b.waiting(), e.PauseAsked(reason="lunch")))  # its agent is at a limit
BOTH_RED = {"test": b.at_base(b.red(count=3)), "new": IN}
LIMIT = actions.Wait(seconds=300.0, until=None, why="limit: busy")
ROWS = [
    Row(
        "nothing was changed yet and the agent rests: the wait goes on",
        RESTING,
        e.GateEnded(iteration=1, verdict=IN),
        {
            "phase": "waiting",
            "proof.baseline": BOTH_RED,
            "proof.verdicts": BOTH_RED,
            "proof.verdicts_tree": BASE,
            "progress.best": Checkpoint(0, BASE, "c0", passing=0, red=4),
            "control.wait_reason": "limit: busy",
            "todo": (LIMIT,),
        },
    ),
    Row(
        "the base verdicts are in: the tree at hand is judged by every gate",
        joined(UNPROVEN),
        e.GateEnded(iteration=1, verdict=IN),
        {
            "phase": "judging",
            "proof.baseline": {"test": b.at_base(OLD), "new": IN},
            "proof.verdicts": {},
            "proof.verdicts_tree": "t1",
            "proof.stage": "fast",
            "progress.best": replace(UNPROVEN.progress.best, red=1, tree=BASE, commit="c0", iteration=0),
            "todo": (AGAIN,),
        },
    ),
]
