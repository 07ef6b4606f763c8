"""The next item: the decision table, row by row, and what holds for every plan."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import sound_plans

from ralph.core.model.plan.board import (
    board_of,
    choose,
    plan_with_states,
    state_of,
    with_failing,
    with_state,
)
from ralph.core.model.plan.items import Board, Item, MissingSpec, Plan, Tally, is_settled
from ralph.core.prompt.for_item import item_notes, item_text
from ralph.core.specs.parse import SpecCriterion
from ralph.errors import Bug, UserError

STATES = ("open", "done", "blocked", "cancelled")


def item(name: str, **more: object) -> Item:
    return Item(name, f"do {name}", **more)


def board(
    *items: Item, criteria: tuple[str, ...] | None = None, failing: tuple[str, ...] = (), **clarity: int
) -> Board:
    points = {name.replace("_", "-"): value for name, value in clarity.items()}
    return with_failing(board_of(Plan(items=items), criteria=criteria, clarity=points), failing)


DEEP = (
    item("p", priority=1),
    item("x", priority=1, after=("p",)),
    item("a", priority=2, optional=True),
    item("b", priority=2, optional=True, after=("a",)),
    item("c", priority=0, after=("b",)),
)
TABLE: list[tuple[str, Board, str, str, str]] = [
    ("urgency and need go down a chain", board(*DEEP), "item", "a", "blocker"),
    (
        "no criterion is less clear than one point",
        board(item("a"), item("b", serves=("C-1",)), C_1=1),
        "item",
        "b",
        "clearest",
    ),
    (
        "an unknown criterion is as unclear as none",
        board(item("a", serves=("C-9",)), item("b", serves=("C-1",)), C_1=1),
        "item",
        "b",
        "clearest",
    ),
    (
        "one unknown criterion is enough",
        board(item("a", serves=("C-1", "C-9")), criteria=("C-1",)),
        "plan",
        "a",
        "spec",
    ),
    ("all known", board(item("a", serves=("C-1", "C-2")), criteria=("C-1", "C-2")), "item", "a", "priority"),
    # what the row says, the board, kind, item, rule
    (
        "a blocker comes before a higher priority",
        board(item("a", priority=0), item("b", priority=2), item("c", priority=2, after=("b",))),
        "item",
        "b",
        "blocker",
    ),
    (
        "among blockers, the one that holds up the most urgent",
        board(
            item("a", priority=0),
            item("b", priority=2),
            item("x", priority=1, after=("a",)),
            item("y", priority=0, after=("b",)),
        ),
        "item",
        "a",
        "blocker",
    ),
    (
        "a low blocker of something urgent comes first",
        board(
            item("a", priority=1),
            item("b", priority=2),
            item("x", priority=1, after=("a",)),
            item("y", priority=0, after=("b",)),
        ),
        "item",
        "b",
        "blocker",
    ),
    (
        "what is settled does not block",
        board(item("a", priority=0), item("b", priority=2), item("c", after=("b",), state="done")),
        "item",
        "a",
        "priority",
    ),
    (
        "what is optional does not block",
        board(item("a", priority=0), item("b", priority=2), item("c", after=("b",), optional=True)),
        "item",
        "a",
        "priority",
    ),
    (
        "a blocker comes before failing tests",
        board(item("a", serves=("C-1",)), item("b"), item("c", after=("b",)), failing=("C-1",)),
        "item",
        "b",
        "blocker",
    ),
    (
        "failing tests come before priority",
        board(item("a", priority=0), item("b", priority=2, serves=("C-1",)), failing=("C-1",)),
        "item",
        "b",
        "failing",
    ),
    (
        "an item that broke is failing itself",
        board(item("a", priority=0), item("b", priority=2), failing=("b",)),
        "item",
        "b",
        "failing",
    ),
    (
        "what fails and is not ready does not count",
        board(item("a"), item("b", state="done", serves=("C-1",)), failing=("C-1",)),
        "item",
        "a",
        "priority",
    ),
    (
        "highest priority",
        board(item("a", priority=2), item("b", priority=0), item("c", priority=1)),
        "item",
        "b",
        "priority",
    ),
    (
        "clearest spec in a tie",
        board(item("a", serves=("C-1",)), item("b", serves=("C-2",)), C_1=1, C_2=4),
        "item",
        "b",
        "clearest",
    ),
    (
        "as clear as the least clear criterion",
        board(item("a", serves=("C-1", "C-2")), item("b", serves=("C-1",)), C_1=3, C_2=1),
        "item",
        "b",
        "clearest",
    ),
    ("the plan's order among equals", board(item("a"), item("b")), "item", "a", "order"),
    (
        "the top lacks a spec",
        board(item("a", priority=0), item("b", serves=("C-1",)), criteria=("C-1",)),
        "plan",
        "a",
        "spec",
    ),
    (
        "the top serves what no spec has",
        board(item("a", serves=("C-9",)), criteria=("C-1",)),
        "plan",
        "a",
        "spec",
    ),
    (
        "only the top counts",
        board(item("a", priority=0, serves=("C-1",)), item("b"), criteria=("C-1",)),
        "item",
        "a",
        "priority",
    ),
    ("a chore needs no spec", board(item("a", chore=True), criteria=("C-1",)), "item", "a", "priority"),
    ("without specs nothing lacks one", board(item("a")), "item", "a", "priority"),
    (
        "a dependency must be settled",
        board(item("a", priority=0, after=("b",)), item("b", state="blocked"), item("c", priority=2)),
        "item",
        "c",
        "priority",
    ),
    (
        "a cancelled dependency is settled",
        board(item("a", after=("b",)), item("b", state="cancelled")),
        "item",
        "a",
        "priority",
    ),
    (
        "an optional item that is needed is needed",
        board(item("a", after=("b",)), item("b", optional=True)),
        "item",
        "b",
        "blocker",
    ),
    ("nothing left", board(item("a", state="done"), item("b", state="cancelled")), "done", "", ""),
    (
        "optional items do not keep it open",
        board(item("a", state="done"), item("b", optional=True)),
        "done",
        "",
        "",
    ),
    ("nothing at all", board(), "done", "", ""),
    (
        "only a human",
        board(item("a", state="done"), item("b", human=True), item("c", after=("b",))),
        "human",
        "",
        "",
    ),
    ("stuck", board(item("a", state="blocked"), item("b", after=("a",))), "stuck", "", ""),
]


@pytest.mark.parametrize(
    ("made", "kind", "name", "rule"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_the_decision_table(made: Board, kind: str, name: str, rule: str) -> None:
    """Each row of the table chooses this item, for this reason."""
    found = choose(made)
    assert (found.kind, found.item.id if found.item else "", found.rule) == (kind, name, rule)
    assert found.why == WHYS[rule or kind]


WHYS = {
    "blocker": "other items wait for it",
    "failing": "a test that it serves fails",
    "priority": "it has the highest priority",
    "clearest": "it has the clearest spec among those of its priority",
    "order": "it comes first among equals",
    "spec": "no spec says what it should do",
    "done": "every required item is settled",
    "human": "only a human can tick what is left",
    "stuck": "every item left is blocked or waits for one",
}


def test_a_missing_spec_is_not_guessed() -> None:
    """An item whose criterion is listed as missing goes back to planning."""
    plan = Plan(items=(item("a", serves=("C-1",)),), missing=(MissingSpec("C-1"),))
    assert choose(board_of(plan, criteria=("C-1",))).kind == "plan"


def test_what_is_named_when_nothing_can_be_done() -> None:
    """The boxes for a human are named, else the blocked ones; the first few, and how many there are."""
    humans = choose(board(*(item(f"h{n}", human=True) for n in range(30)), item("b", state="blocked")))
    assert (humans.kind, humans.count, humans.names[:2], len(humans.names)) == ("human", 30, ("h0", "h1"), 10)
    stuck = choose(board(item("b", state="blocked"), item("c", after=("b",))))
    assert (stuck.names, stuck.count) == (("b",), 1)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((item("a"), item("a")), "two items 'a'"),
        ((item("a", after=("b",)),), "waits for 'b'"),
        ((item("a", after=("b",)), item("b", after=("a",))), "a -> b -> a"),
    ],
)
def test_an_unsound_plan_has_no_board(items: tuple[Item, ...], message: str) -> None:
    """What cannot be worked by is refused as a mistake of the plan, with its name."""
    with pytest.raises(UserError, match=message) as caught:
        board_of(Plan(items=items))
    assert (caught.value.exit_code, caught.value.code) == (2, "E-PLAN-INVALID")
    assert caught.value.what.startswith("the plan is not executable: ")
    assert caught.value.next


def test_unknown_items_are_our_mistake() -> None:
    """A state is given only to what is in the plan."""
    with pytest.raises(Bug):
        with_state(board(item("a")), "nope", "done")


def test_a_board_is_a_value() -> None:
    """Changing a board leaves the one before as it was."""
    before = board(item("a"), item("b", after=("a",)))
    after = with_state(before, "a", "done")
    assert (state_of(before, "a"), state_of(after, "a")) == ("open", "done")
    assert (choose(before).item.id, choose(after).item.id) == ("a", "b")
    assert with_state(after, "a", "open") == before


def changed(plan: Plan, changes: list[tuple[int, str]]) -> Board:
    made = board_of(plan)
    for number, state in changes if plan.items else []:
        made = with_state(made, plan.items[number % len(plan.items)].id, state)
    return made


CHANGES = st.lists(st.tuples(st.integers(0, 11), st.sampled_from(STATES)), max_size=8)


@settings(max_examples=examples(60))
@given(sound_plans(), CHANGES, st.lists(st.integers(0, 4), max_size=2))
def test_what_is_chosen_can_be_begun(plan: Plan, changes: list, failing: list) -> None:
    """Whatever happened before, a chosen item is open, for an agent, and all it waits for is settled."""
    made = with_failing(changed(plan, changes), [f"C-{one}" for one in failing])
    found = choose(made)
    now = {one.id: one for one in plan_with_states(plan, made).items}
    if found.item is not None:
        chosen = now[found.item.id]
        assert chosen.state == "open"
        assert not chosen.human
        assert all(is_settled(now[other]) for other in chosen.after)
    elif found.kind == "done":
        assert all(one.optional or is_settled(one) for one in now.values())
    else:
        assert found.count >= len(found.names) > 0


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(sound_plans(), CHANGES)
def test_incremental_is_the_same_as_anew(plan: Plan, changes: list) -> None:
    """A board changed item by item equals one made from the changed plan."""
    made = changed(plan, changes)
    again = board_of(plan_with_states(plan, made))
    for field in ("states", "tally", "ready"):
        assert getattr(made, field) == getattr(again, field), field
    assert choose(made).kind == choose(again).kind


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(sound_plans())
def test_every_plan_comes_to_an_end(plan: Plan) -> None:
    """Doing what is chosen, again and again, ends after at most as many times as there are items."""
    made = board_of(plan)
    for _ in range(len(plan.items) + 1):
        found = choose(made)
        if found.item is None:
            break
        made = with_state(made, found.item.id, "done")
    assert choose(made).item is None


def test_a_large_plan_changes_like_a_small_one() -> None:
    """States far apart are kept apart: changing some of thousands equals making the board anew."""
    plan = Plan(items=tuple(item(f"i{n}", after=(f"i{n - 1}",) if n % 5 else ()) for n in range(3000)))
    made = board_of(plan)
    for number, state in (
        (0, "done"),
        (1023, "blocked"),
        (1025, "done"),
        (2047, "cancelled"),
        (2999, "done"),
    ):
        made = with_state(made, f"i{number}", state)
    again = board_of(plan_with_states(plan, made))
    for field in ("states", "tally", "ready"):
        assert getattr(made, field) == getattr(again, field), field
    assert (made.tally.done, made.tally.blocked, made.tally.cancelled) == (3, 1, 1)


def test_wide_dependencies() -> None:
    """An item that waits for many becomes free with the last of them, and many wait for one."""
    many = [item(f"m{n}", after=("root",)) for n in range(40)]
    made = board(item("root"), *many, item("end", priority=0, after=tuple(one.id for one in many)))
    assert choose(made).item.id == "root"
    made = with_state(made, "root", "done")
    for one in many:
        assert choose(made).rule == "blocker"
        made = with_state(made, one.id, "done")
    assert choose(made).item.id == "end"
    broken = with_failing(with_state(made, "root", "open"), ["root"])
    assert (choose(broken).item.id, choose(broken).rule) == ("root", "failing")


def test_tally() -> None:
    """The numbers of a board are counted by state."""
    others = (item("c", optional=True), item("d", state="blocked"), item("e", state="cancelled"))
    found = board(item("a", state="done"), item("b"), *others).tally
    assert found == Tally(total=5, done=1, cancelled=1, blocked=1, open=2, optional_open=1)


def test_the_prompt_shows_one_item() -> None:
    """The agent is told its item in full, the numbers, and what not to begin yet."""
    made = board(
        item("a", priority=0, serves=("C-1", "C-2"), notes=("see the sketch",)),
        item("b"),
        item("z", state="done"),
        C_1=4,
    )
    criterion = SpecCriterion("C-1", "Opens", 3, 6, given=("a user",), when=("they log in",), then=("home",))
    assert item_text(made, choose(made), {"C-1": criterion}).split("\n") == [
        "a: do a (P0, serves C-1 C-2)",
        "chosen because it has the highest priority",
        "criterion C-1: Opens",
        "  Given a user",
        "  When they log in",
        "  Then home",
        "criterion C-2: not in any spec",
        "plan: 1 of 3 items verified, 2 open",
        "later, not now:",
        "  b: do b",
    ]
    empty = board(item("a", state="blocked"), item("o", optional=True))
    assert item_notes(made.ranked.items[0]) == "see the sketch"
    assert (
        item_text(empty, choose(empty), {})
        == "plan: 0 of 2 items verified, 1 open, 1 blocked, 1 of the open ones optional"
    )


def test_the_prompt_is_bounded() -> None:
    """However large a plan and an item are, what is said of them stays short."""
    names = tuple(f"C-{n}" for n in range(100))
    large = item("a", priority=0, serves=names, notes=("n" * 500,) * 100)
    made = board(large, *(item(f"i{n}") for n in range(1000)))
    text = item_text(made, choose(made), {})
    assert len(text.split("\n")) < 60
    assert len(text) < 12_000
    assert "… and 88 more criteria" in text
    assert item_notes(large).endswith("… and 80 more notes")
    assert len(item_notes(large)) < 7_000
