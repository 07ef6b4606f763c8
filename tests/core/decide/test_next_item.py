"""Plan and build mode in the machine: which call comes next, what ticks an item, when the loop may end."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from builders import BASE, Row
from law_plan import (
    FIRST,
    IDS,
    LAST,
    NOTES,
    PUBLISHING,
    READ,
    READING,
    ROWS,
    SIGNAL,
    TIED,
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

from ralph.core.decide import next_item, plan_facts, plan_readers
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.loop import Loop
from ralph.core.model.plan.board import state_of
from ralph.core.model.plan.items import Item, Plan
from ralph.core.model.plan.plan_rules import check_plan
from ralph.core.model.spend import Limits
from ralph.errors import IllegalEvent


def test_one_item_an_iteration() -> None:
    """Each verified item gets its commit and its tick, and the next call is for the next item."""
    loop = begun()
    assert purpose(loop) == ("building", "a")
    loop = verified(loop, "t1", "A-1")
    assert purpose(loop) == ("building", "b")
    assert loop.landing.result == "r-t1"
    build = loop.build
    assert build.board is not None
    assert (state_of(build.board, "a"), state_of(build.board, "b")) == ("done", "open")
    assert build.done_items["a"].commit == "r-t1"


def test_an_untested_criterion_keeps_its_item_open() -> None:
    """Green gates do not tick an item whose criterion no passing test names."""
    loop = judged(called(begun(), "t1"), "t1")
    assert purpose(loop) == ("building", "a")
    assert loop.proof.not_yet == ("criterion A-1: no test names it",)
    loop = judged(called(begun(), "t1"), "t1", A_1="fail")
    assert loop.proof.not_yet == ("criterion A-1: test_A-1 fails",)


def test_an_item_climbs_its_own_ladder_and_its_mishaps_do_not_count() -> None:
    """What was tried is kept by item; a missing tool is no try, a verified item is worth five and more."""
    gone = b.red(tree="t1", status="error", cause="missing", summary="no such tool")
    loop = judged(called(begun(order(on_fail="keep")), "t1"), "t1", verdict=gone)
    assert [(one.item, one.kind) for one in loop.progress.attempts] == [("a", "environmental")]
    assert loop.build.tries == {"a": 0}
    loop = judged(called(loop, "t2"), "t2")
    assert loop.progress.attempts[-1].what == "criterion A-1: no test names it"
    assert loop.build.tries == {"a": 1}
    loop = verified(loop, "t3", "A-1")
    newest = loop.progress.history[-1]
    assert (newest.item, newest.items, newest.score, newest.progress) == ("a", 1, 1 + 5, True)
    assert loop.progress.redirect == ""
    assert (loop.progress.breaker.item, loop.progress.breaker.on_item) == ("a", 3)
    loop = judged(called(loop, "t4"), "t4", "A-1", verdict=b.red(tree="t4", count=1))
    assert (loop.progress.breaker.item, loop.progress.breaker.on_item) == ("b", 1)


def test_a_stalled_item_is_planned_anew_and_the_loop_goes_on() -> None:
    """Standing still on an item is the item's end, not the loop's: no probe, no demand for the next."""
    loop = begun()
    for _ in range(3):
        loop = b.work(loop, loop.work.tree)
    assert (loop.build.mode, loop.build.why) == (
        "planning",
        "a is stuck: 3 iterations in a row changed nothing",
    )
    assert (loop.progress.breaker.state, loop.progress.redirect) == ("CLOSED", "")
    assert [(one.strategy, one.item) for one in loop.progress.breaker.demands] == [
        ("replan", "a"),
        ("split", "a"),
    ]


def test_dual_condition_ends_the_loop() -> None:
    """All items verified, two completion indicators and a signal: verified, and both halves are told."""
    loop = verified(begun(), "t1", "A-1", said="done")
    loop = verified(loop, "t2", *IDS, said="done signal")
    assert ended(loop) == (
        "verified",
        "all 2 items are verified; the agent signalled that nothing is left (2 of 2 completion indicators)",
    )
    assert loop.build.closing.dual is not None
    assert (loop.build.closing.dual.language, loop.build.closing.dual.evidence_agrees) == (True, True)


@pytest.mark.parametrize(
    ("said", "words"), [("", "no signal"), ("signal", "a signal without enough of them")]
)
def test_at_most_two_closing_calls(said: str, words: str) -> None:
    """An agent that does not signal is asked twice what is left; then the loop ends verified and says so."""
    loop = verified(begun(), "t1", "A-1")
    loop = verified(loop, "t2", *IDS, said=said)
    for _ in range(2):
        assert purpose(loop) == ("closing", "")
        loop = called(loop, "t2", said=said)
    outcome, reason = ended(loop)
    assert outcome == "verified"
    assert (
        f"did not say in 2 closing calls that nothing is left (0 of 2 completion indicators, {words})"
        in reason
    )


def test_a_closing_call_changes_nothing() -> None:
    """What a closing call wrote is taken back to the verified tree; what it found joins the plan."""
    loop = called(LAST, "t9", plan=e.PlanRead(outside=1, paths=("x.py",)))
    owed = loop.todo[0]
    assert isinstance(owed, actions.RestoreWorkspace)
    assert (owed.to.tree, owed.rejected is not None) == ("t2", True)
    loop = b.restored(loop)
    assert purpose(loop) == ("closing", "")
    loop = called(loop, "t2", plan=e.PlanRead(found=(Item("c", "do c", chore=True),)))
    assert purpose(loop) == ("building", "c")


def test_no_room_for_a_closing_call() -> None:
    """At the limit of iterations the proof is enough: the loop ends verified without a closing call."""
    loop = begun(order(limits=Limits(iterations=2)))
    loop = verified(verified(loop, "t1", "A-1"), "t2", *IDS)
    assert ended(loop)[0] == "verified"


def test_a_planning_call_gives_the_plan() -> None:
    """Without a plan the first call is for one; what it changed besides is taken back and counted."""
    loop = begun(order(None))
    assert purpose(loop) == ("planning", "")
    loop = called(loop, "t1", plan=e.PlanRead(plan=TWO, outside=2, paths=("x.py", "y.py")))
    owed = loop.todo[0]
    assert isinstance(owed, actions.RestoreWorkspace)
    assert (owed.to.tree, owed.rejected is not None) == (BASE, True)
    loop = b.restored(loop)
    assert purpose(loop) == ("building", "a")
    assert loop.build.planning.discarded_files == 2
    assert loop.build.prompt_notes == (
        "planning may change only the plan: 2 other files were discarded (x.py, y.py)",
    )


def test_no_usable_plan() -> None:
    """After three planning calls without a sound plan the loop is blocked, with what was wrong."""
    loop = begun(order(None))
    for _ in range(3):
        loop = b.restored(
            called(loop, BASE, plan=e.PlanRead(wrong=(b.Finding(key="x", message="a circle", line=3),)))
        )
    assert ended(loop) == ("blocked", "no usable plan after 3 planning calls: line 3: a circle")


def test_ticks_of_a_new_plan_are_not_believed() -> None:
    """Whoever writes the plan does not verify: its boxes are opened, Ralph's own stay."""
    ticked = Plan(items=(replace(A, state="done"), replace(B, state="done")))
    loop = b.restored(called(begun(order(None)), "t1", plan=e.PlanRead(plan=ticked)))
    assert purpose(loop) == ("building", "a")


def test_what_breaks_is_reopened() -> None:
    """A criterion that was proven and is no longer reopens its item and names the iteration."""
    loop = judged(called(FIRST, "t2"), "t2", "B-1")
    assert loop.build.lost_items == {"a": 2}
    assert "item a was verified and is no longer: iteration 2 broke it" in loop.proof.not_yet
    loop = b.restored(loop)
    assert purpose(loop) == ("building", "a") or loop.build.lost_items == {"a": 2}


def test_two_items_at_once_are_told() -> None:
    """An iteration that did another item's work is told so in the next prompt; that item stays open."""
    loop = verified(begun(), "t1", *IDS)
    assert loop.build.prompt_notes == ("iteration 1 also did the work of b: one item per iteration",)
    assert purpose(loop) == ("building", "b")


def test_work_done_before_needs_no_change() -> None:
    """An item whose criteria are proven on this very tree is verified by the call that finds it done."""
    loop = verified(begun(), "t1", *IDS)
    loop = called(loop, "t1")  # judged in full already
    assert loop.todo == (actions.PublishItem(item="b", tree="t1", grade="B"),)


def test_five_attempts_block_an_item() -> None:
    """An item that is not verified after five attempts is blocked, its work taken back, and others go on."""
    loop = begun(order(limits=Limits(iterations=None, time=1e6)))
    for turn in range(1, 6):
        assert purpose(loop) == ("building", "a"), turn
        loop = b.restored(judged(called(loop, f"t{turn}"), f"t{turn}"))
    assert purpose(loop) == ("building", "b")
    assert loop.build.blocked_items == {"a": "5 attempts: criterion A-1: no test names it"}
    assert loop.work.tree == BASE
    loop = verified(loop, "t9", "B-1")
    assert ended(loop) == (
        "blocked",
        "every item left is blocked or waits for one: a (5 attempts: criterion A-1: no test names it)",
    )
    loop = decide(b.close(loop), e.ResumeAsked())
    assert purpose(loop) == ("building", "a")  # a human looked at it


def test_only_a_human_can_tick_it() -> None:
    """What is left for a human ends the loop as blocked, by name; a resume that says it is done goes on."""
    plan = Plan(items=(A, Item("sign", "sign it", human=True, chore=True)))
    loop = verified(begun(order(plan, ("A-1",))), "t1", "A-1")
    assert ended(loop) == ("blocked", "only a human can tick what is left: sign")
    loop = decide(b.close(loop), e.ResumeAsked(done=("sign",)))
    assert loop.phase == "judging"  # nothing is left: the whole is looked at once more
    loop = concluded(judged(loop, "t1", "A-1"), "t1")
    assert purpose(loop) == ("closing", "")


def test_an_item_without_a_spec_goes_to_planning_once() -> None:
    """No spec tells what it should do: planning, and when that brings none, it is blocked by name."""
    odd = Plan(items=(Item("odd", "do something"),))
    loop = begun(order(odd, ("A-1",)))
    assert purpose(loop) == ("planning", "")
    loop = b.restored(called(loop, "t1", plan=e.PlanRead(plan=odd)))
    outcome, reason = ended(loop)
    assert outcome == "blocked"
    assert "odd (no spec says what it should do, and planning found none: write one)" in reason


def test_readers_come_before_the_plan() -> None:
    """Readers are counted when they begin, their notes last until the plan is made, and come only once."""
    assert READING.todo == (actions.RunReaders(call=1, count=2),)
    assert (READ.spend.calls, READ.spend.blind, READ.call.number) == (2, 2, 2)
    loop = decide(READ, replace(NOTES, usages=(b.Usage(cost=0.5), b.Usage())))
    assert (loop.spend.cost, loop.spend.blind) == (0.5, 1)
    assert loop.todo == (actions.RunAgent(iteration=1, call=3),)
    assert len(loop.build.planning.reader_notes) == 2
    loop = b.restored(called(loop, "t1", plan=e.PlanRead(plan=TWO)))
    assert loop.build.planning.reader_notes == ()


def test_readers_leave_a_call_for_the_plan() -> None:
    """The hourly limit bounds readers too: one call is left for the plan, and without room nobody reads."""
    limits = Limits(calls_per_hour=2)
    assert begun(order(None, brief={"readers": 4}, limits=limits)).todo == (
        actions.RunReaders(call=1, count=1),
    )
    limits = Limits(calls_per_hour=1)
    assert purpose(begun(order(None, brief={"readers": 4}, limits=limits))) == ("planning", "")


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, [5]), (2, [2, 3]), (4, [1, 1, 2, 1]), (9, [1, 1, 1, 1, 1]), (0, [])]
)
def test_areas_of_readers(count: int, sizes: list[int]) -> None:
    """Every file is read by exactly one reader, neighbours by the same."""
    paths = ("b/2", "a/1", "b/1", "c", "a/2")
    found = plan_readers.areas(paths, count)
    assert [len(part) for part in found] == sizes
    assert [path for part in found for path in part] == (sorted(paths) if count else [])


def test_replan_every_n_items() -> None:
    """`--replan-every 1`: after each verified item comes planning, while something is open."""
    loop = verified(begun(order(brief={"replan_every": 1})), "t1", "A-1")
    assert purpose(loop) == ("planning", "")


def test_the_whole_must_be_green() -> None:
    """Red from before, outside the criterion, becomes an item of Ralph's own at the end, unless allowed."""
    gates = (b.gate(), b.gate("lint", proof=False))

    def finished(*, allowed: bool) -> Loop:
        sealed = replace(
            order(Plan(items=(A,)), ("A-1",), brief={"allow_red": allowed}),
            criterion=replace(order().criterion, gates=gates),
        )
        bad = b.red("lint", count=2)
        loop = b.based(sealed, b.green(per_test=True), bad)
        loop = decide(loop, e.TestsTied(tree=BASE, ties=ties()))
        loop = called(loop, "t1")
        both = (b.green(tree="t1", per_test=True), replace(bad, tree="t1", stage="fast"))
        loop = b.judge(loop, *both)
        loop = decide(loop, e.TestsTied(tree="t1", ties=ties("A-1")))
        loop = b.conclude(b.judge(loop, *map(b.final, both)), *b.measured("t1"))
        return published(loop)

    assert purpose(finished(allowed=True)) == ("closing", "")
    loop = finished(allowed=False)
    assert purpose(loop) == ("building", next_item.MEND)
    assert loop.build.item is not None
    assert loop.build.item.notes == ("lint: 2 red",) or "lint" in loop.build.item.notes[0]


def test_nothing_to_do() -> None:
    """A plan whose items are all ticked and proven ends at once, without a call."""
    plan = Plan(items=(replace(A, state="done"),))
    assert ended(begun(order(plan, ("A-1",)), "A-1")) == (
        "satisfied",
        "nothing to do: every item is settled and every check is green",
    )


def test_a_tick_from_before_that_is_not_proven() -> None:
    """A box that was ticked before this loop is opened again when no passing test proves it."""
    plan = Plan(items=(replace(A, state="done"),))
    assert purpose(begun(order(plan, ("A-1",)))) == ("building", "a")


def test_boxes_ticked_by_the_agent_are_told() -> None:
    """Ticks by the agent have no effect, and the next prompt says so."""
    loop = called(begun(), "t1", plan=e.PlanRead(ticked=("a", "b")))
    assert loop.build.prompt_notes == ("ticking a box has no effect; Ralph ticks what it verified (a, b)",)
    assert loop.build.board is not None
    assert state_of(loop.build.board, "b") == "open"


def test_without_specs_the_agent_must_say_so() -> None:
    """An item that serves no criterion needs a change and the agent's word that it is done."""
    plan = Plan(items=(Item("a", "do a"),))
    loop = judged(called(begun(order(plan, None)), "t1"), "t1")
    assert loop.proof.not_yet == (
        "a serves no criterion: report TASKS_COMPLETED_THIS_LOOP: 1 when it is done",
    )
    loop = called(begun(order(plan, None)), BASE, claim=SIGNAL)
    assert "nothing has changed for a yet" in loop.proof.not_yet
    loop = judged(called(begun(order(plan, None)), "t1", claim=Claim("IN_PROGRESS", tasks=1)), "t1")
    assert isinstance(concluded(loop, "t1").todo[0], actions.PublishItem)


def test_plan_mode_asks_for_no_gates() -> None:
    """`ralph plan`: one planning call, then the end; no gate is needed."""
    sealed = replace(order(None, brief={"mode": "plan", "planning": "asked for"}))
    sealed = replace(sealed, criterion=replace(sealed.criterion, gates=()))
    loop = b.started(sealed)
    assert purpose(loop) == ("planning", "")
    loop = b.restored(called(loop, "t1", plan=e.PlanRead(plan=TWO)))
    assert ended(loop) == ("verified", "the plan is valid: 2 items")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_is_legal(row: Row) -> None:
    """Each fact of plan and build mode is taken in the phase that the table names."""
    decide(row.before, row.event)


@pytest.mark.parametrize(
    ("loop", "event"),
    [
        (TIED, e.TestsTied(tree="other", ties=())),
        (begun(), e.TestsTied(tree=BASE, ties=())),
        (PUBLISHING, e.ItemPublished(item="b", branch="x", commit="r", tree="t1")),
        (PUBLISHING, e.ItemPublished(item="a", branch="x", commit="r", tree="t2")),
    ],
)
def test_facts_of_another_tree_are_refused(loop: Loop, event: Any) -> None:
    """Ties and publications of a tree or item that nobody asked for are illegal."""
    with pytest.raises(IllegalEvent):
        decide(loop, event)


LOOK = Item("look", "polish it", no_proof="only people see it")


def test_an_item_that_declares_no_proof_passes_by_what_it_declares():
    """Exit codes are enough, but the agent must say that it is done."""
    sealed = order(Plan(items=(LOOK,)), None)
    loop = begun(sealed, verdict=b.green())
    loop = called(loop, "t1", claim=Claim("IN_PROGRESS"))
    assert "look" not in judged(loop, "t1", verdict=b.green(tree="t1")).build.done_items
    assert next_item.exit_terms(loop).criterion.min_grade == "D"
    assert next_item.missing_for_tick(loop) == (
        "look serves no criterion: report TASKS_COMPLETED_THIS_LOOP: 1 when it is done",
    )


def test_what_an_agent_finds_cannot_declare_that_nothing_proves_it():
    """Found work is proven as usual; its declaration is kept as a note without effect."""
    loop = called(begun(), "t1", plan=e.PlanRead(found=(LOOK,)))
    found = next(item for item in loop.build.plan.items if item.id == "look")
    assert (found.no_proof, found.notes) == ("", ("without effect: proof none because only people see it",))


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (Item("a", "do a"), Item("a", "do a", no_proof="hard"), ""),
        (LOOK, Item("look", "polish it"), "only people see it"),
        (LOOK, replace(LOOK, no_proof="other"), "only people see it"),
        (Item("a", "do a"), LOOK, "only people see it"),
        (LOOK, Item("look", "polish it", serves=("A-1",)), ""),
    ],
)
def test_planning_anew_does_not_change_what_is_declared(before, after, kept):
    """Of an item that was there; a new one may be declared, and is shown as the agent's own."""
    old, new = Plan(items=(before,)), Plan(items=(after,))
    assert plan_facts.keep_declarations(old, new).items[0].no_proof == kept


def test_an_item_serves_criteria_or_declares_no_proof():
    """Not both: no declaration takes a criterion away."""
    both = Plan(items=(replace(A, no_proof="hard"), B))
    assert [one.key for one in check_plan(both, None)] == ["plan-proof:a"]
