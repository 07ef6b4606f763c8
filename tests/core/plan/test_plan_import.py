"""PRDs, stories and task lists as plan items: what is taken over, and what is named instead."""

from __future__ import annotations

import json
import time

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.model.plan.board import board_of, choose
from ralph.core.model.plan.items import Item, MissingSpec
from ralph.core.model.plan.plan_rules import check_plan
from ralph.core.plan.import_json import looks_like_json
from ralph.core.plan.import_markdown import import_plan
from ralph.core.plan.import_words import depends_in, priority_word, size_word, state_word

PRD = """\
# PRD: Priorities

## Introduction
Let users rank their work.

## User stories

### US-001: Store a priority
**Description:** As a user, I want a priority so that I see what matters.

**Acceptance Criteria:**
- [x] AC-1: the column exists
- [x] the tests pass

**Priority:** P0
**Size:** large

### US-002: Show a priority
**Depends on:** US-001

- [ ] a badge is shown
- Typecheck passes

#### Details
more words

### Task 3: Filter
**Status:** blocked

## Non-goals
- No sorting
"""


def test_a_prd_with_stories() -> None:
    """A story's heading is the item; its criteria are notes, its fields are fields; the rest is named."""
    found = import_plan(PRD, "prd.md")
    assert {item.id: item for item in found.plan.items} == {
        "US-001": Item(
            "US-001",
            "Store a priority",
            priority=0,
            size="L",
            serves=("AC-1",),
            state="done",
            notes=(
                "As a user, I want a priority so that I see what matters.",
                "acceptance: AC-1: the column exists",
                "acceptance: the tests pass",
            ),
        ),
        "US-002": Item(
            "US-002",
            "Show a priority",
            after=("US-001",),
            notes=("acceptance: a badge is shown", "acceptance: Typecheck passes", "more words"),
        ),
        "story-3": Item("story-3", "Filter", state="blocked"),
    }
    assert [(one.path, one.line, one.message) for one in found.unread] == [
        ("prd.md", 4, "not understood: Let users rank their work."),
        ("prd.md", 31, "not understood: No sorting"),
    ]


def test_boxes_without_stories_are_a_plan() -> None:
    """A task list of boxes is read as a plan is; prose is named with its line."""
    found = import_plan(
        "# Tasks\nProse here.\n## High\n- [ ] one thing\n- [x] two things (S)\n## Missing specs\n- x\n",
        "t.md",
    )
    assert found.plan.items == (
        Item("one-thing", "one thing", priority=0),
        Item("two-things", "two things", priority=0, size="S", state="done"),
    )
    assert found.plan.missing == (MissingSpec("x"),)
    assert [(one.line, one.message) for one in found.unread] == [(2, "not understood: Prose here.")]


def test_lists_without_boxes() -> None:
    """List lines are items, but not those of sections that say what is not to be built; labels are read."""
    found = import_plan(
        "# PRD\n## Goals\n- be rich\n## Requirements\n**Must:**\n- store it\n  - in one table\n"
        "**Could:**\n- show it\n"
        "## Future\n1. FR-7: sort it\n## Open questions\n- who pays?\nTODO: ask her\n",
        "p.md",
    )
    assert {item.id: (item.title, item.priority, item.optional, item.notes) for item in found.plan.items} == {
        "store-it": ("store it", 0, False, ("in one table",)),
        "show-it": ("show it", 2, True, ()),
        "FR-7": ("sort it", 1, True, ()),
        "ask-her": ("ask her", 1, False, ()),
    }
    assert [one.message for one in found.unread] == ["not understood: be rich", "not understood: who pays?"]


STORY = {
    "id": "US-1",
    "title": "Store",
    "acceptanceCriteria": ["AC-1: stored", "typecheck passes"],
    "passes": False,
}
STORIES: list[tuple[str, object, dict[str, dict[str, object]], list[str]]] = [
    (
        "user stories",
        {
            "project": "x",
            "userStories": [{**STORY, "description": "why", "priority": 1, "notes": "careful", "retries": 0}],
        },
        {
            "US-1": {
                "priority": 0,
                "serves": ("AC-1",),
                "notes": ("why", "acceptance: AC-1: stored", "acceptance: typecheck passes", "careful"),
            }
        },
        ["field 'retries' (1 times)"],
    ),
    ("passes", {"stories": [{**STORY, "passes": True}]}, {"US-1": {"state": "done"}}, []),
    (
        "a bare list",
        [{"category": "ui", "description": "Show it", "steps": ["open"], "passes": True}],
        {"show-it": {"state": "done", "notes": ("acceptance: open",)}},
        ["field 'category' (1 times)"],
    ),
    (
        "snake case",
        {"user_stories": [{"id": 4, "name": "n", "acceptance_criteria": "one", "depends_on": []}]},
        {"4": {"title": "n", "notes": ("acceptance: one",)}},
        [],
    ),
    (
        "tasks below a tag, with subtasks",
        {
            "master": {
                "tasks": [
                    {
                        "id": 1,
                        "title": "top",
                        "status": "pending",
                        "priority": "high",
                        "subtasks": [
                            {"id": 1, "title": "first", "status": "done"},
                            {"id": 2, "title": "second", "dependencies": [1]},
                        ],
                    },
                    {"id": 2, "title": "next", "dependencies": [1], "status": "in-progress"},
                ]
            }
        },
        {
            "1.1": {"state": "done"},
            "1.2": {"after": ("1.1",)},
            "1": {"after": ("1.1", "1.2"), "priority": 0},
            "2": {"after": ("1",), "state": "open"},
        },
        [],
    ),
    (
        "a feature list",
        {
            "items": [
                {"id": "F-1", "title": "x", "status": "PASSING", "priority": 2},
                {"id": "F-2", "title": "y", "status": "odd", "priority": 1},
            ]
        },
        {"F-1": {"state": "done", "priority": 1}, "F-2": {"priority": 0}},
        ["status 'odd'"],
    ),
    (
        "levels from zero",
        {"items": [{"id": "a1", "title": "x", "priority": 0}, {"id": "a2", "title": "y", "priority": 2}]},
        {"a1": {"priority": 0}, "a2": {"priority": 2}},
        [],
    ),
    (
        "numbers beyond three only order",
        {"items": [{"id": "a1", "title": "x", "priority": 9}, {"id": "a2", "title": "y", "priority": 2}]},
        {"a1": {"priority": 1}, "a2": {"priority": 1}},
        [],
    ),
    (
        "a lost dependency",
        [{"id": "a1", "title": "x", "dependsOn": ["a9"]}],
        {"a1": {"after": ()}},
        ["'a1' waits for 'a9', which is not there"],
    ),
    (
        "two with one id",
        [{"id": "a1", "title": "x"}, {"id": "a1", "title": "y"}],
        {"a1": {"title": "x"}, "a1-2": {"title": "y"}},
        ["a second item 'a1', now called 'a1-2'"],
    ),
    (
        "no title",
        [{"id": "", "x": 1}, {"title": "y"}],
        {"y": {}},
        ["a story without a title", "field 'x' (1 times)"],
    ),
    ("not an object", {"stories": [{"title": "y"}, 7]}, {"y": {}}, ["story 2 is no object: 7"]),
    (
        "sizes",
        [{"title": "y", "effort": "small"}, {"title": "z", "estimate": 5}],
        {"y": {"size": "S"}, "z": {"size": "", "notes": ("size: 5",)}},
        [],
    ),
    (
        "human and optional",
        [{"title": "y", "manual": True, "optional": True}],
        {"y": {"human": True, "optional": True}},
        [],
    ),
    (
        "no stories",
        {"name": "x"},
        {},
        ["no list under any of: userstories, stories, features, tasks, items, requirements"],
    ),
]


@pytest.mark.parametrize(
    ("data", "expected", "unread"), [row[1:] for row in STORIES], ids=[row[0] for row in STORIES]
)
def test_stories(data: object, expected: dict, unread: list[str]) -> None:
    """JSON stories become these items; each field or value that was not understood is named."""
    found = import_plan(json.dumps(data), "prd.json")
    assert [item.id for item in found.plan.items] or not expected
    items = {item.id: item for item in found.plan.items}
    assert set(items) == set(expected)
    for name, fields in expected.items():
        assert {field: getattr(items[name], field) for field in fields} == fields
    assert [one.message.removeprefix("not understood: ") for one in found.unread] == unread


def test_order_by_number() -> None:
    """Where priorities are an order, the items stand in it."""
    data = [{"title": f"t{n}", "priority": 10 - n} for n in range(10)]
    assert [item.title for item in import_plan(json.dumps(data), "x.json").plan.items] == [
        f"t{n}" for n in range(9, -1, -1)
    ]


def test_torn_json_is_named() -> None:
    """What is no JSON, or nests too deep, gives no item and one sentence."""
    for text in ('{"stories": [', "[" * 5000, '{"a": ' * 3000):
        found = import_plan(text, "x.json")
        assert (found.plan.items, len(found.unread)) == ((), 1)


@pytest.mark.parametrize(
    ("text", "json_like"),
    [
        ("{}", True),
        ("\ufeff [ {", True),
        ("[\n{", True),
        ("[ ] task", False),
        ("[link](x)", False),
        ("# x", False),
        ("", False),
    ],
)
def test_which_texts_are_json(text: str, json_like: bool) -> None:
    """A document says by its beginning what it is."""
    assert looks_like_json(text) == json_like


WORDS = st.sampled_from(
    [
        "### US-1: x\n",
        "- [ ] y\n",
        "- z\n",
        "**Priority:** P0\n",
        "## Goals\n",
        "{",
        "[",
        '"stories": ',
        "\n",
        "Must:\n",
    ]
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["id", "title", "stories", "priority", "dependencies", "subtasks", "status", "passes", "x"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@settings(max_examples=examples(60))
@given(
    st.one_of(
        st.lists(st.one_of(WORDS, st.text(max_size=10)), max_size=20).map("".join), JSON.map(json.dumps)
    )
)
def test_any_document_can_be_imported(text: str) -> None:
    """Nothing makes an import raise; ids are unique and dependencies exist, so at worst there is a circle."""
    plan = import_plan(text, "any").plan
    problems = {one.key.partition(":")[0] for one in check_plan(plan, None)}
    assert problems <= {"plan-empty", "plan-circle"}
    if "plan-circle" not in problems:
        choose(board_of(plan))


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["### US-1: x\n", "- [ ] y\n", "- z\n", "#", "US-1 ", "**", ": "])
def test_long_documents_take_linear_time(piece: str) -> None:
    """A large document is read at once, and complaints stay few."""
    began = time.process_time()
    found = import_plan(piece * (30_000 // len(piece)), "x.md")
    assert time.process_time() - began < 20
    assert len(found.unread) <= 41


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (priority_word("P0 | P1"), 0),
        (priority_word("Must have"), 0),
        (priority_word("[should]"), 1),
        (priority_word("whatever"), None),
        (priority_word(""), None),
        (size_word("XL"), "L"),
        (size_word("5 points"), ""),
        (state_word("In Progress"), "open"),
        (state_word("Won't fix"), "cancelled"),
        (state_word("strange"), None),
        (depends_in("US-1, `US-2` and 3."), ("US-1", "US-2", "3")),
        (depends_in("none"), ()),
    ],
)
def test_words_of_others(told: object, found: object) -> None:
    """The tables know the usual words and guess at nothing."""
    assert told == found


@pytest.mark.parametrize(
    "text",
    [
        '{"stories": [{"id": "a", "title": "x", "proof": "none", "proof_reason": "a look"}]}',
        '{"stories": [{"id": "a", "title": "x", "proof": "none because a look"}]}',
        "### A1: x\n\n**Proof:** none because a look\n",
        "- x\n  - Proof: none because a look\n",
        "- [ ] `a`: x\n  - Proof: none because a look\n",
    ],
)
def test_declarations_of_no_proof_are_taken_over(text: str) -> None:
    """In stories and in Markdown."""
    made = import_plan(text, "prd")
    assert [item.no_proof for item in made.plan.items] == ["a look"]
    assert not made.unread


@pytest.mark.parametrize(
    "text",
    [
        '{"stories": [{"id": "a", "title": "x", "proof": "none"}]}',
        "### A1: x\n\nProof: none\n",
        "- x\n  - Proof: none\n",
        "- [ ] `a`: x\n  - Proof: none\n",
    ],
)
def test_declarations_without_a_reason_are_named(text: str) -> None:
    """Nothing is declared, and the import says so."""
    made = import_plan(text, "prd")
    assert [item.no_proof for item in made.plan.items] == [""]
    assert any("reason" in one.message for one in made.unread)


def test_another_proof_is_a_note() -> None:
    """A story that says how it is proven keeps that as its note."""
    made = import_plan('{"stories": [{"id": "a", "title": "x", "proof": "the demo shows it"}]}', "prd")
    assert made.plan.items[0].notes == ("proof: the demo shows it",)
