"""Promise: the next item is the one that the rules name, and every other has its reason."""

from __future__ import annotations

import json
from typing import Any

from ralph.core.backlog.read_list import read_list
from ralph.core.backlog.select import nothing_words, select

ON = {"enabled": True}
EVIDENCE = {
    "run_id": "r", "timestamp": "2026-01-07T19:30:00Z", "result": "PASSED",
    "evidence": {"commands_run": ["x"], "results_summary": "ok"},
}  # fmt: skip


def lists(*items: dict[str, Any]) -> Any:
    return read_list(json.dumps({"items": [{"title": "Title", "status": "FAILING", **one} for one in items]}))


def test_priority_then_id() -> None:
    """Lower numbers first, negative ones too; without a number last; equal ones by id."""
    found = lists(
        {"id": "Z-1", "ralph_loop": ON},
        {"id": "B-1", "priority": 1, "ralph_loop": ON},
        {"id": "A-1", "priority": 1, "ralph_loop": ON},
        {"id": "M-1", "priority": -3, "ralph_loop": ON},
        {"id": "L-1", "priority": 700, "ralph_loop": ON},
    )
    assert [one.id for one in select(found).eligible] == ["M-1", "A-1", "B-1", "L-1", "Z-1"]


def test_every_reason() -> None:
    """Cap, dependency, status, switch and missing criterion each pass an item over, with words."""
    found = lists(
        {"id": "OFF-1"},
        {"id": "CAP-1", "ralph_loop": {**ON, "max_iterations": 2, "current_iteration": 2}},
        {"id": "DEP-1", "dependencies": ["OFF-1", "DONE-1", "GONE-1"], "ralph_loop": ON},
        {"id": "DONE-1", "status": "PASSING", "attempts": [EVIDENCE]},
        {"id": "GONE-1", "status": "CANCELLED"},
        {"id": "STOP-1", "status": "BLOCKED", "override_reason": "no key", "ralph_loop": ON},
        {"id": "BARE-1", "ralph_loop": ON},
        {"id": "OK-1", "dependencies": ["DONE-1", "GONE-1"], "ralph_loop": ON},
    )
    made = select(found, lambda one: one.id == "BARE-1")
    assert [one.id for one in made.eligible] == ["OK-1"]
    why = made.passed_over
    assert why["OFF-1"].startswith("not enabled")
    assert why["CAP-1"].startswith("2 of 2 attempts")
    assert why["DEP-1"] == "waits for OFF-1"
    assert why["STOP-1"] == "BLOCKED: no key"
    assert why["BARE-1"].startswith("needs a criterion")
    assert (why["DONE-1"], why["GONE-1"]) == ("PASSING", "CANCELLED")


def test_words_for_nothing() -> None:
    """Complete is said only when nothing is left to do."""
    assert nothing_words(lists({"id": "A-1", "status": "CANCELLED"})) == "Backlog complete"
    assert nothing_words(lists({"id": "A-1"})).startswith("No eligible items")
    assert nothing_words(lists()) == "The backlog is empty"
