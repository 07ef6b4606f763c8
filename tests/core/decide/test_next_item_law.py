"""The law of plan and build mode: exactly what each fact changes in what a loop knows of its plan.

Promises in whole iterations are in `test_next_item`; here every field and every word counts.
"""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from builders import BASE
from law_plan import (
    FIRST,
    IDS,
    LAST,
    READ,
    READING,
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

from ralph.core.decide import next_item, plan_facts, plan_readers, single_task
from ralph.core.decide.machine import decide
from ralph.core.model import actions, spend
from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.loop import Loop
from ralph.core.model.plan.board import board_of, state_of
from ralph.core.model.plan.completion import Indication
from ralph.core.model.plan.items import Item, MissingSpec, Plan
from ralph.core.model.plan.plan_state import DoneItem, PlanState
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.spend import Limits, Spend, Usage
from ralph.core.model.verdict import Checkpoint, Finding
from ralph.errors import IllegalEvent

HUMANS = Plan(items=tuple(Item(f"h{n}", f"sign {n}", human=True, chore=True) for n in range(12)))
ROOM = Limits(iterations=30)


def known(loop: Loop) -> PlanState:
    return loop.build


def changes(before: Loop, after: Loop) -> dict[str, Any]:
    """What differs in what is known of the plan; the board is looked at by `states`."""
    old, new = b.fields(known(before)), b.fields(known(after))
    return {name: new[name] for name in new if new[name] != old[name] and name != "board"}


def states(loop: Loop) -> str:
    board = known(loop).board
    assert board is not None
    return " ".join(f"{one.id}:{state_of(board, one.id)}" for one in known(loop).plan.items)


def test_where_a_plan_begins() -> None:
    """Without a plan, with one that is out of date, and with one to work by."""
    base = Checkpoint(0, BASE, "c0")
    assert next_item.initial_plan_state(b.order()) == PlanState()
    assert next_item.initial_plan_state(order(None)) == PlanState(
        "planning", why="there is no plan", base=base
    )
    stale = order(brief={"planning": "the specs changed"})
    assert next_item.initial_plan_state(stale) == PlanState(
        "planning", why="the specs changed", plan=TWO, base=base
    )
    plan = Plan(items=(replace(A, state="done"), B))
    found = next_item.initial_plan_state(order(plan, brief={"clarity": {"B-1": 3}}))
    board = board_of(plan, criteria=IDS, clarity={"B-1": 3})
    assert found == PlanState(
        mode="building", plan=plan, board=board, done_items={"a": DoneItem("a")}, base=base
    )


def test_which_item_and_why() -> None:
    """The clearest spec among equals comes first, and the item at hand tells by which rule it was chosen."""
    loop = begun(order(brief={"clarity": {"B-1": 3}}))
    assert purpose(loop) == ("building", "b")
    assert (known(loop).rule, known(loop).why) == (
        "clearest",
        "it has the clearest spec among those of its priority",
    )
    loop = judged(called(loop, "t1"), "t1", B_1="fail")
    assert (known(loop).rule, known(loop).why, known(loop).item_touched) == (
        "failing",
        "a test that it serves fails",
        True,
    )


@pytest.mark.parametrize(
    "loop",
    [
        begun(),
        begun(order(None)),
        begun(order(Plan(items=(Item("odd", "x"),)), ("A-1",))),
        verified(begun(order(brief={"replan_every": 1})), "t1", "A-1"),
        LAST,
    ],
    ids=["item", "planning", "no spec", "so many items", "closing"],
)
def test_the_answer_is_the_same_however_often_it_is_asked_for(loop: Loop) -> None:
    """Asking what the plan asks for changes nothing, and each of these is a call."""
    assert next_item.next_step(loop, can_call=True) == (loop, "call")


def test_planning_again_for_an_item_or_for_all() -> None:
    """Why planning comes again is told; counts of the plan before start anew."""
    loop = begun(order(Plan(items=(Item("odd", "x"),)), ("A-1",)))
    assert (known(loop).why, known(loop).planning.replanned_items) == (
        "odd: no spec says what it should do",
        frozenset({"odd"}),
    )
    before = verified(begun(order(brief={"replan_every": 2})), "t1", "A-1", *IDS)
    assert known(before).planning.items_since_plan == 1
    plan = Plan(items=(A, B, Item("c", "x", chore=True)))
    loop = begun(order(plan, brief={"replan_every": 2}))
    loop = verified(verified(loop, "t1", "A-1"), "t2", *IDS)
    assert known(loop).why == "2 items were verified since the plan was made"
    assert (known(loop).mode, known(loop).item, known(loop).planning.items_since_plan) == (
        "planning",
        None,
        0,
    )
    assert known(loop).planning.replanned_items == frozenset()


def test_a_stuck_item_goes_to_planning_with_a_clean_history() -> None:
    """The item at hand is put down, its history is no reason against the next, its work is taken back."""
    loop = begun(order(limits=ROOM, brief={"attempts": 9}))
    for _ in range(3):
        loop = b.restored(called(loop, loop.work.tree))
    assert (known(loop).item, known(loop).mode, loop.progress.recent) == (None, "planning", ())
    assert known(loop).planning.replanned_items == frozenset({"a"})
    again = b.restored(called(loop, "t1", plan=e.PlanRead(plan=TWO)))
    for _ in range(3):
        again = b.restored(called(again, again.work.tree))
    assert known(again).blocked_items == {"a": "3 iterations in a row changed nothing"}
    assert (states(again), purpose(again), again.progress.recent) == (
        "a:blocked b:open",
        ("building", "b"),
        (),
    )
    assert known(again).item_touched is False


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ((), "it was not written"),
        (
            (Finding("x", "a circle", line=3), Finding("y", "no box", line=4)),
            "line 3: a circle; line 4: no box",
        ),
    ],
)
def test_words_of_a_plan_that_cannot_be_used(wrong: tuple[Any, ...], words: str) -> None:
    """What was wrong with the newest plan ends the loop by name."""
    loop = begun(order(None))
    for turn in range(3):
        assert known(loop).planning.failures_in_row == turn
        loop = called(loop, BASE, plan=e.PlanRead(wrong=wrong))
    assert ended(loop) == ("blocked", f"no usable plan after 3 planning calls: {words}")


def test_a_usable_plan_forgets_what_was_wrong_before() -> None:
    """Unsound ones in a row are counted; a sound one clears the count, the words, the notes and the item."""
    loop = called(begun(order(None)), BASE, plan=e.PlanRead(wrong=(Finding("x", "a circle", line=3),)))
    before = b.answer(b.call(loop))
    after = decide(before, replace(b.snapshot("t1", before), plan=e.PlanRead(plan=TWO)))
    assert changes(before, after) == {
        "mode": "building",
        "why": "",
        "plan": TWO,
        "planning.plans_accepted": 1,
        "planning.failures_in_row": 0,
        "planning.problems": (),
    }
    loop = b.restored(after)
    again = verified(loop, "t2", "A-1")
    assert known(again).planning.plans_accepted == 1
    assert known(called(LAST, "t2")).planning.plans_accepted == 0


def test_a_plan_made_again_keeps_what_is_verified() -> None:
    """Ticks of Ralph stay with their commits, by the clearness of specs; the count of items starts anew."""
    loop = verified(begun(order(brief={"replan_every": 1, "clarity": {"A-1": 5, "B-1": 1}})), "t1", "A-1")
    before = b.answer(b.call(loop))
    more = Plan(items=(replace(A, state="done"), B, replace(B, id="c")))
    after = decide(before, replace(b.snapshot("t5", before), plan=e.PlanRead(plan=more)))
    assert known(after).done_items == {"a": DoneItem("a", 1, "r-t1", "t1", "B")}
    assert states(after) == "a:done b:open c:open"
    board = known(after).board
    assert board is not None
    assert board.ranked.weight[board.ranked.at["b"]] == (1, -1)


def test_many_boxes_of_humans_are_named_in_short() -> None:
    """The first ten by name, the rest as a number."""
    outcome, reason = ended(begun(order(HUMANS, None)))
    assert outcome == "blocked"
    assert reason == f"only a human can tick what is left: {', '.join(f'h{n}' for n in range(10))} and 2 more"


@pytest.mark.parametrize(
    ("item", "asked", "expected"),
    [
        (A, "B", ("B", "item")),
        (Item("c", "x", chore=True), "B", ("C", "item")),
        (Item("c", "x", chore=True), "D", ("D", "item")),
        (Item("mend", next_item.WHOLE, chore=True), "B", ("B", "nothing")),
        (None, "B", ("B", "nothing")),
    ],
)
def test_what_a_tree_is_held_to(item: Item | None, asked: Any, expected: tuple[str, str]) -> None:
    """An item to nothing being worse, a chore to less, the whole to everything, unless red may stay."""
    loop = begun(replace(order(), criterion=replace(order().criterion, min_grade=asked)))
    terms = next_item.exit_terms(replace(loop, build=replace(known(loop), item=item)))
    assert (terms.criterion.min_grade, terms.tolerance) == expected
    assert single_task.exit_terms(b.based()).tolerance == "task"
    loop = begun(order(brief={"allow_red": True}))
    assert next_item.exit_terms(replace(loop, build=replace(known(loop), item=None))).tolerance == "old"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("fail", "fails"),
        ("flaky", "is flaky"),
        ("skipped", "is skipped"),
        ("unseen", "was not run"),
    ],
)
def test_words_of_a_criterion_that_is_not_proven(status: Any, words: str) -> None:
    """The test that is not green is named, and how it stands."""
    loop = judged(called(begun(), "t1"), "t1", A_1=status)
    assert loop.proof.not_yet == (f"criterion A-1: test_A-1 {words}",)


def test_the_red_one_of_two_tests_is_named() -> None:
    """Where one test of a criterion passes and another fails, the other is what stands in the way."""
    loop = b.judge(called(begun(), "t1"), b.green(tree="t1", per_test=True))
    both = (CriterionTest("s", "A-1", "good", "pass"), CriterionTest("s", "A-1", "bad", "fail"))
    loop = decide(loop, e.TestsTied(tree="t1", ties=both))
    assert loop.proof.not_yet == ("criterion A-1: bad fails",)
    loop = judged(called(begun(), "t1"), "t1", A_1="unknown")
    assert isinstance(loop.todo[0], actions.RunGates)  # no test ids are told: a green gate is all there is


def test_nothing_is_missing_without_a_plan_or_on_another_tree() -> None:
    """What specs say of one tree is no reason against another."""
    assert next_item.missing_for_tick(b.based()) == ()
    loop = begun()
    assert next_item.missing_for_tick(loop.with_work(tree="t9")) == ()
    whole = replace(loop, build=replace(known(loop), item=None))
    assert next_item.missing_for_tick(whole) == (
        "criterion A-1: no test names it",
        "criterion B-1: no test names it",
    )


def test_what_was_lost_is_named_in_order_and_in_short() -> None:
    """The first five by name; not the item at hand, nor what no iteration broke."""
    loop = begun()
    lost = {"z": 1, "a": 4, "d": 0, "c": 3, "b": 2}
    here = replace(
        loop,
        build=replace(
            known(loop).with_links(tests=ties("A-1")), lost_items=lost, item=replace(A, serves=("A-1",))
        ),
    )
    assert next_item.missing_for_tick(here) == (
        "item b was verified and is no longer: iteration 2 broke it",
        "item c was verified and is no longer: iteration 3 broke it",
        "item z was verified and is no longer: iteration 1 broke it",
    )


@pytest.mark.parametrize(
    ("claim", "enough"),
    [
        (None, False),
        (Claim("IN_PROGRESS"), False),
        (Claim("IN_PROGRESS", tasks=1), True),
        (Claim("COMPLETE"), True),
    ],
)
def test_whose_word_is_enough_for_an_item_without_a_criterion(claim: Claim | None, enough: bool) -> None:
    """COMPLETE, or a task of this loop."""
    loop = begun(order(Plan(items=(Item("a", "do a"),)), None))
    loop = judged(called(loop, "t1", claim=claim), "t1")
    assert isinstance(loop.todo[0], actions.RunGates) == enough


def test_the_next_item_begins_untouched() -> None:
    """What was changed for one item is no change for the next."""
    plan = Plan(items=(Item("a", "do a"), Item("b", "do b")))
    done = Claim("COMPLETE", tasks=1)
    loop = verified(begun(order(plan, None)), "t1", claim=done)
    assert (purpose(loop), known(loop).item_touched) == (("building", "b"), False)
    loop = called(loop, "t1", claim=done)
    assert loop.proof.not_yet == ("nothing has changed for b yet",)


def test_the_whole_is_looked_at_between_items_and_end() -> None:
    """After a resume everything is judged again: no item is at hand, and that is what the mode says."""
    plan = Plan(items=(A, Item("sign", "sign it", human=True, chore=True)))
    loop = b.close(verified(begun(order(plan, ("A-1",))), "t1", "A-1"))
    loop = decide(loop, e.ResumeAsked(done=("sign",)))
    assert (known(loop).mode, known(loop).item, known(loop).why) == ("checking", None, "")
    assert known(loop).done_items["sign"] == DoneItem("sign", 1)
    good = concluded(judged(loop, "t1", "A-1"), "t1")
    assert purpose(good) == ("closing", "")
    assert known(good).why == "every item is verified; the agent has not signalled that nothing is left"
    assert (good.grade, good.proof.not_yet) == ("B", ())
    assert good.proof.unproven


def test_a_pause_while_the_whole_is_looked_at_costs_no_call() -> None:
    """A pause that comes during the last look is heard before a closing call is asked for."""
    plan = Plan(items=(A, Item("sign", "sign it", human=True, chore=True)))
    loop = b.close(verified(begun(order(plan, ("A-1",))), "t1", "A-1"))
    loop = decide(loop, e.ResumeAsked(done=("sign",)))
    loop = decide(loop, e.PauseAsked())
    loop = concluded(judged(loop, "t1", "A-1"), "t1")
    assert (loop.phase, loop.todo) == ("paused", ())
    assert purpose(decide(loop, e.ResumeAsked())) == ("closing", "")


def test_a_pause_does_not_keep_the_work_of_an_item_that_is_given_up() -> None:
    """Given up while a pause was asked for: the resume takes its work back before anything else."""
    loop = begun(order(limits=ROOM, brief={"attempts": 1}))
    loop = decide(called(loop, "t1"), e.PauseAsked())
    loop = judged(loop, "t1")
    assert (loop.phase, states(loop)) == ("paused", "a:blocked b:open")
    loop = decide(loop, e.ResumeAsked())
    owed = loop.todo[0]
    assert isinstance(owed, actions.RestoreWorkspace)
    assert (loop.phase, owed.to.tree) == ("working", BASE)
    assert purpose(b.restored(loop)) == ("building", "b")


def test_an_item_that_is_found_again_has_its_commit() -> None:
    """Back on the tree of its commit, a lost item is ticked without a second, empty commit."""
    loop = judged(called(FIRST, "t2"), "t2", "B-1")
    assert (known(loop).lost_items, purpose(loop)) == ({"a": 2}, ("building", "a"))
    loop = judged(called(loop, "t1"), "t1", "A-1")
    assert (known(loop).lost_items, states(loop)) == ({}, "a:done b:open")
    assert (purpose(loop), loop.landing.result) == (("building", "b"), "r-t1")
    changed = judged(called(judged(called(FIRST, "t2"), "t2", "B-1"), "t3"), "t3", "A-1")
    assert concluded(changed, "t3").todo == (actions.PublishItem(item="a", tree="t3", grade="B"),)


def test_a_lost_item_and_a_new_plan() -> None:
    """A new plan forgets a lost item that it has no more or by another meaning, and knows the same one."""
    loop = judged(called(FIRST, "t2"), "t2", "B-1")
    loop = replace(loop, build=replace(known(loop), mode="planning", item=None))
    for plan, lost in ((TWO, {"a": 2}), (Plan(items=(B,)), {}), (Plan(items=(replace(A, title="x"), B)), {})):
        after = plan_facts.take_plan(loop, e.PlanRead(plan=plan))
        assert known(after).lost_items == lost
        assert known(after).done_items.keys() == lost.keys()


def test_a_plan_that_cannot_be_worked_by_is_no_plan() -> None:
    """Whoever read it: a plan with a circle is counted as unsound, and the fact can be folded."""
    circle = Plan(items=(replace(A, after=("b",)), replace(B, after=("a",))))
    loop = b.restored(called(begun(order(None)), "t1", plan=e.PlanRead(plan=circle)))
    assert purpose(loop) == ("planning", "")
    assert (known(loop).planning.failures_in_row, len(known(loop).planning.problems)) == (1, 1)


def whole(*good: str, sealed: Any = None) -> Loop:
    """One item is done, and another criterion of the specs is proven or not."""
    return verified(begun(sealed or order(Plan(items=(A,)), IDS)), "t1", *good)


def test_what_no_item_serves_becomes_an_item_of_ralphs_own() -> None:
    """It names the criterion, comes first, is held to the whole, and opens again when that is not enough."""
    loop = whole("A-1")
    item = known(loop).item
    assert item == Item(
        "mend",
        "Make the whole green: every check, every criterion",
        priority=0,
        serves=("B-1",),
        chore=True,
        notes=("criterion B-1: no test names it",),
    )
    assert loop.proof.not_yet == ("criterion B-1: no test names it",)
    loop = judged(called(loop, "t2"), "t2", "A-1")
    assert loop.proof.not_yet == ("criterion B-1: no test names it",)
    loop = published(concluded(judged(called(loop, "t3"), "t3", *IDS), "t3"))
    assert (purpose(loop), states(loop)) == (("closing", ""), "a:done mend:done")
    after = next_item.add_mend_item(loop, ("the judge says no",))
    assert (states(after), known(after).item, after.proof.not_yet) == (
        "a:done mend:open",
        None,
        ("the judge says no",),
    )


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(items=(A,)), "the plan is valid: 1 item"),
        (
            Plan(items=(A, B), missing=(MissingSpec("x"), MissingSpec("y"))),
            "the plan is valid: 2 items, missing specs: x, y",
        ),
    ],
)
def test_words_of_a_plan_alone(plan: Plan, words: str) -> None:
    """How many items, and which specs are missing."""
    sealed = order(None, brief={"mode": "plan"})
    loop = b.started(replace(sealed, criterion=replace(sealed.criterion, gates=())))
    assert ended(b.restored(called(loop, "t1", plan=e.PlanRead(plan=plan)))) == ("verified", words)


def test_words_of_an_end_without_a_closing_call() -> None:
    """Where no call was left, none is spoken of."""
    loop = verified(begun(order(Plan(items=(A,)), ("A-1",), limits=Limits(iterations=1))), "t1", "A-1")
    words = "all 1 items are verified; the agent did not say that nothing is left "
    assert ended(loop) == ("verified", words + "(0 of 2 completion indicators, no signal)")


def test_optional_items_do_not_speak_against_a_signal() -> None:
    """Open items that nobody must do are told, and the signal is supported."""
    plan = Plan(
        items=(A, B, Item("c", "x", optional=True, chore=True), Item("d", "y", optional=True, chore=True))
    )
    loop = verified(begun(order(plan)), "t1", "A-1", said="done")
    loop = verified(loop, "t2", *IDS, said="done signal")
    assert ended(loop)[0] == "verified"
    dual = known(loop).closing.dual
    assert dual is not None
    assert dual.evidence_agrees


def test_what_an_iteration_may_add() -> None:
    """Twenty items, not one more; its ticks are told, five by name, and its own changes are remembered."""
    many = tuple(Item(f"n{n}", f"new {n}", chore=True) for n in range(25))
    before = b.answer(b.call(begun()))
    read = e.PlanRead(found=many, ticked=tuple("abcdefg"))
    after = decide(before, replace(b.snapshot("t1", before), plan=read))
    assert [item.id for item in known(after).plan.items] == ["a", "b", *(f"n{n}" for n in range(20))]
    assert known(after).prompt_notes == (
        "ticking a box has no effect; Ralph ticks what it verified (a, b, c, d, e)",
    )
    assert known(after).item_touched is True
    closed = called(LAST, "t2", plan=e.PlanRead(found=many, outside=2))
    assert len(known(closed).plan.items) == 22
    assert (known(closed).closing.calls, known(closed).planning.discarded_files) == (1, 2)


@pytest.mark.parametrize(
    ("cap", "times", "now", "expected"),
    [
        (None, (), 0.0, 4),
        (5, (), 0.0, 4),
        (4, (), 0.0, 3),
        (4, (100.0,), 3700.0, 3),
        (4, (100.0,), 3699.0, 2),
        (4, (100.0, 3000.0, 3001.0), 3699.0, 0),
        (4, (1.0, 2.0, 3.0, 4.0), 5.0, 0),
    ],
)
def test_how_many_may_read(cap: int | None, times: tuple[float, ...], now: float, expected: int) -> None:
    """As many as asked for, within the hour's calls, of which one is the plan's."""
    loop = begun(order(None, brief={"readers": 4}))
    loop = replace(loop.with_call(times=times), limits=Limits(calls_per_hour=cap), now=now)
    assert plan_facts.readers_due(loop) == expected
    assert plan_facts.readers_due(replace(loop, build=replace(known(loop), mode="building"))) == 0
    assert (
        plan_facts.readers_due(
            replace(loop, build=known(loop).with_planning(reader_notes=(e.ReaderNote("x"),)))
        )
        == 0
    )
    assert plan_facts.readers_due(b.based()) == 0


STARTED = e.ReadersStarted(call=1, count=2, agent="demo", prompts=("p", "p"), at=7.0)


def test_readers_are_calls_of_the_hour() -> None:
    """Each counts by the clock, as far as the hourly limit looks back."""
    loop = begun(order(None, brief={"readers": 2}, limits=Limits(calls_per_hour=5)))
    loop = decide(loop.with_call(times=(1.0, 2.0, 3.0, 4.0)), STARTED)
    assert (loop.call.times, loop.call.number, known(loop).planning.readers_running) == (
        (2.0, 3.0, 4.0, 7.0, 7.0),
        2,
        True,
    )
    assert decide(READING, STARTED).call.times == (7.0,)
    told = decide(READ, e.ReadersEnded(notes=(e.ReaderNote("x"),), usages=(Usage(5, 0.5), Usage(7, 0.25))))
    assert told.spend == replace(READ.spend, tokens=12, cost=0.75, blind=0)
    assert (known(told).planning.readers_running, known(told).planning.reader_notes) == (
        False,
        (e.ReaderNote("x"),),
    )


@pytest.mark.parametrize(
    ("loop", "event", "why"),
    [
        (READ, STARTED, "no such calls were asked for"),
        (READING, replace(STARTED, call=2), "no such calls were asked for"),
        (READING, replace(STARTED, count=1), "no such calls were asked for"),
        (READING, e.ReadersEnded(notes=()), "no readers were called"),
        (begun(), STARTED, "no readers were asked for"),
        (begun(), e.ReadersEnded(notes=()), "no readers were asked for"),
        (replace(begun(), todo=()), STARTED, "no readers were asked for"),
        (decide(READ, e.AbortAsked()), e.ReadersEnded(notes=()), "no readers were asked for"),
    ],
)
def test_readers_that_nobody_asked_for(loop: Loop, event: e.AnyEvent, why: str) -> None:
    """Other calls than were asked for, twice, or an end without a beginning are illegal, with the reason."""
    with pytest.raises(IllegalEvent, match=f"^{type(event).__name__} in phase working: {why}$"):
        decide(loop, event)


@pytest.mark.parametrize(("area", "words"), [("", ""), ("abc", "a, b, c"), ("abcd", "a to d (4 files)")])
def test_words_for_what_was_read(area: str, words: str) -> None:
    """A few paths by name, more by the first, the last and their number."""
    assert plan_readers.reader_note(tuple(area), "", "", ()).area == words


def test_one_way_of_counting() -> None:
    """Calls, tokens and money add up; what is not told is counted as unknown and never as nothing."""
    one = spend.add_started_call(Spend())
    assert one == Spend(calls=1)
    assert spend.add_call_usage(one, Usage()) == Spend(calls=1, blind=1)
    assert spend.add_call_usage(one, Usage(tokens=3)) == Spend(calls=1, blind=1, tokens=3)
    paid = spend.add_call_usage(one, Usage(tokens=3, cost=0.5, estimated=True))
    assert paid == Spend(calls=1, tokens=3, cost=0.5, estimated=True)
    aside = spend.add_side_calls(paid, 2)
    assert aside == Spend(calls=3, tokens=3, cost=0.5, blind=2, estimated=True)
    assert spend.add_usage(aside, Usage(cost=0.25)) == Spend(3, tokens=3, cost=0.75, blind=1, estimated=True)
    assert spend.add_side_calls(Spend()) == Spend(calls=1, blind=1)


def test_who_did_the_work_of_another() -> None:
    """Only an open item whose last criterion has just turned green is told; not before any iteration."""
    at_base = begun(order(), "B-1")
    assert known(at_base).prompt_notes == ()
    plan = Plan(items=(A, B, Item("c", "x", serves=("B-1", "C-1"))))
    loop = judged(called(begun(order(plan, (*IDS, "C-1"))), "t1"), "t1", *IDS)
    assert known(loop).prompt_notes == ("iteration 1 also did the work of b: one item per iteration",)


def test_words_of_completion_in_a_window() -> None:
    """The newest three are kept, and none of a call that failed."""
    loop = FIRST
    for _ in range(3):
        loop = called(loop, loop.work.tree, said="done")
    assert len(known(loop).closing.indications) == 3
    assert known(loop).closing.indications[-1] == Indication(4, complete=True)


def test_a_whole_that_turns_red_when_it_is_looked_at_again() -> None:
    """Every item is ticked and a check is red on the same tree: an item of Ralph's own, nothing goes."""
    plan = Plan(items=(A, Item("sign", "sign it", human=True, chore=True)))
    loop = b.close(verified(begun(order(plan, ("A-1",))), "t1", "A-1"))
    loop = judged(decide(loop, e.ResumeAsked(done=("sign",))), "t1", verdict=b.red(tree="t1"))
    assert (purpose(loop), loop.work.tree) == (("building", "mend"), "t1")
    assert known(loop).done_items.keys() == {"a", "sign"}


def test_a_base_on_which_all_is_ticked_and_not_all_is_proven() -> None:
    """Nothing was left to do by the plan, and the specs say otherwise: an item of Ralph's own."""
    loop = begun(order(Plan(items=(replace(A, state="done"),))), "A-1")
    assert purpose(loop) == ("building", "mend")
    assert known(loop).blocked_items == {}


def test_a_whole_without_a_witness() -> None:
    """Items that were verified by their own word need no second one for the whole."""
    loop = begun(order(Plan(items=(A,)), ("A-1",)))
    loop = b.judge(judged(called(loop, "t1"), "t1", "A-1"), b.final(b.green(tree="t1", per_test=True)))
    loop = published(b.conclude(loop, b.guard("t1")))
    assert (purpose(loop), loop.grade) == (("closing", ""), "C")


def test_work_that_is_more_urgent_begins_untouched() -> None:
    """An item put aside for one that was found is no change for that one."""
    urgent = Item("z", "do z", priority=0, chore=True)
    loop = begun(order(Plan(items=(Item("a", "do a", chore=True),)), None))
    loop = judged(called(loop, "t1", plan=e.PlanRead(found=(urgent,))), "t1")
    assert (purpose(loop), known(loop).item_touched) == (("building", "z"), False)


def test_a_whole_without_specs() -> None:
    """Without specs there is no criterion to prove: items, gates and guards are the whole."""
    loop = begun(order(Plan(items=(Item("a", "do a"),)), None))
    loop = verified(loop, "t1", claim=Claim("COMPLETE", tasks=1))
    assert (purpose(loop), known(loop).mode) == (("closing", ""), "closing")


def test_a_tick_from_before_that_is_given_up_stays_so() -> None:
    """Never proven and given up: it is not tried for ever, nobody is said to have broken it, others go on."""
    plan = Plan(items=(replace(A, state="done"), B))
    loop = begun(order(plan, limits=ROOM, brief={"attempts": 1}))
    assert (purpose(loop), known(loop).lost_items) == (("building", "a"), {"a": 0})
    loop = b.restored(judged(called(loop, "t1"), "t1"))
    assert (purpose(loop), known(loop).lost_items, states(loop)) == (
        ("building", "b"),
        {"a": 0},
        "a:blocked b:open",
    )
    loop = verified(loop, "t2", "B-1")
    assert ended(loop)[0] == "blocked"
    loop = decide(b.close(loop), e.ResumeAsked())
    assert (purpose(loop), states(loop)) == (("building", "a"), "a:open b:done")


def test_what_an_iteration_broke_is_told_once_and_comes_back_with_the_tree() -> None:
    """The next prompt names it; taken back to the verified tree, everything stands as it stood there."""
    loop = judged(called(begun(order(limits=ROOM)), "t1"), "t1", "A-1")
    first = published(concluded(loop, "t1"))
    assert known(first).links.base_tests == ties("A-1")
    assert known(first).base == Checkpoint(1, "t1", "c-t1", passing=1, red=0)
    broken = judged(called(first, "t2"), "t2", B_1="flaky")
    assert known(broken).prompt_notes == ("iteration 2 broke a, which was verified",)
    assert (known(broken).links.tests, known(broken).links.tree) == (ties(B_1="flaky"), "t2")
    board = known(broken).board
    assert board is not None
    assert board.failing
    again = judged(called(broken, "t3"), "t3", B_1="flaky")
    assert (known(again).prompt_notes, known(again).lost_items) == ((), {"a": 2})
    back = plan_facts.restore_plan_state(broken.with_work(tree="t1"))
    assert (known(back).lost_items, known(back).links.tests, known(back).links.tree) == (
        {},
        ties("A-1"),
        "t1",
    )
    assert (states(back), known(back).item_touched) == ("a:done b:open", False)
    elsewhere = broken.with_work(tree="t9")
    assert plan_facts.restore_plan_state(elsewhere) is elsewhere
    assert plan_facts.restore_plan_state(b.based()) == b.based()


def test_ties_travel_as_differences() -> None:
    """What is not told of a criterion stands as before; the base's own are kept for a way back."""
    assert known(begun()).links.base_tests == ties()
    loop = b.judge(called(FIRST, "t2"), b.green(tree="t2", per_test=True))
    loop = decide(loop, e.TestsTied(tree="t2", ties=ties("B-1")[1:]))
    assert known(loop).links.tests == ties(*IDS)
    assert known(loop).links.base_tests == ties("A-1")


def test_an_item_of_two_criteria_needs_both() -> None:
    """One of two that is not proven keeps it open, and loses it when it was verified."""
    both = Plan(items=(replace(A, serves=IDS), Item("b", "do b", chore=True)))
    loop = verified(begun(order(both)), "t1", *IDS)
    assert known(judged(called(loop, "t2"), "t2", "A-1")).lost_items == {"a": 2}
    assert judged(called(begun(order(both)), "t1"), "t1", "A-1").proof.not_yet == (
        "criterion B-1: no test names it",
    )


def test_many_others_whose_work_was_done() -> None:
    """All of them are told by name, always in the same order."""
    more = tuple(Item(name, name, serves=("B-1",), priority=at % 3) for at, name in enumerate("vwxyz"))
    loop = judged(called(begun(order(Plan(items=(replace(A, priority=0), *more)))), "t1"), "t1", *IDS)
    assert known(loop).prompt_notes == (
        "iteration 1 also did the work of v, y, w, z, x: one item per iteration",
    )


def test_what_a_tick_changes() -> None:
    """The commit, the base to go back to, one more of this plan; what else was lost stays lost."""
    loop = concluded(judged(called(FIRST, "t2"), "t2", *IDS), "t2")
    loop = replace(loop.with_work(changed_lines=7), build=replace(known(loop), lost_items={"a": 0, "b": 1}))
    after = plan_facts.tick_item(loop, "r-t2", "B")
    assert changes(loop, after) == {
        "item": None,
        "item_touched": False,
        "base": Checkpoint(2, "t2", "c-t2", changed_lines=7),
        "links.base_tests": ties(*IDS),
        "done_items": {**known(loop).done_items, "b": DoneItem("b", 2, "r-t2", "t2", "B")},
        "lost_items": {"a": 0},
        "planning.items_since_plan": 2,
    }
    assert (after.progress.recent, after.landing.result) == ((), "r-t2")


def test_what_a_human_who_looked_changes() -> None:
    """Blocked items are open again, every count starts anew; the item at hand stays so unless blocked."""
    loop = begun()
    stuck = next_item._block(loop, "a", "why")
    stuck = replace(
        stuck,
        build=replace(
            known(stuck).with_planning(failures_in_row=2, replanned_items=frozenset({"a"})), tries={"a": 5}
        ),
    )
    after = plan_facts.reopen_blocked_items(stuck)
    assert changes(stuck, after) == {
        "blocked_items": {},
        "tries": {},
        "planning.failures_in_row": 0,
        "planning.replanned_items": frozenset(),
    }
    assert states(after) == "a:open b:open"
    assert known(plan_facts.reopen_blocked_items(loop)).item == A
    held = replace(stuck, build=replace(known(stuck), item=A))
    assert known(plan_facts.reopen_blocked_items(held)).item is None
    assert plan_facts.reopen_blocked_items(b.based()) == b.based()
    gone = replace(loop, build=replace(known(loop), blocked_items={"a": "why", "other": "x"}))
    assert states(plan_facts.reopen_blocked_items(gone)) == "a:open b:open"


def test_what_a_human_did_by_hand() -> None:
    """Only boxes for humans, by name; one that was lost is taken at the human's word, others stay lost."""
    plan = Plan(
        items=(A, Item("sign", "x", human=True, chore=True), Item("seal", "y", human=True, chore=True))
    )
    loop = begun(order(plan, ("A-1",)))
    loop = replace(loop, iteration=3, build=replace(known(loop), lost_items={"sign": 1, "a": 2}))
    after = plan_facts.tick_human_items(loop, ("sign", "a", "none such"))
    assert changes(loop, after) == {"done_items": {"sign": DoneItem("sign", 3)}, "lost_items": {"a": 2}}
    assert states(after) == "a:open sign:done seal:open"
    assert plan_facts.tick_human_items(b.based(), ("a",)) == b.based()
    planning = begun(order(None))
    assert plan_facts.tick_human_items(planning, ("a",)) == planning


def test_found_items_are_ranked_like_all_others() -> None:
    """By the specs and their clearness, and open whatever box they came with."""
    found = (
        Item("n1", "x", serves=("B-1",), state="done"),
        Item("n2", "y", serves=("no such",)),
    )
    loop = begun(order(brief={"clarity": {"B-1": 4}}))
    after = plan_facts.with_items(loop, known(loop), found)
    assert after.board is not None
    ranked = after.board.ranked
    assert state_of(after.board, "n1") == "open"
    assert (ranked.weight[ranked.at["n1"]], ranked.lacking[ranked.at["n2"]]) == ((1, -4), 1)


def test_a_closing_call_that_finds_work_is_work_again() -> None:
    """What was told before is told no more, and the mode is building from there on."""
    loop = replace(LAST, build=replace(known(LAST), prompt_notes=("x",)))
    read = e.PlanRead(found=(Item("c", "do c", chore=True),))
    assert (
        known(plan_facts.take_closing(loop, read)).mode,
        known(plan_facts.take_closing(loop, read)).prompt_notes,
    ) == (
        "building",
        (),
    )
    assert known(plan_facts.take_closing(loop, None)).mode == "closing"


def test_what_is_behind_an_item_or_a_plan_is_no_stall_of_the_next() -> None:
    """A tick and a new plan begin with a clean history."""
    loop = concluded(judged(called(FIRST, "t2"), "t2", *IDS), "t2")
    tired = loop.with_progress(history=(b.footprint(),), counted=1)
    assert plan_facts.tick_item(tired, "r-t2", "B").progress.recent == ()
    assert plan_facts.take_plan(tired, e.PlanRead(plan=TWO)).progress.recent == ()


def test_a_flaky_test_makes_its_item_urgent() -> None:
    """As a failing one does."""
    loop = judged(called(FIRST, "t2"), "t2", "A-1", B_1="flaky")
    assert (purpose(loop), known(loop).rule) == (("building", "b"), "failing")


def test_a_box_for_a_human_survives_what_it_waited_for() -> None:
    """A new plan that drops what it waits for keeps the box, waiting for the rest; not a cancelled one."""
    sign = Item("sign", "sign it", human=True, chore=True, after=("a", "b"))
    old = Plan(items=(A, B, sign, replace(sign, id="gone", state="cancelled")))
    assert plan_facts.keep_human_items(old, Plan(items=(B,))).items == (B, replace(sign, after=("b",)))


def test_the_best_of_work_that_is_given_up_is_no_place_to_go_back_to() -> None:
    """After an item is given up, the best tree is the verified one, also where the agent went back itself."""

    def left(loop: Loop, tree: str, lines: int) -> Loop:
        loop = b.answer(b.call(loop))
        return judged(decide(loop, b.snapshot(tree, loop, lines)), tree, "A-1")

    loop = begun(order(limits=ROOM, brief={"attempts": 2}))
    loop = published(concluded(left(loop, "t1", 9), "t1"))
    loop = left(loop, "t2", 1)
    assert loop.progress.best is not None
    assert loop.progress.best.tree == "t2"
    loop = left(loop, "t1", 9)
    assert (list(known(loop).blocked_items), loop.work.tree, ended(loop)[0]) == (["b"], "t1", "blocked")
    assert loop.progress.best is not None
    assert loop.progress.best.tree == "t1"
