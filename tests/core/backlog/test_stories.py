"""Promise: user stories are found in Markdown and JSON, and what should be one and is none is named."""

from __future__ import annotations

import json

import pytest

from ralph.core.backlog.stories import find_stories

MARKDOWN = """# Shop

## User stories
- [x] As a shopper, I want to pay by card, so that I need no cash.
- As an admin I want reports
- something else
  - a remark on it

### US-7: Log in
**As a** user,
**I want** to log in
**so that** I see my orders.

```
- As a robot, I want to be an example, so that nobody reads me
```
"""


def test_stories_in_markdown() -> None:
    """In one line, in bold over three, in a box; without a benefit; code is not read."""
    found = find_stories(MARKDOWN, "PRD.md")
    assert [tuple(one.values()) for one in found.stories] == [
        ("pay by card", "shopper", "pay by card", "I need no cash", "done"),
        ("reports", "admin", "reports", "", "open"),
        ("US-7: Log in", "user", "log in", "I see my orders", "open"),
    ]
    assert [*found.stories[0]] == ["title", "persona", "action", "benefit", "status"]
    assert found.not_understood == (
        'PRD.md:5: no "so that …": reports', "PRD.md:6: not understood: something else",
    )  # fmt: skip


def test_stories_in_json() -> None:
    """A sentence or fields of their own; the document's own state; others are named."""
    stories = [
        {
            "id": "US-1",
            "title": "Pay",
            "description": "As a shopper, I want to pay, so that I own it.",
            "passes": True,
        },
        {
            "title": "Look",
            "persona": "admin",
            "action": "see reports",
            "benefit": "know",
            "status": "blocked",
        },
        {"title": "Nothing more"},
        7,
    ]
    found = find_stories(json.dumps({"project": "x", "userStories": stories}), "prd.json")
    assert [tuple(one.values()) for one in found.stories] == [
        ("Pay", "shopper", "pay", "I own it", "done"),
        ("Look", "admin", "see reports", "know", "blocked"),
    ]
    assert [one.partition(": not")[0] for one in found.not_understood] == [
        "prd.json: story 3", "prd.json: story 4",
    ]  # fmt: skip


def test_stories_in_a_prd_by_the_schema() -> None:
    """Its sentences are read as those of Markdown are."""
    text = json.dumps({"functional_requirements": ["As a user, I want to log in, so that I see it."]})
    assert find_stories(text, "FEAT-001.json").stories[0]["persona"] == "user"


@pytest.mark.parametrize(
    "text", ["", "{bad", "[[[[", "null", "{}", "As a", "\x00\ufeff", "[7]", '{"stories": 3}']
)
def test_any_text_is_answered(text: str) -> None:
    """Whatever it is: no story, and a note that says so."""
    found = find_stories(text, "x")
    assert not found.stories
    assert found.not_understood
