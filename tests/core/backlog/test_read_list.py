"""Promise: whatever a backlog's file holds, reading it never crashes, loses no item, and names all errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.backlog.json_text import element_starts
from ralph.core.backlog.read_list import attempt_problems, read_list, unknown_fields


def item(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "title": f"The {name}", "status": "FAILING", **more}


def listed(*items: Any, **head: Any) -> str:
    return json.dumps({"schema_version": "2.0", **head, "items": list(items)})


def codes(text: str) -> dict[str, str]:
    return {one.code: one.pointer for one in [*read_list(text).problems, *unknown_fields(text.encode())]}


def test_all_errors_at_once_with_pointers() -> None:
    """One reading names everything that is wrong, each with its place."""
    text = listed(
        item("A-1", dependencies=["B-2"], priority="high"),
        item("B-2", dependencies=["A-1", "Z-9"], verification=["npm test", 7]),
        item("A-1"),
        {"id": "x y", "title": "bad"},
        item("C-3", status="PASSING"),
        item("D-4", status="BLOCKED"),
        item("E-5", status="BROKEN", colour="red"),
        item("F-6", ralph_loop={"enabled": "yes", "convergence_criteria": {"looks_good": True}}),
        "nothing",
    )
    found = codes(text)
    assert found["dependency_cycle"] == "/items/0/dependencies"
    assert found["unknown_dependency"] == "/items/1/dependencies/1"
    assert found["duplicate_id"] == "/items/2/id"
    assert found["bad_id"] == "/items/3/id"
    assert found["passing_without_evidence"] == "/items/4/status"
    assert found["blocked_without_reason"] == "/items/5/override_reason"
    assert found["bad_status"] == "/items/6/status"
    assert found["unknown_field"] == "/items/6/colour"
    assert found["unknown_criterion"] == "/items/7/ralph_loop/convergence_criteria/looks_good"
    pointers = {one.pointer for one in read_list(text).problems}
    assert {
        "/items/0/priority",
        "/items/1/verification/1",
        "/items/7/ralph_loop/enabled",
        "/items/8",
    } <= pointers


def test_the_cycle_is_named() -> None:
    """Of a cycle every member is told, in order."""
    text = listed(
        item("A-1", dependencies=["B-2"]),
        item("B-2", dependencies=["C-3"]),
        item("C-3", dependencies=["A-1"]),
    )
    (problem,) = read_list(text).critical
    assert "A-1 -> B-2 -> C-3 -> A-1" in problem.message


def test_compound_commands_stay_whole() -> None:
    """`a && b` is one command, one text is a list of one, and an object may hold the command."""
    found = read_list(
        listed(item("A-1", verification=["a && b", {"command": "c | d"}]), item("B-2", verification="x, y"))
    )
    assert [one.verification for one in found.items] == [("a && b", "c | d"), ("x, y",)]


def test_passed_without_commands_is_no_evidence() -> None:
    """A PASSED attempt that ran nothing does not make an item PASSING."""
    attempt = {
        "run_id": "r",
        "timestamp": "2026-01-07T19:30:00Z",
        "result": "PASSED",
        "evidence": {"commands_run": [], "results_summary": "fine"},
    }
    assert "passing_without_evidence" in codes(listed(item("A-1", status="PASSING", attempts=[attempt])))
    attempt["evidence"] = {"commands_run": ["npm test"], "results_summary": "fine"}
    assert not codes(listed(item("A-1", status="PASSING", attempts=[attempt])))


@pytest.mark.parametrize("text", ["", "{", "[1,", '{"items": 3}', "null", '{"items": [' * 2000, "\x00"])
def test_no_list(text: str) -> None:
    """Text that holds no list is one critical problem, never an exception."""
    assert read_list(text).critical


def test_of_two_lists_the_last_one_counts() -> None:
    """The first one may be anything: what is wrong with the list is told, and it can be changed."""
    for first in ('"no"', "3", "[[1], 2]", "{}"):
        text = f'{{"items":{first},"items":[{{"id":"A-1","title":"a","status":"FAILING","colour":1}}]}}'
        assert codes(text) == {"unknown_field": "/items/0/colour"}
        assert element_starts(text.encode(), "items") == [text.index('{"id"')]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "id", "title", "status", "priority", "verification", "dependencies", "attempts", "ralph_loop",
    "prd_reference", "proof", "prompt_parts", "override_reason", "acceptance_criteria", "created_at",
)  # fmt: skip


@given(
    rows=st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6), max_size=4),
    number=st.integers(0, 4),
)
def test_fuzzed_lists_lose_no_item(rows: list[dict[str, Any]], number: int) -> None:
    """An item with a valid id is there whatever surrounds it, and every other one is named."""
    rows.insert(min(number, len(rows)), item("GOOD-1", priority=3))
    found = read_list(listed(*rows))
    assert found.by_id["GOOD-1"].priority == 3
    named = {one.pointer.split("/")[2] for one in found.problems if one.pointer.count("/") > 1}
    there = {str(number) for number in found.index.values()}
    assert {str(at) for at in range(len(rows))} <= named | there


@given(st.text(alphabet='{}[]",:ai d-1\\u0\ud800', max_size=60))
def test_fuzzed_text_never_crashes(text: str) -> None:
    """Any text is a list or a problem."""
    found = read_list(text)
    assert found.items or found.problems or "items" in text or text.strip() in ("[]", "{}")


def test_an_attempt_that_goes_on_needs_no_evidence_yet() -> None:
    """Only PASSED and FAILED are held to it; what is empty is named in words."""
    begun = {"run_id": "r", "timestamp": "2026-01-01T00:00:00Z", "result": "IN_PROGRESS"}
    begun |= {"evidence": {"commands_run": [], "results_summary": ""}}
    assert not list(attempt_problems(begun))
    [(_, _, at, words)] = attempt_problems(begun | {"result": "FAILED"})
    assert (at, words) == ("evidence/results_summary", "Expected text that is not empty, found ''")
