"""Promise: an item changes only as its rights and transitions allow; attempts are only appended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph.core.backlog.changes import (
    FOLLOWS,
    BacklogFact,
    ItemState,
    after_failure,
    check_fact,
    compare,
    edits_for,
    fold,
    recurring_pattern,
    shown_state,
)
from ralph.core.backlog.items import STATUSES
from ralph.core.backlog.json_text import apply_edits
from ralph.core.backlog.read_list import read_list
from ralph.errors import UserError

PASSED = {"run_id": "r", "result": "PASSED"}


@pytest.mark.parametrize("old", STATUSES)
@pytest.mark.parametrize("new", STATUSES)
def test_transitions(old: Any, new: Any) -> None:
    """Exactly the moves of the table are allowed, each with its evidence or reason."""
    deed: Any = "attempt" if "PASSING" in (old, new) else "status"
    attempt = (PASSED if new == "PASSING" else {"result": "FAILED"}) if deed == "attempt" else None
    fact = BacklogFact(deed=deed, item="A-1", status=new, reason="because", attempt=attempt)
    allowed = old == new or new in FOLLOWS[old]
    if allowed:
        check_fact(fact, ItemState(status=old))
        return
    with pytest.raises(UserError) as error:
        check_fact(fact, ItemState(status=old))
    assert error.value.code == "E-BACKLOG-FORBIDDEN-TRANSITION"


@pytest.mark.parametrize(
    "fact",
    [
        BacklogFact(deed="status", item="A-1", status="PASSING", reason="trust me"),
        BacklogFact(deed="attempt", item="A-1", status="PASSING", attempt={"result": "FAILED"}),
        BacklogFact(deed="status", item="A-1", status="BLOCKED"),
        BacklogFact(deed="iteration", item="A-1", iteration=0),
        BacklogFact(deed="iteration", item="A-1", iteration=0, by="ralph", reason="again"),
        BacklogFact(deed="override", item="A-1", status="PASSING", by="ralph", reason="again"),
        BacklogFact(deed="override", item="A-1", status="PASSING"),
        BacklogFact(deed="edited", item="A-1", by="ralph", define={"title": "x"}),
        BacklogFact(deed="edited", item="A-1", define={"id": "B-1"}),
        BacklogFact(deed="edited", item="A-1", define={"attempts": []}),
    ],
)
def test_what_is_never_allowed(fact: BacklogFact) -> None:
    """No evidence, no reason, or not a person: refused."""
    with pytest.raises(UserError):
        check_fact(fact, ItemState(status="FAILING", iteration=3))


def test_cap() -> None:
    """The attempt that reaches the cap blocks the item; what does not count changes nothing."""
    (item,) = read_list(
        '{"items":[{"id":"A-1","title":"x","status":"FAILING","ralph_loop":{"max_iterations":2}}]}'
    ).items
    assert after_failure(item, ItemState(iteration=0), counts=True) == (1, None)
    assert after_failure(item, ItemState(iteration=1), counts=True) == (2, "BLOCKED")
    assert after_failure(item, ItemState(iteration=1), counts=False) == (1, None)


def test_recurring_pattern() -> None:
    """What failed more than once is named with its count; attempts that did not count are left out."""
    attempts: list[dict[str, Any]] = [
        {"result": "FAILED", "failing": ["test_a", "test_b"]},
        {"result": "FAILED", "failing": ["test_a"]},
        {"result": "FAILED", "failing": ["test_c"], "counted": False},
    ]
    assert recurring_pattern(attempts) == "in 2 of 2 attempts: test_a"


def test_file_follows_facts() -> None:
    """Rendering a state into the file and reading it back gives that state."""
    text = '{"items": [{"id": "A-1", "title": "x", "status": "FAILING"}]}'
    facts = [
        BacklogFact(deed="adopted", items={"A-1": ItemState()}),
        BacklogFact(deed="attempt", item="A-1", attempt={"run_id": "1", "result": "FAILED"}, iteration=1),
        BacklogFact(
            deed="attempt",
            item="A-1",
            attempt={"run_id": "2", "result": "FAILED"},
            iteration=2,
            status="BLOCKED",
            reason="cap",
        ),
    ]
    new = fold(facts)["A-1"]
    found = read_list(text)
    item = found.items[0]
    made = read_list(apply_edits(text, edits_for(("items", 0), shown_state(item), new)))
    assert shown_state(made.items[0]) == new


def test_hand_edits() -> None:
    """Edited results are named and do not count; a reset is known; what vanished is named."""
    blocked = ItemState(status="BLOCKED", iteration=5, override="cap", attempts=({"run_id": "1"},))
    state = {
        "A-1": blocked,
        "B-1": ItemState(),
        "C-1": ItemState(attempts=({"run_id": "1"},)),
        "GONE-1": ItemState(),
    }
    found = read_list(json.dumps({"items": [
        {"id": "A-1", "title": "x", "status": "FAILING", "attempts": [{"run_id": "1"}]},
        {"id": "B-1", "title": "x", "status": "PASSING"},
        {"id": "C-1", "title": "x", "status": "FAILING", "attempts": [{"run_id": "forged"}]},
        {"id": "NEW-1", "title": "x", "status": "PASSING"},
    ]}))  # fmt: skip
    differences, unknown = compare(found, state)
    named = {one.item: one for one in differences}
    assert set(named) == {"A-1", "B-1", "C-1", "NEW-1", "GONE-1"}
    assert [one.item for one in differences if one.reset] == ["A-1"]
    assert unknown["NEW-1"].status == "FAILING"
    assert compare(found, {})[1]["B-1"].status == "PASSING"
