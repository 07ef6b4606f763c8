"""Gates that join the order of a loop that stopped: judged at the base first, then the tree at hand is."""

from __future__ import annotations

import builders as b
import pytest
from builders import BASE, Row
from law_joined_gates import (
    AGAIN,
    ASKED_PAUSE,
    AT_BASE,
    IN,
    NEW_GREEN,
    NEW_RED,
    ROWS,
    UNPROVEN,
    ended_unproven,
    joined,
    rejudged,
)
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.spend import Limits
from ralph.errors import IllegalEvent


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_line(row: Row) -> None:
    """A verdict of a gate that joined changes exactly the named fields."""
    after = decide(row.before, row.event)
    assert b.changes(row.before, after) == row.changes


def test_only_new_gates_are_judged_at_the_base() -> None:
    loop = joined(UNPROVEN)
    assert (loop.phase, loop.todo) == ("baseline", (AT_BASE,))
    assert [gate.name for gate in loop.sealed.criterion.gates] == ["test", "new"]
    assert loop.iteration == UNPROVEN.iteration


@pytest.mark.parametrize("task_class", ["regression", "bug-fix"])
def test_red_at_the_base_and_green_now_is_a_witness_without_another_call(task_class: str) -> None:
    loop = b.close(rejudged(ended_unproven(task_class), NEW_RED, NEW_GREEN))
    assert (loop.outcome, loop.grade) == ("verified", "B")
    assert loop.spend.calls == UNPROVEN.spend.calls + (task_class == "bug-fix")


def test_green_before_and_after_proves_nothing() -> None:
    loop = b.close(rejudged(ended_unproven("bug-fix"), NEW_GREEN, NEW_GREEN))
    assert (loop.outcome, loop.grade) == ("unproven", "C")


def test_red_now_goes_to_the_agent_and_counts_as_no_attempt() -> None:
    loop = rejudged(UNPROVEN, NEW_RED, NEW_RED)
    assert loop.todo == (actions.RunAgent(iteration=2, call=2),)
    assert any(sentence.startswith("new: ") for sentence in loop.proof.not_yet)
    assert (loop.progress.recent, loop.progress.attempts) == ((), ())


def test_a_gate_that_cannot_run_breaks_the_loop_and_leaves_the_order() -> None:
    """A slip in the new command can be mended: what was sealed before stands, and the name is free again."""
    missing = b.at_base(b.red("new", status="error", cause="missing", summary="no such program"))
    loop = b.close(b.judge(joined(UNPROVEN), missing))
    assert (loop.outcome, loop.reason) == ("broken", 'gate "new" cannot run: no such program')
    assert loop.sealed.criterion == UNPROVEN.sealed.criterion
    assert set(loop.proof.baseline) == {"test"}
    assert b.close(rejudged(loop, NEW_RED, NEW_GREEN)).outcome == "verified"


def test_a_pause_in_between_loses_neither_the_baseline_nor_the_judgement() -> None:
    held = b.judge(ASKED_PAUSE, IN)
    assert (held.phase, held.reason) == ("paused", "lunch")
    assert decide(held, e.ResumeAsked()).todo == (AGAIN,)
    now = decide(joined(UNPROVEN), e.PauseAsked(now=True))
    assert decide(now, e.ResumeAsked()).todo == (AT_BASE,)
    more = joined(now, b.gate("newer"))
    assert more.todo == (replace(AT_BASE, gates=("new", "newer")),)


def test_a_held_call_is_made_only_after_the_judgement_and_is_counted_once() -> None:
    loop = decide(b.iterate(b.based(), "t1"), e.PauseAsked())
    assert loop.control.held_todo == (actions.RunAgent(iteration=2, call=2),)
    loop = b.judge(joined(loop), IN)
    assert loop.todo == (replace(AGAIN, fresh=False),)
    loop = b.judge(loop, b.red(), NEW_RED)
    assert loop.todo == (actions.RunAgent(iteration=2, call=2),)


def test_before_any_change_the_first_call_follows_the_baseline() -> None:
    loop = b.judge(joined(decide(b.based(), e.PauseAsked())), IN)
    assert loop.todo == (actions.RunAgent(iteration=1, call=1),)
    assert set(loop.proof.verdicts) == {"test", "new"}


def test_what_an_agent_left_is_kept_before_it_is_judged() -> None:
    """A pause held the snapshot: first the base is judged, then it is taken, and all gates see it."""
    calling = b.answer(b.call(b.based()))
    loop = decide(calling, e.PauseAsked(now=True))
    loop = joined(loop)
    assert loop.todo == (AT_BASE, actions.TakeSnapshot(iteration=1))
    loop = decide(b.judge(loop, IN), b.snapshot("t1", loop))
    assert isinstance(loop.todo[0], actions.RunGates)
    assert set(loop.todo[0].gates) == {"test", "new"}


def test_who_adds_a_check_has_answered_a_blocked_agent() -> None:
    blocked = Claim(status="BLOCKED", recommendation="what is right?")
    loop = b.close(b.iterate(b.based(), "t1", b.red(), claim=blocked))
    loop = b.judge(b.judge(joined(loop), IN), b.red(), NEW_RED)
    assert isinstance(loop.todo[0], actions.RunAgent)


def test_a_stalled_loop_still_has_its_one_iteration() -> None:
    loop = b.outcome("stalled")
    loop = b.judge(joined(loop), IN)
    if isinstance(loop.todo[0], actions.RunGates):
        loop = b.judge(loop, b.red(tree=loop.work.tree), b.red("new", loop.work.tree))
    assert isinstance(loop.todo[0], actions.RunAgent)


def test_a_used_up_limit_stays_used_up_but_a_judgement_costs_no_call() -> None:
    spent = ended_unproven(limits=Limits(iterations=1))
    assert b.close(rejudged(spent, NEW_RED, NEW_GREEN)).outcome == "verified"
    assert b.close(rejudged(spent, NEW_RED, NEW_RED)).outcome == "exhausted"


def test_a_broken_start_is_begun_anew_with_all_gates() -> None:
    broken = b.close(b.judge(b.started(), b.at_base(b.red(status="error", cause="missing"))))
    (owed,) = joined(broken).todo
    assert owed == actions.RunGates(stage="baseline", tree=BASE, gates=("test", "new"))


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(IllegalEvent, match="a gate of that name is in the order"):
        joined(UNPROVEN, b.gate("test"))
