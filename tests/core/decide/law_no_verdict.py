"""The law for gates that gave no answer: nothing is known, they are asked again, then the loop pauses."""

from __future__ import annotations

from typing import Any

import builders as b
from builders import BASE, COMPLETE, Row
from msgspec.structs import replace

from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Verdict
from ralph.core.proof.grade import prove

STARTED = b.started()
TWO = b.started(b.order(b.gate(), b.gate("lint", proof=False)))
JUDGING = b.work(b.based(), "t1", COMPLETE)
FINAL = b.judge(JUDGING, b.green())
GUARDING = b.guarding(b.based())
WHY = 'gate "test" gave no answer 3 times, and the work is not the cause: '
LOST = "its keeper process was lost"


def none(stage: Any = "baseline", tree: str = BASE, gate: str = "test", **more: Any) -> e.NoVerdict:
    return e.NoVerdict(
        **{
            "iteration": 0,
            "stage": stage,
            "tree": tree,
            "gate": gate,
            "cause": "keeper-lost",
            **more,
        }
    )


def twice(loop: Loop, event: e.NoVerdict) -> Loop:
    return fold([event, event], loop)


def marked(event: e.NoVerdict, times: int = 1) -> tuple[tuple[str, str, str], ...]:
    return ((event.stage, event.tree, "" if event.stage == "guards" else event.gate),) * times


def pause(loop: Loop, why: str = LOST) -> dict[str, Any]:
    return {
        "phase": "paused",
        "reason": WHY + why,
        "todo": (),
        "control.held_todo": loop.todo,
        "control.held_phase": loop.phase,
        "control.stopped_by": "machine",
        "proof.no_answers": (),
    }


BASELINE, FAST, LAST, GUARDS = none(), none("fast", "t1"), none("final", "t1"), none("guards", "t1")
ROWS = [
    Row("a base without one is owed as before", STARTED, BASELINE, {"proof.no_answers": marked(BASELINE)}),
    Row("a tree without an answer is owed as before", JUDGING, FAST, {"proof.no_answers": marked(FAST)}),
    Row("so is it in the fresh checkout", FINAL, LAST, {"proof.no_answers": marked(LAST)}),
    Row("so are the guards", GUARDING, GUARDS, {"proof.no_answers": marked(GUARDS)}),
    Row(
        "what may be the tree's own doing is asked again too, and noted of the tree",
        JUDGING,
        replace(FAST, cause="killed", doubt=True),
        {"proof.no_answers": marked(FAST), "proof.doubted_tree": "t1"},
    ),
    Row("a second time is only counted", b.judge(STARTED), BASELINE, {"proof.no_answers": marked(BASELINE)}),
    Row("each gate has its own count", twice(TWO, none(gate="lint")), BASELINE, {
        "proof.no_answers": (*marked(none(gate="lint"), 2), *marked(BASELINE)),
    }),
    Row(
        "what another tree had is forgotten",
        JUDGING.with_proof(no_answers=marked(BASELINE, 2)),
        FAST,
        {"proof.no_answers": marked(FAST)},
    ),
    Row("the third time at the base pauses", twice(STARTED, BASELINE), BASELINE, pause(STARTED)),
    Row("the third time on a tree pauses", twice(JUDGING, FAST), FAST, pause(JUDGING)),
    Row("the third time in the fresh checkout pauses", twice(FINAL, LAST), LAST, pause(FINAL)),
    Row(
        "the third time of any guard's call pauses",
        twice(GUARDING, none("guards", "t1", "lint")),
        GUARDS,
        pause(GUARDING),
    ),
    Row(
        "the pause says what was said",
        twice(JUDGING, FAST),
        replace(FAST, cause="disk", why="no room is left"),
        pause(JUDGING, "no room is left"),
    ),
]  # fmt: skip


def graded(base: Verdict, now: Verdict) -> tuple[str, bool, tuple[str, ...]]:
    proof = prove(b.order().criterion, {"test": b.at_base(base)}, {"test": now}, (), "S2")
    return proof.grade, proof.witness, proof.unproven
