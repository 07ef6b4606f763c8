"""The exit gate as a table: what may leave a loop, and the sentences for what may not."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest

from ralph.core.model.agent import Claim
from ralph.core.model.gate import MAKE_IT_GREEN, Criterion, Gate
from ralph.core.model.verdict import Counts, Finding, GuardResult, Verdict
from ralph.core.proof.exit_gate import (
    Exit,
    already_satisfied,
    blocks,
    cannot_start,
    decide_exit,
    describe,
    ending_of,
    guard_words,
    red_sentences,
    satisfied_first,
    satisfied_words,
)

LINT = b.gate("lint", proof=False)
ADVICE = b.gate("style", proof=False, required=False)
BASE = (b.red(count=2, per_test=True),)
NOW = (b.green(per_test=True, witness_count=2),)
GREEN = (b.green(per_test=True),)
TEST_NEEDED = (
    "all checks pass, but none of them failed before: "
    "write a test for the new behaviour that fails without it; "
    "if no test can show it, change nothing and say COMPLETE again"
)
CLAIM_NEEDED = (
    "all checks pass, but none of them failed before: "
    "write a test for the new behaviour, then say COMPLETE in the status block"
)
NOTHING_RED = "no check that failed before passes now: this shows only that nothing got worse"


def named(*keys: str) -> tuple[Finding, ...]:
    return tuple(Finding(key=key, message="m") for key in keys)


def leave(
    base: tuple[Verdict, ...] = BASE,
    now: tuple[Verdict, ...] = NOW,
    *guards: GuardResult,
    gates: tuple[Gate, ...] = (b.gate(),),
    changed: bool = True,
    claim: Claim | None = None,
    **criterion: Any,
) -> Exit:
    """Asked when the guards are in; by default one that found nothing."""
    return asked(
        guards or (b.guard(),), base, now, gates=gates, changed=changed, claim=claim, criterion=criterion
    )


def may(
    base: tuple[Verdict, ...] = BASE,
    now: tuple[Verdict, ...] = NOW,
    *,
    gates: tuple[Gate, ...] = (b.gate(),),
    changed: bool = True,
    claim: Claim | None = None,
    **criterion: Any,
) -> Exit:
    """Asked while only verdicts are in: is the rest of the judgement worth its cost?"""
    return asked(None, base, now, gates=gates, changed=changed, claim=claim, criterion=criterion)


def asked(
    guards: tuple[GuardResult, ...] | None,
    base: tuple[Verdict, ...],
    now: tuple[Verdict, ...],
    *,
    gates: tuple[Gate, ...],
    changed: bool,
    claim: Claim | None,
    criterion: dict[str, Any],
    **more: Any,
) -> Exit:
    fields = {"task_class": "bug-fix", "gates": gates, **criterion}
    by_name = [{verdict.gate: verdict for verdict in verdicts} for verdicts in (base, now)]
    return decide_exit(
        Criterion(**fields),
        *by_name,
        guards,
        changed=changed,
        claim=claim,
        protection="S2",
        **more,
    )


def no(*sentences: str, **more: Any) -> Exit:
    return Exit(verified=False, not_yet=sentences, **more)


YES = Exit(verified=True, grade="A")
WEAK = Exit(verified=True, grade="C", unproven=(NOTHING_RED,))
OLD = (*BASE, b.red("lint", count=3, per_test=True))
PAIR = (b.gate(), LINT)
MISSED = b.guard("t1", "test_a", "test_b")
SHOWN = b.guard(name="witness", counted={"witness": 1})
NOTICED = b.guard(name="sabotage", counted={"sabotaged": 2, "noticed": 2})
DEAF = b.guard(name="sabotage", summary="0 of 2 noticed", counted={"sabotaged": 2, "noticed": 0})
OWN = (
    "the witness is the agent's own: 1 test red on the base source and green now, "
    "2 of 2 sabotages were noticed"
)
WORKING = Claim("IN_PROGRESS", exit_signal=True)
STILL = "the agent says its work is still in progress"
UNSHOWN = Exit(verified=False, not_yet=(CLAIM_NEEDED,), grade="C", unproven=(NOTHING_RED,))
OLD_NAMED = Exit(verified=True, grade="A", unproven=("lint was red before this loop and still is (fail)",))
ROWS: list[tuple[str, Exit, Exit]] = [
    ("red before, green now", leave(), YES),
    ("no claim is needed where there is a witness", leave(claim=Claim("IN_PROGRESS")), YES),
    ("the proof is red", leave(now=(b.red(summary="1 failed"),)), no("test: 1 failed")),
    ("the proof was not judged", leave(now=()), no("test: not judged on this tree")),
    ("an advisory gate that was not judged", leave(gates=(b.gate(), ADVICE)), YES),
    (
        "advice is no reason",
        leave(now=(*NOW, b.red("style")), gates=(b.gate(), ADVICE)),
        Exit(True, grade="A"),
    ),
    (
        "no required gate",
        leave(gates=(ADVICE,)),
        no("no check is required, so nothing can prove this task"),
    ),
    (
        "newly red where all was green",
        leave((*BASE, b.green("lint")), (*NOW, b.red("lint", summary="1 error")), gates=PAIR),
        no("lint: 1 error"),
    ),
    (
        "old red does not block and is named",
        leave(OLD, (*NOW, b.red("lint", count=3)), gates=PAIR),
        OLD_NAMED,
    ),
    (
        "newly red beside old red blocks by its name",
        leave(OLD, (*NOW, b.red("lint", count=4, new_red=("a.py",), new_red_count=1)), gates=PAIR),
        no("lint: 1 newly red: a.py"),
    ),
    (
        "every red gate has its sentence",
        leave((*BASE, b.green("lint")), (b.red(), b.red("lint")), gates=PAIR),
        no("test: fail", "lint: fail"),
    ),
    (
        "a guard found something",
        leave(BASE, NOW, MISSED),
        no("inventory: test_a is gone", "inventory: test_b is gone"),
    ),
    (
        "a waiver is named and costs the best grade",
        leave(BASE, NOW, b.guard(), waivers={"test_a": "moved"}),
        Exit(True, grade="B", unproven=("waived: test_a (moved)",)),
    ),
    ("nothing changed", leave(changed=False), no("nothing has changed yet")),
    (
        "nothing changed, and the class asks only for green: there is no result all the same",
        leave(changed=False, task_class="test-pass"),
        no("nothing has changed yet"),
    ),
    ("no witness, no claim", leave(GREEN, GREEN), no(CLAIM_NEEDED, grade="C", unproven=(NOTHING_RED,))),
    ("no witness, but a claim", leave(GREEN, GREEN, claim=b.COMPLETE), WEAK),
    (
        "no witness and a claim of something else",
        leave(GREEN, GREEN, claim=Claim("IN_PROGRESS", exit_signal=True)),
        no(CLAIM_NEEDED, grade="C", unproven=(NOTHING_RED,)),
    ),
    (
        "a better grade is asked for",
        leave(GREEN, GREEN, claim=b.COMPLETE, min_grade="B"),
        no(
            f"the proof is grade C and B is required: {NOTHING_RED}",
            TEST_NEEDED,
            grade="C",
            unproven=(NOTHING_RED,),
        ),
    ),
    (
        "everything that is open is in the sentence",
        leave((b.green(),), (b.green(),), claim=b.COMPLETE),
        no(
            f"the proof is grade D and C is required: {NOTHING_RED}; "
            "checks read by exit code only: which tests exist is unknown",
            TEST_NEEDED,
            grade="D",
            unproven=(NOTHING_RED, "checks read by exit code only: which tests exist is unknown"),
        ),
    ),
    ("the best grade is asked for and there", leave(min_grade="A"), YES),
    (
        "the agent's own witness needs no claim",
        leave(GREEN, GREEN, SHOWN, NOTICED),
        Exit(verified=True, grade="B", unproven=(OWN,)),
    ),
    (
        "the agent's own witness, and the agent says it is done",
        leave(GREEN, GREEN, SHOWN, NOTICED, claim=b.COMPLETE),
        Exit(verified=True, grade="B", unproven=(OWN,)),
    ),
    (
        "the agent's own witness, and the agent says it is blocked",
        leave(GREEN, GREEN, SHOWN, NOTICED, claim=Claim("BLOCKED")),
        Exit(verified=True, grade="B", unproven=(OWN,)),
    ),
    (
        "the agent's own witness while it is still at work: not yet",
        leave(GREEN, GREEN, SHOWN, NOTICED, claim=WORKING),
        no(STILL, grade="B", unproven=(OWN,)),
    ),
    (
        "the agent's own witness where more is asked for, and it is still at work",
        leave(GREEN, GREEN, SHOWN, NOTICED, claim=WORKING, min_grade="A"),
        no(f"the proof is grade B and A is required: {OWN}", STILL, grade="B", unproven=(OWN,)),
    ),
    (
        "tests of its own that notice nothing are no witness: a claim is needed",
        leave(GREEN, GREEN, SHOWN, DEAF),
        no(CLAIM_NEEDED, grade="C", unproven=(NOTHING_RED, "", "0 of 2 noticed")),
    ),
    (
        "a red guard beside the agent's own witness",
        leave(GREEN, GREEN, SHOWN, NOTICED, MISSED),
        no("inventory: test_a is gone", "inventory: test_b is gone"),
    ),
    ("before the guards: red before, green now", may(), YES),
    ("before the guards: a witness of the user's, at work or not", may(claim=WORKING), YES),
    ("before the guards: red", may(now=(b.red(summary="1 failed"),)), no("test: 1 failed")),
    ("before the guards: nothing changed", may(changed=False), no("nothing has changed yet")),
    (
        "before the guards: no witness yet, so they are worth a look",
        may(GREEN, GREEN),
        Exit(verified=True, grade="C", unproven=(NOTHING_RED,)),
    ),
    ("before the guards: no witness yet, and a claim", may(GREEN, GREEN, claim=b.COMPLETE), WEAK),
    (
        "before the guards: they may find what grade B asks for",
        may(GREEN, GREEN, min_grade="B"),
        Exit(verified=True, grade="C", unproven=(NOTHING_RED,)),
    ),
    (
        "before the guards: they may find a witness where the exit code is all that is known",
        may((b.green(),), (b.green(),)),
        Exit(
            verified=True,
            grade="D",
            unproven=(NOTHING_RED, "checks read by exit code only: which tests exist is unknown"),
        ),
    ),
    (
        "before the guards: the agent says that it is blocked",
        may(GREEN, GREEN, claim=Claim("BLOCKED")),
        Exit(verified=True, grade="C", unproven=(NOTHING_RED,)),
    ),
    (
        "before the guards: the agent is still at work",
        may(GREEN, GREEN, claim=WORKING),
        UNSHOWN,
    ),
    (
        "before the guards: no test of the agent's own earns grade A",
        may(GREEN, GREEN, claim=b.COMPLETE, min_grade="A"),
        no(f"the proof is grade C and A is required: {NOTHING_RED}", grade="C", unproven=(NOTHING_RED,)),
    ),
    (
        "before the guards: an unchanged tree brings no test of its own",
        may(GREEN, GREEN, changed=False, task_class="custom"),
        no("nothing has changed yet"),
    ),
]


@pytest.mark.parametrize(
    ("now", "guards", "changed", "asked_for", "ends"),
    [
        (GREEN, (b.guard(),), True, "B", True),
        (GREEN, None, True, "A", True),  # it is worth a final judgement
        (GREEN, (b.guard(),), True, "C", False),  # that much is proven
        (GREEN, (b.guard(),), False, "B", False),
        (GREEN, (MISSED,), True, "B", False),
        ((b.red(),), (b.guard(),), True, "B", False),
        ((), (b.guard(),), True, "B", False),
    ],
)
def test_a_last_word_ends_only_what_lacks_nothing_but_proof(
    now: Any, guards: Any, changed: bool, asked_for: str, ends: bool
) -> None:
    """Red, accused or unchanged trees stay in the loop however often the agent says COMPLETE."""
    given = asked(
        guards,
        GREEN,
        now,
        gates=(b.gate(),),
        changed=changed,
        claim=b.COMPLETE,
        criterion={"min_grade": asked_for},
        last_word=True,
    )
    assert given.ends_unproven is ends
    assert not (given.verified and given.ends_unproven)


def test_without_a_last_word_nothing_ends_unproven() -> None:
    """An agent that has not insisted is asked for a proof first."""
    criterion = {"min_grade": "B"}
    given = asked(
        (b.guard(),), GREEN, GREEN, gates=(b.gate(),), changed=True, claim=b.COMPLETE, criterion=criterion
    )
    assert given.not_yet
    assert not given.ends_unproven


@pytest.mark.parametrize(
    ("claim", "alone", "more", "ends"),
    [
        (b.COMPLETE, 1, {}, True),
        (b.COMPLETE, 0, {}, False),
        (None, 1, {}, False),
        (b.COMPLETE, 1, {"tolerance": "item"}, False),  # a plan has its own ends
    ],
)
def test_nobody_is_sent_for_a_witness_that_cannot_be(claim: Any, alone: int, more: Any, ends: bool) -> None:
    """A task about tests whose work is tests alone ends unproven by one claim; a second call adds nothing."""
    guards = (b.guard(name="witness", counted={"witness": 0, "alone": alone}),)
    criterion = {"min_grade": "B"}
    given = asked(
        guards, GREEN, GREEN, gates=(b.gate(),), changed=True, claim=claim, criterion=criterion, **more
    )
    assert given.ends_unproven is ends
    assert not given.verified


def test_a_proof_that_is_as_red_as_before_blocks_unless_told_otherwise() -> None:
    """A merge that is judged again asks so: old red is passed over only where the criterion is another."""
    criterion = Criterion(task_class="bug-fix", gates=(b.gate(), LINT))
    red = {name: b.red(name, per_test=True) for name in ("test", "lint")}
    assert [line.split(":")[0] for line in red_sentences(criterion, red, red)] == ["test"]


@pytest.mark.parametrize(
    ("final", "asked_for", "grade", "outcome", "why"),
    [
        (GREEN, "B", "A", "verified", "every check passed on this tree"),
        (GREEN, "B", "B", "verified", "every check passed on this tree"),
        ((b.red(),), "B", "B", "verified", "what was green before is green on this tree"),
        (
            GREEN,
            "A",
            "C",
            "unproven",
            "every check passed on this tree, but the proof is only grade C: grade A is required",
        ),
    ],
)
def test_the_ending_of_a_published_result(
    final: Any, asked_for: Any, grade: Any, outcome: str, why: str
) -> None:
    """Green is not enough: the proof must be as strong as asked for."""
    criterion = Criterion(task_class="bug-fix", gates=(b.gate(),), min_grade=asked_for)
    assert ending_of(criterion, grade, {one.gate: one for one in final}) == (outcome, why)


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (Finding("k", "a test is gone"), "a test is gone"),
        (Finding("k", "a test is gone", asks=True), "a test is gone"),
        (Finding("k", "a test is gone", way="bring it back"), "a test is gone: bring it back"),
        (
            Finding("k", "a test is gone", way="say why", asks=True),
            "a test is gone (a question): say why",
        ),
    ],
)
def test_words_of_a_guard(finding: Finding, words: str) -> None:
    """What was found, whether it only asks, and the way out."""
    assert guard_words(finding) == words


def test_no_guard_at_all() -> None:
    """Guards that were asked for and did not answer are not guards that found nothing."""
    criterion = {"task_class": "bug-fix"}
    given = asked((), BASE, NOW, gates=(b.gate(),), changed=True, claim=b.COMPLETE, criterion=criterion)
    assert given == no("no guard has checked this tree")


@pytest.mark.parametrize(("given", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_judge(given: Exit, expected: Exit) -> None:
    """Verified or the sentences why not, from the verdicts alone."""
    assert given == expected


@pytest.mark.parametrize(
    ("proof", "base", "now", "blocked"),
    [
        (True, "fail", b.green(), False),
        (True, "fail", b.red(), True),
        (False, "pass", b.red(), True),
        (False, "pass", b.red(status="flaky"), True),
        (False, None, b.red(), True),
        (False, "fail", b.red(), False),
        (False, "fail", b.red(new_red_count=1), True),
        (False, "fail", b.red(status="error"), True),
        (False, "fail", b.red(status="skipped"), True),
        (False, "flaky", b.red(status="skipped"), True),
        (False, "error", b.red(status="error"), False),
        (False, "skipped", b.red(status="error"), False),
        (
            False,
            "error",
            b.red(),
            False,
        ),  # a record from before it was told whether a check came to a judgement
        (False, "error", b.red(answered=True), True),
        (False, "error", b.red(answered=True, per_test=True), False),
    ],
)
def test_blocks(proof: bool, base: Any, now: Verdict, blocked: bool) -> None:
    """The proof must be green; elsewhere only what is newly red, or no longer judged, stands in the way."""
    before = None if base is None else b.red(status=base)
    assert blocks(b.gate(proof=proof), before, now) is blocked


@pytest.mark.parametrize(
    ("tolerance", "now", "blocked"),
    [
        ("item", b.red(), False),
        ("old", b.red(), True),  # by exit code nobody knows what is red
        ("old", b.red(per_test=True), False),
        ("old", b.red(per_test=True, new_red_count=1), True),
        ("nothing", b.red(per_test=True), True),
    ],
)
def test_what_of_the_proof_may_stay_red_in_a_plan(tolerance: Any, now: Verdict, blocked: bool) -> None:
    """An item leaves old red alone, the whole only where it was allowed and tests are known by name."""
    assert blocks(b.gate(), b.red(), now, tolerance) is blocked


FIVE = named("a", "b", "c", "d", "e", "f", "g")


def said(text: str) -> tuple[Finding, ...]:
    """What a check that is read by its exit code alone is known by."""
    return (Finding("exit", text),)


@pytest.mark.parametrize(
    ("gate", "verdict", "words"),
    [
        (b.gate(), b.red(status="error", summary="no such program"), "could not be judged (no such program)"),
        (b.gate(), b.red(status="error", cause="timeout"), "could not be judged (timeout)"),
        (b.gate(), b.red(status="skipped"), "could not be judged (skipped)"),
        (b.gate(), b.red(summary="exit 1"), "exit 1"),
        (b.gate(), b.red(), "fail"),
        (b.gate(), b.red(count=2, findings=named("a", "b")), "2 red: a, b"),
        (b.gate(), b.red(count=5, findings=FIVE[:5]), "5 red: a, b, c, d, e"),
        (b.gate(), b.red(count=9, findings=FIVE), "9 red: a, b, c, d, e and 4 more"),
        (
            b.gate(),
            b.red(count=3, counts=Counts(unseen=2), findings=named("a")),
            "1 red: a; of the tests of the base, 2 did not run",
        ),
        (b.gate(), b.red(count=0, findings=named("a"), summary="odd"), "odd"),
        (b.gate(), b.red(summary="exit code 1", findings=said("a\n b  c \n")), "exit code 1: b c"),
        (b.gate(), b.red(summary="exit code 1", findings=said("x" * 121)), f"exit code 1: {'x' * 119}…"),
        (b.gate(), b.red(summary="exit code 1", findings=said("exit code 1")), "exit code 1"),
        (b.gate(), b.red(summary="exit code 1", findings=said("")), "exit code 1"),
        (LINT, b.red(summary="1", findings=said("a"), new_red=("exit",), new_red_count=1), "1: a"),
        (
            b.gate(),
            b.red(count=2, findings=named("a"), new_red=("z",), new_red_count=1),
            "2 red: a and 1 more",
        ),
    ],
)
def test_describe(gate: Gate, verdict: Verdict, words: str) -> None:
    """A red verdict in one line names the first few tests and counts the rest."""
    assert describe(gate, verdict) == words


SEVEN = b.red(count=9, findings=FIVE, new_red=tuple("abcdefg"), new_red_count=7)
ALL = "9 red: a, b, c, d, e and 4 more"


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (b.green("lint"), "7 newly red: a, b, c, d, e and 2 more"),
        (b.red("lint", per_test=True), "7 newly red: a, b, c, d, e and 2 more"),
        (b.red("lint", per_test=True, status="flaky"), "7 newly red: a, b, c, d, e and 2 more"),
        (b.red("lint"), ALL),
        (b.red("lint", per_test=True, unloaded=1), ALL),
        (b.red("lint", per_test=True, status="error", cause="timeout"), ALL),
        (None, ALL),
    ],
)
def test_newly_red_is_said_only_where_the_base_tells(base: Verdict | None, words: str) -> None:
    """What may have been red before this loop, because nothing was told apart there, is not called new."""
    assert describe(LINT, SEVEN, base) == words


@pytest.mark.parametrize("task_class", sorted(MAKE_IT_GREEN | {"bug-fix", "implement-feature", "regression"}))
def test_already_satisfied_by_class(task_class: Any) -> None:
    """Green at the base is the whole task for some classes only; for others it proves nothing."""
    criterion = Criterion(task_class=task_class, gates=(b.gate(),))
    assert already_satisfied(criterion, {"test": b.green()}) is (task_class in MAKE_IT_GREEN)


def test_already_satisfied_needs_every_proof() -> None:
    """One green proof of two, or none at all, satisfies nothing; other gates are not asked."""
    two = Criterion(task_class="test-pass", gates=(b.gate(), b.gate("e2e"), LINT))
    reds = {"test": b.green(), "e2e": b.green("e2e"), "lint": b.red("lint")}
    assert already_satisfied(two, reds)
    assert not already_satisfied(two, {**reds, "e2e": b.red("e2e")})
    assert not already_satisfied(Criterion(task_class="test-pass", gates=(LINT,)), {"lint": b.green("lint")})


def test_one_proof_of_the_kind_that_is_asked_for_settles_it() -> None:
    """Beside a green check of the kind another proof, of whatever kind, only has to be green."""
    lint = Gate(name="lint", run="ruff check .", argv=("ruff", "check", "."), proof=True)
    both = {"test": b.green(), "lint": b.green("lint")}
    assert already_satisfied(Criterion(task_class="test-pass", gates=(b.gate(), lint)), both)
    assert not already_satisfied(Criterion(task_class="test-pass", gates=(lint,)), both)


@pytest.mark.parametrize("task_class", sorted(MAKE_IT_GREEN | {"bug-fix", "regression"}))
def test_satisfied_by_the_first_rules(task_class: Any) -> None:
    """They asked for the class and for green, of whatever kind the check was."""
    criterion = Criterion(task_class=task_class, gates=(b.gate(),))
    assert satisfied_first(criterion, {"test": b.green()}) is (task_class in MAKE_IT_GREEN)
    assert satisfied_first(criterion, {"test": b.red()}) is False


HIDDEN = b.gate("secret", proof=False, origin="hidden")
RED_LINT = {"lint": b.red("lint")}
LINT_IS_RED = describe(LINT, b.red("lint"))


@pytest.mark.parametrize(
    ("gates", "more", "words"),
    [
        ((b.gate(),), {}, "test was green before any agent call"),
        ((b.gate(), b.gate("e2e")), {}, "every proof was green before any agent call"),
        ((b.gate(), LINT), {"lint": b.green("lint")}, "test was green before any agent call"),
        ((b.gate(), LINT), {"lint": b.red("lint", status="skipped")}, "test was green before any agent call"),
        ((b.gate(), HIDDEN), {"secret": b.red("secret")}, "test was green before any agent call"),
        (
            (b.gate(), LINT),
            RED_LINT,
            f"test was green before any agent call; failing, but not part of this task: lint ({LINT_IS_RED})",
        ),
    ],
)
def test_why_there_is_nothing_to_do(gates: tuple[Gate, ...], more: dict[str, Verdict], words: str) -> None:
    """What was green, and what is red beside it; a hidden check is never named."""
    baseline = {"test": b.green(), "e2e": b.green("e2e"), **more}
    assert satisfied_words(Criterion(task_class="test-pass", gates=gates), baseline) == words


NEEDS = Criterion(task_class="test-pass", gates=(ADVICE, b.gate()))


@pytest.mark.parametrize(
    ("test", "style", "why"),
    [
        (b.red(), b.green("style"), ""),
        (b.red(status="error", cause="timeout"), b.green("style"), ""),
        (b.red(status="fail", cause="missing"), b.green("style"), ""),
        (
            b.red(status="error", cause="missing", summary="gone"),
            b.green("style"),
            'gate "test" cannot run: gone',
        ),
        (
            b.red(status="error", cause="sandbox", summary="no box"),
            b.green("style"),
            'gate "test" cannot run: no box',
        ),
        (b.red(), b.red("style", status="error", cause="missing"), ""),
    ],
)
def test_cannot_start(test: Verdict, style: Verdict, why: str) -> None:
    """A required check that can never run ends the loop before an agent costs anything."""
    assert cannot_start(NEEDS, {"test": test, "style": style}) == why


def test_cannot_start_without_a_required_gate() -> None:
    """Advice alone proves nothing."""
    criterion = Criterion(task_class="test-pass", gates=(ADVICE,))
    assert cannot_start(criterion, {"style": b.green("style")}) == (
        "no check is required, so nothing can prove this task"
    )


def test_deleted_tests_are_named_with_the_first_refusal():
    """Whatever else is missing, a deleted test is named as deleted; not twice, and not where all is well."""
    red = b.red(count=1, per_test=True, counts=Counts(deleted=("t::one", "t::two")))
    sentence = "test: you deleted tests of the base, restore them: "
    assert leave(BASE, (red,)).not_yet[-1] == f"{sentence}t::one, t::two"
    green = b.green(per_test=True, witness_count=2, counts=Counts(deleted=("t::one", "t::two")))
    gone = b.guard("t1", "t::one")
    assert leave(BASE, (green,), gone).not_yet[-1] == f"{sentence}t::two"
    assert leave(BASE, (green,)).not_yet == ()


OLD_RED = (b.red(per_test=True, count=1),)
LEFT = (b.green(per_test=True, witness_count=1, counts=Counts(still_red=("t",))),)
KIND = "base_tests.still_red"
SAID = "failed before the loop and still red: t"
WAY = (
    "these failed before the loop as well: make them pass, "
    "or if they fail for a reason outside of this task, change nothing and say COMPLETE again"
)


@pytest.mark.parametrize(
    ("now", "more", "not_yet", "still_red", "insists"),
    [
        (OLD_RED, {"claim": None}, ["test: fail"], True, False),
        (OLD_RED, {}, ["test: fail", WAY], True, False),
        (OLD_RED, {"last_word": True}, ["test: fail", WAY], True, True),
        (OLD_RED, {"last_word": True, "changed": False}, ["test: fail"], False, False),
        (OLD_RED, {"last_word": True, "tolerance": "nothing"}, ["test: fail"], False, False),
        (OLD_RED, {"last_word": True, "task_class": "test-pass"}, ["test: fail"], False, False),
        (OLD_RED, {"last_word": True, "guards": (MISSED,)}, None, False, False),
        ((b.red(per_test=True, new_red_count=1),), {"last_word": True}, ["test: fail"], False, False),
        ((), {"last_word": True}, ["test: not judged on this tree"], False, False),
    ],
)
def test_who_insists_on_old_red(now: Any, more: Any, not_yet: Any, still_red: bool, insists: bool) -> None:
    """The way is told to who says COMPLETE; it counts where nothing else is in the way, and green is not the
    task itself."""
    more = {"guards": None, "changed": True, "claim": b.COMPLETE, **more}
    criterion = {"task_class": more.pop("task_class", "bug-fix")}
    given = asked(more.pop("guards"), OLD_RED, now, gates=(b.gate(),), criterion=criterion, **more)
    assert (given.still_red, given.insists, given.verified) == (still_red, insists, False)
    assert not_yet is None or list(given.not_yet) == not_yet


@pytest.mark.parametrize(
    ("now", "guards", "criterion", "ends", "grade", "not_yet"),
    [
        (LEFT, (b.guard(),), {}, True, "C", (SAID,)),
        (LEFT, (b.guard(),), {"waivers": {KIND: "why"}}, False, "B", ()),
        (LEFT, None, {}, True, "C", (SAID,)),
        (LEFT, (b.guard(),), {"task_class": "regression"}, True, "C", (SAID,)),
        (
            (b.green(per_test=True, counts=Counts(still_red=("t",))),),
            (b.guard(),),
            {},
            False,
            None,
            (f"{SAID}, and no test that failed before shows the change", WAY),
        ),
    ],
)
def test_a_judgement_without_old_red_proves_nothing_by_itself(
    now: Any, guards: Any, criterion: Any, ends: bool, grade: Any, not_yet: Any
) -> None:
    """Unproven, where a test shows a change or none is asked for; proven by a user's word alone."""
    given = asked(
        guards,
        OLD_RED,
        now,
        gates=(b.gate(),),
        changed=True,
        claim=b.COMPLETE,
        criterion={"min_grade": "C", **criterion},
        last_word=True,
    )
    assert (given.ends_unproven, given.grade, given.not_yet) == (ends, grade, not_yet)
    assert given.verified is (not not_yet)


def test_a_result_judged_without_old_red_is_unproven() -> None:
    """Whatever its grade, until a user says that it may be red."""
    criterion = Criterion(task_class="bug-fix", gates=(b.gate(),), min_grade="C")
    final = {one.gate: one for one in LEFT}
    assert ending_of(criterion, "C", final) == (
        "unproven",
        f"nothing got worse, but not everything is green: {SAID}",
    )
    allowed = Criterion(task_class="bug-fix", gates=(b.gate(),), waivers={f"{KIND}:t": "why"})
    assert ending_of(allowed, "B", final)[0] == "verified"
