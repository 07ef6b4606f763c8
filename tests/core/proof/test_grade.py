"""Design section 7: what earns which grade, and what is said to be open."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.verdict import GuardResult, Verdict
from ralph.core.proof.grade import Proof, at_least, prove

TESTS = b.red(count=2, per_test=True)  # at the base, known test by test
PASSED = b.green(per_test=True, witness_count=2)
BY_EXIT = "test: read by exit code only, not per test"
NOTHING_RED = "no check that failed before passes now: this shows only that nothing got worse"
UNKNOWN = "checks read by exit code only: which tests exist is unknown"
NOT_MADE = "taken from your checkout, not built from this tree"
BOX = "sandbox {}: which files the checks loaded is not proven"


def proof(
    base: Verdict | None,
    now: Verdict,
    *guards: GuardResult,
    protection: str = "S2",
    others: tuple[Gate, ...] = (),
    more: tuple[Verdict, ...] = (),
    olds: tuple[Verdict, ...] = (),
    waivers: dict[str, str] | None = None,
    quarantine: dict[str, str] | None = None,
    generated: tuple[str, ...] = (),
) -> Proof:
    criterion = Criterion(
        task_class="bug-fix", gates=(b.gate(), *others), waivers=waivers or {}, quarantine=quarantine or {}
    )
    baseline = {verdict.gate: verdict for verdict in (*((base,) if base else ()), *olds)}
    verdicts = {verdict.gate: verdict for verdict in (now, *more)}
    return prove(criterion, baseline, verdicts, guards, protection, generated)


def measured(name: str, applied: bool = True, summary: str = "", **counted: int) -> GuardResult:
    return b.guard(name=name, applied=applied, summary=summary, counted=counted)


SHOWN = measured("witness", witness=2)
NOTICED = measured("sabotage", sabotaged=3, noticed=1)
OWN = "the witness is the agent's own: 2 tests red on the base source and green now, "
OWN_1 = OWN + "1 of 3 sabotages were noticed"
IDLE = "the agent's own tests execute none of the 4 changed lines, so they show nothing of them"


def lines(changed: int, executed: int, unwatched: int = 0) -> GuardResult:
    return measured("diff_coverage", changed_lines=changed, executed_lines=executed, unwatched=unwatched)


LINT = b.gate("lint", proof=False)
E2E = b.gate("e2e")
OLD_RED = "lint was red before this loop and still is ({})"
ROWS: list[tuple[str, Proof, Proof]] = [
    ("A: per test, red before", proof(TESTS, PASSED), Proof("A", True, False, ())),
    ("A: with guards that applied", proof(TESTS, PASSED, b.guard()), Proof("A", True, False, ())),
    ("A: in the strongest box", proof(TESTS, PASSED, protection="S3"), Proof("A", True, False, ())),
    (
        "A: red by name, though the base came to no whole judgement",
        proof(b.red(status="error"), PASSED),
        Proof("A", True, False, ()),
    ),
    ("B: by exit code on both sides", proof(b.red(), b.green()), Proof("B", True, False, (BY_EXIT,))),
    ("B: by exit code now", proof(TESTS, b.green()), Proof("B", True, False, (BY_EXIT,))),
    (
        "B: by exit code at the base",
        proof(b.red(), b.green(per_test=True)),
        Proof("B", True, False, (BY_EXIT,)),
    ),
    (
        "B: a guard that could not look",
        proof(TESTS, PASSED, b.guard(), b.guard(applied=False, summary="no test ids")),
        Proof("B", True, False, ("no test ids",)),
    ),
    ("B: a weak box", proof(TESTS, PASSED, protection="S1"), Proof("B", True, False, (BOX.format("S1"),))),
    ("B: no box", proof(TESTS, PASSED, protection=""), Proof("B", True, False, (BOX.format("S0"),))),
    (
        "B: a waiver",
        proof(TESTS, PASSED, waivers={"z": "why z", "a": "why a"}),
        Proof("B", True, False, ("waived: a (why a)", "waived: z (why z)")),
    ),
    (
        "C: the agent's own tests only",
        proof(TESTS, b.green(per_test=True)),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    ("C: green before", proof(b.green(per_test=True), PASSED), Proof("C", False, False, (NOTHING_RED,))),
    ("C: flaky before", proof(b.red(status="flaky"), PASSED), Proof("C", False, False, (NOTHING_RED,))),
    ("C: no baseline", proof(None, PASSED), Proof("C", False, False, (NOTHING_RED,))),
    (
        "C: no test before",
        proof(b.red(status="error", cause="no-tests"), PASSED),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    (
        "C: all skipped before",
        proof(b.red(cause="all-skipped"), PASSED),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    (
        "C: a waiver lowers nothing further",
        proof(b.green(), PASSED, waivers={"a": "why"}),
        Proof("C", False, False, (NOTHING_RED, "waived: a (why)")),
    ),
    (
        "C: weak box and deaf guards add nothing where there is no witness",
        proof(b.green(), PASSED, b.guard(applied=False, summary="x"), protection="S0"),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    (
        "C: the inventory is known from a gate that is no proof",
        proof(b.green(), b.green(), others=(LINT,), more=(b.green("lint", per_test=True),)),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    (
        "D: green before, by exit code",
        proof(b.green(), b.green()),
        Proof("D", False, False, (NOTHING_RED, UNKNOWN)),
    ),
    (
        "D: a gate that was not judged tells nothing",
        proof(b.green(), b.green(), others=(LINT,)),
        Proof("D", False, False, (NOTHING_RED, UNKNOWN)),
    ),
    (
        "A: one of two proofs was green before",
        proof(TESTS, PASSED, others=(E2E,), olds=(b.green("e2e"),), more=(b.green("e2e"),)),
        Proof("A", True, False, ()),
    ),
    (
        "B: one of two witnesses by exit code, both named in turn",
        proof(b.red(), b.green(), others=(E2E,), olds=(b.red("e2e"),), more=(b.green("e2e"),)),
        Proof("B", True, False, ("test, e2e: read by exit code only, not per test",)),
    ),
    (
        "no witness: an advisory proof that is red now",
        proof(b.red(), b.red(count=2), others=()),
        Proof("D", False, False, (NOTHING_RED, UNKNOWN, "test was red before this loop and still is (fail)")),
    ),
    (
        "old red is named",
        proof(
            TESTS, PASSED, others=(LINT,), olds=(b.red("lint"),), more=(b.red("lint", summary="4 errors"),)
        ),
        Proof("A", True, False, (OLD_RED.format("4 errors"),)),
    ),
    (
        "old red is named even without words",
        proof(TESTS, PASSED, others=(LINT,), olds=(b.red("lint"),), more=(b.red("lint", status="error"),)),
        Proof("A", True, False, (OLD_RED.format("error"),)),
    ),
    (
        "old red that turned green is not",
        proof(TESTS, PASSED, others=(LINT,), olds=(b.red("lint"),), more=(b.green("lint"),)),
        Proof("A", True, False, ()),
    ),
    (
        "red without a baseline is not old",
        proof(TESTS, PASSED, others=(LINT,), more=(b.red("lint"),)),
        Proof("A", True, False, ()),
    ),
    (
        "B: the agent's own tests were red on the base source and notice sabotage",
        proof(b.green(per_test=True), PASSED, SHOWN, NOTICED),
        Proof("B", False, True, (OWN_1,)),
    ),
    (
        "B: its own tests, whichever guard comes first, also by exit code",
        proof(b.green(), b.green(), NOTICED, b.guard(), SHOWN),
        Proof("B", False, True, (OWN_1,)),
    ),
    (
        "B: how many were tried is not known",
        proof(b.green(), b.green(), SHOWN, measured("sabotage", noticed=1)),
        Proof("B", False, True, (OWN + "1 of 0 sabotages were noticed",)),
    ),
    (
        "B: its own tests, and a guard that could not look is named",
        proof(b.green(), PASSED, SHOWN, NOTICED, measured("canary", applied=False, summary="no canary")),
        Proof("B", False, True, (OWN_1, "no canary")),
    ),
    (
        "B: its own tests, a waiver and a quarantine lower nothing further",
        proof(b.green(), PASSED, SHOWN, NOTICED, waivers={"a": "why"}, quarantine={"t": "who"}),
        Proof("B", False, True, (OWN_1, "waived: a (why)", "in quarantine: t (who)")),
    ),
    (
        "B: its own tests that execute some of the changed lines",
        proof(b.green(), b.green(per_test=True), SHOWN, NOTICED, lines(4, 1)),
        Proof("B", False, True, (OWN_1,)),
    ),
    (
        "C: its own tests that execute none of them are no witness",
        proof(b.green(), b.green(per_test=True), SHOWN, NOTICED, lines(4, 0)),
        Proof("C", False, False, (IDLE, *("",) * 2), idle=True),
    ),
    (
        "B: what could not be watched is not held against them",
        proof(b.green(), b.green(per_test=True), SHOWN, NOTICED, lines(4, 0, unwatched=1)),
        Proof("B", False, True, (OWN_1,)),
    ),
    (
        "B: where nothing that can be executed changed, nothing is lowered",
        proof(b.green(), b.green(per_test=True), SHOWN, NOTICED, lines(0, 0)),
        Proof("B", False, True, (OWN_1,)),
    ),
    (
        "A: a witness of the user's is not lowered by it",
        proof(TESTS, PASSED, lines(4, 0)),
        Proof("A", True, False, ()),
    ),
    (
        "C: lines that are executed raise nothing",
        proof(b.green(), b.green(per_test=True), lines(4, 4)),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    (
        "C: its own tests that notice no sabotage are no witness, and what was measured is told",
        proof(
            b.green(),
            PASSED,
            measured("witness", summary="2 red", witness=2),
            measured("sabotage", summary="0 of 3", sabotaged=3, noticed=0),
        ),
        Proof("C", False, False, (NOTHING_RED, "2 red", "0 of 3")),
    ),
    (
        "C: noticed sabotage without a test that was red is no witness",
        proof(b.green(), PASSED, measured("witness", summary="none", witness=0), NOTICED),
        Proof("C", False, False, (NOTHING_RED, "none", "")),
    ),
    (
        "C: sabotage that was not tried",
        proof(b.green(), PASSED, SHOWN, measured("sabotage", summary="not tried")),
        Proof("C", False, False, (NOTHING_RED, "")),
    ),
    (
        "C: what other guards measured says nothing about a witness",
        proof(b.green(), PASSED, measured("repeat", summary="green 3 times", repeats=3)),
        Proof("C", False, False, (NOTHING_RED,)),
    ),
    (
        "A: a witness of the user's is worth more than the agent's own beside it",
        proof(TESTS, PASSED, SHOWN, NOTICED),
        Proof("A", True, False, ()),
    ),
    (
        "B: with generated files of the user's checkout",
        proof(TESTS, PASSED, generated=("gen/models.py", "x/_version.py", "gen/models.py")),
        Proof("B", True, False, (f"gen/models.py, x/_version.py: {NOT_MADE}",)),
    ),
    (
        "C: generated files raise nothing",
        proof(b.green(), PASSED, generated=("gen/models.py",)),
        Proof("C", False, False, (NOTHING_RED, f"gen/models.py: {NOT_MADE}")),
    ),
    (
        "B: a quarantine",
        proof(TESTS, PASSED, quarantine={"z": "b until …", "a": "c until …"}),
        Proof("B", True, False, ("in quarantine: a (c until …)", "in quarantine: z (b until …)")),
    ),
    (
        "of several old reds each is named, also after one that is green",
        proof(
            TESTS,
            PASSED,
            others=(b.gate("types", proof=False), LINT),
            olds=(b.red("types"), b.red("lint")),
            more=(b.green("types"), b.red("lint", summary="4 errors")),
        ),
        Proof("A", True, False, (OLD_RED.format("4 errors"),)),
    ),
]


@pytest.mark.parametrize(("proven", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_grade(proven: Proof, expected: Proof) -> None:
    """Each kind of evidence earns its grade, and what it leaves open is said."""
    assert proven == expected


@pytest.mark.parametrize(
    ("grade", "minimum", "enough"),
    [("A", "B", True), ("B", "B", True), ("C", "B", False), ("D", "D", True), ("D", "A", False)],
)
def test_at_least(grade: Any, minimum: Any, enough: bool) -> None:
    """A is the strongest, D the weakest."""
    assert at_least(grade, minimum) is enough


def test_generated_files_that_the_base_needed_stay_open_for_every_later_tree() -> None:
    """The checks run with the user's own file, whatever the agent makes of what it was made from."""
    at_base = b.at_base(TESTS)
    needed = e.GateEnded(iteration=0, verdict=at_base, shares=("gen/models.py",))
    loop = decide(b.started(), needed)
    ended = b.close(b.conclude(b.guarding(loop, "t1", PASSED), b.guard()))
    assert (ended.outcome, ended.grade) == ("verified", "B")
    assert ended.proof.unproven == (f"gen/models.py: {NOT_MADE}",)
