"""Done, and nothing shows it: when a loop ends without the proof that was asked for."""

from __future__ import annotations

import builders as b
import pytest

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.actions import PublishResult, RunAgent
from ralph.core.model.loop import Loop

NO_TEST = b.green(per_test=True)  # green, and nothing of it was red before


def claimed(task_class: str, times: int, *, asked: str = "B") -> Loop:
    """The agent has changed something and said COMPLETE so often, each time for the same tree."""
    loop = b.based(b.order(task_class=task_class, min_grade=asked), NO_TEST)
    loop = b.conclude(b.guarding(loop, "t1", NO_TEST, claim=b.COMPLETE), b.guard())
    for _ in range(times - 1):
        loop = b.work(loop, "t1", claim=b.COMPLETE)
    return loop


@pytest.mark.parametrize(
    ("task_class", "times", "published"),
    [
        ("bug-fix", 1, False),
        ("bug-fix", 2, True),
        ("implement-feature", 1, False),
        ("implement-feature", 2, True),
        ("regression", 1, True),
        ("docs", 1, True),
    ],
)
def test_a_witness_is_asked_for_once_where_there_can_be_one(
    task_class: str, times: int, published: bool
) -> None:
    """The second COMPLETE for the same tree is the agent's last word; regression and docs need no second."""
    loop = claimed(task_class, times)
    expected = PublishResult(tree="t1", grade="C") if published else None
    assert (loop.todo[0] if published else None) == expected
    assert published or isinstance(loop.todo[0], RunAgent)


def test_a_published_result_without_proof_is_called_unproven() -> None:
    loop = b.close(claimed("regression", 1))
    assert (loop.outcome, loop.grade, loop.phase) == ("unproven", "C", "ended")
    assert "grade B is required" in loop.reason
    assert loop.landing.result


def test_it_can_be_taken_up_again() -> None:
    loop = decide(b.close(claimed("regression", 1)), e.ResumeAsked())
    assert loop.phase == "working"
    assert isinstance(loop.todo[0], RunAgent)


def test_another_tree_has_to_be_claimed_anew() -> None:
    loop = claimed("bug-fix", 1)
    loop = b.conclude(
        b.guarding(loop, "t2", b.green(tree="t2", per_test=True), claim=b.COMPLETE), b.guard("t2")
    )
    assert isinstance(loop.todo[0], RunAgent)


def test_enough_for_who_asks_for_less() -> None:
    loop = b.close(claimed("regression", 1, asked="C"))
    assert (loop.outcome, loop.grade) == ("verified", "C")
