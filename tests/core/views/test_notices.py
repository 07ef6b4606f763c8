"""What people are told of a loop, and what an activity log holds."""

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.spend import Limits, Spend
from ralph.core.views.notices import activity_line, notices_of

READY = b.based()
ENDING = {
    "verified": "end", "satisfied": "end", "exhausted": "end", "stalled": "end", "aborted": "end",
    "broken": "end", "blocked": "blocked", "unproven": "blocked",
}  # fmt: skip


@pytest.mark.parametrize(("outcome", "kind"), ENDING.items())
def test_an_end_is_told_once(outcome, kind):
    """Each end is one message; where a person must do something it is said to be that."""
    event = e.LoopEnded(outcome=outcome, reason="because")
    after = replace(READY, phase="ended", outcome=outcome, reason="because")
    assert [(one.kind, one.text) for one in notices_of(READY, event, after)] == [
        (kind, f"{outcome}: because")
    ]


@pytest.mark.parametrize(("by", "told"), [("limit", 1), ("machine", 1), ("person", 0), ("signal", 0)])
def test_a_pause_that_needs_a_person_is_told(by, told):
    """Who paused it by hand knows; what a signal stopped goes on by itself."""
    event = e.PauseAsked(reason="the disk is full", now=True, by=by)
    after = decide(READY, event)
    assert len(list(notices_of(READY, event, after))) == told
    assert not list(notices_of(after, event, after))


def test_what_a_worker_gives_up_is_told():
    """Left paused after a signal had stopped it, or given up in the middle of a call, where perhaps no runner
    ever comes to the pause: a person must know, once.
    """
    event = e.PauseAsked(reason="A_KEY is not set here", now=True, by="limit")
    stopped = decide(READY, e.PauseAsked(now=True, by="signal"))
    in_call = b.call(READY).with_host(background=True)
    for before, told in (
        (stopped, ["paused: A_KEY is not set here"]),
        (in_call.with_host(stints=3), ["paused: A_KEY is not set here"]),
        (in_call, ["paused: A_KEY is not set here"]),
    ):
        assert [one.text for one in notices_of(before, event, decide(before, event))] == told
    asked = decide(in_call, event)
    ended = e.AgentEnded(iteration=asked.iteration, call=asked.call.number)
    for later in (event, ended, b.snapshot("t1", asked)):
        before, asked = asked, decide(asked, later)
        assert not list(notices_of(before, later, asked))
    assert asked.phase == "paused"


def test_four_fifths_of_each_limit_are_told_once():
    """A limit is told of when 80 % of it are used, not before, not again, and never of what is not known."""
    limits = Limits(iterations=10, time=100.0, cost=5.0, tokens=1000)
    before = replace(READY, limits=limits, iteration=7, spend=Spend(seconds=79.0, cost=3.9, tokens=799))
    after = replace(before, iteration=8, spend=Spend(seconds=70.0, waited=10.0, cost=4.0, tokens=801))
    event = e.WaitOver()
    assert [one.text for one in notices_of(before, event, after)] == [
        "80% of the iteration limit is used",
        "80% of the time limit is used",
        "80% of the cost limit is used",
        "80% of the token limit is used",
    ]
    assert not list(notices_of(after, event, after))
    assert not list(notices_of(before, event, replace(before, spend=Spend(seconds=70.0))))
    free = Limits(iterations=None, time=None)
    assert not list(notices_of(replace(before, limits=free), event, replace(after, limits=free)))
    raised = replace(after, limits=replace(limits, iterations=20, time=200.0, cost=9.0, tokens=2000))
    assert not list(notices_of(after, event, raised))


def test_the_activity_log_has_one_line_a_fact():
    """Start, end, approval, merge and undo have a line of five parts; no task breaks it in two."""
    loop = replace(READY, order=replace(READY.sealed, task="fix\tit\nnow\x1b[31m")).with_landing(new="c" * 40)
    lines = [
        activity_line(event, loop)
        for event in (
            e.LoopStarted(order=loop.sealed, at=0.0),
            e.LoopEnded(outcome="verified", reason="all green", at=61.0),
            e.Approved(point="land", commit="abc" * 10),
            e.LandingEnded(direction="land", done=True),
            e.LandingEnded(direction="undo", done=True),
        )
    ]
    parts = [line.split("\t") for line in lines]
    assert [len(one) for one in parts] == [5] * 5
    assert [one[1] for one in parts] == ["start", "end", "approval", "merge", "undo"]
    assert parts[1][0] == "1970-01-01T00:01:01Z"
    assert parts[0][4] == "fix it now"
    assert all(line.isprintable() for one in parts for line in one)
    for event in (e.LandingEnded(direction="land", done=False), e.Steered(text="x"), e.AbortAsked()):
        assert activity_line(event, loop) == ""
