"""Promise: a PRD is read from JSON and Markdown alike, its ids are those people use, all errors are named."""

from __future__ import annotations

import json

import pytest

from ralph.core.backlog.items import PrdLink
from ralph.core.backlog.prd import constraint_command, link_problem, read_prd
from ralph.core.criterion.find_commands import item_command

MARKDOWN = """---
feature_id: BUG-LED-12
version: 1.2.0
last_updated: 2026-02-01
---
# Centre origin

## Overview
Effects begin at the centre of the strip and run outwards.

## Functional requirements
- FR-1: the effect starts at LED 79

## Acceptance criteria
- AC-1: `make test` passes
- AC-2: it looks right to a person

## Non-functional requirements
- NFR-1: 120 frames a second

## Constraints
- NO_RAINBOWS: forbid: rainbow|hue\\+\\+ in src
- CENTER_ORIGIN
"""


def test_markdown_and_json_say_the_same() -> None:
    """Front matter and sections are the fields of the schema."""
    made = read_prd(MARKDOWN, "BUG-LED-12.md")
    assert not made.problems
    assert (made.id, made.title, made.version) == ("BUG-LED-12", "Centre origin", "1.2.0")
    data = {
        "feature_id": made.id, "title": made.title, "overview": made.overview, "version": made.version,
        "functional_requirements": list(made.functional), "acceptance_criteria": list(made.acceptance),
        "nonfunctional_requirements": list(made.nonfunctional), "constraints": list(made.constraints),
        "last_updated": made.last_updated,
    }  # fmt: skip
    again = read_prd(json.dumps(data), "BUG-LED-12.md.json")
    assert (again.acceptance, again.constraints, again.problems) == (made.acceptance, made.constraints, ())
    assert made.commands == ("make test",)
    assert list(made.guards) == ["NO_RAINBOWS: forbid: rainbow|hue\\+\\+ in src"]


def test_all_errors_of_a_prd() -> None:
    """Each missing or wrong field is named with its place."""
    found = {
        one.pointer
        for one in read_prd(
            '{"feature_id": "feat1", "title": "x", "functional_requirements": ["short"]}', "p.json"
        ).problems
    }
    assert found == {
        "p.json#/feature_id", "p.json#/title", "p.json#/overview",
        "p.json#/functional_requirements/0", "p.json#/acceptance_criteria",
    }  # fmt: skip
    assert read_prd("{", "p.json").problems[0].code == "prd_unreadable"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("forbid: TODO in src lib", "grep -rnIE --exclude-dir=.git -e TODO -- src lib; test $? -eq 1"),
        ("LICENCE: require: SPDX in src/a.c", "grep -rnIE --exclude-dir=.git -e SPDX -- src/a.c"),
        ("run: make size", "make size"),
        ("keep it fast", ""),
    ],
)
def test_constraints(text: str, command: str) -> None:
    """A constraint that says how it is checked becomes a command; another one stays words."""
    assert constraint_command(text) == command


def test_stale_references() -> None:
    """A reference to an older version or date is called stale."""
    made = read_prd(MARKDOWN, "x.md")
    assert link_problem(made, PrdLink("x", "1.1.0"))
    assert link_problem(made, PrdLink("x", "", "2026-01-01"))
    assert not link_problem(made, PrdLink("x", "1.2.0", "2026-02-01"))


@pytest.mark.parametrize(
    ("span", "taken"),
    [
        ("test -e login", True), ("grep -q 'foo(' src/a.c", True), ("diff a.txt b.txt", True),
        ("test results", False), ("grep", False), ("diff view", False), ("login.py", False),
    ],
)  # fmt: skip
def test_commands_among_the_code_of_a_criterion(span: str, taken: bool) -> None:
    """A code span that is a command is a check of the item; a name or words in one are not."""
    prd = read_prd(json.dumps({"acceptance_criteria": [f"AC-1: `{span}` is as wanted"]}), "p.json")
    assert prd.commands == ((span,) if taken else ())


@pytest.mark.parametrize("run", ["/usr/bin/python3 -m unittest -q", "grep -q 'foo(' a.c", "a && b"])
def test_no_verification_command_is_refused_for_its_looks(run: str) -> None:
    """What an item says is its command is one: by an absolute path, or with a lone parenthesis in quotes."""
    assert not item_command(run, "the list").rejected
