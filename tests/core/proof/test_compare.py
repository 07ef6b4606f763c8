"""Comparing two readings of one gate: what is newly red, what was fixed, what is gone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import compare, count_unloaded, outline, red_keys, signature

PASS, FAIL, SKIP = "pass", "fail", "skipped"


def by_test(status, **states):
    return Reading(status, "", tests=states)


def found(status, *keys, severity="P1", cause=""):
    return Reading(
        status, "", cause=cause, findings=tuple(Finding(key, "m", severity=severity) for key in keys)
    )


@pytest.mark.parametrize(
    ("base", "now", "red", "new", "fixed", "witness", "vanished"),
    [
        # per test id
        (by_test(FAIL, a=FAIL, b=PASS), by_test(PASS, a=PASS, b=PASS), 0, (), ("a",), ("a",), ()),
        (by_test(FAIL, a=FAIL, b=PASS), by_test(FAIL, a=FAIL, b=FAIL), 2, ("b",), (), (), ()),
        (by_test(FAIL, a=FAIL), by_test(FAIL, b=FAIL), 2, ("b",), (), (), ("a",)),
        (by_test(FAIL, a=FAIL, b=PASS), by_test(PASS, b=PASS), 0, (), (), (), ("a",)),
        (by_test(FAIL, a=FAIL), by_test(PASS, a=SKIP), 0, (), (), (), ()),
        (by_test(PASS, a=PASS), by_test(PASS, a=PASS, own=PASS), 0, (), (), (), ()),
        # per finding
        (found(FAIL, "x", "y"), found(FAIL, "y", "z"), 2, ("z",), ("x",), ("x",), ()),
        (found(FAIL, "x"), found(PASS), 0, (), ("x",), ("x",), ()),
        (found(FAIL, "x"), found(PASS, "x", severity="P2"), 0, (), ("x",), ("x",), ()),
        # per gate: an exit code is nobody's test
        (found(FAIL, "exit"), found(PASS), 0, (), ("exit",), (), ()),
        (found(FAIL, "exit"), found(FAIL, "exit"), 1, (), (), (), ()),
        (found(PASS), found(FAIL, "exit"), 1, ("exit",), (), (), ()),
        (Reading(FAIL, ""), Reading(FAIL, ""), 1, (), (), (), ()),
        # what could not be judged fixes nothing, and is not fewer red than before
        (by_test(FAIL, a=FAIL, b=FAIL), found("error", "exit"), 3, ("exit",), (), (), ("a", "b")),
        (found(FAIL, "x", "y"), found("error", "exit"), 3, ("exit",), (), (), ()),
        (found(FAIL, "x", "y"), found(FAIL, "exit", cause="torn-report"), 3, ("exit",), (), (), ()),
        # no baseline: everything red is new
        (None, by_test(FAIL, a=FAIL), 1, ("a",), (), (), ()),
        (None, by_test(PASS, a=PASS), 0, (), (), (), ()),
    ],
)
def test_table(base, now, red, new, fixed, witness, vanished):
    """The law of comparison, row by row."""
    seen = compare(base, now)
    assert (seen.red, seen.new_red, seen.fixed, seen.witness, seen.vanished) == (
        red,
        new,
        fixed,
        witness,
        vanished,
    )
    assert bool(seen.red_digest) is bool(red)


@pytest.mark.parametrize(
    ("now", "fixed"),
    [
        (Reading(PASS, "", tests={"t.py::a": PASS}, files={"t.py::a": "t.py"}), True),
        (Reading(PASS, "", tests={"t.py::a": SKIP, "u.py::b": PASS}, files={"t.py::a": "t.py"}), False),
        (Reading(PASS, "", tests={"u.py::b": PASS}, files={"u.py::b": "u.py"}), False),
    ],
)
def test_a_file_that_could_not_be_loaded(now, fixed):
    """It is fixed when one of its tests passes, never when the file is gone or skipped."""
    base = Reading(FAIL, "", tests={}, findings=(Finding("collect:t.py", "m"),))
    assert (compare(base, now).witness == ("collect:t.py",)) is fixed


def test_dotted_modules_load_too():
    """unittest names modules, not files."""
    base = Reading(FAIL, "", tests={}, findings=(Finding("collect:test_m", "m"),))
    assert compare(base, by_test(PASS, **{"test_m.T.test_a": PASS})).fixed == ("collect:test_m",)
    assert compare(base, by_test(PASS, **{"test_more.T.test_a": PASS})).fixed == ()


def test_fail_on_decides_what_is_red():
    """A P2 finding is red only where the gate fails on P2."""
    reading = found(FAIL, "x", severity="P2")
    assert red_keys(reading) == {"exit"}
    assert red_keys(reading, "P2") == {"x"}


STATES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([PASS, FAIL, SKIP]), min_size=1)


@given(STATES, STATES)
def test_sets_never_overlap(base, now):
    """Fixed was red and is green, new red was not red: no id is both, and unseen is never fixed."""
    before = Reading(FAIL if FAIL in base.values() else PASS, "", tests=base)
    after = Reading(FAIL if FAIL in now.values() else PASS, "", tests=now)
    seen = compare(before, after)
    assert not set(seen.fixed) & set(seen.new_red)
    assert all(base[key] == FAIL and now.get(key) == PASS for key in seen.fixed)
    assert set(seen.vanished) == base.keys() - now.keys()
    assert seen.red - seen.unseen == len(red_keys(after)), "what no longer runs is counted, and apart"
    assert compare(before, after) == seen


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("assert 0 == 3", "assert 1 == 3", False),
        ("AssertionError: 0 != 3", "AssertionError: 1 != 3", False),
        ("expected 5 got 4", "expected 5 got 3", False),
        ("assert 1234567 == 7654321", "assert 1234568 == 7654321", False),
        ("assert 0.5 == 1.5", "assert 0.75 == 1.5", False),
        ("'00:01:30' != '01:30:05'", "'01:30:00' != '01:30:05'", False),
        ("'0xf' != '0xff'", "'0xfe' != '0xff'", False),
        ("3 failed, 2 passed in 0.12s", "2 failed, 3 passed in 0.12s", False),
        ("3 failed, 2 passed in 0.12s", "3 failed, 2 passed in 1.05s", True),
        ("a.py:12: AssertionError", "a.py:19: AssertionError", True),
        ('File "a.py", line 3, in f', 'File "a.py", line 33, in f', True),
        ("src/a.ts(12,5): error TS1", "src/a.ts(13,9): error TS1", True),
        ("no\n  12 | expect(x).toBe(1)", "no\n  14 | expect(x).toBe(1)", True),
        ("no\n  12 | expect(x).toBe(1)", "no\n  12 | expect(x).toBe(2)", False),
        ("2026-01-02 03:04:05,678 refused", "2026-01-02T09:10:11Z refused", True),
        ("16.11.2026 20:10 refused", "16.11.2026 20:31 refused", True),
        ("at 8:10 PM", "at 9:12 PM", True),
        ("assert '10:30' == '10:45'", "assert '10:40' == '10:45'", False),
        ("elapsed: 0.3512", "elapsed: 12.9", True),
        ("pid 4711 died", "pid 12 died", True),
        ("thread 'main' (77) panicked at src/l.rs:3:5", "thread 'main' (9) panicked at src/l.rs:4:1", True),
        ("<A object at 0x7f00aa>", "<A object at 0x7f11bb>", True),
        ("127.0.0.1:40001 refused", "127.0.0.1:51234 refused", True),
        ("seed=17", "seed=99", True),
        ("at 0x7f00aa in 0.12s", "at 0x1 in 3 s", True),
        ("/tmp/pytest-1/x failed", "/tmp/pytest-of-me/22/y failed", True),
        ("commit deadbeef1", "commit 0123456789abcdef", True),
        ("KeyError: name", "KeyError: title", False),
    ],
)
def test_signature_names_the_error(one, two, same):
    """Addresses, times, places and temporary paths make no new error; the values that are compared do."""
    first, second = (Reading(FAIL, "", findings=(Finding("k", text),)) for text in (one, two))
    assert (signature(first) == signature(second)) is same


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("assert 0.7363 < 0.5", "assert 0.51 < 0.5", True),
        ("assert 0 == 3", "assert 10 == 3", True),
        ("KeyError: name", "KeyError: title", False),
    ],
)
def test_an_outline_is_the_error_without_its_numbers(one, two, same):
    """What varies nothing but numbers is known by what is left."""
    first, second = (Reading(FAIL, "", findings=(Finding("k", text),)) for text in (one, two))
    assert (outline(first) == outline(second)) is same
    assert outline(by_test(PASS, a=PASS)) == ""


@pytest.mark.parametrize(
    ("reading", "count"),
    [
        (Reading(FAIL, "", findings=(Finding("collect:a.py", "m"), Finding("collect:b.py", "m"))), 2),
        (Reading(FAIL, "", findings=(Finding("a", "m"),)), 0),
        (Reading("error", "", cause="no-tests", findings=(Finding("exit", "m"),)), 1),
        (Reading(PASS, ""), 0),
    ],
)
def test_what_hides_its_tests_is_counted(reading, count):
    """A file that cannot be loaded, or a gate that could not be judged, may hide any number of red tests."""
    assert count_unloaded(reading) == count


def test_signature_of_green_is_empty():
    """Nothing failed, so there is no error to name."""
    assert signature(by_test(PASS, a=PASS)) == ""
    assert signature(Reading("error", "stopped after 5 s", cause="timeout")) != ""
