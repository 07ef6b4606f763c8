"""Plan and build mode against whoever writes the plan: no way out without proof, no way to crash the fold."""

from __future__ import annotations

import builders as b
import pytest
from builders import BASE
from law_plan import (
    FIRST,
    IDS,
    SIGNAL,
    TWO,
    A,
    B,
    begun,
    called,
    concluded,
    ended,
    judged,
    order,
    published,
    purpose,
    ties,
    verified,
)
from msgspec.structs import replace

from ralph.core.decide import next_item, plan_facts
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.loop import Loop
from ralph.core.model.plan.board import state_of
from ralph.core.model.plan.items import Item, MissingSpec, Plan
from ralph.core.model.spend import Limits
from ralph.core.views import plan_view

SIGN = Item("sign", "sign it", human=True, chore=True)
NO_SPECS = order(None, None)


def planned(loop: Loop, *items: Item, missing: tuple[str, ...] = ()) -> Loop:
    """One planning call that leaves this plan."""
    plan = Plan(items=items, missing=tuple(map(MissingSpec, missing)))
    return b.restored(called(loop, f"p{loop.iteration}", plan=e.PlanRead(plan=plan)))


def stuck(loop: Loop) -> Loop:
    """The item at hand goes nowhere, though every criterion is named by a passing test: lint is red."""
    bad = b.red("lint", tree="t2", new_red_count=1)
    for _ in range(9):
        if purpose(loop)[0] == "planning":
            return loop
        loop = called(loop, "t2")
        if isinstance(loop.todo[0], actions.RunGates):
            loop = b.judge(loop, b.green(tree="t2", per_test=True), bad)
            loop = decide(loop, e.TestsTied(tree="t2", ties=ties(*IDS)))
        loop = b.restored(loop)
    raise AssertionError(loop.todo)


def test_ties_of_a_tree_that_was_taken_back_prove_nothing() -> None:
    """Tests of rejected work are gone with it: dropping its item does not make the loop done."""
    sealed = order(limits=Limits(iterations=None, time=1e6), on_fail="keep")
    gates = (b.gate(), b.gate("lint", proof=False))
    sealed = replace(sealed, criterion=replace(sealed.criterion, gates=gates))
    loop = b.based(sealed, b.green(per_test=True), b.green("lint"))
    loop = called(decide(loop, e.TestsTied(tree=BASE, ties=ties())), "t1")
    both = (b.green(tree="t1", per_test=True), b.green("lint", tree="t1"))
    loop = decide(b.judge(loop, *both), e.TestsTied(tree="t1", ties=ties("A-1")))
    loop = published(b.conclude(b.judge(loop, *map(b.final, both)), *b.measured("t1")))
    loop = stuck(loop)
    assert (loop.work.tree, loop.build.links.tree) == ("t1", "t1")
    loop = planned(loop, A, missing=("B-1",))
    assert purpose(loop) == ("building", next_item.MEND)
    assert loop.proof.not_yet == ("criterion B-1: no test names it",)


@pytest.mark.parametrize(
    "item",
    [
        Item(next_item.MEND, "x", serves=("B-1",), optional=True),
        Item(next_item.MEND, next_item.WHOLE, serves=("B-1",), chore=True, optional=True),
        Item(next_item.MEND, next_item.WHOLE, serves=("B-1",), chore=True, state="cancelled"),
    ],
)
def test_whoever_uses_the_name_of_ralphs_own_item(item: Item) -> None:
    """An item that looks like Ralph's own and cannot be worked on does not stand in the way of that one."""
    sealed = order(Plan(items=(A, item)))
    loop = verified(begun(sealed), "t1", "A-1")
    mode, name = purpose(loop)
    assert (mode, name != next_item.MEND) == ("building", True)
    assert loop.build.item is not None
    assert loop.build.item.title == next_item.WHOLE


def test_the_name_mend_opens_nothing() -> None:
    """An item called like Ralph's own needs its change and the agent's word like any other."""
    loop = begun(order(Plan(items=(Item(next_item.MEND, "paint the fence", chore=True),)), None))
    loop = called(loop, BASE)
    assert "nothing has changed for mend yet" in loop.proof.not_yet


@pytest.mark.parametrize("item", [Item("z", "do z", optional=True), Item("z", "do z", state="done")])
def test_without_specs_a_plan_of_nothing_is_no_plan(item: Item) -> None:
    """Where no spec could show it, whoever plans cannot say that nothing has to be done."""
    first = item if item.optional else replace(item, state="open")
    sealed = NO_SPECS if item.optional else order(Plan(items=(item,)), None, brief={"planning": "asked for"})
    loop = begun(sealed)
    for _ in range(3):
        loop = planned(loop, first)
    assert ended(loop) == ("blocked", f"no usable plan after 3 planning calls: {plan_facts.NOTHING_LEFT}")


def test_blocked_while_planning_asks_a_human() -> None:
    """BLOCKED in a planning call ends the loop with its question; a resume plans again."""
    asks = Claim("BLOCKED", recommendation="which data base?")
    loop = b.restored(called(begun(order(None)), BASE, claim=asks))
    assert ended(loop) == ("blocked", "the agent asks: which data base?")
    loop = decide(b.close(loop), e.ResumeAsked())
    assert purpose(loop) == ("planning", "")
    loop = b.restored(called(begun(order(None)), "t1", claim=asks, plan=e.PlanRead(plan=TWO)))
    assert ended(loop)[0] == "blocked"
    assert purpose(decide(b.close(loop), e.ResumeAsked())) == ("building", "a")


def test_a_sound_plan_beats_blocked_where_only_a_plan_was_asked_for() -> None:
    """`ralph plan`: the plan is there, and what is missing stands in it."""
    sealed = order(None, brief={"mode": "plan"})
    loop = b.started(replace(sealed, criterion=replace(sealed.criterion, gates=())))
    loop = b.restored(called(loop, "t1", claim=Claim("BLOCKED"), plan=e.PlanRead(plan=TWO)))
    assert ended(loop)[0] == "verified"


def test_permission_denied_while_planning() -> None:
    """Two planning calls in a row that were denied something end the loop, naming it."""
    loop = begun(order(None))
    for _ in range(2):
        loop = b.answer(b.call(loop), denials=("Bash(rm)",))
        loop = b.restored(decide(loop, b.snapshot(BASE, loop)))
    assert ended(loop) == ("blocked", "permission was denied twice in a row: Bash(rm)")


def test_planning_cannot_take_a_humans_box_away() -> None:
    """A box that only a human can tick stays, whether a new plan leaves it out or calls it something else."""
    sealed = order(Plan(items=(A, B, SIGN)), brief={"planning": "asked for"})
    for items in ((A, B), (A, B, Item("sign", "sign it", chore=True))):
        loop = planned(begun(sealed), *items)
        assert loop.build.board is not None
        assert loop.build.board.ranked.items[loop.build.board.ranked.at["sign"]].human


def test_what_planning_anew_dropped_is_named() -> None:
    """A loop that ends verified says which items a new plan left out, which are optional, and a human's."""
    sealed = order(Plan(items=(A, Item("odd", "odd", chore=True), SIGN)), ("A-1",), brief={"planning": "x"})
    loop = planned(begun(sealed), A, Item("later", "later", optional=True, chore=True))
    loop = verified(loop, "t1", "A-1", said="done signal")
    loop = decide(b.close(loop), e.ResumeAsked(done=("sign",)))
    loop = concluded(judged(loop, "t1", "A-1"), "t1")
    loop = called(loop, "t1", said="done signal")
    outcome, reason = ended(loop)
    assert outcome == "verified"
    assert reason.startswith(
        "all 2 items are verified, sign confirmed by a human, 1 optional items open, re-planning dropped odd;"
    )


def test_work_on_an_item_counts_after_a_resume() -> None:
    """What was changed for an item before the loop was exhausted is still a change for it afterwards."""
    plan = Plan(items=(Item("a", "do a", chore=True),))
    loop = judged(called(begun(order(plan, None, limits=Limits(iterations=1))), "t1"), "t1")
    assert ended(loop)[0] == "exhausted"
    loop = decide(b.close(loop), e.ResumeAsked(more_iterations=2))
    loop = called(loop, "t1", claim=SIGNAL)
    assert "nothing has changed for a yet" not in loop.proof.not_yet


def test_a_tick_from_before_stays_open_when_work_is_taken_back() -> None:
    """Back at the base, an item that was ticked before and is not proven there is not done again."""
    plan = Plan(items=(replace(A, state="done"), B))
    loop = begun(order(plan, limits=Limits(iterations=None, time=1e6)))
    for turn in range(1, 6):
        assert purpose(loop) == ("building", "a")
        loop = b.restored(judged(called(loop, f"t{turn}"), f"t{turn}"))
    assert loop.work.tree == BASE
    assert loop.build.lost_items == {"a": 0}


def test_found_work_is_bounded_and_never_in_a_circle() -> None:
    """Items that wait for each other, for themselves or for nothing known join the plan without that."""
    found = (
        Item("x", "x", after=("y",), chore=True, notes=("n",) * 500),
        Item("y", "y", after=("x", "y", "nope"), chore=True),
        Item("x", "another", chore=True),
        *(Item(f"i{number}", "i", chore=True) for number in range(100)),
    )
    loop = called(begun(), "t1", plan=e.PlanRead(found=found))
    items = {item.id: item for item in loop.build.plan.items}
    assert len(items) == 2 + plan_facts.FOUND_CAP
    assert (items["x"].after, items["y"].after, items["another"].title) == ((), ("x",), "another")
    assert len(items["x"].notes) == plan_facts.NOTES_CAP


def test_how_a_loop_with_a_plan_can_be_taken_further() -> None:
    """The line of the plan names the iteration that holds all verified items, and the box for a human."""
    line = plan_view.plan_line(FIRST)
    assert line is not None
    assert (line.newest, line.human) == (1, ())
    loop = verified(begun(order(Plan(items=(A, SIGN)), ("A-1",))), "t1", "A-1")
    line = plan_view.plan_line(loop)
    assert line is not None
    assert (line.newest, line.human, line.why) == (1, ("sign",), "")
    fresh = plan_view.plan_line(begun())
    assert fresh is not None
    assert fresh.newest == 0
    assert state_of(loop.build.board, "sign") == "open"  # type: ignore[union-attr, arg-type]


def test_what_a_test_showed_is_remembered() -> None:
    """Criteria that the guard counted stay counted, and each later tree is asked for those of all items."""
    shown = b.guard("t1", name="criteria", counted={"A-1": 1}, integrity=False)
    loop = judged(called(begun(), "t1"), "t1", "A-1")
    loop = b.judge(loop, b.final(b.green(tree="t1", per_test=True)))
    loop = published(b.conclude(loop, *b.measured("t1"), shown))
    assert loop.build.links.shown_criteria == {"A-1"}
    assert plan_facts.criteria_to_show(loop) == ("B-1", "A-1")
    assert plan_facts.criteria_to_show(replace(loop, build=replace(loop.build, item=None))) == IDS
