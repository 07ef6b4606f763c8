"""What a worker takes up again, and in which order."""

from __future__ import annotations

import builders as b
import pytest

from ralph.core.decide.failover import FAULT_CAP
from ralph.core.decide.machine import decide
from ralph.core.decide.stints.wake import (
    LEAVE,
    OLD_SECONDS,
    Standing,
    Wake,
    in_order,
    lost_box,
    wake,
)
from ralph.core.model import events as e
from ralph.core.model.loop import HostState
from ralph.core.model.outcome import PHASES

NOW = 1_000_000.0
KEY = HostState(background=True, needs=("A_KEY", "B_KEY"))


def standing(
    phase: str, *, by: str = "person", ago: float = 60.0, loop: str = "a", **host: object
) -> Standing:
    made = HostState(**{"background": True, **host})
    return Standing(loop, phase, by, made, NOW - ago)  # type: ignore[arg-type]


ROWS = [
    ("a crashed one is taken up", standing("working"), "start"),
    ("one that waits for a limit too", standing("waiting"), "start"),
    ("a queued one", standing("queued", ago=0.0, queued_at=NOW - 6), "start"),
    ("not before its starter's own runner", standing("queued", queued_at=NOW - 4), "wait"),
    ("a queued one, however long it has waited", standing("queued", ago=9 * OLD_SECONDS), "start"),
    ("what a person paused stays paused", standing("paused"), "leave"),
    ("what one of Ralph's rules paused too", standing("paused", by="limit"), "leave"),
    ("what a signal stopped goes on", standing("paused", by="signal"), "resume"),
    ("what the machine stopped goes on", standing("paused", by="machine"), "resume"),
    ("what ended has ended", standing("ended"), "leave"),
    ("a loop of a terminal is the terminal's", standing("working", background=False), "leave"),
    ("also when a signal stopped it", standing("paused", by="signal", background=False), "leave"),
    ("yesterday's plan is not today's", standing("working", ago=OLD_SECONDS + 1), "leave"),
    ("nor is what a signal stopped then", standing("paused", by="signal", ago=OLD_SECONDS + 1), "leave"),
    ("after a night it goes on", standing("working", ago=OLD_SECONDS - 1), "start"),
    ("one that has just spoken may be starting", standing("working", ago=0.5), "leave"),
    ("the second try waits longer", standing("working", ago=1.5, stints=1), "leave"),
    ("and then comes", standing("working", ago=2.5, stints=1), "start"),
    ("the last one waits longest", standing("working", ago=9.0, stints=FAULT_CAP - 1), "leave"),
    ("and then comes too", standing("working", ago=11.0, stints=FAULT_CAP - 1), "start"),
    ("to the second", standing("working", ago=1.0), "start"),
    ("to the second, queued", standing("queued", queued_at=NOW - 5.0), "start"),
    ("queued this very moment", standing("queued", queued_at=NOW), "wait"),
    ("the third try, to the second", standing("working", ago=10.0, stints=2), "start"),
    ("24 hours and a moment", standing("working", ago=24 * 3600.0 + 0.5), "leave"),
    *((f"{phase} is at work", standing(phase), "start") for phase in ("new", "baseline", "judging")),
    ("24 hours are not more than 24", standing("working", ago=24 * 3600.0), "start"),
    ("a clock that was set back keeps nobody waiting", standing("working", ago=-500.0), "start"),
    ("a runner that dies again and again is given up", standing("working", stints=FAULT_CAP), "stop"),
    ("also one that the machine stops again and again", standing("paused", by="machine", stints=3), "stop"),
    ("given up in the middle of a call: not again", standing("working", by="limit", stints=3), "leave"),
    ("a pause that a rule asked for is carried out", standing("working", by="limit", stints=1), "start"),
]


@pytest.mark.parametrize(("what", "loop", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_what_a_worker_does_about_a_loop(what: str, loop: Standing, expected: str) -> None:
    """Each line of the table, with every variable there."""
    assert wake(loop, NOW, ()).what == expected, what


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("stints", range(5))
def test_nothing_that_a_person_paused_or_drives_is_woken(phase: str, stints: int) -> None:
    """In no phase and after no number of stints."""
    alone = standing(phase, background=False, stints=stints)
    assert wake(alone, NOW, ()) == LEAVE == ("leave", "")
    if phase in ("paused", "ended"):
        assert wake(standing(phase, stints=stints), NOW, ()) == LEAVE


def test_a_loop_whose_key_is_not_here_is_paused_by_name() -> None:
    """Which variable is missing is said; what is there is not."""
    loop = Standing("a", "working", "person", KEY, NOW - 60)
    assert wake(loop, NOW, {"A_KEY", "B_KEY", "PATH"}) == Wake("start")
    found = wake(loop, NOW, {"A_KEY"})
    why = "the agent's key was in {}, which is not set here: set it and resume the loop"
    assert found == Wake("stop", why.format("B_KEY"))
    assert wake(loop, NOW, ()).why == why.format("A_KEY, B_KEY")
    given_up = wake(standing("working", stints=FAULT_CAP), NOW, ())
    assert given_up.why == "its runner ended 3 times in a row without getting anywhere"


def test_a_starter_that_has_the_key_is_given_time() -> None:
    """The worker pauses no loop whose starter, who has the key, may still be starting its runner."""
    for ago, what in ((59.0, "leave"), (60.0, "stop")):
        queued = standing("queued", needs=("A_KEY",), queued_at=NOW - ago)
        assert wake(queued, NOW, ()).what == what


def test_a_gate_that_never_answers_is_no_progress() -> None:
    """A worker that takes a loop up again and again, for a gate that the machine stops, comes to an end."""
    loop = b.work(b.based(), "t1").with_host(background=True, stints=2)
    owed = loop.todo[0]
    missed = e.NoVerdict(iteration=1, gate="test", tree=owed.tree, stage=owed.stage, cause="keeper-lost")
    assert decide(loop, missed).host.stints == 2


def test_places_go_to_crashed_loops_then_by_priority_then_by_age() -> None:
    """The order in which loops get a place."""
    loops = [
        standing("queued", loop="late", queued_at=9.0),
        standing("queued", loop="early", queued_at=3.0),
        standing("queued", loop="urgent", queued_at=20.0, priority="critical"),
        standing("queued", loop="some day", queued_at=1.0, priority="low"),
        standing("working", loop="crashed"),
        standing("working", loop="longer ago", ago=61.0),
    ]
    found = [one.loop for one in in_order(loops)]
    assert found == ["longer ago", "crashed", "urgent", "early", "late", "some day"]


@pytest.mark.parametrize(
    ("before", "now", "hosted", "lost"),
    [
        ("S3", "S0", True, True),
        ("S2", "S0", True, True),
        ("S3", "S2", True, False),
        ("S0", "S0", True, False),
        ("", "S0", True, False),
        ("S3", "S0", False, False),
    ],
)
def test_a_lost_sandbox_stops_only_what_nobody_looks_at(
    before: str, now: str, hosted: bool, lost: bool
) -> None:
    """A loop that was boxed is not, and no terminal shows it."""
    opening = e.StintStarted(pid=1, host="h", version="1", protection=now, hosted=hosted)
    words = (
        f"its sandbox ({before}) does not hold any more; ralph doctor says why, a resume goes on without it"
    )
    assert lost_box(before, opening) == (words if lost else "")
