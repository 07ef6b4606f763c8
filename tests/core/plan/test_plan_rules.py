"""What must hold of a plan as a whole, and what changed between two of them."""

from __future__ import annotations

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import plans, sound_plans

from ralph.core.model.plan.items import Item, MissingSpec, Plan, order_of
from ralph.core.model.plan.plan_rules import check_plan, is_valid
from ralph.core.plan.diff import carry_states, diff_lines, diff_plans
from ralph.core.plan.file import check_file, parse_plan
from ralph.core.plan.layout import render_plan

NONE = "\n## Missing specs\n- none\n"
TABLE: list[tuple[str, tuple[str, ...] | None, list[tuple[int, str, str]]]] = [
    (
        "- [ ] `a`: x (chore)" + NONE,
        ("C-1",),
        [(1, "P1", "no item serves criterion 'C-1', and it is not listed as missing")],
    ),
    ("- [ ] `a`: x (serves C-1)" + NONE, ("C-1",), []),
    (
        "- [-] `a`: x (serves C-1)" + NONE,
        ("C-1",),
        [(1, "P1", "no item serves criterion 'C-1', and it is not listed as missing")],
    ),
    ("- [ ] `a`: x (chore)\n## Missing specs\n- C-1: who knows", ("C-1",), []),
    ("- [ ] `a`: x (serves C-2)" + NONE, (), [(1, "P1", "item 'a' serves 'C-2', which no spec has")]),
    ("- [ ] `a`: x (serves C-2)\n## Missing specs\n- C-2", (), []),
    (
        "\n- [ ] `a`: x" + NONE,
        (),
        [(2, "P2", "item 'a' serves no criterion, expected 'serves ID' or 'chore'")],
    ),
    (
        "- [ ] `a`: x (chore)",
        (),
        [(1, "P1", "there is no section 'Missing specs', expected one, if only with '- none'")],
    ),
    ("- [ ] `a`: x", None, []),
    ("", None, [(1, "P1", "the plan has no items, expected at least one line like '- [ ] what to do'")]),
    ("- [ ] `a`: x\n- [ ] `a`: y", None, [(1, "P1", "there are two items 'a'")]),
    (
        "- [ ] `a`: x\n- [ ] `b`: y (after c)",
        None,
        [(2, "P1", "item 'b' waits for 'c', which is not in the plan")],
    ),
    ("- [ ] `a`: x (after a)", None, [(1, "P1", "dependency cycle: a -> a")]),
    (
        "- [ ] `x`: x (after a)\n- [ ] `a`: x (after b)\n- [ ] `b`: x (after c)\n- [ ] `c`: x (after a)",
        None,
        [(2, "P1", "dependency cycle: a -> b -> c -> a")],
    ),
    ("- [y] `a`: x", None, [(1, "P1", "a box holds 'y', expected one of ' ', 'x', '!', '-'")]),
]


@pytest.mark.parametrize(("text", "criteria", "expected"), TABLE)
def test_what_is_wrong(text: str, criteria: tuple[str, ...] | None, expected: list) -> None:
    """A plan has these findings at these lines, and no others."""
    found = check_file(parse_plan(text), criteria)
    assert [(one.line, one.severity, one.message) for one in found] == expected
    assert is_valid(found) == all(severity == "P2" for _, severity, _ in expected)
    assert all(one.path == "IMPLEMENTATION_PLAN.md" and one.key for one in found)


def test_a_long_circle_is_cut() -> None:
    """A circle of hundreds is named by its beginning."""
    items = tuple(Item(f"i{n}", "x", after=(f"i{(n + 1) % 500}",)) for n in range(500))
    (found,) = check_plan(Plan(items=items), None)
    assert len(found.message) < 200
    assert found.message.startswith("dependency cycle: i0 -> i1 -> ")
    assert found.message.endswith("-> … -> i0")


def test_a_long_chain_is_no_trouble() -> None:
    """Ten thousand items in a row are ordered without recursion."""
    items = tuple(Item(f"i{n}", "x", after=(f"i{n + 1}",) if n < 9_999 else ()) for n in range(10_000))
    order, circle = order_of(items)
    assert (order[0], order[-1], circle) == (9_999, 0, ())


@settings(max_examples=examples(60))
@given(plans())
def test_checking_never_raises(plan: Plan) -> None:
    """Any plan can be checked; a plan without findings has no circle."""
    found = check_plan(plan, ["C-1"])
    order, circle = order_of(plan.items)
    assert bool(circle) == any(one.key.startswith("plan-circle") for one in found)
    assert len(set(order)) == len(order)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(sound_plans())
def test_orders_respect_dependencies(plan: Plan) -> None:
    """Nothing comes before what it waits for."""
    order, circle = order_of(plan.items)
    place = {plan.items[index].id: rank for rank, index in enumerate(order)}
    assert circle == ()
    assert all(place[other] < place[one.id] for one in plan.items for other in one.after)


OLD = Plan(
    items=(
        Item("a", "One", priority=0, serves=("C-1",), state="done"),
        Item("b", "Two", after=("a",)),
        Item("c", "Three", state="blocked"),
        Item("d", "Four", state="done"),
    ),
    missing=(MissingSpec("m"), MissingSpec("n")),
)
NEW = Plan(
    items=(
        Item("a", "One", priority=1, serves=("C-1",)),
        Item("b", "Two, better", after=("e",), size="S"),
        Item("d", "Four", state="done"),
        Item("e", "Five", optional=True, state="done"),
    ),
    missing=(MissingSpec("n", "why"), MissingSpec("o")),
)


def test_the_difference() -> None:
    """Added, removed and changed items and missing specs are told, one line each."""
    found = diff_plans(OLD, NEW)
    assert diff_lines(found) == (
        "+ e: Five (P1, optional)",
        "- c: Three",
        "~ a: priority P0 -> P1; state done -> open",
        "~ b: title 'Two' -> 'Two, better'; after a -> e; size none -> S",
        "+ missing spec: o",
        "- missing spec: m",
    )
    assert not found.empty
    assert diff_plans(OLD, OLD).empty


def test_what_is_carried_over() -> None:
    """Only what Ralph said of the same item survives a new plan; a box that only the plan ticks is opened."""
    assert {item.id: item.state for item in carry_states(OLD, NEW).items} == {
        "a": "done",
        "b": "open",
        "d": "done",
        "e": "open",
    }


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(sound_plans(), sound_plans(), st.data())
def test_differences_are_complete(old: Plan, new: Plan, data: st.DataObject) -> None:
    """A plan differs from itself in nothing, also after a file; else what came and went is told."""
    assert diff_plans(old, parse_plan(render_plan(old)).plan).empty
    shuffled = Plan(items=tuple(data.draw(st.permutations(old.items))))
    assert diff_plans(old, shuffled).empty
    told = diff_plans(old, new)
    assert {one.id for one in told.added} == {one.id for one in new.items} - {one.id for one in old.items}
    assert {one.id for one in told.removed} == {one.id for one in old.items} - {one.id for one in new.items}
