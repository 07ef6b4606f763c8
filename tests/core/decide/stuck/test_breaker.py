"""The breaker: its table of moves, what decides a probe, and how it goes with a loop."""

from __future__ import annotations

from typing import Any, get_args

import builders as b
import msgspec
import pytest
from builders import BASE
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.decide.stuck.attempts import is_real_try
from ralph.core.decide.stuck.breaker import (
    TABLE,
    Cause,
    marks_of,
    move_state,
    note_answered_call,
    note_judged_iteration,
    note_loop_end,
    open_on_stall,
    recurs,
)
from ralph.core.decide.stuck.thresholds import MAX_ATTEMPTS, MAX_DEMANDS, MAX_FOOTPRINTS, MAX_TURNS, WATCH
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.breaker_state import Breaker, Footprint, State, Turn
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits

NOW: dict[str, Any] = {"at": 5.0, "iteration": 7}
OPEN = open_on_stall(Breaker(), "same-error", "the same error 5 times in a row", ("sig",), **NOW)
PROBING = move_state(OPEN, "probe", OPEN.why, **NOW)
WATCHED = note_judged_iteration(PROBING, b.footprint(iteration=8, progress=False, score=3), at=9.0)
SAME = b.footprint(iteration=9, signature="sig", progress=False)
OTHER = b.footprint(iteration=9, signature="other", progress=False)


@pytest.mark.parametrize("state", get_args(State))
@pytest.mark.parametrize("cause", get_args(Cause))
def test_every_pair_of_state_and_cause(state: Any, cause: Any) -> None:
    """A move is one of the table's, is recorded with both ends and a reason, or does not happen."""
    before = Breaker(state=state, why="old", since=3, opens=2)
    after = move_state(before, cause, "new\nwords", **NOW)
    to = TABLE.get((state, cause))
    if to is None:
        assert after is before
    elif to == state:
        assert after == replace(before, why="new words")
    else:
        turn = Turn(at=5.0, iteration=7, was=state, to=to, why="new words")
        opens = 3 if to == "OPEN" else 2
        assert after == Breaker(state=to, why="new words", since=7, opens=opens, trail=(turn,))


def test_the_table_itself() -> None:
    """Only what works closes, only a probe leads out of open, and nothing else moves."""
    assert TABLE == {
        ("CLOSED", "trip"): "OPEN",
        ("HALF_OPEN", "trip"): "OPEN",
        ("OPEN", "trip"): "OPEN",
        ("OPEN", "probe"): "HALF_OPEN",
        ("HALF_OPEN", "works"): "CLOSED",
    }
    assert WATCH == 3


def test_the_history_in_json_has_the_words_of_the_seeds() -> None:
    """A move is written as from, to, why, with its iteration and time."""
    assert msgspec.to_builtins(OPEN.trail) == (
        {
            "at": 5.0,
            "iteration": 7,
            "from": "CLOSED",
            "to": "OPEN",
            "why": "the same error 5 times in a row",
        },
    )


DECIDED = [
    ("a positive score closes", PROBING, OTHER, 1, "CLOSED", WATCH, "the probe worked: score +1"),
    (
        "nothing gained opens again",
        PROBING,
        OTHER,
        0,
        "OPEN",
        0,
        f"one more iteration did not help (score +0, and more than 0 was needed): {OPEN.why}",
    ),
    (
        "the same error again opens, whatever its score",
        PROBING,
        SAME,
        4,
        "OPEN",
        0,
        "one more iteration did not help (retry): the same error 5 times in a row",
    ),
    ("watched: another error is another matter", WATCHED, OTHER, -1, "CLOSED", WATCH - 1, WATCHED.why),
    (
        "watched: the same error opens at once",
        WATCHED,
        SAME,
        9,
        "OPEN",
        0,
        "it came back 1 iteration after a resume: the same error 5 times in a row",
    ),
    (
        "watched: also in the second one",
        note_judged_iteration(WATCHED, OTHER, at=9.0),
        SAME,
        9,
        "OPEN",
        0,
        "it came back 2 iterations after a resume: the same error 5 times in a row",
    ),
    ("closed and not watched: nothing", Breaker(), SAME, -9, "CLOSED", 0, ""),
]


@pytest.mark.parametrize(
    ("before", "footprint", "score", "state", "watch", "why"),
    [row[1:] for row in DECIDED],
    ids=[row[0] for row in DECIDED],
)
def test_a_judged_iteration(
    before: Breaker, footprint: Footprint, score: int, state: str, watch: int, why: str
) -> None:
    """One iteration decides a probe; three more are watched."""
    after = note_judged_iteration(before, replace(footprint, score=score), at=9.0)
    assert (after.state, after.watch, after.why) == (state, watch, why)


def test_the_watch_ends() -> None:
    """After three good iterations the trouble is forgotten, and the same error starts at one again."""
    after = WATCHED
    for _ in range(WATCH):
        after = note_judged_iteration(after, replace(OTHER, score=-1), at=9.0)
    assert (after.state, after.watch, after.trouble, after.marks) == ("CLOSED", 0, None, ())
    assert note_judged_iteration(after, replace(SAME, score=-9), at=9.0) is after


def test_another_stall_while_watched_is_a_stall_of_its_own() -> None:
    """The watch is over with it: the next resume is a probe again."""
    again = open_on_stall(WATCHED, "no-progress", "3 iterations in a row changed nothing", (), **NOW)
    assert (again.state, again.watch, again.trouble) == ("OPEN", 0, "no-progress")
    assert move_state(again, "probe", again.why, **NOW).probing


def test_a_second_failed_probe_names_the_first_reason() -> None:
    """Reasons do not nest with each resume."""
    twice = OPEN
    for _ in range(2):
        twice = note_judged_iteration(
            move_state(twice, "probe", twice.why, **NOW), replace(SAME, score=-1), at=9.0
        )
    assert twice.why == "one more iteration did not help (retry): the same error 5 times in a row"
    assert twice.opens == 3


def test_a_call_that_comes_through_does_not_overcome_a_stall() -> None:
    """After a fault one answer closes; a stall's probe waits for its judgement."""
    assert note_answered_call(PROBING, **NOW) is PROBING
    after_fault = move_state(move_state(Breaker(), "trip", "limit", **NOW), "probe", "limit", **NOW)
    assert note_answered_call(after_fault, **NOW).state == "CLOSED"
    in_watch = move_state(move_state(WATCHED, "trip", "limit", **NOW), "probe", "limit", **NOW)
    assert note_answered_call(in_watch, **NOW).state == "CLOSED"
    assert note_answered_call(Breaker(), **NOW) == Breaker()


def test_an_end_decides_a_probe() -> None:
    """Verified closes it for good; every other end leaves it open."""
    done = note_loop_end(PROBING, "proven", verified=True, **NOW)
    assert (done.state, done.trouble, done.marks) == ("CLOSED", None, ())
    assert note_loop_end(PROBING, "10 of 10 iterations used", verified=False, **NOW).state == "OPEN"
    assert note_loop_end(OPEN, "x", verified=True, **NOW) is OPEN
    assert note_loop_end(Breaker(), "x", verified=False, **NOW) == Breaker()


RECURS = [
    ("no-progress", (), b.footprint(tree="t", before="t", progress=False), True),
    ("no-progress", (), b.footprint(tree="t", before="s", progress=False), False),
    ("no-progress", (), b.footprint(tree="t", before="t", progress=True), False),
    ("same-error", ("e",), b.footprint(signature="e", progress=False), True),
    ("same-error", ("e",), b.footprint(signature="e", progress=True), False),
    ("same-error", ("e",), b.footprint(signature="", progress=False), False),
    ("circular", ("t1", "d"), b.footprint(tree="t1", progress=False), True),
    ("circular", ("t9", "d"), b.footprint(red_digest="d", progress=False), True),
    ("circular", ("t9", "d"), b.footprint(red_digest="c", progress=False), False),
    (None, ("e",), b.footprint(signature="e", progress=False), False),
]


@pytest.mark.parametrize(("trouble", "marks", "footprint", "back"), RECURS)
def test_recurrence(trouble: Any, marks: tuple[str, ...], footprint: Footprint, back: bool) -> None:
    """The same trouble is known at its first sign; progress never is trouble."""
    assert recurs(Breaker(trouble=trouble, marks=marks), footprint) is back


def test_marks() -> None:
    """An error is known by its signature, going in circles by both versions and both sets of failures."""
    one = b.footprint(tree="a", red_digest="x", signature="e")
    two = b.footprint(tree="b", red_digest="", signature="f")
    other = b.footprint(tree="c", red_digest="z", signature="g")
    assert marks_of("same-error", (other, one, two)) == ("f",)
    assert marks_of("circular", (other, one, two)) == ("a", "x", "b")
    assert marks_of("no-progress", (one, two)) == ()


def idle(loop: Loop) -> Loop:
    """An iteration that changes nothing; after a resume its tree is judged again all the same."""
    return judged_red(b.work(loop, loop.work.tree), 3)


def judged_red(loop: Loop, count: int) -> Loop:
    owed = loop.todo[0]
    if isinstance(owed, actions.RunGates):
        loop = b.judge(loop, b.red(tree=owed.tree, count=count))
    return b.restored(loop)


def stalled_loop() -> Loop:
    return b.outcome("stalled")


def test_a_stalled_loop_is_open_and_says_why() -> None:
    """Where waiting cannot help the loop ends, open, with its diagnosis and a demand for the probe."""
    loop = stalled_loop()
    assert (loop.progress.breaker.state, loop.progress.breaker.trouble) == ("OPEN", "no-progress")
    assert loop.progress.breaker.why == loop.reason == "3 iterations in a row changed nothing"
    assert [one.strategy for one in loop.progress.breaker.demands] == ["replan", "split"]
    assert "Already tried without success: replan" in loop.progress.redirect


def test_resume_is_one_probe_and_nothing_gained_ends_it_again() -> None:
    """Exactly one iteration after the resume; it changed nothing, so the loop is stalled at once."""
    loop = decide(stalled_loop(), e.ResumeAsked())
    assert loop.progress.breaker.state == "HALF_OPEN"
    assert isinstance(loop.todo[0], actions.RunAgent)
    loop = idle(loop)
    assert loop.todo == (actions.Finish("stalled", loop.progress.breaker.why),)
    assert loop.progress.breaker.state == "OPEN"
    assert loop.progress.breaker.why.startswith("one more iteration did not help")
    assert (loop.progress.breaker.opens, loop.iteration) == (2, 4)


def test_a_probe_that_gains_something_closes_and_is_watched() -> None:
    """Fewer red than before: closed again, and the loop goes on; standing still at once would open it."""
    loop = decide(stalled_loop(), e.ResumeAsked())
    loop = b.iterate(loop, "t1", b.red(count=1))
    assert (loop.progress.breaker.state, loop.progress.breaker.watch) == ("CLOSED", WATCH)
    assert isinstance(loop.todo[0], actions.RunAgent)
    loop = idle(loop)
    why = "it came back 1 iteration after a resume: 3 iterations in a row changed nothing"
    assert loop.todo[0] == actions.Finish("stalled", why)


def test_the_probe_is_measured_against_what_stood_before_the_resume() -> None:
    """A changed file under the very same error gains nothing, although the counts began anew."""
    loop = b.based(b.order(on_fail="keep"))
    for turn in range(5):
        loop = b.iterate(loop, f"t{turn + 1}")
    loop = decide(b.close(loop), e.ResumeAsked())
    loop = b.iterate(loop, "t9")
    assert loop.progress.history[-1].score == -1
    assert isinstance(loop.todo[0], actions.Finish)


def test_a_verified_probe_closes() -> None:
    """The proof decides before any score."""
    loop = decide(stalled_loop(), e.ResumeAsked())
    done = b.close(b.conclude(b.guarding(loop), b.guard()))
    assert (done.outcome, done.progress.breaker.state) == ("verified", "CLOSED")


def test_a_fault_in_a_probe_is_waited_out_and_the_probe_still_is_one() -> None:
    """A limit refunds the iteration: open while it is waited for, half open again, judged by its own work."""
    loop = decide(stalled_loop(), e.ResumeAsked())
    loop = b.work(loop, loop.work.tree, fault=Fault("limit", "busy"))
    assert (loop.phase, loop.progress.breaker.state) == ("waiting", "OPEN")
    loop = decide(loop, e.WaitOver())
    assert loop.progress.breaker.probing
    loop = idle(loop)
    assert loop.todo[0] == actions.Finish("stalled", loop.progress.breaker.why)
    assert loop.progress.breaker.why.endswith(": 3 iterations in a row changed nothing")


def test_a_fault_opens_while_it_is_waited_for_and_one_answer_closes() -> None:
    """Rule 18: a cooldown only where waiting can help, then one call that tries."""
    loop = b.waiting()
    assert (loop.progress.breaker.state, loop.progress.breaker.why) == ("OPEN", "limit: busy")
    loop = decide(loop, e.WaitOver())
    assert loop.progress.breaker.state == "HALF_OPEN"
    loop = b.iterate(loop, "t1")
    assert (loop.progress.breaker.state, loop.progress.breaker.why) == ("CLOSED", "a call came through")
    assert [(turn.was, turn.to) for turn in loop.progress.breaker.trail] == [
        ("CLOSED", "OPEN"),
        ("OPEN", "HALF_OPEN"),
        ("HALF_OPEN", "CLOSED"),
    ]


def test_waiting_for_the_hour_is_no_trip() -> None:
    """Ralph's own bound on calls makes a pause, not trouble."""
    loop = b.based(b.order(limits=Limits(calls_per_hour=1)))
    loop = b.iterate(loop, "t1")
    assert (loop.phase, loop.progress.breaker.state) == ("waiting", "CLOSED")


def test_a_broken_loop_is_open() -> None:
    """Faults in a row end the loop with the breaker open, and a resume tries one call."""
    loop = b.close(b.faulted(3))
    assert (loop.outcome, loop.progress.breaker.state) == ("broken", "OPEN")
    loop = decide(decide(loop, e.ResumeAsked()), e.WaitOver())
    assert loop.progress.breaker.state == "HALF_OPEN"


def test_a_blocked_loop_goes_on_as_it_was() -> None:
    """An agent's question is no stall: the answer is followed by as many iterations as it takes."""
    loop = decide(b.outcome("blocked"), e.ResumeAsked())
    assert loop.progress.breaker.state == "CLOSED"
    assert isinstance(b.iterate(loop, "t2").todo[0], actions.RunAgent)


KINDS = ("limit", "server", "crash", "timeout", "context", "interrupted", "disk", "auth")
MOVES = st.lists(
    st.sampled_from(["idle", "same", "worse", "better", "turn", "resume", "pause", *KINDS]), max_size=25
)


def obeyed(loop: Loop, move: str, number: int) -> Loop:
    """One move of somebody: the agent, the provider or a human."""
    if loop.phase == "ended":
        resumable = loop.outcome in ("stalled", "blocked", "broken", "exhausted")
        return decide(loop, e.ResumeAsked(more_iterations=2)) if resumable else loop
    if loop.phase == "paused":
        return decide(loop, e.ResumeAsked())
    if move == "pause":
        return decide(loop, e.PauseAsked(now=True))
    if loop.phase == "waiting":
        return decide(loop, e.WaitOver(at=loop.now + 4000))
    if isinstance(loop.todo[0], actions.Finish):
        return b.close(loop)
    if move in KINDS:
        return b.work(loop, loop.work.tree, fault=Fault(move, "m"))  # type: ignore[arg-type]
    if move in ("idle", "resume"):
        return idle(loop)
    tree = f"ab{number % 2}" if move == "turn" else f"n{number}"
    count = {"same": 3, "worse": 4 + number, "better": 1, "turn": 5 + number % 2}[move]
    return judged_red(b.work(loop, tree, Claim("IN_PROGRESS", work="TESTING")), count)


@settings(max_examples=examples(60), deadline=None, database=None, derandomize=True)
@given(moves=MOVES, keep=st.booleans())
def test_whatever_happens_the_breaker_keeps_to_its_table(moves: list[str], keep: bool) -> None:
    """No move outside the table, no call while open, no end half open, no mishap among the attempts."""
    loop = b.based(b.order(on_fail="keep" if keep else "auto", limits=Limits(iterations=9)))
    faults = 0
    for number, move in enumerate(moves):
        before = loop
        loop = obeyed(loop, move, number)
        faults += loop.call.fault is not None and loop.work.tree == before.work.tree
        turns = (
            loop.progress.breaker.trail[len(before.progress.breaker.trail) :]
            if len(loop.progress.breaker.trail) < MAX_TURNS
            else ()
        )
        for turn in turns:
            assert turn.to in [to for (was, _), to in TABLE.items() if was == turn.was]
        owed = loop.todo[0] if loop.todo else None
        assert not (isinstance(owed, actions.RunAgent) and loop.progress.breaker.state == "OPEN")
        if before.progress.breaker.state == "OPEN" and loop.spend.calls > before.spend.calls:
            raise AssertionError("a call was made while open")
        if loop.phase == "ended" or isinstance(owed, actions.Finish):
            assert loop.progress.breaker.state != "HALF_OPEN"
        judged_ones = [one for one in loop.progress.attempts if is_real_try(one)]
        assert all(not one.signature.startswith("fault ") for one in judged_ones)
        assert len(loop.progress.history) <= MAX_FOOTPRINTS
        assert len(loop.progress.breaker.demands) <= MAX_DEMANDS
        assert len(loop.progress.attempts) <= MAX_ATTEMPTS
        assert loop.work.tree == BASE or loop.work.commit
