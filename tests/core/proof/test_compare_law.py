"""Comparing readings, where one character or one word decides."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import compare, digest, red_keys, signature, strip_volatile_parts

MANY = ("q", "c", "x", "a", "m", "z", "b")


def reading(status: Any = "fail", tests: Any = None, *findings: Finding, **more: Any) -> Reading:
    return Reading(status=status, summary=more.pop("summary", ""), tests=tests, findings=findings, **more)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def test_severity_that_blocks_by_default() -> None:
    """P0 and P1 are red, P2 is advice, unless something else is said."""
    findings = tuple(Finding(key=key, message="m", severity=key) for key in ("P0", "P1", "P2"))  # type: ignore[arg-type]
    now = reading("fail", None, *findings)
    assert red_keys(now) == {"P0", "P1"}
    assert compare(None, now).new_red == ("P0", "P1")
    assert compare(None, now, fail_on="P2").new_red == ("P0", "P1", "P2")


def test_a_skipped_gate_names_nothing_red() -> None:
    """Skipped is for the exit gate to refuse; it holds no red keys and no error of its own."""
    assert red_keys(reading("skipped", {"a": "fail"})) == frozenset()
    assert signature(reading("skipped", None, Finding("k", "m"))) == ""


def test_what_was_red_stays_red_where_nobody_looked() -> None:
    """Skipped or broken off, a gate has not seen anything green."""
    for base in (reading("fail", {"a": "fail"}), reading("fail", None, Finding("a", "m"))):
        for now in (reading("skipped"), reading("error"), reading("pass", {"a": "pass"}, cause="timeout")):
            after = compare(base, now)
            assert (after.fixed, after.red_digest != "") == ((), True)


def test_every_list_is_in_order() -> None:
    """The same sets give the same lists, whatever order they came in."""
    red = reading("fail", {**dict.fromkeys(MANY, "fail"), "keep": "pass"})
    none = reading("fail", {"other": "fail"})
    green = reading("pass", dict.fromkeys(MANY, "pass"))
    assert compare(None, red).new_red == compare(none, red).new_red == tuple(sorted(MANY))
    assert compare(red, green).fixed == tuple(sorted(MANY))
    assert compare(red, none).vanished == tuple(sorted((*MANY, "keep")))


def test_unknown_ids_have_not_vanished_from_a_green_gate() -> None:
    """Where ids are no longer known but all is green, a guard must speak; in a red gate they are gone."""
    base = reading("pass", {"a": "pass"})
    assert compare(base, reading("pass")).vanished == ()
    assert compare(base, reading("fail")).vanished == ("a",)


@pytest.mark.parametrize(("status", "fixed"), [("pass", ("exit",)), ("fail", ()), ("flaky", ())])
def test_red_as_a_whole_is_green_as_a_whole(status: Any, fixed: tuple[str, ...]) -> None:
    """A gate that named nothing is fixed only when it passes, not when it names something else."""
    now = reading(status, None, *([Finding("k", "m")] if status != "pass" else []))
    assert compare(reading("fail"), now).fixed == fixed


@pytest.mark.parametrize("name", ["tests/a::t", "tests/a.t", "tests/a > t"])
def test_a_file_is_loaded_when_a_test_in_it_passes(name: str) -> None:
    """Each runner's way of naming a test inside a file is known, and a mere likeness is not."""
    base = reading("error", None, Finding("collect:tests/a", "m"))
    assert compare(base, reading("pass", {name: "pass"})).fixed == ("collect:tests/a",)
    for other in ("tests/ab::t", "tests/a:t", "tests/a >t"):
        assert compare(base, reading("pass", {other: "pass"})).fixed == ()


def test_a_digest_is_stable() -> None:
    """The same set has the same short name today and in a year, also with half characters in it."""
    assert digest(frozenset(MANY)) == sha("a\nb\nc\nm\nq\nx\nz")
    assert digest(frozenset({"a\ud800"})) == sha("a?")
    assert digest(frozenset()) == ""


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("in /tmp/x1/y: no", "in TMP: no"),
        ("id 01234567-89ab-cdef-0123-456789abcdef gone", "id ID gone"),
        ("at 0xdeadbeef", "at HEX"),
        ("at 0X1F", "at HEX"),
        ("commit 1a2b3c4", "commit HEX"),
        ("took 1.25s", "took TIME"),
        ("took 3 seconds", "took TIME"),
        ("line 12", "line N"),
        ("  a \t\n b  ", "a b"),
    ],
)
def test_what_changes_between_two_calls_is_taken_out(text: str, same: str) -> None:
    """Paths, ids, addresses, times and places do not make a new error."""
    assert strip_volatile_parts(text) == same


def test_a_signature_is_stable() -> None:
    """Status, cause and the told errors in order make the signature; without any, the summary does."""
    findings = [Finding(key=key, message="m") for key in MANY]
    told = "\n".join(f"{key} m" for key in sorted(MANY))
    assert signature(reading("fail", None, *findings)) == sha(f"fail\n\n{told}")
    assert signature(reading("error", cause="timeout", summary="after 9 s")) == sha(
        "error\ntimeout\nafter TIME"
    )
    assert signature(reading("fail", summary="a\ud800")) == sha("fail\n\na?")


def test_a_signature_reads_so_much_of_a_message() -> None:
    """What comes after two thousand characters makes no new error."""
    one, two = ("x" * 2000 + end for end in "ab")
    assert signature(reading("fail", None, Finding("k", one))) == signature(
        reading("fail", None, Finding("k", two))
    )
    assert signature(reading("fail", None, Finding("k", one[1:]))) != signature(
        reading("fail", None, Finding("k", two[1:]))
    )
