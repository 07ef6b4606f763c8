"""Classes of failure, what counts as an attempt, distinct approaches, and what a human is asked."""

from __future__ import annotations

from typing import Any, get_args

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.decide.stuck.attempts import (
    FailureFacts,
    add_attempt,
    approaches,
    classify,
    escalation,
    escalation_lines,
    is_real_try,
    real_tries,
    why_give_up,
)
from ralph.core.decide.stuck.health import escalations
from ralph.core.decide.stuck.thresholds import MAX_ATTEMPTS
from ralph.core.model.actions import Finish
from ralph.core.model.agent import Claim, Fault, FaultKind
from ralph.core.model.breaker_state import Attempt
from ralph.core.model.spend import Limits

CLASSES = [
    ("a limit", FailureFacts(fault="limit"), "transient"),
    ("a crash", FailureFacts(fault="crash"), "transient"),
    ("a timeout of the call", FailureFacts(fault="timeout"), "transient"),
    ("a login", FailureFacts(fault="auth"), "environmental"),
    ("no money", FailureFacts(fault="credit"), "environmental"),
    ("no such agent", FailureFacts(fault="missing"), "environmental"),
    ("a refused request", FailureFacts(fault="request"), "environmental"),
    ("another program than before", FailureFacts(fault="upgraded"), "environmental"),
    ("a full disk", FailureFacts(fault="disk"), "environmental"),
    ("red", FailureFacts(causes=("",)), "logical"),
    ("green, and not proven", FailureFacts(), "logical"),
    ("no tests found", FailureFacts(causes=("no-tests",)), "logical"),
    ("a missing tool", FailureFacts(causes=("missing",)), "environmental"),
    ("no sandbox", FailureFacts(causes=("sandbox",)), "environmental"),
    ("a tool that changed", FailureFacts(causes=("tool-changed",)), "environmental"),
    ("a check that timed out", FailureFacts(causes=("timeout",)), "transient"),
    ("a torn report", FailureFacts(causes=("torn-report",)), "transient"),
    ("a missing tool and plain red", FailureFacts(causes=("missing", "")), "logical"),
    ("a missing tool and a torn report", FailureFacts(causes=("torn-report", "missing")), "environmental"),
    ("a permission", FailureFacts(denied=True), "environmental"),
    ("a permission and a torn report", FailureFacts(denied=True, causes=("killed",)), "environmental"),
    ("a permission and plain red", FailureFacts(denied=True, causes=("",)), "logical"),
    ("the agent asks", FailureFacts(blocked=True, causes=("missing",)), "fundamental"),
    ("tampering", FailureFacts(accused=True), "fundamental"),
    ("tampering and a fault", FailureFacts(accused=True, fault="limit"), "fundamental"),
]


@pytest.mark.parametrize(("facts", "kind"), [row[1:] for row in CLASSES], ids=[row[0] for row in CLASSES])
def test_class(facts: FailureFacts, kind: str) -> None:
    """The class follows from kinds and causes alone."""
    assert classify(facts) == kind


@given(
    fault=st.sampled_from(["", *get_args(FaultKind)]),
    causes=st.lists(st.sampled_from(["missing", "sandbox", "killed", "timeout", "torn-report"])),
    denied=st.booleans(),
)
def test_what_is_not_the_works_doing_never_counts(fault: str, causes: list[str], denied: bool) -> None:
    """Without plain red, a claim or tampering there is no attempt, whatever went wrong around it."""
    facts = FailureFacts(fault=fault, causes=tuple(causes), denied=denied)
    kind = classify(facts)
    if fault or causes or denied:
        assert kind in ("transient", "environmental")
        assert not is_real_try(Attempt(1, kind, "w", "n"))
    else:
        assert kind == "logical"


def tried(number: int = 1, kind: Any = "logical", **more: Any) -> Attempt:
    plain = {"what": "tests: 1 failed", "signature": "sig", "paths": ("a.py",), "files": 1, "lines": 10}
    return Attempt(iteration=number, kind=kind, next="n", **{**plain, **more})


def test_mishaps_in_a_row_are_one_line() -> None:
    """Ten limits one after another take one place in the record, and say that they were ten."""
    one = tried(kind="transient", files=0, paths=(), signature="fault limit")
    found: tuple[Attempt, ...] = ()
    for number in range(10):
        found = add_attempt(found, replace(one, iteration=number))
    assert [(attempt.iteration, attempt.times) for attempt in found] == [(9, 10)]
    assert real_tries(found) == ()


def test_a_judged_mishap_that_repeats_is_the_works_own_doing() -> None:
    """A check that is killed twice on changed trees is no accident."""
    one = tried(kind="transient")
    found = add_attempt(add_attempt((), one), replace(one, iteration=2))
    assert [(attempt.kind, attempt.next) for attempt in found] == [
        ("transient", "n"),
        ("logical", "another approach"),
    ]
    elsewhere = add_attempt((one,), replace(one, item="other"))
    assert [attempt.kind for attempt in elsewhere] == ["transient", "transient"]


def test_the_record_is_bounded() -> None:
    """The newest are kept."""
    found: tuple[Attempt, ...] = ()
    for number in range(MAX_ATTEMPTS + 5):
        found = add_attempt(found, tried(number))
    assert (len(found), found[0].iteration) == (MAX_ATTEMPTS, 5)


APPROACHES = [
    ("one", (tried(1),), 1),
    ("a parameter tweak", (tried(1), tried(2, lines=12, strategy="split")), 1),
    ("three lines are a tweak", (tried(1), tried(2, lines=13, strategy="split")), 1),
    ("four lines are not", (tried(1), tried(2, lines=14, strategy="split")), 2),
    ("ten percent of a large change is a tweak", (tried(1, lines=100), tried(2, lines=109, strategy="x")), 1),
    ("three lines of a large change are a tweak", (tried(1, lines=90), tried(2, lines=99, strategy="x")), 1),
    ("the same demand, the same files", (tried(1), tried(2, lines=90)), 1),
    ("another demand and another size", (tried(1), tried(2, lines=90, strategy="split")), 2),
    ("other files", (tried(1), tried(2, paths=("b.py",))), 2),
    ("more files", (tried(1), tried(2, paths=("a.py", "b.py"), files=2)), 2),
    ("another error", (tried(1), tried(2, paths=("b.py",), signature="other")), 1),
    ("nothing changed", (tried(1), tried(2, paths=(), files=0)), 1),
    ("a mishap", (tried(1), tried(2, paths=("b.py",), kind="environmental")), 1),
    ("another item", (tried(1), tried(2, paths=("b.py",), item="x")), 1),
]


@pytest.mark.parametrize(
    ("attempts", "count"), [row[1:] for row in APPROACHES], ids=[row[0] for row in APPROACHES]
)
def test_distinct_approaches(attempts: tuple[Attempt, ...], count: int) -> None:
    """Another demand or other files make an approach; a tweak does not."""
    assert len(approaches(attempts, "", "sig")) == count


def test_three_approaches_on_one_error_are_enough() -> None:
    """Rule 12; two, or three on different errors, are not."""
    three = tuple(tried(number, paths=(f"{number}.py",)) for number in range(3))
    assert why_give_up(three, "") == "3 different approaches ended in the same error"
    assert why_give_up(three[:2], "") == ""
    assert why_give_up((), "") == ""
    assert why_give_up(tuple(replace(one, signature="") for one in three), "") == ""
    assert why_give_up(tuple(replace(one, signature=f"s{one.iteration}") for one in three), "") == ""


def test_the_newest_error_is_the_one_that_is_looked_at() -> None:
    """Three approaches on an error that is gone are no reason to give up."""
    three = tuple(tried(number, paths=(f"{number}.py",)) for number in range(3))
    assert why_give_up((*three, tried(4, signature="other", paths=("z.py",))), "") == ""
    first = tried(0, signature="other", paths=("z.py",))
    assert why_give_up((first, *three), "") == "3 different approaches ended in the same error"


@pytest.mark.parametrize(
    ("kind", "does"),
    [("transient", False), ("environmental", False), ("logical", True), ("fundamental", True)],
)
def test_which_classes_count(kind: Any, does: bool) -> None:
    """Only tries at the work itself do."""
    assert is_real_try(tried(kind=kind)) is does


def test_mishaps_are_told_where_nothing_else_was_tried() -> None:
    """The newest decides what is asked, and how often it happened is said."""
    limits = tried(2, kind="transient", what="limit: busy", files=0, paths=(), times=10, item="i")
    before = tried(1, item="other")
    found = escalation((before, limits), "i", "l")
    assert found.approaches == ("iteration 2 (transient): no change; limit: busy, 10 times",)
    assert found.cause == "limit: busy"
    assert found.ask == "Please fix what the agent cannot: limit: busy"
    assert found.options[0] == "fix the environment, then: ralph resume l"
    later = tried(3, what="later", item="i")
    assert escalation((limits, later), "i").ask.endswith("get past this: later?")
    assert escalation((limits, later), "i").approaches[0].startswith("iteration 3 (logical)")


def test_the_escalation_of_a_stall() -> None:
    """What was tried, what it has in common, what can be done, what is asked."""
    attempts = (
        tried(1),
        tried(2, strategy="split", paths=("a.py", "b.py"), files=2),
        tried(3, files=0, paths=()),
    )
    found = escalation(attempts, "", "fix-1")
    assert escalation_lines(found) == (
        "tried: iteration 1 (logical): 1 file changed in a.py; tests: 1 failed",
        "tried: iteration 2 (logical, asked for: split): 2 files changed in a.py, b.py; tests: 1 failed",
        "tried: iteration 3 (logical): no change; tests: 1 failed",
        "in common: all 3 failed the same way: tests: 1 failed",
        'option: say what to do differently: ralph resume fix-1 --steer "…"',
        "option: split the task or make it smaller and start again",
        "option: start again with another agent or model: ralph loop --agent NAME --model NAME",
        "asked: What would this task have to do differently to get past this: tests: 1 failed?",
    )


CAUSES = [
    ((), "nothing was tried"),
    ((tried(),), "tests: 1 failed"),
    (
        (tried(1), tried(2, signature="o", what="lint"), tried(3)),
        "2 of 3 failed the same way: tests: 1 failed",
    ),
    ((tried(1), tried(2, signature="o")), "none in common: 2 different errors"),
    ((tried(1, files=0), tried(2, signature="o", files=0)), "none of them changed anything"),
]


@pytest.mark.parametrize(("attempts", "cause"), CAUSES)
def test_the_common_cause(attempts: tuple[Attempt, ...], cause: str) -> None:
    """What most of them ended in, or that there is nothing."""
    assert escalation(attempts).cause == cause


def test_the_ask_follows_the_class() -> None:
    """A question is passed on, the surroundings are for a human to mend, the work needs a hint."""
    blocked = escalation(
        (tried(kind="fundamental", what="the agent asks: sum or product?", item="i1"),), "i1"
    )
    assert blocked.ask == "Please decide: the agent asks: sum or product?"
    assert blocked.options[:2] == (
        'answer or review, then: ralph resume LOOP --steer "…"',
        "split item i1 or make it smaller and start again",
    )
    around = escalation((tried(kind="environmental", what="auth: please log in"),), "", "l")
    assert around.ask == "Please fix what the agent cannot: auth: please log in"
    assert around.options[0] == "fix the environment, then: ralph resume l"
    assert len(around.approaches) == 1
    assert escalation((), "i1").ask == "What should happen with item i1?"


def test_faults_leave_no_attempt_behind() -> None:
    """A loop of faults has a record of them, and not one counts; a stopped call is not even there."""
    loop = b.faulted(2, "limit")
    assert [(one.kind, one.times, one.what) for one in loop.progress.attempts] == [
        ("transient", 2, "limit: busy")
    ]
    assert real_tries(loop.progress.attempts) == ()
    assert b.work(b.based(), b.BASE, fault=Fault("interrupted", "stop")).progress.attempts == ()


def test_attempts_of_a_loop() -> None:
    """Each judged iteration says what it was asked for and what came of it; hidden checks are not named."""
    hidden = b.order(b.gate(), b.gate("secret", origin="hidden"), on_fail="keep", limits=Limits())
    loop = b.based(hidden, b.red(), b.red("secret"))
    for turn in range(1, 4):
        reds = (b.red(tree=f"t{turn}", summary="2 failed"), b.red("secret", tree=f"t{turn}"))
        loop = b.iterate(loop, f"t{turn}", *reds)
    assert [one.strategy for one in loop.progress.attempts] == ["", "", "change the approach"]
    assert {one.what for one in loop.progress.attempts} == {"test: 2 failed"}
    loop = b.iterate(loop, "t9", b.green(tree="t9"), b.red("secret", tree="t9"))
    assert loop.progress.attempts[-1].what == "a check that is not shown is red"


def test_a_missing_tool_is_no_attempt() -> None:
    """A check that could not be made says nothing about the work."""
    gone = b.red(status="error", cause="missing", summary="no such tool")
    loop = b.iterate(b.based(b.order(on_fail="keep")), "t1", gone)
    assert [(one.kind, one.what) for one in loop.progress.attempts] == [
        ("environmental", "test: no such tool")
    ]


def test_who_is_asked_when_a_loop_ends() -> None:
    """Stalled and blocked loops ask; exhausted and verified ones do not."""
    assert "changed anything" not in escalations(b.outcome("stalled"))[0].ask
    blocked = escalations(b.outcome("blocked"))
    assert [found.ask for found in blocked] == ["Please decide: the agent asks: which one?"]
    assert escalations(b.outcome("exhausted")) == ()
    assert escalations(b.verified()) == ()


def test_tampering_twice_is_for_a_human() -> None:
    """An accused tree is a fundamental failure, and overcomes no stall."""
    loop = b.conclude(b.guarding(b.based(b.order(on_fail="keep"))), b.guard("t1", "test_a"))
    assert [(one.kind, one.what) for one in loop.progress.attempts] == [
        ("fundamental", "tests or gates were tampered with")
    ]
    loop = b.conclude(b.guarding(loop, "t2", claim=Claim("COMPLETE")), b.guard("t2", "test_b"))
    assert isinstance(loop.todo[0], Finish)
    assert escalations(b.close(loop))[0].ask == "Please decide: tests or gates were tampered with"
