"""A session's facts, and what they answer when its agent wants to stop."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest

from ralph.core.model import events as e
from ralph.core.model.actions import AskJudge
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.rubric import Dimension, Opinion, Rubric
from ralph.core.session.answer_stop import (
    MAX_REFUSALS,
    UNHELD,
    answer_stop,
    hear_judge,
    judged_exit,
    owed,
    progress,
)
from ralph.core.session.hosts import HOST_FACTS, without_session
from ralph.core.session.names import check_session_id
from ralph.core.session.record import (
    Fact,
    HookAnswered,
    Session,
    SessionClaimed,
    SessionEnded,
    SessionStarted,
    StopAsked,
    apply_fact,
    decode_fact,
    encode_fact,
)
from ralph.errors import UserError


def begun(*more: Fact, **order: Any) -> Session:
    sealed = b.order(*order.pop("gates", ()), **order)
    return after(Session(), SessionStarted(host="claude", session="s1", order=sealed, protection="S2"), *more)


def after(session: Session, *facts: Fact) -> Session:
    for fact in facts:
        body = encode_fact(fact)
        assert decode_fact(type(fact).__name__, body) == fact  # every fact survives the journal
        session = apply_fact(session, fact)
    return session


def base(*verdicts: Any) -> tuple[Fact, ...]:
    return tuple(
        e.GateEnded(iteration=0, verdict=b.at_base(one)) for one in verdicts or (b.red(per_test=True),)
    )


def stop(tree: str = "t1", number: int = 1, claim: Claim | None = None) -> tuple[Fact, ...]:
    return (
        StopAsked(tree=tree, claim=claim),
        e.CheckpointMade(iteration=number, tree=tree, commit=f"c{number}"),
    )


def final(verdict: Any) -> e.GateEnded:
    return e.GateEnded(iteration=1, verdict=b.final(verdict))


GREEN = final(b.green(per_test=True, witness_count=1, fixed_count=1))
RED = final(b.red(findings=()))
GUARDS = e.GuardsEnded(iteration=1, tree="t1", results=(b.guard(),))


@pytest.mark.parametrize(
    ("facts", "refused", "why"),
    [
        ((), True, "judging"),
        ((*base(), StopAsked(tree=b.BASE)), True, "red"),
        ((*base(b.green()), StopAsked(tree=b.BASE)), False, "satisfied"),
        ((*base(), *stop()), True, "judging"),
        ((*base(), *stop(), RED), True, "red"),
        ((*base(), *stop(), GREEN), True, "judging"),
        ((*base(), *stop(), GREEN, GUARDS), False, "verified"),
        ((*base(), *stop(), GREEN, GUARDS, *stop("t2", 2)), True, "judging"),
        ((*base(), *stop(claim=Claim("BLOCKED", recommendation="which?"))), False, "blocked"),
        ((*base(), SessionClaimed(claim=Claim("BLOCKED")), *stop()), False, "blocked"),
        ((*base(), SessionClaimed(claim=Claim("BLOCKED")), *stop(), *stop("t2", 2)), True, "judging"),
        ((*base(b.red(status="error", cause="missing", summary="no npm")), *stop()), False, "broken"),
        (
            (*base(), *stop(), e.NoVerdict(iteration=1, stage="final", tree="t1", gate="test", cause="disk")),
            False,
            "machine",
        ),
    ],
)
def test_only_evidence_on_the_tree_at_hand_lets_an_agent_stop_as_verified(
    facts: tuple[Fact, ...], refused: bool, why: str
) -> None:
    """Whatever the agent says, a stop is verified by verdicts and guards on this very tree alone."""
    answer = answer_stop(begun(*facts))
    assert (answer.refused, answer.why) == (refused, why)


def test_the_sixth_refusal_in_a_row_is_an_allowance() -> None:
    """After five refusals in a row the agent may go, and that is not called verified."""
    session = begun(*base(), *stop(), RED)
    for number in range(MAX_REFUSALS):
        answer = answer_stop(session)
        assert answer.refused, number
        session = after(session, HookAnswered(event="Stop", refused=True, why=answer.why, tree="t1"))
    answer = answer_stop(session)
    assert (answer.refused, answer.why) == (False, "cap")
    session = after(session, HookAnswered(event="Stop", refused=False, why="cap", tree="t1"))
    assert answer_stop(session).refused  # the next turn has its own five
    assert session.refused == MAX_REFUSALS


def test_a_host_that_listens_less_often_is_refused_less_often() -> None:
    """Never past the host's own cap."""
    session = begun(*base(), *stop(), RED)
    session = after(session, HookAnswered(event="Stop", refused=True, why="red", tree="t1"))
    assert answer_stop(session, most=2).refused
    assert answer_stop(session, most=1).why == "cap"


def test_a_session_is_graded_b_at_most() -> None:
    """Nothing held the agent, so its result is never A; who asks for A is told why."""
    facts = (*base(), *stop(), GREEN, GUARDS)
    assert answer_stop(begun(*facts)).words[-1] == UNHELD
    asked = answer_stop(begun(*facts, min_grade="A"))
    assert (asked.refused, asked.why) == (True, "proof")


def test_insisting_on_a_tree_that_only_lacks_proof_ends_unproven() -> None:
    """Without a witness the first stop is refused with the way out; the same tree again is the last word."""
    green = final(b.green(per_test=True))
    session = begun(*base(b.green()), *stop(), green, GUARDS, task_class="implement-feature", min_grade="B")
    first = answer_stop(session)
    assert (first.refused, first.why) == (True, "proof")
    assert any("write a test" in line for line in first.words)
    session = after(session, HookAnswered(event="Stop", refused=True, why=first.why, tree="t1"))
    assert answer_stop(after(session, StopAsked(tree="t1"))).why == "unproven"
    assert answer_stop(after(session, *stop("t2", 2))).why == "judging"


RUBRIC = Rubric(
    (Dimension("correct", 1.0, "does it work", {"1": "no", "5": "half", "10": "yes"}),), required=True
)
ASKED = e.JudgeStarted(iteration=1, call=1, tree="t1", agent="critic", prompt="q")


def said(score: float | None, call: int = 1, **more: Any) -> e.JudgeEnded:
    status = "error" if score is None else "pass" if score >= RUBRIC.threshold else "fail"
    opinion = Opinion(tree="t1", status=status, weighted=score, required=True, suggestions=("do more",))
    return e.JudgeEnded(iteration=1, call=call, tree="t1", **{"opinion": opinion, **more})


@pytest.mark.parametrize(
    ("facts", "refused", "why", "due"),
    [
        ((), True, "judging", "judge"),
        ((ASKED,), True, "judging", "judge"),  # its process may be gone: the same call is taken up
        ((ASKED, said(8.0)), False, "verified", None),
        ((ASKED, said(6.5)), True, "judge", None),
        ((ASKED, said(None)), True, "judging", "judge"),  # an answer that cannot be used is asked for again
        (
            (ASKED, said(None, opinion=None, fault=Fault("auth", "no key"))),
            False,
            "machine",
            "judge",
        ),
        ((ASKED, said(8.0), said(1.0)), False, "verified", None),  # nobody asked for the second answer
        ((ASKED, *stop("t2", 2)), True, "judging", "gates"),
    ],
)
def test_a_sealed_judge_may_hold_a_session_back_and_never_lets_one_pass(
    facts: tuple[Fact, ...], refused: bool, why: str, due: str | None
) -> None:
    """It is asked last, of a tree that passed everything else, once; its trouble is nobody's verdict."""
    session = begun(*base(), *stop(), GREEN, GUARDS, *facts, rubric=RUBRIC)
    answer = answer_stop(session)
    assert (answer.refused, answer.why, owed(session)) == (refused, why, due)
    red = begun(*base(), *stop(), RED, rubric=RUBRIC)
    assert (answer_stop(red).why, owed(red)) == ("red", None)


def test_a_judge_is_asked_anew_about_another_task() -> None:
    """What it said of the task before is nobody's opinion now, and its call is not taken up again."""
    for before in ((ASKED,), (ASKED, said(8.0))):
        session = begun(*base(), *stop(), GREEN, GUARDS, *before, rubric=RUBRIC)
        started = SessionStarted(host="claude", session="s1", order=session.loop.sealed, protection="S2")
        session = after(session, started, *base(), *stop(), GREEN, GUARDS)
        ask = hear_judge(session.loop, judged_exit(session.loop))
        assert isinstance(ask, AskJudge)
        assert (ask.call, answer_stop(session).why) == (2, "judging")


def test_what_nobody_looked_at_holds_a_session_back() -> None:
    """Green checks say nothing of what is in no snapshot; what was there before is told and no more."""
    left = ("'big.bin' is over 50 MB and untracked, and not in the snapshot",)
    asked = StopAsked(tree="t1", left_out=left)
    session = begun(*base(), *stop(), GREEN, GUARDS, asked)
    answer = answer_stop(session)
    assert (answer.refused, answer.why) == (True, "red")
    assert answer.words[0].startswith(left[0])
    assert answer_stop(after(session, StopAsked(tree="t1"))).why == "verified"
    untouched = begun(*base(b.green()), StopAsked(tree=b.BASE, left_out=left))
    assert answer_stop(untouched).why == "red"  # not "nothing to do": something was done


def test_hidden_checks_stay_hidden() -> None:
    """A refusal says that something unseen is red, and not what."""
    gates = (b.gate(), b.gate("secret", origin="hidden"))
    verdicts = base(b.red(per_test=True), b.red("secret"))
    session = begun(*verdicts, *stop(), GREEN, final(b.red("secret")), gates=gates)
    answer = answer_stop(session)
    assert answer.refused
    assert answer.words
    assert "secret" not in " ".join(answer.words)


def test_what_is_owed_is_told_in_order() -> None:
    """Baseline, gates, guards, nothing; and how many answers are in."""
    session = begun(gates=(b.gate("one"), b.gate("two")))
    seen = [(owed(session), progress(session))]
    for fact in (*base(b.red("one", per_test=True), b.red("two", per_test=True)), *stop()):
        session = after(session, fact)
        seen.append((owed(session), progress(session)))
    for name in ("one", "two"):
        session = after(session, final(b.green(name, per_test=True, witness_count=1)))
        seen.append((owed(session), progress(session)))
    session = after(session, GUARDS)
    assert [one[0] for one in seen] == ["baseline", "baseline", None, None, "gates", "gates", "guards"]
    assert seen[1][1] == (1, 2)
    assert seen[5][1] == (1, 3)
    assert owed(session) is None


def test_a_session_that_is_started_again_begins_from_nothing() -> None:
    """Neither verdicts nor counters of the task before count for the next one."""
    session = begun(*base(), *stop(), GREEN, GUARDS, SessionEnded(outcome="verified", reason=""))
    assert not session.active
    again = after(session, SessionStarted(host="claude", session="s1", order=b.order(), protection="S2"))
    assert again.active
    assert (again.stops, again.refused, owed(again)) == (0, 0, "baseline")


@pytest.mark.parametrize("bad", ["", "../x", "a b", "a/b", "x" * 129, "\x00", "-x", "é"])
def test_ids_from_outside_are_validated(bad: str) -> None:
    """An id becomes part of keys and of commands that are shown: what is more than a name is refused."""
    with pytest.raises(UserError):
        check_session_id("claude", bad)
    with pytest.raises(UserError):
        check_session_id(bad, "s1")
    check_session_id("claude", "01a1ec4d-c3f3-7190-9d7e-8cf08c19cd5a")


def test_an_agent_of_ralphs_own_does_not_know_of_the_session() -> None:
    """A judge, or a loop that goes on outside, is nobody's child: only keys and addresses go with it."""
    env = {facts.variable: "s1" for facts in HOST_FACTS.values() if facts.variable}
    kept = {"PATH": "/bin", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    assert without_session({**env, "CLAUDECODE": "1", "QWEN_CODE": "1", **kept}) == kept
