"""Done, and nothing shows it: when a loop ends without the proof that was asked for."""

from __future__ import annotations

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.decide.grants import open_waivers
from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.actions import PublishResult, RunAgent, RunGates
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Counts

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


OLD_RED = b.red(per_test=True, count=1)
LEFT_OUT = b.green(per_test=True, witness_count=1, counts=Counts(still_red=("t",)))


def insisted() -> Loop:
    """Twice COMPLETE for one tree, on which a test is as red as before."""
    loop = b.based(b.order(task_class="bug-fix", min_grade="B"), b.red(per_test=True, count=2))
    loop = b.judge(b.work(loop, "t1", claim=b.COMPLETE), OLD_RED)
    return b.work(loop, "t1", claim=b.COMPLETE)


def test_who_insists_on_old_red_is_judged_without_it() -> None:
    """In full, in checkouts made anew; what then is green is published, and is no more than unproven."""
    loop = insisted()
    assert loop.proof.insisted_tree == "t1"
    assert loop.todo == (RunGates(stage="final", tree="t1", gates=("test",)),)
    loop = b.conclude(b.judge(loop, b.final(LEFT_OUT)), b.guard())
    assert loop.todo == (PublishResult(tree="t1", grade="C"),)
    loop = b.close(loop)
    assert (loop.outcome, loop.grade) == ("unproven", "C")
    assert "failed before the loop and still red: t" in loop.reason
    assert [one.key for one in open_waivers(loop)] == ["base_tests.still_red:t"]


def test_what_is_red_without_old_red_goes_on() -> None:
    """The agent is called again when a fresh checkout is red for more."""
    loop = b.judge(insisted(), b.final(b.red(per_test=True, count=2, new_red_count=1)))
    assert isinstance(loop.todo[0], RunAgent)


def test_a_word_of_the_users_settles_old_red() -> None:
    """By its name; more than three are allowed as a kind. The same tree is judged again without a call."""
    loop = b.close(b.conclude(b.judge(insisted(), b.final(LEFT_OUT)), b.guard()))
    after = decide(loop, e.ResumeAsked(allow={"base_tests.still_red:t": "no network"}))
    assert isinstance(after.todo[0], RunGates)
    many = replace(LEFT_OUT, counts=Counts(still_red=("a", "b", "c", "d")))
    loop = b.close(b.conclude(b.judge(insisted(), b.final(many)), b.guard()))
    assert [one.key for one in open_waivers(loop)] == ["base_tests.still_red"]


def test_by_earlier_rules_nobody_could_insist() -> None:
    """Old records fold as they did."""
    begun = b.based(b.order(task_class="bug-fix", min_grade="B"), b.red(per_test=True, count=2))
    loop = b.judge(b.work(replace(begun, rules=9), "t1", claim=b.COMPLETE), OLD_RED)
    loop = b.work(loop, "t1", claim=b.COMPLETE)
    assert (loop.proof.insisted_tree, isinstance(loop.todo[0], RunAgent)) == ("", True)
