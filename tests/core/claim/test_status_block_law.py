"""The status block as a table: exactly this claim and exactly these problems, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from ralph.core.claim.status_block import STATUS_INSTRUCTIONS, ParsedStatus, claim_from, parse_status
from ralph.core.model.agent import Claim

FIELDS = {
    "STATUS": "COMPLETE",
    "TASKS_COMPLETED_THIS_LOOP": "2",
    "FILES_MODIFIED": "3",
    "TESTS_STATUS": "PASSING",
    "WORK_TYPE": "IMPLEMENTATION",
    "EXIT_SIGNAL": "true",
    "RECOMMENDATION": "ship it",
}
CLAIM = Claim(
    status="COMPLETE",
    exit_signal=True,
    tests="PASSING",
    tasks=2,
    files=3,
    work="IMPLEMENTATION",
    recommendation="ship it",
)
BODY = "\n".join(f"{key}: {value}" for key, value in FIELDS.items())
BLOCK = f"---RALPH_STATUS---\n{BODY}\n---END_RALPH_STATUS---"
QUOTED = "a quoted status block was not counted"
UNFINISHED = "an unfinished status block was not counted"
NOT_LAST = "the status block is not the last thing in the output"


def fields(**changed: str | None) -> dict[str, str]:
    return {key: value for key, value in {**FIELDS, **changed}.items() if value is not None}


def claim(*problems: str, **changed: Any) -> ParsedStatus:
    plain = {name: getattr(CLAIM, name) for name in CLAIM.__struct_fields__}
    return ParsedStatus(Claim(**{**plain, **changed}), problems)


FROM_FIELDS: list[tuple[dict[str, str], ParsedStatus]] = [
    (fields(), claim()),
    (fields(STATUS="in_progress "), claim(status="IN_PROGRESS")),
    (fields(TESTS_STATUS="NOT_RUN"), claim(tests="NOT_RUN")),
    *((fields(WORK_TYPE=word), claim(work=word)) for word in ("TESTING", "DOCUMENTATION", "REFACTORING")),
    (fields(WORK_TYPE=None), claim("WORK_TYPE is missing", work="")),
    (fields(RECOMMENDATION=None), claim("RECOMMENDATION is missing", recommendation="")),
    (fields(TESTS_STATUS=None), claim("TESTS_STATUS is missing", tests="NOT_RUN")),
    (fields(FILES_MODIFIED=None), claim("FILES_MODIFIED is missing", files=0)),
    (fields(FILES_MODIFIED=" 7 "), claim(files=7)),
    (fields(FILES_MODIFIED="123456789"), claim(files=123456789)),
    (fields(FILES_MODIFIED="1234567890"), claim("FILES_MODIFIED is '1234567890', not a count", files=0)),
    (fields(FILES_MODIFIED="many"), claim("FILES_MODIFIED is 'many', not a count", files=0)),
    (fields(RECOMMENDATION="x" * 501), claim(recommendation="x" * 499 + "…")),
    (
        fields(WORK_TYPE="y" * 61),
        claim(
            f"WORK_TYPE is '{'y' * 59}…', not one of IMPLEMENTATION, TESTING, DOCUMENTATION, REFACTORING",
            work="",
        ),
    ),
    (
        fields(STATUS="DONE"),
        ParsedStatus(None, ("STATUS is 'DONE', not one of IN_PROGRESS, COMPLETE, BLOCKED",)),
    ),
    (
        fields(TESTS_STATUS="FAILING"),
        claim(
            "COMPLETE with failing tests counts as IN_PROGRESS",
            "EXIT_SIGNAL true does not go with failing tests",
            status="IN_PROGRESS",
            tests="FAILING",
            exit_signal=False,
        ),
    ),
    (
        fields(STATUS="BLOCKED", TESTS_STATUS="FAILING"),
        claim(
            "EXIT_SIGNAL true does not go with BLOCKED", status="BLOCKED", tests="FAILING", exit_signal=False
        ),
    ),
]


@pytest.mark.parametrize(("pairs", "parsed"), FROM_FIELDS)
def test_from_fields(pairs: dict[str, str], parsed: ParsedStatus) -> None:
    """Fields make this claim, with these problems and no others."""
    assert claim_from(pairs) == parsed


def body(text: str) -> str:
    return f"---RALPH_STATUS---\n{text}\n---END_RALPH_STATUS---"


TEXTS: list[tuple[str, str, ParsedStatus]] = [
    ("a block", BLOCK, claim()),
    ("no mark at all", "STATUS: COMPLETE", ParsedStatus(None)),
    ("only the beginning", "---RALPH_STATUS---\nSTATUS: COMPLETE", ParsedStatus(None, (UNFINISHED,))),
    ("only the end", "STATUS: COMPLETE\n---END_RALPH_STATUS---", ParsedStatus(None)),
    ("spaces after the marks", BLOCK.replace("---\n", "---  \n") + "  ", claim()),
    ("an empty line within", BLOCK.replace("\nFILES", "\n\nFILES"), claim()),
    ("opened twice", f"---RALPH_STATUS---\n{BLOCK}", claim(UNFINISHED)),
    (
        "opened twice, then once more",
        f"---RALPH_STATUS---\n{BLOCK}\n{BLOCK}",
        claim(UNFINISHED, "2 status blocks: the last one counts"),
    ),
    ("a quoted block before", "> " + BLOCK.replace("\n", "\n> ") + f"\n{BLOCK}", claim(QUOTED)),
    ("only its beginning is quoted", f"> {BLOCK}\nmore\n{BLOCK}", claim(QUOTED)),
    ("only its end is quoted", BLOCK.replace("---END", "> ---END") + f"\nmore\n{BLOCK}", claim(QUOTED)),
    ("quoted and last", "> " + BLOCK.replace("\n", "\n> "), ParsedStatus(None, (QUOTED,))),
    ("only its end is quoted, and last", BLOCK.replace("---END", "> ---END"), ParsedStatus(None, (QUOTED,))),
    ("indented and last", " " + BLOCK.replace("\n", "\n  "), claim()),
    (
        "a key is missing",
        BLOCK.replace("WORK_TYPE: IMPLEMENTATION\n", ""),
        ParsedStatus(None, ("WORK_TYPE is missing",)),
    ),
    ("indented with spaces at the ends of lines", " " + BLOCK.replace("\n", "  \n "), claim()),
    ("words after it", f"{BLOCK}\nbye", claim(NOT_LAST)),
    ("words and an empty line after it", f"{BLOCK}\nbye\n ", claim(NOT_LAST)),
    ("words and two empty lines after it", f"{BLOCK}\nbye\n \n ", claim(NOT_LAST)),
    ("one letter after it", f"{BLOCK}\nX", claim(NOT_LAST)),
    ("two fences in one line after it", f"{BLOCK}\n``` ```", claim()),
    ("a line of hard spaces within", BLOCK.replace("\nFILES", "\n\xa0\nFILES"), claim()),
    ("a key that nobody knows", BLOCK.replace("\nFILES", "\nXTRA: 1\nFILES"), claim("unknown key 'XTRA'")),
    ("a word on the line after an empty one", f"{BLOCK}\n\nx", claim(NOT_LAST)),
    ("a quote mark, a fence and white space after it", f"{BLOCK}\n > \n```\n~~~ \n \t", claim()),
    ("a quoted fence with a space after it", f"```\n{BLOCK}\n> ``` ", claim()),
    ("a fence opened, closed, then a block and words", f"```\nx\n```\n{BLOCK}\nbye", claim(NOT_LAST)),
    ("a fence of another kind does not close", f"```\nx\n~~~\n{BLOCK}\nbye", ParsedStatus(None, (QUOTED,))),
    ("a shorter fence does not close", f"````\nx\n```\n{BLOCK}\nbye", ParsedStatus(None, (QUOTED,))),
    ("a longer fence closes", f"```\nx\n````\n{BLOCK}\nbye", claim(NOT_LAST)),
    ("a fence with words does not close", f"```\nx\n``` py\n{BLOCK}\nbye", ParsedStatus(None, (QUOTED,))),
    ("a fence with white space closes", f"> ```\nx\n> ``` \t\n{BLOCK}\nbye", claim(NOT_LAST)),
    ("mixed characters are no longer fence", f"~~~\nx\n~~~~\n{BLOCK}\nbye", claim(NOT_LAST)),
    ("other lines keep the fence", f"```\nx\ny\n{BLOCK}\nbye", ParsedStatus(None, (QUOTED,))),
    ("a fence after a closed one", f"```\nx\n```\n```\n{BLOCK}\nbye", ParsedStatus(None, (QUOTED,))),
    (
        "a line that is no field",
        body(f"hello\n{BODY}"),
        ParsedStatus(None, ("not a `KEY: value` line: 'hello'",)),
    ),
    (
        "a line whose key is no key",
        body(f"Well, so: this\n{BODY}"),
        ParsedStatus(None, ("not a `KEY: value` line: 'Well, so: this'",)),
    ),
    (
        "a key without a colon",
        body(f"STATUS\n{BODY}"),
        ParsedStatus(None, ("not a `KEY: value` line: 'STATUS'",)),
    ),
    (
        "a value that ends like a quotation",
        BLOCK.replace("ship it", "a > b >"),
        claim(recommendation="a > b >"),
    ),
]


@pytest.mark.parametrize(("text", "parsed"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS])
def test_from_text(text: str, parsed: ParsedStatus) -> None:
    """A text makes this claim, with these problems and no others."""
    assert parse_status(text) == parsed


def test_the_instructions_hold_the_block_and_its_meaning() -> None:
    """What agents are told ends with what the block is worth, and shows every mark and key."""
    lines = STATUS_INSTRUCTIONS.splitlines()
    assert lines[0].startswith("End your answer with exactly one status block")
    begin, end = lines.index("---RALPH_STATUS---"), lines.index("---END_RALPH_STATUS---")
    assert [line.partition(":")[0] for line in lines[begin + 1 : end]] == list(FIELDS)
    assert (
        lines[begin + 7]
        == "RECOMMENDATION: <one line: what comes next, what blocks you, or what was achieved>"
    )
    assert lines[begin - 1] == lines[end + 1] == ""
    assert STATUS_INSTRUCTIONS.endswith("in a clean copy.\n")
