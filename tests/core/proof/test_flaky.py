"""Several readings of one tree made into one, and what a quarantine does to a reading."""

from __future__ import annotations

from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.model.verdict import Canary, Counts, Finding, Reading
from ralph.core.proof.compare import compare, red_keys
from ralph.core.proof.flaky import (
    changed_keys,
    count_states,
    flaky_words,
    forgive_flakes,
    merge_readings,
    skip_tests,
)

A, B, C = "t.py::a", "t.py::b", "t.py::c"
SUNG = Canary(red=("a",))


def read(status: Any = "", /, summary: str = "", **more: Any) -> Reading:
    """By default the status that the tests give."""
    tests = more.get("tests")
    if not status:
        status = "fail" if "fail" in (tests or {}).values() else "pass"
    if tests is not None:
        more.setdefault("counts", count_states(tests))
        failed = [name for name, state in tests.items() if state == "fail"]
        more.setdefault("findings", tuple(Finding(name, f"{name} is red") for name in failed))
        more.setdefault("files", dict.fromkeys(tests, "t.py"))
    return Reading(status, summary, **more)


def ids(**states: Any) -> dict[str, Any]:
    return {f"t.py::{name}": state for name, state in states.items()}


GREEN = read(tests=ids(a="pass", b="pass"), summary="2 passed")
RED = read(tests=ids(a="fail", b="pass"), summary="1 failed")
OTHER = read(tests=ids(a="pass", b="fail"), summary="1 failed, b")
EXIT = read("fail", "exit code 1", findings=(Finding("exit", "boom"),))
DONE = read("pass", "exit code 0")
LOST = read("error", "timed out", cause="timeout")
LINT = read("fail", "1 error", findings=(Finding("x.py:E1", "bad"), Finding("x.py:W1", "meh", severity="P2")))


@pytest.mark.parametrize(
    ("first", "second", "changed"),
    [
        (GREEN, GREEN, ()),
        (RED, RED, ()),
        (GREEN, RED, (A,)),
        (RED, GREEN, (A,)),
        (RED, OTHER, (A, B)),
        (DONE, EXIT, ("exit",)),
        (EXIT, EXIT, ()),
        (GREEN, LOST, ("exit",)),
        (RED, LOST, ("exit", A)),
        (EXIT, LOST, ()),
        (LINT, DONE, ("x.py:E1",)),
    ],
)
def test_changed_keys(first: Reading, second: Reading, changed: tuple[str, ...]) -> None:
    """What is red once and not twice, in either order."""
    assert changed_keys(first, second) == changed_keys(second, first) == changed


def test_changed_keys_by_severity() -> None:
    """A finding counts from the severity that the gate asks for."""
    assert changed_keys(LINT, DONE, "P2") == ("x.py:E1", "x.py:W1")
    assert merge_readings(LINT, DONE, "P2").flaky == ("x.py:E1", "x.py:W1")
    assert changed_keys(LINT, DONE, "P0") == ("exit",)


BOTH = "t.py::a, t.py::b passed once and failed once on the same tree; 1 failed, b"
MERGED: list[tuple[str, Reading, Reading, dict[str, Any]]] = [
    ("green twice is green", GREEN, GREEN, {}),
    ("the same red twice is red", RED, RED, {}),
    ("the same exit code twice", EXIT, EXIT, {}),
    (
        "what changed nothing red is not looked at",
        GREEN,
        read(tests=ids(a="pass", b="skipped"), summary="1 passed"),
        {},
    ),
    (
        "green, then red: flaky, with the test's name and what was said",
        GREEN,
        RED,
        {
            "status": "flaky",
            "summary": "t.py::a passed once and failed once on the same tree; 1 failed",
            "counts": Counts(1, 1, 0),
            "tests": RED.tests,
            "findings": RED.findings,
            "flaky": (A,),
        },
    ),
    (
        "red, then green: flaky, and the words of the red one stay",
        RED,
        GREEN,
        {
            "status": "flaky",
            "summary": "t.py::a passed once and failed once on the same tree; 1 failed",
            "flaky": (A,),
        },
    ),
    (
        "red in turns: red, and both are flaky",
        RED,
        OTHER,
        {
            "summary": BOTH,
            "counts": Counts(0, 2, 0),
            "tests": ids(a="fail", b="fail"),
            "findings": (*OTHER.findings, *RED.findings),
            "flaky": (A, B),
        },
    ),
    (
        "green, then not judged",
        GREEN,
        LOST,
        {
            "status": "flaky",
            "summary": "passed once and failed once on the same tree; timed out",
            "cause": "",
            "flaky": ("exit",),
        },
    ),
    (
        "not judged, then green: the tests that were seen are known",
        LOST,
        GREEN,
        {
            "status": "flaky",
            "summary": "passed once and failed once on the same tree; timed out",
            "cause": "",
            "counts": Counts(2, 0, 0),
            "tests": GREEN.tests,
            "files": GREEN.files,
            "flaky": ("exit",),
        },
    ),
    (
        "by exit code only",
        DONE,
        EXIT,
        {
            "status": "flaky",
            "summary": "passed once and failed once on the same tree; exit code 1",
            "findings": EXIT.findings,
            "flaky": ("exit",),
        },
    ),
    (
        "not judged twice, each time for the same cause",
        LOST,
        replace(LOST, findings=(Finding("x", "y"),)),
        {
            "summary": "x passed once and failed once on the same tree; timed out",
            "findings": (Finding("x", "y"),),
            "flaky": ("exit", "x"),
        },
    ),
    (
        "flaky before and flaky now are both remembered, each once",
        replace(RED, flaky=(A, C)),
        GREEN,
        {
            "status": "flaky",
            "summary": "t.py::a passed once and failed once on the same tree; 1 failed",
            "flaky": (A, C),
        },
    ),
    (
        "a test that only one of them saw is known",
        GREEN,
        read(tests=ids(a="pass", b="pass", c="fail")),
        {
            "status": "flaky",
            "summary": "t.py::c passed once and failed once on the same tree; ",
            "counts": Counts(2, 1, 0),
            "tests": ids(a="pass", b="pass", c="fail"),
            "findings": (Finding(C, f"{C} is red"),),
            "files": dict.fromkeys((A, B, C), "t.py"),
            "flaky": (C,),
        },
    ),
    (
        "skipped once and passed once beside a flaky one: the worse is kept",
        read(tests=ids(a="skipped", b="pass", c="skipped")),
        read(tests=ids(a="pass", b="fail", c="fail")),
        {
            "status": "flaky",
            "summary": "t.py::b, t.py::c passed once and failed once on the same tree; ",
            "counts": Counts(0, 2, 1),
            "tests": ids(a="skipped", b="fail", c="fail"),
            "findings": (Finding(B, f"{B} is red"), Finding(C, f"{C} is red")),
            "flaky": (B, C),
        },
    ),
    (
        "failed once and skipped once: failed",
        read(tests=ids(a="fail", b="pass", c="pass")),
        read(tests=ids(a="skipped", b="pass", c="fail")),
        {
            "summary": "t.py::a, t.py::c passed once and failed once on the same tree; ",
            "counts": Counts(1, 2, 0),
            "tests": ids(a="fail", b="pass", c="fail"),
            "findings": (Finding(C, f"{C} is red"), Finding(A, f"{A} is red")),
            "flaky": (A, C),
        },
    ),
    (
        "a green test that only the second saw is known too",
        read(tests=ids(a="fail")),
        read(tests=ids(a="pass", b="pass")),
        {
            "status": "flaky",
            "summary": "t.py::a passed once and failed once on the same tree; ",
            "counts": Counts(1, 1, 0),
            "tests": ids(a="fail", b="pass"),
            "files": dict.fromkeys((A, B), "t.py"),
            "flaky": (A,),
        },
    ),
    ("a canary of the second call is kept", GREEN, replace(GREEN, canary=SUNG), {"canary": SUNG}),
    ("a canary of the first call is kept", replace(GREEN, canary=SUNG), GREEN, {"canary": SUNG}),
    (
        "a canary is kept beside what is flaky",
        GREEN,
        replace(RED, canary=SUNG),
        {
            "status": "flaky",
            "summary": "t.py::a passed once and failed once on the same tree; 1 failed",
            "counts": Counts(1, 1, 0),
            "tests": RED.tests,
            "findings": RED.findings,
            "flaky": (A,),
            "canary": SUNG,
        },
    ),
]


@pytest.mark.parametrize(
    ("first", "second", "changes"), [row[1:] for row in MERGED], ids=[row[0] for row in MERGED]
)
def test_merged(first: Reading, second: Reading, changes: dict[str, Any]) -> None:
    """Two readings as one: the first, with exactly these fields changed."""
    assert merge_readings(first, second) == replace(first, **changes)


STRUCK = read("error", "killed", cause="interrupted")
DOUBTED = replace(RED, doubt=True)  # doubted before on this very tree: by now it is an answer


@pytest.mark.parametrize(
    ("first", "second", "alone"),
    [
        (STRUCK, RED, RED),
        (STRUCK, GREEN, GREEN),
        (RED, STRUCK, RED),
        (GREEN, STRUCK, GREEN),
        (DOUBTED, STRUCK, DOUBTED),
    ],
)
def test_what_the_machine_made_is_no_reading(first: Reading, second: Reading, alone: Reading) -> None:
    """Of a call that was struck nothing is said: the other one stands for itself, red or green."""
    assert merge_readings(first, second) == alone


@pytest.mark.parametrize(("first", "second"), [(DOUBTED, GREEN), (GREEN, DOUBTED)])
def test_what_stays_in_doubt_is_a_reading(first: Reading, second: Reading) -> None:
    """Red twice in doubt is no accident of the machine any more: beside a green one it is flaky."""
    assert merge_readings(first, second).status == "flaky"
    assert merge_readings(first, second).flaky == (A,)


@pytest.mark.parametrize("second", [GREEN, RED])
def test_what_either_call_wrote_is_known(second: Reading) -> None:
    """Whether both say the same or not, in order and each path once."""
    both = merge_readings(replace(GREEN, written=("b", "a")), replace(second, written=("c", "a")))
    assert both.written == ("a", "b", "c")


FORGIVEN: list[tuple[str, Reading, tuple[str, ...], dict[str, Any]]] = [
    ("nothing to forgive", RED, (), {}),
    ("another test", RED, (C,), {}),
    ("a green test needs no pardon", RED, (B,), {}),
    ("a skipped one is not made to pass", read(tests=ids(a="skipped", b="fail")), (A,), {}),
    ("no test is known", EXIT, (A,), {}),
    (
        "the only red test: green, and named",
        replace(RED, findings=(*RED.findings, Finding("exit", "1"))),
        (A,),
        {
            "status": "pass",
            "summary": f"2 passed, of these only at times, as on the base: {A}",
            "counts": Counts(2, 0, 0),
            "tests": ids(a="pass", b="pass"),
            "findings": (),
            "flaky": (A,),
        },
    ),
    (
        "one of two: the other stays red",
        read(tests=ids(a="fail", b="fail", c="pass"), summary="2 failed"),
        (A, C),
        {
            "counts": Counts(2, 1, 0),
            "tests": ids(a="pass", b="fail", c="pass"),
            "findings": (Finding(B, f"{B} is red"),),
            "flaky": (A,),
        },
    ),
    (
        "red by something that is no test as well",
        replace(RED, findings=(*RED.findings, Finding("collect:u.py", "broken"))),
        (A,),
        {
            "counts": Counts(2, 0, 0),
            "tests": ids(a="pass", b="pass"),
            "findings": (Finding("collect:u.py", "broken"),),
            "flaky": (A,),
        },
    ),
    (
        "red with a cause of its own",
        replace(RED, cause="torn-report"),
        (A,),
        {"counts": Counts(2, 0, 0), "tests": ids(a="pass", b="pass"), "findings": (), "flaky": (A,)},
    ),
    (
        "flaky before is remembered, in order and each once",
        replace(RED, flaky=(C, A)),
        (A,),
        {
            "status": "pass",
            "summary": f"2 passed, of these only at times, as on the base: {A}",
            "counts": Counts(2, 0, 0),
            "tests": ids(a="pass", b="pass"),
            "findings": (),
            "flaky": (A, C),
        },
    ),
]


@pytest.mark.parametrize(
    ("reading", "names", "changes"), [row[1:] for row in FORGIVEN], ids=[row[0] for row in FORGIVEN]
)
def test_forgiven(reading: Reading, names: tuple[str, ...], changes: dict[str, Any]) -> None:
    """A flake of the base counts as it is at other times; green only when it alone was red."""
    assert forgive_flakes(reading, names) == replace(reading, **changes)


@pytest.mark.parametrize(
    ("number", "named"),
    [(3, "t.py::0, t.py::1, t.py::2"), (4, "t.py::0, t.py::1, t.py::2 and 1 more")],
)
def test_forgiven_ones_are_named(number: int, named: str) -> None:
    """A few names, in order, and how many there are beside them."""
    names = [f"t.py::{n}" for n in range(number)]
    left = forgive_flakes(read(tests={**dict.fromkeys(names, "fail"), "u.py": "pass"}), names[::-1])
    assert left.summary == f"{number + 1} passed, of these only at times, as on the base: {named}"
    assert left.flaky == tuple(names)


def test_a_gate_in_which_only_forgiven_tests_passed_has_judged_nothing() -> None:
    """Forgiven tests, and skipped ones, show nothing: somebody else has to pass."""
    for others in ({}, {B: "skipped"}):
        reading = replace(RED, tests={A: "fail", **others})
        assert forgive_flakes(reading, (A,)).status == "fail"


def test_forgiving_asks_for_the_gates_severity() -> None:
    """A mild finding beside a forgiven test keeps a gate red only where it would by itself."""
    mild = replace(RED, findings=(*RED.findings, Finding("x.py:W1", "meh", severity="P2")))
    assert forgive_flakes(mild, (A,)).status == "pass"
    assert forgive_flakes(mild, (A,), "P2").status == "fail"


def test_the_same_words_are_not_said_twice() -> None:
    """Of two findings with one key the first call's words stay."""
    other = replace(RED, findings=(Finding(A, "other words"),), tests=ids(a="fail", b="fail"))
    assert merge_readings(RED, other).findings == (Finding(A, f"{A} is red"),)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ((), "passed once and failed once"),
        (("exit",), "passed once and failed once"),
        (("exit", "a"), "a passed once and failed once"),
        (("c", "b", "a"), "a, b, c passed once and failed once"),
        (("d", "c", "b", "a"), "a, b, c and 1 more passed once and failed once"),
    ],
)
def test_flaky_words(keys: tuple[str, ...], words: str) -> None:
    """A few names, in order, and how many there are beside them."""
    assert flaky_words(keys) == words


states = st.sampled_from(["pass", "fail", "skipped"])
readings = st.dictionaries(st.sampled_from([A, B, C]), states, min_size=1).map(
    lambda tests: read(tests=tests)
)


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, database=None, derandomize=True)
@given(first=readings, second=readings, third=readings)
def test_merging_only_makes_worse(first: Reading, second: Reading, third: Reading) -> None:
    """Green needs every call; whatever was red once is red or flaky, in any order, and no witness."""
    both = merge_readings(merge_readings(first, second), third)
    assert (both.status == "pass") is all(one.status == "pass" for one in (first, second, third))
    assert both.status == merge_readings(merge_readings(third, second), first).status
    assert both.counts is None or both.counts == count_states(both.tests or {})
    red = red_keys(first) | red_keys(second) | red_keys(third)
    assert red_keys(both) == red or both.status == "pass"
    each_time = red_keys(first) & red_keys(second) & red_keys(third)
    assert set(both.flaky) == red - each_time
    solved = read(tests=ids(a="pass", b="pass", c="pass"))
    assert set(compare(both, solved).witness) <= each_time


@settings(max_examples=examples(100), deadline=None, database=None, derandomize=True)
@given(one=readings)
def test_merging_with_itself_changes_nothing(one: Reading) -> None:
    """A verdict that comes out the same is the same."""
    assert merge_readings(one, one) == one


QUARANTINED: list[tuple[str, Reading, tuple[str, ...], dict[str, Any]]] = [
    ("nothing in quarantine", RED, (), {}),
    ("another test in quarantine", RED, (C,), {}),
    ("no test is known", EXIT, (A,), {}),
    (
        "the only red test: green without it",
        RED,
        (A,),
        {
            "status": "pass",
            "summary": "1 failed, 1 in quarantine (1 red)",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
            "findings": (),
        },
    ),
    (
        "one of two red tests: still red",
        read(tests=ids(a="fail", b="fail", c="pass")),
        (A,),
        {
            "summary": ", 1 in quarantine (1 red)",
            "counts": Counts(1, 1, 1),
            "tests": ids(a="skipped", b="fail", c="pass"),
            "findings": (Finding(B, f"{B} is red"),),
        },
    ),
    (
        "a green one, beside a red one",
        RED,
        (B,),
        {
            "summary": "1 failed, 1 in quarantine",
            "counts": Counts(0, 1, 1),
            "tests": ids(a="fail", b="skipped"),
        },
    ),
    (
        "a green one, among others",
        GREEN,
        (A,),
        {
            "summary": "2 passed, 1 in quarantine",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
        },
    ),
    (
        "nothing else passed: not judged",
        GREEN,
        (A, B),
        {
            "status": "error",
            "cause": "all-skipped",
            "summary": "2 passed, 2 in quarantine",
            "counts": Counts(0, 0, 2),
            "tests": ids(a="skipped", b="skipped"),
        },
    ),
    (
        "red, and nothing else passed: red",
        RED,
        (A, B),
        {
            "summary": "1 failed, 2 in quarantine (1 red)",
            "counts": Counts(0, 0, 2),
            "tests": ids(a="skipped", b="skipped"),
            "findings": (),
        },
    ),
    (
        "red by something that is no test as well",
        replace(RED, findings=(*RED.findings, Finding("collect:u.py", "broken"))),
        (A,),
        {
            "summary": "1 failed, 1 in quarantine (1 red)",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
            "findings": (Finding("collect:u.py", "broken"),),
        },
    ),
    (
        "its exit code was red because of it",
        replace(RED, findings=(*RED.findings, Finding("exit", "1"))),
        (A,),
        {
            "status": "pass",
            "summary": "1 failed, 1 in quarantine (1 red)",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
            "findings": (),
        },
    ),
    (
        "red with a cause of its own",
        replace(RED, cause="torn-report"),
        (A,),
        {
            "summary": "1 failed, 1 in quarantine (1 red)",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
            "findings": (),
        },
    ),
    (
        "red, but no test in quarantine was why",
        read("fail", tests=ids(a="pass", b="pass"), findings=(Finding("exit", "1"),)),
        (A,),
        {
            "summary": ", 1 in quarantine",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
        },
    ),
    (
        "not judged stays not judged",
        read("error", tests=ids(a="fail", b="pass"), cause="timeout"),
        (A,),
        {
            "summary": ", 1 in quarantine (1 red)",
            "counts": Counts(1, 0, 1),
            "tests": ids(a="skipped", b="pass"),
            "findings": (),
        },
    ),
]


@pytest.mark.parametrize(
    ("reading", "held", "changes"), [row[1:] for row in QUARANTINED], ids=[row[0] for row in QUARANTINED]
)
def test_without(reading: Reading, held: tuple[str, ...], changes: dict[str, Any]) -> None:
    """A test in quarantine is neither red nor green, and what is left has to be green by itself."""
    assert skip_tests(reading, held) == replace(reading, **changes)


def test_without_asks_for_the_gate_s_severity() -> None:
    """A mild finding beside a quarantined test does not make a gate red that would not mind it."""
    mild = replace(RED, findings=(*RED.findings, Finding("x.py:W1", "meh", severity="P2")))
    assert skip_tests(mild, (A,)).status == "pass"
    assert skip_tests(mild, (A,), "P2").status == "fail"


@settings(max_examples=examples(150), deadline=None, database=None, derandomize=True)
@given(reading=readings, held=st.sets(st.sampled_from([A, B, C])))
def test_a_quarantine_hides_no_other_test(reading: Reading, held: set[str]) -> None:
    """What is not in quarantine is told as it was; green only when something passed and nothing is red."""
    left = skip_tests(reading, held)
    assert reading.tests is not None
    assert left.tests is not None
    assert {name: state for name, state in left.tests.items() if name not in held} == {
        name: state for name, state in reading.tests.items() if name not in held
    }
    assert red_keys(left) - {"exit"} == red_keys(reading) - held
    hit = held & reading.tests.keys()
    assert left.status != "pass" or not hit or "pass" in left.tests.values()
    assert skip_tests(left, held).tests == left.tests
