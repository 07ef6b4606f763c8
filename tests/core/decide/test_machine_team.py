"""A team in a loop: who is called when, what an objection does, and what a tester's tests are worth."""

from __future__ import annotations

from typing import Any

import builders as b
import law_plan
import law_team as law
import pytest
from msgspec.structs import replace

from ralph.core.decide import failover
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.rubric import Opinion
from ralph.errors import IllegalEvent

WITNESS = (
    b.guard(name="witness", counted={"witness": 1, "sealed": 1, "touched": 0}),
    b.guard(name="sabotage", counted={"sabotaged": 1, "noticed": 1}),
    b.guard(name="altered", counted={"altered": 1}),
)


def concluded(loop: Loop, *results: Any, tree: str = "t1") -> Loop:
    greens = (b.green(tree=tree, per_test=True),)
    return b.conclude(b.guarding(loop, tree, *greens), *(replace(one, tree=tree) for one in results))


def test_without_a_team_nobody_else_is_called() -> None:
    """A team is off by default: the first thing that is owed is the agent's call."""
    loop = b.based(b.order(task_class="implement-feature"), b.green())
    assert loop.todo == (actions.RunAgent(iteration=1, call=1),)


def test_the_tester_is_asked_only_where_a_witness_is_missing() -> None:
    """A check of the user that is red already shows the task: nobody pays for further tests."""
    assert isinstance(law.begun("tester").todo[0], actions.RunRole)
    red = b.based(law.sealed("tester"), b.red())
    assert isinstance(red.todo[0], actions.RunAgent)
    other = b.based(law.sealed("tester", task_class="regression"), b.green())
    assert isinstance(other.todo[0], actions.RunAgent)


def test_the_tester_never_works_after_the_coder() -> None:
    """Its tests are made before a line of the work exists, or not at all."""
    loop = law.grounded(law.begun("tester"))
    assert loop.todo == (actions.RunAgent(iteration=1, call=2),)
    for _ in range(2):
        loop = b.iterate(loop, f"t{loop.iteration}", b.red(tree=f"t{loop.iteration}", count=2))
        assert isinstance(loop.todo[0], actions.RunAgent)


def test_planner_and_tester_are_called_one_after_the_other() -> None:
    """Each role has its own call with its own number, before the first iteration."""
    loop = law.answered(law.begun("planner", "tester"), said="mind the edges")
    assert loop.todo == (actions.RunRole(role="tester", call=2, tree=b.BASE),)
    loop = law.grounded(loop)
    assert (loop.iteration, loop.spend.calls) == (1, 2)
    assert loop.todo == (actions.RunAgent(iteration=1, call=3),)


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        (b.green(tree="t-tests"), "its tests pass without the change, so they show nothing"),
        (b.red(tree="t-tests", summary="2 findings"), "its tests break test (2 findings)"),
    ],
)
def test_after_two_vain_tries_the_work_begins_without_tests(verdict: Any, why: str) -> None:
    """Tests that are green, or that break a check the coder could not mend, are refused with the reason."""
    gates = (b.gate(read="ruff"),) if verdict.status == "fail" else ()
    loop = b.based(b.order(*gates, task_class="implement-feature", team=law.team("tester")), b.green())
    loop = law.tried(loop, verdict)
    assert loop.team.trouble == why
    loop = law.tried(loop, verdict)
    assert loop.team.without == {"tester": why}
    assert loop.todo == (actions.RunAgent(iteration=1, call=3),)
    loop = concluded(loop, *b.measured())
    assert loop.grade == "B"
    assert f"the tester's tests do not raise the grade: {why}" in loop.proof.unproven


def test_a_testers_witness_gives_an_a() -> None:
    """Red on the base before the work, green now, noticing sabotage, with an expected value that counts."""
    loop = concluded(law.grounded(law.begun("tester", min_grade="A")), *WITNESS)
    assert (loop.grade, loop.proof.unproven) == ("A", ())
    assert isinstance(loop.todo[0], actions.PublishResult)


@pytest.mark.parametrize(
    ("results", "protection", "why"),
    [
        (WITNESS, "S1", "sandbox S1: what the tester could see is not known"),
        (WITNESS[:2], "S2", "in none of them could the expected value be changed, to see whether it counts"),
        (
            (b.guard(name="witness", counted={"witness": 1, "sealed": 0}), *WITNESS[1:]),
            "S2",
            "none of them was red on the base source and is green now",
        ),
        (
            (b.guard(name="witness", counted={"witness": 1, "sealed": 1, "touched": 2}), *WITNESS[1:]),
            "S2",
            "2 files beside them that tests go by were changed with the work",
        ),
    ],
)
def test_where_independence_is_not_shown_it_stays_b(results: Any, protection: str, why: str) -> None:
    """The tester's tests then count as the agent's own, and the card says why."""
    loop = concluded(law.grounded(law.begun("tester", protection=protection)), *results)
    assert loop.grade == "B"
    assert f"the tester's tests do not raise the grade: {why}" in loop.proof.unproven


def test_a_guard_that_was_not_applied_keeps_a_testers_witness_from_an_a() -> None:
    """A tester's witness is held to what a user's is held to."""
    left_out = b.guard(name="canary", applied=False, summary="no canary")
    loop = concluded(law.grounded(law.begun("tester")), *WITNESS, left_out)
    assert (loop.grade, loop.proof.unproven) == ("B", ("no canary",))


def test_tests_that_execute_nothing_of_the_change_are_no_witness() -> None:
    """Whoever wrote them."""
    idle = b.guard(name="diff_coverage", counted={"changed_lines": 3, "executed_lines": 0})
    assert concluded(law.grounded(law.begun("tester")), *WITNESS, idle).grade is None


def test_no_objection_lets_the_result_pass() -> None:
    """What was owed is owed again, and no grade rises."""
    loop = law.under_review()
    after = decide(loop, law.objects(loop))
    assert after.todo == (actions.PublishResult(tree="t1", grade="B"),)
    assert (after.grade, after.spend.calls) == ("B", 2)


def test_an_objection_sends_the_work_back() -> None:
    """It is not yet, and the sentence names the reviewer."""
    loop = law.under_review()
    after = decide(loop, law.objects(loop, "a case fails"))
    assert (after.phase, after.grade) == ("working", None)
    assert after.proof.not_yet == ("the reviewer: 1 objections",)
    assert isinstance(after.todo[0], actions.RunAgent)


def test_a_stubborn_reviewer_ends_in_a_question() -> None:
    """After three objections a human decides: the loop ends blocked, with the reasons."""
    loop: Loop | None = None
    for turn in range(1, 4):
        loop = law.under_review(loop, f"t{turn}")
        loop = decide(loop, law.objects(loop, "I do not like it"))
    assert loop is not None
    (owed,) = loop.todo
    assert isinstance(owed, actions.Finish)
    assert (owed.outcome, owed.grade) == ("blocked", None)
    assert "the reviewer refused the work 3 times" in owed.reason
    assert "I do not like it" in owed.reason
    over = decide(b.close(loop), e.ResumeAsked(allow={"reviewer": "it is right as it is"}))
    over = b.conclude(b.judge(b.judge(over, b.green(tree="t3")), b.final(b.green(tree="t3"))), b.guard("t3"))
    assert over.todo == (actions.PublishResult(tree="t3", grade="B"),)
    assert "waived: reviewer (it is right as it is)" in over.proof.unproven


def test_to_overrule_a_reviewer_of_a_plan_costs_no_call() -> None:
    """The agent left the item "mend" as it was, and a human accepts the whole: the tree is judged again, and
    nobody is called. By earlier rules the item was worked on first."""
    loop = law_plan.begun(law_plan.order(team=law.team("reviewer")))
    loop = law_plan.verified(loop, "t1", "A-1", said="done")
    loop = law_plan.verified(loop, "t2", *law_plan.IDS, said="done signal", claim=law_plan.SIGNAL)
    owed = law.reviewing(loop)
    begun = e.JudgeStarted(
        iteration=loop.iteration, call=owed.call, tree="t2", agent="r", prompt="q", role="reviewer"
    )
    loop = decide(loop, begun)
    loop = decide(loop, law.objects(loop, "I do not like it"))
    assert law_plan.purpose(loop) == ("building", "mend")
    loop = law_plan.called(loop, "t2", said="done signal", claim=law_plan.SIGNAL)
    assert law_plan.ended(loop)[0] == "blocked"
    asked = e.ResumeAsked(allow={"reviewer": "it is right as it is"})
    over = decide(b.close(loop), asked)
    assert isinstance(over.todo[0], actions.RunGates)
    over = law_plan.published(law_plan.concluded(law_plan.judged(over, "t2", *law_plan.IDS), "t2"))
    assert law_plan.ended(over)[0] == "verified"
    assert over.spend.calls == loop.spend.calls
    older = decide(b.close(replace(loop, rules=8)), asked)
    assert law_plan.purpose(older) == ("building", "mend")


def test_a_reviewer_without_an_answer_blocks() -> None:
    """Fail closed: an answer that cannot be used is asked for once more, then a human decides."""
    loop = law.under_review()
    error = Opinion(tree="t1", status="error", required=True, why="no JSON")
    loop = decide(loop, law.objects(loop, opinion=error))
    owed = law.reviewing(loop)
    loop = decide(
        loop, e.JudgeStarted(iteration=1, call=owed.call, tree="t1", agent="r", prompt="q", role="reviewer")
    )
    loop = decide(loop, law.objects(loop, opinion=error))
    assert isinstance(loop.todo[0], actions.Finish)
    assert loop.todo[0].outcome == "blocked"


def test_the_reviewer_comes_before_the_judge() -> None:
    """One after the other, each once a tree."""
    loop = law.under_review(**law.JUDGED)
    after = decide(loop, law.objects(loop))
    assert law.reviewing(after) == actions.AskJudge(tree="t1", call=3, then=law.reviewing(loop).then)


def second(status: Any = "pass", **more: Any) -> e.SecondAnswer:
    opinion = Opinion(tree="t1", status=status, weighted=8.0 if status == "pass" else 6.5, required=True)
    return e.SecondAnswer(**{"opinion": opinion, "usage": law.USED, **more})


def test_at_the_same_time_both_are_counted_and_heard() -> None:
    """Two calls are spent from the beginning; what the judge said beside the reviewer is not asked again."""
    loop = law.under_review(parallel=True, **law.JUDGED)
    assert (loop.spend.calls, loop.spend.blind, loop.call.number) == (3, 3, 3)
    after = decide(loop, law.objects(loop, beside=second()))
    assert isinstance(after.todo[0], actions.PublishResult)
    assert (after.spend.cost, after.spend.blind) == (1.0, 1)
    refused = decide(loop, law.objects(loop, beside=second("fail")))
    assert refused.proof.not_yet[0].startswith("the judge: 6.50 of 10")
    faulty = decide(loop, law.objects(loop, beside=e.SecondAnswer()))
    assert law.reviewing(faulty).role == "judge"


@pytest.mark.parametrize(
    ("loop", "event", "why"),
    [
        (
            law.begun("tester"),
            e.RoleStarted(role="planner", call=1, tree="t0", agent="x", prompt="p"),
            "call",
        ),
        (law.begun("tester"), e.RoleEnded(role="tester", call=1), "open"),
        (law.TESTER, e.RoleEnded(role="planner", call=1), "open"),
        (b.based(), e.RoleEnded(role="tester", call=1), "no role was asked for"),
        (
            law.under_review(),
            replace(law.objects(law.under_review()), role="judge"),
            "no judge was asked for",
        ),
        (law.under_review(), law.objects(law.under_review(), beside=second()), "both were asked, or one"),
    ],
)
def test_what_nobody_asked_for_is_refused(loop: Loop, event: e.AnyEvent, why: str) -> None:
    """A fact that answers nothing that is owed changes nothing."""
    with pytest.raises(IllegalEvent, match=why):
        decide(loop, event)


def item_tests(name: str) -> law.SealedTests:
    return replace(law.TESTS, tree=f"t-{name}", commit=f"c-{name}", paths=(f"test_{name}.py",))


def red_on(tree: str) -> Any:
    return b.red(tree=tree, count=1, new_red=("test_new",), new_red_count=1)


def with_tests_for(loop: Loop, name: str) -> Loop:
    """The tester's tests for an item are red, sealed, and the ground of its work."""
    return b.restored(b.judge(law.answered(loop, tests=item_tests(name)), red_on(f"t-{name}")))


def test_with_a_plan_each_item_begins_with_its_own_tests() -> None:
    """The tester is asked once an item, on what is verified by then; its tests add up and stay sealed."""
    loop = law_plan.begun(law_plan.order(team=law.team("tester")))
    assert loop.todo == (actions.RunRole(role="tester", call=1, tree=b.BASE),)
    loop = with_tests_for(loop, "a")
    assert (law_plan.purpose(loop), loop.work.tree, loop.progress.revert_note) == (
        ("building", "a"),
        "t-a",
        "",
    )
    loop = law_plan.verified(loop, "t1", "A-1")
    assert loop.todo == (actions.RunRole(role="tester", call=3, tree="t1"),)
    loop = with_tests_for(loop, "b")
    assert loop.team.tests is not None
    assert loop.team.tests.paths == ("test_a.py", "test_b.py")
    assert loop.progress.revert_note == ""
    assert [task.subject for task in loop.team.tasks if task.owner == "ralph-tester"] == [
        "Write tests for a",
        "Write tests for b",
    ]


def test_tests_of_an_item_that_are_not_taken_leave_the_earlier_ones_sealed() -> None:
    """A vain tester costs two calls and nothing that was agreed before."""
    loop = law_plan.verified(
        with_tests_for(law_plan.begun(law_plan.order(team=law.team("tester"))), "a"), "t1", "A-1"
    )
    for _ in range(2):
        loop = b.judge(law.answered(loop, tests=item_tests("b")), b.green(tree="t-b"))
    assert (law_plan.purpose(loop), loop.team.sealed) == (("building", "b"), True)
    assert loop.team.tests == replace(item_tests("a"), protection="S2")
    assert loop.team.without == {"tester": "its tests pass without the change, so they show nothing"}


def test_an_item_that_is_given_up_takes_its_tests_with_it() -> None:
    """Nobody is held to tests of work that was taken back."""
    sealed = law_plan.order(team=law.team("tester"), brief={"attempts": 1})
    loop = with_tests_for(law_plan.begun(sealed), "a")
    loop = b.restored(law_plan.judged(law_plan.called(loop, "t1"), "t1", verdict=red_on("t1"), A_1="fail"))
    assert loop.work.tree == b.BASE
    assert (loop.team.tests, loop.team.sealed) == (None, False)
    assert loop.todo == (actions.RunRole(role="tester", call=3, tree=b.BASE),)  # for b


@pytest.mark.parametrize("item", [{"chore": True}, {"human": True}, {"no_proof": "for people"}])
def test_items_that_no_test_could_show_need_no_tester(item: dict[str, Any]) -> None:
    """Nor does an item for which a red test speaks already, nor a loop that began by earlier rules."""
    one = replace(law_plan.A, serves=(), **item)
    loop = law_plan.begun(law_plan.order(law_plan.Plan(items=(one, law_plan.B)), team=law.team("tester")))
    assert loop.build.item is not None
    assert loop.build.item.id == "b" or isinstance(loop.todo[0], actions.RunAgent)
    first = law_plan.order(team=law.team("tester"))
    base = b.based(first, b.red(per_test=True))
    red = decide(base, e.TestsTied(tree=b.BASE, ties=law_plan.ties(A_1="fail")))
    assert isinstance(red.todo[0], actions.RunAgent)
    old = replace(law_plan.begun(first), rules=5)
    assert failover.due_role(old) is None
