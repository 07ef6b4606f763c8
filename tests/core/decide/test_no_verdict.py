"""The law for gates that gave no answer: nothing is known, they are asked again, then the loop pauses."""

from __future__ import annotations

import builders as b
import pytest
from builders import COMPLETE, Row
from law_no_verdict import (
    BASELINE,
    FAST,
    FINAL,
    GUARDING,
    GUARDS,
    JUDGING,
    LAST,
    ROWS,
    STARTED,
    graded,
    none,
    twice,
)
from msgspec.structs import asdict, replace

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import MACHINE, is_missing
from ralph.core.proof.flaky import merge_readings
from ralph.errors import IllegalEvent

# What a tree does to its own check: it is red, and at the base no witness, since nothing was looked at.
OWN = ("killed", "memory", "timeout")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_line(row: Row) -> None:
    """No answer changes exactly these fields: no verdict, no rank, no history, nothing taken back."""
    after = decide(row.before, row.event)
    assert b.changes(row.before, after) == row.changes
    assert after.progress.breaker == row.before.progress.breaker


@pytest.mark.parametrize(
    ("loop", "event"),
    [
        (STARTED, none(tree="t9")),
        (STARTED, none(gate="lint")),
        (STARTED, none("fast")),
        (JUDGING, none("guards", "t1")),
        (GUARDING, none("final", "t1")),
        (GUARDING, none("guards", "t2")),
        (JUDGING.with_proof(doubted_tree="t1"), replace(FAST, doubt=True)),
    ],
)
def test_only_what_is_owed_can_be_missing(loop: Loop, event: e.NoVerdict) -> None:
    """A missing answer that nobody waits for, and a second doubt about one tree, are illegal."""
    before = asdict(loop)
    with pytest.raises(IllegalEvent):
        decide(loop, event)
    assert asdict(loop) == before


@pytest.mark.parametrize(
    ("loop", "event"), [(STARTED, BASELINE), (JUDGING, FAST), (FINAL, LAST), (GUARDING, GUARDS)]
)
def test_a_resume_judges_the_same_tree_again(loop: Loop, event: e.NoVerdict) -> None:
    """What was owed is owed again, with three new tries, and the tree is not taken for judged."""
    held = decide(twice(loop, event), event)
    after = decide(held, e.ResumeAsked())
    assert (after.todo, after.phase) == (loop.todo, loop.phase)
    assert decide(decide(after, event), event).phase == loop.phase


def test_the_end_is_that_of_an_undisturbed_loop() -> None:
    """Missing answers between the facts leave no trace in what the loop comes to."""
    loop = decide(b.started(), BASELINE)
    loop = b.call(b.judge(loop, b.at_base(b.red(count=3))))
    loop = b.answer(loop, COMPLETE)
    loop = decide(loop, b.snapshot("t1", loop))
    loop = b.judge(twice(loop, FAST), b.green())
    loop = b.judge(twice(loop, LAST), b.final(b.green()))
    loop = b.close(b.conclude(decide(loop, GUARDS), b.guard()))
    plain = b.close(b.conclude(b.guarding(b.based(), claim=COMPLETE), b.guard()))
    assert loop.with_proof(no_answers=()) == plain
    assert loop.outcome == "verified"


@pytest.mark.parametrize("cause", sorted(MACHINE))
def test_half_of_a_pair_that_the_machine_made_is_no_half(cause: str) -> None:
    """Of two readings of one tree, the one that is an answer stands; never are they flaky."""
    lost = Reading("error", "", cause=cause)
    for real in (Reading("pass", "2 passed"), Reading("fail", "1 failed")):
        assert merge_readings(lost, real) == merge_readings(real, lost) == real
    assert is_missing(lost)


@pytest.mark.parametrize("cause", OWN)
def test_what_a_tree_does_to_its_own_check_is_an_answer(cause: str) -> None:
    """It is red; only where it may have come from outside it is asked for once more."""
    own = Reading("error", "", cause=cause)
    assert not is_missing(own)
    assert is_missing(replace(own, doubt=True))
    assert not is_missing(replace(own, doubt=True), settled=True)
    assert merge_readings(own, Reading("pass", "2 passed")).status == "flaky"


@pytest.mark.parametrize("cause", [*OWN, *sorted(MACHINE), "tool-error", "torn-report", ""])
@pytest.mark.parametrize("per_test", [False, True])
def test_a_base_without_a_judgement_is_no_witness(cause: str, per_test: bool) -> None:
    """Red is only what a check said: being killed, a limit or an error at the base shows nothing."""
    base = b.red(status="error", cause=cause, summary="it ended")
    grade, witness, unproven = graded(base, b.green(per_test=per_test))
    assert (grade, witness) == ("C" if per_test else "D", False)
    told = "test gave no result on the base (it ended), so passing now proves nothing"
    assert [text for text in unproven if text.startswith(told)]
    assert [text for text in unproven if "`timeout 60 …`" in text] == [
        text for text in unproven if text.startswith(told) and cause == "timeout"
    ]


def test_a_record_from_before_keeps_its_grade() -> None:
    """Verdicts of records that did not tell causes apart are folded by the rules of their time."""
    base = b.red(status="error", cause="timeout")
    assert graded(base, b.green(answered=None))[:2] == ("B", True)
    assert graded(base, b.green())[:2] == ("D", False)
