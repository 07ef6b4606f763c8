"""What the record of a loop keeps of each iteration, and which facts move its breaker."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from builders import BASE
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits

KEEP = b.order(on_fail="keep", limits=Limits(calls_per_hour=9))
FEATURE = b.order(b.gate(), task_class="implement-feature", on_fail="keep")


def left(loop: Loop, tree: str, **more: Any) -> Loop:
    """One call that left this tree and is red."""
    loop = b.answer(b.call(loop, at=7.0))
    loop = decide(loop, replace(b.snapshot(tree, loop), at=8.0, **more))
    return b.judge(loop, b.red(tree=tree, count=3)) if loop.phase == "judging" else loop


def test_an_iteration_in_the_record() -> None:
    """Files, sizes, names and calls left come from the facts of that very iteration."""
    loop = left(b.based(KEEP), "t1", files=2, added=3, removed=4, paths=("a.py", "b.py"))
    tried, pulse = loop.progress.attempts[-1], loop.progress.history[-1]
    assert (tried.paths, tried.files, tried.lines) == (("a.py", "b.py"), 2, 7)
    assert (tried.signature, tried.kind, tried.next) == ("test:s3", "logical", "another approach")
    assert (pulse.files, pulse.state, pulse.calls_left, pulse.progress) == (2, "CLOSED", 8, False)
    assert (loop.progress.breaker.item, loop.progress.breaker.on_item) == ("", 1)
    loop = left(loop, "t2")
    assert (loop.progress.breaker.on_item, loop.progress.attempts[-1].files) == (2, 0)


def test_progress_is_progress_unless_tests_were_tampered_with() -> None:
    """An accused tree gains nothing, however much greener it is."""
    assert b.iterate(b.based(KEEP), "t1", b.red(count=1)).progress.history[-1].progress
    accused = b.conclude(b.guarding(b.based(KEEP)), b.guard("t1", "test_a"))
    assert not accused.progress.history[-1].progress


def test_an_accused_probe_overcomes_nothing() -> None:
    """What tampering gained counts for nothing, is shown as nothing, and opens the breaker again."""
    loop = decide(b.outcome("stalled"), e.ResumeAsked())
    loop = b.conclude(b.guarding(loop), b.guard("t1", "test_a"))
    assert loop.progress.history[-1].score == 0
    assert "(score +0, and more than 0 was needed)" in loop.progress.breaker.why
    assert loop.todo[0] == actions.Finish("stalled", loop.progress.breaker.why)


def test_by_earlier_rules_the_score_of_an_accused_iteration_was_shown_as_it_was() -> None:
    """It decided as little as today, so that such a record ends as it ended and shows what it showed."""
    loop = decide(replace(b.outcome("stalled"), rules=3), e.ResumeAsked())
    loop = b.conclude(b.guarding(loop), b.guard("t1", "test_a"))
    assert loop.progress.history[-1].score > 0
    assert "(score +0, and more than 0 was needed)" in loop.progress.breaker.why
    assert loop.todo[0] == actions.Finish("stalled", loop.progress.breaker.why)


def test_an_accused_iteration_that_is_worth_less_than_nothing_stays_so() -> None:
    """Tampering without even a change of the tree is an idle iteration too."""
    loop = b.conclude(b.guarding(b.based(KEEP)), b.guard("t1", "test_a"))
    again = b.work(loop, "t1")
    assert again.progress.history[-1].score < 0


def test_a_resume_ends_the_count_and_not_the_record() -> None:
    """The rules start from nothing; the score goes on from the iteration before, and people still see it."""
    before = b.outcome("stalled")
    loop = decide(before, e.ResumeAsked())
    assert (loop.progress.recent, loop.progress.history) == ((), before.progress.history)
    after = b.iterate(loop, "p1", b.red(tree="p1", count=3))
    assert (len(after.progress.recent), len(after.progress.history)) == (1, len(before.progress.history) + 1)


RECORDED = [
    ("torn by the program under test", {"status": "fail", "cause": "torn-report"}, "logical"),
    ("torn, and nobody knows", {"status": "error", "cause": "torn-report"}, "transient"),
    ("no tool", {"status": "error", "cause": "missing"}, "environmental"),
]


@pytest.mark.parametrize(("verdict", "kind"), [row[1:] for row in RECORDED], ids=[row[0] for row in RECORDED])
def test_class_of_a_judged_iteration(verdict: dict[str, Any], kind: str) -> None:
    """A check that says fail is the work's, whatever became of its report."""
    loop = b.iterate(b.based(KEEP), "t1", b.red(**verdict))
    assert loop.progress.attempts[-1].kind == kind


def test_a_denied_permission_is_the_surroundings() -> None:
    """Green checks, nothing proven, and a permission that was refused."""
    loop = b.work(b.based(FEATURE, b.green(per_test=True)), BASE, denials=("npm install", "curl"))
    assert (loop.progress.attempts[-1].kind, loop.progress.attempts[-1].what) == (
        "environmental",
        "permission denied: npm install, curl",
    )


def test_what_an_iteration_came_to_in_one_line() -> None:
    """The first red check and how many more; a question; or that something is missing."""
    two = b.order(b.gate(), b.gate("lint", proof=False), on_fail="keep")
    reds = (b.red(summary="2 failed"), b.red("lint", summary="1 finding"))
    loop = b.iterate(b.based(two, b.red(), b.green("lint")), "t1", *reds)
    assert loop.progress.attempts[-1].what == "test: 2 failed (and 1 more red)"
    asks = b.iterate(b.based(KEEP), "t1", claim=Claim("BLOCKED"))
    assert asks.progress.attempts[-1].what == "the agent asks: no reason given"
    green = b.work(b.based(FEATURE, b.green(per_test=True)), BASE)
    assert green.progress.attempts[-1].what == "the checks are green, and something is still missing"


def half_open() -> Loop:
    return decide(b.waiting(), e.WaitOver())


def test_a_fault_that_left_work_came_through() -> None:
    """Half open: a changed tree closes it, whatever became of the call."""
    loop = b.work(half_open(), "t1", fault=Fault("timeout", "m"))
    assert loop.progress.breaker.state == "CLOSED"


def test_a_fault_that_left_nothing_did_not() -> None:
    """Half open: a stopped call says nothing, and the next one tries again."""
    loop = b.work(half_open(), BASE, fault=Fault("interrupted", "m"))
    assert isinstance(loop.todo[0], actions.RunAgent)
    assert loop.progress.breaker.state == "HALF_OPEN"


def test_who_broke_it() -> None:
    """An agent that cannot be started opens the breaker; a criterion that cannot be judged is not its."""
    assert b.outcome("broken").progress.breaker.state == "OPEN"
    assert b.based(None, b.red(status="error", cause="missing")).progress.breaker.state == "CLOSED"
    aborted = decide(b.work(b.based(KEEP), "t1", fault=Fault("crash", "m")), e.AbortAsked())
    assert aborted.progress.breaker.state == "CLOSED"
