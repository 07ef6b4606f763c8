"""Specs as they are written, and what is wrong with them."""

from __future__ import annotations

import time

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.specs.lint import check_specs, clarity_of
from ralph.core.specs.parse import Spec, SpecCriterion, criteria_of, parse_spec, template

GOOD = """\
# Log in

Topic: A person proves who they are with a password.

Job: When somebody comes back, they want to log in,
so that they see their own data.

## Criteria

### AUTH-1: A right password opens the account

- Given a person with the password "simple"
- And no open account
- When they send the form
- Then their page is shown within 2 seconds

## Edge cases

### AUTH-2: A wrong password

Given a person, when they send another password, then "wrong password" is shown

- AUTH-3: Given an empty form, when it is sent, then nothing changes

## Data contracts

- password: 8 to 200 characters, kept in `store.py`

## Non-functional requirements

- 95 of 100 requests are answered within 300 ms.

## Out of scope

- fast log in with other accounts
"""


def spec(text: str, path: str = "specs/01-log-in.md") -> Spec:
    return parse_spec(path, text)


def test_a_whole_spec() -> None:
    """Topic, job, criteria, edge cases and requirements are found with their lines."""
    found = spec(GOOD)
    assert (found.title, found.topic.line, found.job.line) == ("Log in", 3, 5)
    assert found.job.text == "When somebody comes back, they want to log in, so that they see their own data."
    assert found.criteria == (
        SpecCriterion(
            "AUTH-1",
            "A right password opens the account",
            10,
            15,
            given=('a person with the password "simple"', "no open account"),
            when=("they send the form",),
            then=("their page is shown within 2 seconds",),
        ),
        SpecCriterion(
            "AUTH-2",
            "A wrong password",
            19,
            21,
            given=("a person",),
            when=("they send another password",),
            then=('"wrong password" is shown',),
            edge=True,
        ),
        SpecCriterion(
            "AUTH-3", "", 23, 23, ("an empty form",), ("it is sent",), ("nothing changes",), edge=True
        ),
    )
    assert [one.line for one in found.edge_cases] == [19, 23]
    assert [one.line for one in found.requirements] == [31]
    assert list(criteria_of([found])) == ["AUTH-1", "AUTH-2", "AUTH-3"]


def test_a_good_spec_has_no_findings() -> None:
    """Words in quotes, in code, in contracts and out of scope are nobody's concern."""
    assert check_specs([spec(GOOD)]) == ()
    assert clarity_of([spec(GOOD)], ()) == {"AUTH-1": 4, "AUTH-2": 4, "AUTH-3": 4}


WAYS: list[tuple[str, list[tuple[str, str, int, int, int]]]] = [
    ("## Criteria\n- **A-1**: Given a, when b, then c", [("A-1", "", 1, 1, 1)]),
    (
        "## Criteria\n- [ ] A-1 Title\n  - Given a\n  - When b\n  - Then c\n  - And d",
        [("A-1", "Title", 1, 1, 2)],
    ),
    ("## Criteria\n- A-1: Title. Given a when b then c", [("A-1", "Title.", 1, 1, 1)]),
    (
        "## Scenarios\n```gherkin\n@A-1\nScenario: Title\n  Given a\n  When b\n  Then c\n```",
        [("A-1", "Title", 1, 1, 1)],
    ),
    ("## Scenarios\n```gherkin\nScenario: A-1 Title\n  Given a\n  But b\n```", [("A-1", "Title", 2, 0, 0)]),
    ("## Criteria\n### No id\nGiven a\nWhen b\nThen c\nGiven x", [("", "No id", 1, 1, 1), ("", "", 1, 0, 0)]),
    ("### [A-1] Title\n**Given** a\n**When** b", [("A-1", "Title", 1, 1, 0)]),
    ("### `A-B-12.3`: Title", [("A-B-12.3", "Title", 0, 0, 0)]),
    ("## Criteria\n```\n### A-1: shown\n```\n<!-- ### A-2: hidden -->", []),
    ("When a user comes, they want x, so that y\n## Out of scope\n- A-1: Given a when b then c", []),
]


@pytest.mark.parametrize(("text", "expected"), WAYS)
def test_ways_to_write_criteria(text: str, expected: list) -> None:
    """Criteria are found however they are written: id, title, and how many clauses of each kind."""
    found = spec(f"# T\n{text}").criteria
    assert [(one.id, one.title, len(one.given), len(one.when), len(one.then)) for one in found] == expected


def wrong(old: str, new: str) -> list[tuple[int, str, str]]:
    assert old in GOOD
    found = check_specs([spec(GOOD.replace(old, new))])
    return [(one.line, one.key.partition(":")[0], one.message) for one in found]


RULES: list[tuple[str, str, int, str, str]] = [
    (
        "with a password.",
        "with a password and a key.",
        3,
        "spec-topic-and",
        "the topic joins two things with 'and': two specs would be clearer",
    ),
    (
        "with a password.",
        "with a password. Or not.",
        3,
        "spec-topic-long",
        "the topic is more than one sentence",
    ),
    (
        "Job: When somebody comes back, they want to log in,\nso that they see their own data.",
        "",
        1,
        "spec-job",
        "there is no job statement, expected 'Job: When …, … wants to …, so that …'",
    ),
    (
        "they want to log in,\nso that they see their own data.",
        "they log in.\n",
        5,
        "spec-job",
        "the job statement does not say who wants what ('wants to … so that …')",
    ),
    (
        "### AUTH-1: A",
        "### A",
        10,
        "spec-id",
        "'A right password opens the account' has no id, expected one like AUTH-1",
    ),
    (
        "### AUTH-2:",
        "### AUTH-1:",
        19,
        "spec-duplicate",
        "criterion 'AUTH-1' is also at specs/01-log-in.md:10",
    ),
    ("- When they send the form\n", "", 10, "spec-clauses", "'AUTH-1' has no When"),
    (
        "- AUTH-3: Given an empty form, when it is sent, then nothing changes",
        "",
        19,
        "spec-edges",
        "expected at least 2 criteria under 'Edge cases', found 1",
    ),
    (
        "95 of 100 requests are answered within 300 ms.",
        "Answers come in time.",
        31,
        "spec-measure",
        "not measurable: 'Answers come in time.' has no number",
    ),
    (
        "then nothing changes",
        "then it is handled gracefully",
        23,
        "spec-vague",
        "no check can decide 'gracefully'",
    ),
    ("within 2 seconds", "quickly", 15, "spec-vague", "no check can decide 'quickly'"),
    ("no open account", "TBD", 13, "spec-unfinished", "'TBD' is still there"),
    ("no open account", "<fill in>", 13, "spec-unfinished", "text of the template is still there"),
    (
        "- 95 of 100 requests are answered within 300 ms.",
        "- <fill in: a number>",
        31,
        "spec-unfinished",
        "text of the template is still there",
    ),
    (
        "no open account",
        "a row in the database table",
        13,
        "spec-detail",
        "'database table' tells how, a spec tells what",
    ),
    ("no open account", "login() was called", 13, "spec-detail", "'login()' tells how, a spec tells what"),
    ("no open account", "src/auth.py is there", 13, "spec-detail", "'auth.py' tells how, a spec tells what"),
]


@pytest.mark.parametrize(("old", "new", "line", "rule", "message"), RULES)
def test_rules(old: str, new: str, line: int, rule: str, message: str) -> None:
    """One thing made wrong gives one finding, at its line."""
    assert wrong(old, new) == [(line, rule, message)]


def test_what_needs_no_number() -> None:
    """A word of degree with a number beside it, and a requirement that says none, are fine."""
    assert wrong("within 2 seconds", "quickly, within 2 seconds") == []
    assert wrong("- 95 of 100 requests are answered within 300 ms.", "- none") == []


def test_advice_is_not_a_mistake() -> None:
    """Implementation detail and the file's name are advice; the rest must be mended."""
    found = check_specs([spec(GOOD.replace("no open account", "a mutex"), "specs/login.md")])
    assert [(one.severity, one.key) for one in found] == [
        ("P2", "spec-name:specs/login.md"),
        ("P2", "spec-detail:specs/login.md:mutex"),
    ]


def test_ids_are_unique_across_files() -> None:
    """The same id in two files is found in the second, and names the first."""
    other = parse_spec("specs/02-log-out.md", GOOD.replace("AUTH-2", "AUTH-20").replace("AUTH-3", "AUTH-30"))
    (found,) = check_specs([spec(GOOD), other])
    assert (found.path, found.line) == ("specs/02-log-out.md", 10)
    assert found.message == "criterion 'AUTH-1' is also at specs/01-log-in.md:10"


def test_an_empty_spec() -> None:
    """Nothing in a file is told as everything that is missing."""
    assert [one.key.partition(":")[0] for one in check_specs([spec("")])] == [
        "spec-criteria",
        "spec-edges",
        "spec-job",
        "spec-topic",
    ]


def test_clarity() -> None:
    """A criterion has a point for each kind of clause, and one when nothing was found in its lines."""
    made = spec(GOOD.replace("- When they send the form\n", "").replace("nothing changes", "all is nice"))
    assert clarity_of([made], check_specs([made])) == {"AUTH-1": 2, "AUTH-2": 4, "AUTH-3": 3}


def test_the_template() -> None:
    """A new spec has everything but content, and is refused until it is filled in."""
    made = spec(template("Log in", "LOG-IN"))
    assert [one.id for one in made.criteria] == ["LOG-IN-1", "LOG-IN-2", "LOG-IN-3"]
    assert len(made.edge_cases) == 2
    assert {one.key.partition(":")[0] for one in check_specs([made])} == {"spec-unfinished"}


PIECES = st.sampled_from(
    [
        "# ",
        "## Criteria\n",
        "## Edge cases\n",
        "### A-1: ",
        "- ",
        "Given ",
        "When ",
        "Then ",
        "And ",
        "```gherkin\n",
        "@A-1\n",
        "Scenario: ",
        "\n",
        "Job: ",
        "Topic: ",
        "NFR",
        "<fill in>",
        "**",
    ]
)


@settings(max_examples=examples(60))
@given(st.lists(st.one_of(PIECES, st.text(max_size=10)), max_size=40).map("".join))
def test_any_text_is_a_spec(text: str) -> None:
    """Nothing makes reading or checking raise, and every line that is told exists."""
    found = spec(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(1 <= one.line <= one.end <= lines for one in found.criteria)
    assert all(1 <= one.line <= lines for one in check_specs([found]))


@pytest.mark.parametrize(
    "piece", ["Given a when ", "A-1", "(", "`", '"', "and ", "SELECT a ", "- ", "# ", "when ", "want so "]
)
def test_long_lines_take_linear_time(piece: str) -> None:
    """A long line of anything is read and checked at once."""
    long = piece * (50_000 // len(piece))
    began = time.process_time()
    check_specs([spec(f"# {long}\n## Criteria\n- A-1: Given {long}\n{long}\nJob: {long}\n## NFR\n{long}\n")])
    assert time.process_time() - began < 20
