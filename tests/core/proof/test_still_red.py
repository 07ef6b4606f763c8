"""What was red before a loop and still is: when a judgement may be made without it, and what then counts."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.model.gate import STILL_RED as KIND
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.verdict import Counts, Finding, Reading
from ralph.core.proof.compare import red_keys
from ralph.core.proof.exit_gate import decide_exit
from ralph.core.proof.grade import may_stay_red, unwaived_red
from ralph.core.proof.still_red import MAX_KEY, MAX_NAMED, find_old_red, leave_out

TEST, KEEP = b.gate(), b.gate("keep", proof=False)


def criterion(waivers: dict[str, str]) -> Criterion:
    return Criterion(task_class="bug-fix", gates=(TEST, KEEP), waivers=waivers)


def read(status: Any = "fail", /, *findings: str, **tests: Any) -> Reading:
    red = [*findings, *(name for name, state in tests.items() if state == "fail")]
    return Reading(status, "said", tests=tests or None, findings=tuple(Finding(key, "m") for key in red))


OLD = read(a="fail", b="fail", c="pass")
MANY = [f"k{number}" for number in range(MAX_NAMED + 1)]
LINT = read("fail", "x.py:E1", "x.py:E2")


@pytest.mark.parametrize(
    ("gate", "base", "waivers", "insisted", "may"),
    [
        (TEST, OLD, {}, False, ""),
        (TEST, OLD, {KIND: "why"}, False, "ab"),
        (TEST, OLD, {f"{KIND}:b": "why"}, False, "b"),
        (TEST, OLD, {f"{KIND}:c": "why"}, False, ""),
        (TEST, OLD, {}, True, "ab"),
        (KEEP, OLD, {}, True, ""),
        (KEEP, OLD, {KIND: "why"}, True, "ab"),
        (b.gate(origin="hidden"), OLD, {}, True, ""),
        (b.gate(exit_parts=True), OLD, {KIND: "why"}, True, ""),
        (TEST, replace(OLD, cause="timeout"), {KIND: "why"}, True, ""),
        (TEST, replace(OLD, status="error"), {KIND: "why"}, True, ""),
        (TEST, replace(OLD, flaky=("a",)), {}, True, "b"),
        (TEST, read("fail", "exit"), {KIND: "why"}, True, ""),
        (TEST, read("pass", a="pass"), {KIND: "why"}, True, ""),
    ],
)
def test_what_may_be_left_out(
    gate: Gate, base: Reading, waivers: dict[str, str], insisted: bool, may: str
) -> None:
    """By a word what it names; where an agent insists, what proves the task and is not hidden; and only what
    is red by a name of its own, each time."""
    assert find_old_red(criterion(waivers), gate, base, insisted=insisted) == frozenset(may)


def test_a_name_that_cannot_be_typed_is_allowed_as_screens_show_it() -> None:
    """Without "=" and double spaces, and cut where it is very long."""
    long = "t" * 400
    assert may_stay_red(criterion({f"{KIND}:a 1 b": "why"}), "a=1  b")
    assert not may_stay_red(criterion({f"{KIND}:a 1": "why"}), "a=2")
    assert may_stay_red(criterion({f"{KIND}:{long}"[:MAX_KEY]: "why"}), long)


def test_what_is_left_is_judged_as_ever() -> None:
    """Green when nothing else was red; it counts as skipped and is named."""
    left = leave_out(replace(OLD, tests={"a": "fail", "c": "pass"}, findings=OLD.findings[:1]), {"a"}, TEST)
    assert (left.status, left.left_out, left.findings) == ("pass", ("a",), ())
    assert (left.tests, left.counts) == ({"a": "skipped", "c": "pass"}, Counts(1, 0, 1))
    assert left.summary == "said, 1 of these red before the loop"
    half = leave_out(OLD, frozenset("a"), TEST)
    assert (half.status, half.left_out, red_keys(half)) == ("fail", ("a",), {"b"})
    assert leave_out(LINT, frozenset(("x.py:E1", "x.py:E2")), TEST).status == "pass"
    assert leave_out(LINT, frozenset(("x.py:E1",)), TEST).status == "fail"


@pytest.mark.parametrize(
    ("reading", "keys"),
    [
        (OLD, ""),
        (OLD, "c"),
        (read("pass", a="pass"), "a"),
        (replace(OLD, cause="killed"), "ab"),
        (read("error", a="fail"), "a"),
        (
            read("fail", *(f"k{number}" for number in range(MAX_NAMED + 1))),
            [f"k{n}" for n in range(MAX_NAMED + 1)],
        ),
    ],
)
def test_what_stays_as_it_was_read(reading: Reading, keys: Any) -> None:
    """What is green, was ended, has no such red, or would be left out by the hundred."""
    assert leave_out(reading, frozenset(keys), TEST) is reading


def test_where_nothing_else_was_looked_at_it_stays_red() -> None:
    """A check without a test that passed has judged nothing; a part that is red by itself stays so."""
    assert leave_out(read(a="fail"), frozenset("a"), TEST).status == "fail"
    assert leave_out(read("flaky", a="fail", c="pass"), frozenset("a"), TEST).status == "flaky"
    exit_too = leave_out(read("fail", "exit", a="fail", c="pass"), frozenset("a"), TEST)
    assert (exit_too.status, exit_too.findings) == ("pass", ())


def test_what_nobody_settled() -> None:
    """Of green verdicts, by the names that they hold."""
    green = (b.green(counts=Counts(still_red=("a", "b"))), b.green("keep"))
    assert unwaived_red(criterion({}), green) == ("a", "b")
    assert unwaived_red(criterion({f"{KIND}:a": "why"}), green) == ("b",)
    assert unwaived_red(criterion({KIND: "why"}), green) == ()


RED = b.red(per_test=True, count=1)


@pytest.mark.parametrize(
    ("gate", "base", "now", "is_all"),
    [
        (TEST, RED, RED, True),
        (TEST, b.red(per_test=True, status="flaky"), RED, True),
        (TEST, None, RED, False),
        (TEST, b.green(per_test=True), RED, False),
        (TEST, b.red(), RED, False),
        (TEST, RED, b.red(), False),
        (b.gate(origin="hidden"), RED, RED, False),
        (b.gate(exit_parts=True), RED, RED, False),
        (TEST, RED, replace(RED, new_red_count=1), False),
        (TEST, RED, replace(RED, status="error"), False),
        (TEST, RED, replace(RED, status="flaky"), False),
        (TEST, RED, replace(RED, cause="timeout"), False),
        (TEST, RED, replace(RED, counts=Counts(unseen=1)), False),
        (TEST, RED, replace(RED, counts=Counts(deleted=("t",))), False),
        (TEST, RED, replace(RED, unloaded=1), False),
        (TEST, replace(RED, unloaded=1), replace(RED, unloaded=1), True),
    ],
)
def test_red_for_nothing_but_what_was_red(gate: Gate, base: Any, now: Any, is_all: bool) -> None:
    """Each by its name, none new, none gone, nothing that could no longer be looked at."""
    asked = Criterion(task_class="bug-fix", gates=(gate,))
    known = {} if base is None else {"test": base}
    terms: Any = {"changed": True, "claim": None, "protection": "S3"}
    assert decide_exit(asked, known, {"test": now}, None, **terms).still_red is is_all
