"""Promise: items of other tools come in with order and dependencies, never as passing, nothing unnamed."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.backlog.convert import FORMATS, export_items, import_items
from ralph.core.backlog.graph import mermaid, svg
from ralph.core.backlog.read_list import read_list

GITHUB = json.dumps(
    [
        {"number": 7, "title": "Crash on start", "body": "Blocked by #9", "state": "OPEN",
         "labels": [{"name": "priority: high"}]},
        {"number": 9, "title": "Config", "body": "", "labels": [], "state": "open"},
        {"number": 3, "title": "Old", "state": "CLOSED"},
    ]
)  # fmt: skip
GITLAB = json.dumps([{"iid": 4, "title": "A thing", "description": "x", "labels": ["P1"], "state": "opened"}])
BEADS = "\n".join(
    json.dumps(one)
    for one in (
        {"id": "bd-1", "title": "First", "status": "open", "priority": 0},
        {"id": "bd-2", "title": "Second", "status": "open", "priority": 2,
         "dependencies": [{"issue_id": "bd-2", "depends_on_id": "bd-1", "type": "blocks"}]},
        {"id": "bd-3", "title": "Gone", "status": "closed"},
    )
)  # fmt: skip
JIRA = (
    "Issue key,Summary,Priority,Status,Description\n"
    'PROJ-12,"Log in, please",Highest,To Do,"two\nlines"\nPROJ-13,Done thing,Low,Done,\n'
)
LINEAR = "ID,Title,Description,Status,Priority\nENG-5,Speed,make it fast,Backlog,Urgent\n"
CHECKLIST = "# Todo\n\n- [ ] write the parser\n- [x] set up\n"
STORIES = json.dumps(
    {
        "userStories": [
            {
                "id": "US-001",
                "title": "See it",
                "acceptanceCriteria": ["it is seen"],
                "priority": 1,
                "passes": True,
            }
        ]
    }
)


@pytest.mark.parametrize(
    ("text", "path", "wanted"),
    [
        (GITHUB, "issues.json", {"GH-7": (1, ["GH-9"]), "GH-9": (None, [])}),
        (GITLAB, "issues.json", {"GL-4": (1, [])}),
        (BEADS, "issues.jsonl", {"bd-1": (0, []), "bd-2": (2, ["bd-1"])}),
        (JIRA, "jira.csv", {"PROJ-12": (0, [])}),
        (LINEAR, "linear.csv", {"ENG-5": (0, [])}),
    ],
)
def test_trackers(text: str, path: str, wanted: dict[str, Any]) -> None:
    """Open issues with their priority and what they wait for; closed ones are named and left out."""
    made = import_items(text, path)
    assert {raw["id"]: (raw.get("priority"), raw["dependencies"]) for raw in made.items} == wanted
    listed = read_list(json.dumps({"items": list(made.items)}))
    assert not listed.critical
    assert not any(one.enabled for one in listed.items)
    left_out = [note for note in made.notes if "left out" in note]
    assert len(left_out) == text.lower().count("closed") + text.count(",Done,")


def test_lists_and_stories() -> None:
    """Checklists and prd.json come in through the plan's importer; a tick elsewhere is not a pass here."""
    made = import_items(CHECKLIST, "todo.md")
    assert [raw["title"] for raw in made.items] == ["write the parser", "set up"]
    assert {raw["status"] for raw in made.items} == {"FAILING"}
    (story,) = import_items(STORIES, "prd.json").items
    assert (story["id"], story["acceptance_criteria"], story["status"]) == (
        "US-001",
        ["it is seen"],
        "FAILING",
    )


def test_numbers_keep_their_order() -> None:
    """A prd.json may have any whole number as priority: the backlog keeps it."""
    rows = [{"id": f"US-{rank}", "title": f"T {rank}", "priority": rank} for rank in (12, 3, 40)]
    made = import_items(json.dumps({"userStories": rows}), "prd.json")
    assert {raw["id"]: raw["priority"] for raw in made.items} == {"US-12": 12, "US-3": 3, "US-40": 40}


def test_again_adds_nothing() -> None:
    """What is in the backlog already is named, not added twice."""
    made = import_items(GITHUB, "issues.json", known=["GH-7", "GH-9"])
    assert not made.items
    assert sum("already" in note for note in made.notes) == 2


@given(
    st.text(alphabet='{}[]",:\n-# x1idtle', max_size=80),
    st.sampled_from(["a.csv", "a.json", "a.jsonl", "a.md"]),
)
def test_any_text(text: str, path: str) -> None:
    """Nothing that is imported raises, and what comes out is a valid list."""
    made = import_items(text, path)
    assert not [
        one
        for one in read_list(json.dumps({"items": list(made.items)})).critical
        if one.code != "dependency_cycle"
    ]


def test_out() -> None:
    """Every form names every item; pictures escape what others wrote."""
    items = read_list(
        json.dumps({"items": [
            {"id": "A-1", "title": 'Evil <script> & "quotes"', "status": "FAILING"},
            {"id": "B-2", "title": "Two", "status": "CANCELLED", "dependencies": ["A-1"]},
        ]})
    ).items  # fmt: skip
    for form in FORMATS:
        text = export_items(items, form)
        assert "A-1" in text
        assert "B-2" in text
    assert {raw["id"] for raw in import_items(export_items(items, "prd"), "x.json").items} == {"A-1", "B-2"}
    picture = svg(items)
    assert "<script>" not in picture
    assert ET.fromstring(picture).tag.endswith("svg")
    assert "n0 --> n1" in mermaid(items)
    assert "<script>" not in mermaid(items)
