"""The one row that lists and screens show of a loop."""

from __future__ import annotations

import builders as b
import pytest

from ralph.core.decide.machine import decide
from ralph.core.decide.stuck.health import Health
from ralph.core.model import events as e
from ralph.core.model.loop import HostState
from ralph.core.model.outcome import OUTCOMES, PHASES
from ralph.core.model.parts import flat_fields
from ralph.core.model.spend import Limits, Spend
from ralph.core.model.verdict import Checkpoint
from ralph.core.views.summary import FAMILIAR, GateLine, gate_lines, summarise

PAIR = b.order(b.gate(), b.gate("lint", proof=False, required=False))


def test_a_verified_loop_in_one_row() -> None:
    """Every field of the row is the loop's own."""
    loop = decide(b.verified(), e.Steered(text="x", at=9.0))
    assert flat_fields(summarise(loop, started=4.0)) == {
        "loop": "fix-1",
        "task": "make it work",
        "repo": "repo",
        "phase": "ended",
        "outcome": "verified",
        "state": "completed",
        "reason": "every check passed on this tree",
        "grade": "B",
        "approval": None,
        "agent": "demo",
        "iteration": 1,
        "limits": Limits(),
        "spend": Spend(calls=1, blind=1),
        "tree": "t1",
        "changed": True,
        "base": "c0",
        "branch": "ralph/fix-1",
        "result": "r-t1",
        "landing": "",
        "dropped": False,
        "workspace": "/w",
        "protection": "S2",
        "verdicts": (GateLine(gate="test", verdict="pass", proof=True),),
        "judge": None,
        "plan": None,
        "team": None,
        "asked": (),
        "not_yet": (),
        "unproven": ("test: read by exit code only, not per test",),
        "best": 1,
        "breaker": Health(),
        "wait_until": None,
        "wait_why": "",
        "host": HostState(),
        "stopped_by": "person",
        "started": 4.0,
        "updated": 9.0,
    }


def test_a_loop_that_has_just_begun() -> None:
    """Before anything is known nothing is made up."""
    row = summarise(decide(b.Loop(), e.LoopStarted(rules=e.RULES, order=PAIR)))
    assert (row.started, row.best, row.state.outcome, row.state.familiar) == (0.0, None, None, "running")
    assert row.verdicts == (
        GateLine(gate="test", verdict="unknown", proof=True),
        GateLine(gate="lint", verdict="unknown", required=False),
    )


def test_a_loop_that_waits_says_for_what() -> None:
    """The row of a waiting loop tells until when and why."""
    row = summarise(b.waiting(reset_at=90.0))
    assert (row.state.phase, row.state.familiar, row.wait_until) == ("waiting", "paused", 90.0)
    assert row.wait_why == "limit: busy"


def test_every_phase_and_outcome_has_a_familiar_word() -> None:
    """Scripts written for older words find one for every state."""
    assert set(FAMILIAR) == {*PHASES, *OUTCOMES} - {"ended"}
    assert set(FAMILIAR.values()) == {
        "pending",
        "running",
        "completing",
        "paused",
        "completed",
        "aborted",
        "failed",
    }


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("verified", "completed"),
        ("exhausted", "failed"),
        ("stalled", "failed"),
        ("blocked", "failed"),
        ("aborted", "aborted"),
        ("broken", "failed"),
    ],
)
def test_the_familiar_word_of_an_outcome(outcome: str, word: str) -> None:
    """An ended loop is called by its outcome."""
    assert summarise(b.outcome(outcome)).state.familiar == word


BASED = b.based(PAIR, b.red(count=3, summary="3 failed"), b.green("lint"))
JUDGING = b.work(BASED, "t1")
FAST = b.judge(JUDGING, b.green(), b.green("lint"))
RED = GateLine(gate="test", verdict="fail", red=3, summary="3 failed", proof=True)
LINES = [
    (
        "half a baseline",
        b.judge(b.started(PAIR), b.at_base(b.red(count=3, summary="3 failed"))),
        (RED, "unknown"),
    ),
    ("the baseline", BASED, (RED, "pass")),
    ("a new tree, not judged yet", JUDGING, ("unknown", "unknown")),
    ("half judged", b.judge(JUDGING, b.green()), ("pass", "unknown")),
    ("judged", FAST, ("pass", "pass")),
    (
        "the fresh checkout says otherwise",
        b.judge(FAST, b.final(b.red(count=3, summary="3 failed"))),
        (RED, "unknown"),
    ),
    (
        "the fresh verdicts of an older tree",
        b.work(b.judge(FAST, b.final(b.red(count=3, summary="3 failed")), b.final(b.green("lint"))), "t2"),
        ("unknown", "unknown"),
    ),
]


@pytest.mark.parametrize(("loop", "lines"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_gate_lines(loop: b.Loop, lines: tuple[GateLine | str, GateLine | str]) -> None:
    """Each gate shows its newest verdict on the newest tree, or that it is unknown."""
    test, lint = lines
    assert gate_lines(loop) == (
        test if isinstance(test, GateLine) else GateLine(gate="test", verdict=test, proof=True),
        GateLine(gate="lint", verdict=str(lint), required=False),
    )


def test_the_best_checkpoint_is_offered() -> None:
    """A loop that ended unverified names the iteration that got furthest."""
    loop = b.iterate(b.based(), "t1", b.red(count=1))
    assert loop.progress.best == Checkpoint(1, "t1", "c-t1", passing=0, red=1)
    assert summarise(loop).best == 1


def test_a_loop_that_was_accused_names_what_its_user_could_allow() -> None:
    """In the row, so that lists offer it too; marked, so that nobody takes it for a question."""
    first = b.conclude(b.guarding(b.based()), b.guard("t1", "base_tests.red:check"))
    ended = b.close(b.work(b.restored(first), "t1"))
    assert ended.outcome == "blocked"
    asked = summarise(ended, started=4.0).asked
    assert [(one.key, one.accuses) for one in asked] == [("base_tests.red:check", True)]
