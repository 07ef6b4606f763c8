"""The law of the judge: asked last, heard once a tree, able to hold a result back and to do nothing else."""

from __future__ import annotations

from typing import Any

import builders as b
import law_plan as plans
import pytest
from builders import Row
from law_judge import (
    EXACT,
    LAST_ITEM,
    LAST_QUESTION,
    OPEN,
    PAUSING,
    PUBLISH,
    REQUIRED,
    SENTENCE,
    WHOLE,
    asking,
    fault,
    finish,
    heard,
    loop_waiting,
    said,
    sealed,
)
from msgspec.structs import replace
from rubrics import RUBRIC

from ralph.core.decide.machine import decide, fold
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.plan.board import state_of
from ralph.core.model.rubric import JUDGE, Jury, Opinion
from ralph.core.model.spend import Limits, Usage
from ralph.errors import IllegalEvent


@pytest.mark.parametrize("row", EXACT, ids=lambda row: row.name)
def test_line(row: Row) -> None:
    """Each fact changes exactly the named fields, and what is owed follows."""
    after = decide(row.before, row.event)
    assert b.changes(row.before, after) == row.changes


def test_a_pass_raises_nothing() -> None:
    """With the best of opinions the grade is what the checks made it."""
    without = b.conclude(b.guarding(b.based()), b.guard())
    loop = heard(asking(), 10.0)
    assert (loop.grade, loop.proof.unproven, loop.todo) == (
        without.grade,
        without.proof.unproven,
        without.todo,
    )


def test_a_judge_is_never_asked_of_red_work() -> None:
    """Red gates and accusing guards end the judgement before the judge."""
    red = b.iterate(b.based(sealed()), "t1")
    accused = b.conclude(b.guarding(b.based(sealed())), b.guard("t1", "test_a"))
    for loop in (red, accused):
        assert not any(isinstance(owed, actions.AskJudge) for owed in loop.todo)


def test_a_tree_is_judged_once() -> None:
    """An agent that changes nothing cannot have the same tree judged again."""
    loop = b.work(heard(asking(REQUIRED), 6.5), "t1")
    assert (loop.spend.calls, loop.iteration) == (3, 3)
    assert isinstance(loop.todo[0], actions.RunAgent)
    assert loop.proof.not_yet == (SENTENCE,)
    assert loop.jury.gaps == (0.5,)


@pytest.mark.parametrize(("scores", "refusals"), [((6.5, 6.9), 2), ((3.0, 4.0, 6.9), 3)])
def test_refused_too_often_is_a_humans_matter(scores: tuple[float, ...], refusals: int) -> None:
    """A near miss is tried again once, a wider one twice; then it is blocked with the judge's reasons."""
    loop = b.based(sealed(REQUIRED))
    for number, score in enumerate(scores):
        assert isinstance(loop.todo[0], actions.RunAgent)
        loop = heard(asking(loop=loop, tree=f"t{number + 1}"), score)
    ending = finish(loop)
    assert ending.outcome == "blocked"
    assert ending.reason == (
        f"the judge refused the work {refusals} times, the last time with "
        "6.90 of 10, 7.00 asked for: correct 6.9. do more"
    )
    assert loop.proof.not_yet == (f"{JUDGE}: 6.90 of 10, 7.00 asked for: correct 6.9",)
    resumed = decide(b.close(loop), e.ResumeAsked())
    assert loop.jury.opinion is not None
    assert resumed.jury == Jury(opinion=replace(loop.jury.opinion, tree=""))


def test_a_worse_second_try_is_not_the_best_and_is_kept_all_the_same() -> None:
    """Of two green trees that were refused, the best is the one that the judge liked more; both are green."""
    first = heard(asking(REQUIRED), 4.0)
    better = heard(asking(loop=first, tree="t2"), 5.0)
    assert better.progress.best is not None
    assert (better.progress.best.tree, better.work.tree) == ("t2", "t2")
    worse = heard(asking(loop=first, tree="t3"), 3.0)
    assert worse.progress.best is not None
    assert (worse.progress.best.tree, worse.work.tree) == ("t1", "t3")
    assert isinstance(worse.todo[0], actions.RunAgent)


def test_no_usable_answer_twice_is_the_opinion() -> None:
    """Advisory: noted, and the result stands. Required: blocked, with what was wrong."""
    loop = heard(heard(asking(), None), None)
    assert loop.todo == (PUBLISH,)
    assert loop.jury.opinion is not None
    assert loop.jury.opinion.status == "error"
    required = heard(heard(asking(REQUIRED), None), None)
    assert finish(required) == actions.Finish("blocked", "no JSON")
    assert required.proof.not_yet == (f"{JUDGE}: no JSON",)
    assert required.control.held_todo == (actions.AskJudge(tree="t1", call=4, then=PUBLISH),)
    assert required.jury.tries == 0


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((kind, 1) for kind in ("auth", "credit", "missing", "request", "upgraded")),
        ("crash", 3),
        ("limit", 10),
    ],
)
def test_trouble_with_the_judge_is_no_verdict(kind: Any, count: int) -> None:
    """As with the agent itself: waited for while that can help, then blocked, and no gap is counted."""
    loop = heard(asking(REQUIRED), **fault(kind))
    for _ in range(count - 1):
        assert loop.phase == "waiting"
        loop = heard(decide(loop, e.WaitOver()), **fault(kind))
    assert finish(loop) == actions.Finish("blocked", f"the judge cannot be asked: {kind}: busy")
    assert (loop.jury, loop.grade) == (Jury(prompt="q"), None)


def test_each_further_wait_is_twice_as_long() -> None:
    """As with the agent itself, up to an hour."""
    loop, waits = heard(asking(REQUIRED), **fault("limit")), []
    while loop.phase == "waiting":
        waits.append(loop.todo[0].seconds)  # type: ignore[union-attr]
        loop = heard(decide(loop, e.WaitOver()), **fault("limit"))
    assert waits == [300.0, 600.0, 1200.0, 2400.0, *[3600.0] * 5]
    assert heard(asking(REQUIRED), **fault("turns")).todo[0].seconds == 1.0  # type: ignore[union-attr]


def test_a_pause_does_not_wait_for_the_judge() -> None:
    """Where a pause was asked for, trouble with the judge pauses at once and keeps the question."""
    loop = decide(PAUSING, said(PAUSING, **fault("network")))
    assert (loop.phase, loop.reason, loop.control.held_todo) == ("paused", "lunch", (LAST_QUESTION,))


def test_an_opinion_closes_every_count() -> None:
    """What went wrong before the judge was heard is not held against the next question."""
    loop = decide(heard(asking(REQUIRED), **fault("network")), e.WaitOver())
    loop = decide(heard(loop, **fault("crash")), e.WaitOver())
    assert (loop.jury.limits_hit, loop.jury.faults) == (1, 1)
    loop = heard(loop, None)
    assert (loop.jury.tries, loop.jury.trouble) == (1, "no JSON")
    loop = heard(loop, 6.5)
    opinion = loop.jury.opinion
    assert loop.jury == Jury(prompt="q", opinion=opinion, gaps=(0.5,))


def test_nobody_judges_what_was_done_before() -> None:
    """Satisfied means that nothing was changed: there is nothing to judge."""
    loop = b.based(sealed(REQUIRED), b.green())
    assert finish(loop).outcome == "satisfied"


def test_a_named_time_is_waited_for() -> None:
    """A limit that names its reset is waited out until then, where the time limit allows it."""
    loop = heard(asking(REQUIRED), **fault("limit", reset_at=50.0))
    assert loop.todo == (actions.Wait(seconds=50.0, until=50.0, why=f"{JUDGE}: limit: busy"),)
    assert (loop.control.wait_until, decide(loop, e.WaitOver()).control.wait_until) == (50.0, None)
    loop = heard(asking(REQUIRED, limits=Limits(time=40.0)), **fault("limit", reset_at=50.0))
    assert finish(loop).outcome == "exhausted"
    paused = decide(loop_waiting(), e.PauseAsked())
    assert paused.phase == "paused"
    assert decide(paused, e.ResumeAsked()).todo == (LAST_QUESTION,)


def test_a_spent_limit_is_met_before_the_judge() -> None:
    """Money that is gone buys no opinion: advice is done without, a required one ends the loop exhausted."""
    for rubric in (RUBRIC, REQUIRED):
        loop = b.based(sealed(rubric, limits=Limits(iterations=1, cost=1.0)))
        loop = b.judge(b.work(loop, "t1", usage=Usage(cost=2.0)), b.green(), b.final(b.green()))
        loop = b.conclude(loop, b.guard())
        if rubric.required:
            assert finish(loop).outcome == "exhausted"
            assert finish(loop).reason.endswith("the judge was not asked")
        else:
            assert loop.todo == (PUBLISH,)
            assert loop.jury.opinion is not None
            assert loop.jury.opinion.status == "skipped"
            assert loop.jury.opinion.why == "cost limit of 1 USD reached (2.00)"


def test_the_last_iteration_may_still_be_judged() -> None:
    """The bound on iterations bounds the work, not the judgement of its last result."""
    loop = asking(limits=Limits(iterations=1))
    assert isinstance(loop.todo[0], actions.AskJudge)


def test_calls_of_the_judge_count_in_the_hour() -> None:
    """With a bound on calls an hour the judge waits like everybody else, where it is required."""
    loop = asking(REQUIRED, limits=Limits(calls_per_hour=1))
    assert loop.phase == "waiting"
    assert isinstance(decide(loop, e.WaitOver(at=4000.0)).todo[0], actions.AskJudge)
    loop = asking(limits=Limits(calls_per_hour=1))
    assert loop.todo == (PUBLISH,)
    assert loop.jury.opinion is not None
    assert loop.jury.opinion.why == "1 calls per hour used"


def test_the_whole_of_a_plan_is_judged_before_it_ends() -> None:
    """Items pass unasked; a refusal of the whole becomes one more item; ignoring it blocks, unticked."""
    assert isinstance(WHOLE.todo[0], actions.PublishItem)
    loop = decide(WHOLE, LAST_ITEM)
    owed = loop.todo[0]
    assert isinstance(owed, actions.AskJudge)
    assert isinstance(owed.then, actions.Finish)
    assert finish(heard(loop, 8.0)) == owed.then
    loop = heard(loop, 4.0)
    assert plans.purpose(loop)[0] == "building"
    assert loop.proof.not_yet[0].startswith(f"{JUDGE}: 4.00 of 10")
    idle = plans.called(loop, "t2", claim=b.COMPLETE, said="done signal")
    assert finish(idle).outcome == "blocked"
    assert idle.build.board is not None
    assert state_of(idle.build.board, "mend") == "open"
    older = plans.called(replace(loop, rules=7), "t2", claim=b.COMPLETE, said="done signal")
    assert finish(plans.published(older)).outcome == "blocked"
    better = plans.verified(loop, "t3", *plans.IDS, claim=b.COMPLETE, said="done signal")
    assert isinstance(better.todo[0], actions.AskJudge)
    assert finish(heard(better, 8.0)).outcome == "verified"


def test_refusals_of_one_item_are_not_held_against_the_next() -> None:
    """A pass closes the account."""
    loop = heard(asking(REQUIRED), 6.5)
    loop = heard(asking(loop=loop, tree="t2"), 8.0)
    assert loop.jury.gaps == ()


def test_an_item_is_judged_only_where_that_was_asked_for() -> None:
    """after = "loop" lets verified items pass; after = "item" asks about each."""
    for after, asked in (("loop", False), ("item", True)):
        loop = plans.begun(plans.order(rubric=replace(RUBRIC, after=after), judge=SealedAgent("critic")))
        loop = plans.judged(plans.called(loop, "t1", said="done"), "t1", "A-1")
        owed = plans.concluded(loop, "t1").todo[0]
        assert isinstance(owed, actions.AskJudge if asked else actions.PublishItem)


@pytest.mark.parametrize(
    "event",
    [
        said(OPEN, tree="t9"),
        said(OPEN, call=9),
        said(OPEN, opinion=None),
        said(OPEN, opinion=Opinion(tree="t9", status="pass")),
        e.JudgeStarted(iteration=1, call=2, tree="t1", agent="critic", prompt="q"),
    ],
)
def test_an_opinion_of_something_else_is_refused(event: e.AnyEvent) -> None:
    """Another tree, another call, nothing at all, or a call that is open already: illegal."""
    with pytest.raises(IllegalEvent):
        decide(OPEN, event)


def test_nobody_may_judge_unasked() -> None:
    """Without the question there is no answer, and none before the call was opened."""
    with pytest.raises(IllegalEvent):
        decide(asking(), said(OPEN))
    with pytest.raises(IllegalEvent):
        decide(b.conclude(b.guarding(b.based()), b.guard()), said(OPEN))
    with pytest.raises(IllegalEvent):
        fold([e.JudgeStarted(iteration=1, call=9, tree="t1", agent="critic", prompt="q")], asking())
