"""A loop that another process drives: what whoever looks on is told of it, and what its clock counts."""

import os
from contextlib import suppress

import pytest
from builders import at_base, order, red
from clockkit import ScriptedClock
from msgspec.structs import replace

from ralph.app.background.attach import Onlooker
from ralph.app.records import follow_loop
from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.record import load, summary_row
from ralph.shell.ports import Quiet
from ralph.shell.run.scribe import Scribe
from ralph.shell.state.directory import open_state

NAME = "fix-1"
STINT = e.StintStarted(
    pid=1, host="h", version="1", protection="S0", words=("the agent can reach your files",)
)
TO_THE_CALL = (
    STINT,
    e.WorkspaceMade(path="/w"),
    e.GateEnded(iteration=0, verdict=at_base(red())),
    e.AgentStarted(iteration=1, call=1, agent="command", prompt="p"),
)
ENDED = e.AgentEnded(iteration=1, call=1, exit_code=None, ended="stopped", seconds=100.0, took=100.0)


class Driven:
    """A loop with a runner, which is this test."""

    def __init__(self, folder):
        self.env = {"RALPH_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
        self.state = open_state(self.env["RALPH_STATE_DIR"], create=True)
        begun = e.LoopStarted(rules=e.RULES, order=order(), at=5.0)
        self.journal = open_journal(self.state.root)
        self.stint = self.journal.admit(NAME, at=5000, repo="/repo", most=1)
        row = summary_row(fold((begun,)), 5.0)
        self.journal.create(NAME, at=5000, kind="LoopStarted", v=1, body=e.encode(begun), summary=row)

    def write(self, *facts, every=0.0):
        """A new runner writes these facts, `every` so many seconds one."""
        clock = ScriptedClock()
        scribe = Scribe(self.journal, NAME, load(self.journal, NAME), clock, Quiet(), self.state.root)
        for fact in facts:
            clock.sleep(every)
            scribe.append(fact)
        return scribe.loop.spend.seconds

    def say(self, text):
        folder = self.state.root + f"/loops/{NAME}/calls/1"
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/out", "a") as file:
            file.write(text)


@pytest.fixture
def driven(tmp_path):
    made = Driven(tmp_path)
    yield made
    with suppress(OSError):  # a test may have released it
        made.stint.release()
    made.journal.close()


def test_what_people_say_during_a_call_does_not_make_it_longer(driven):
    """A call of 100 seconds is 100 seconds, with two notes in it or none, by one runner or by two."""
    before = driven.write(*TO_THE_CALL)
    assert driven.write(e.Steered(text="a"), every=30.0) == before + 30
    assert driven.write(e.Steered(text="b"), e.AbortAsked(), every=20.0) == before + 70
    assert driven.write(ENDED, every=1.0) == before + 100


def test_the_last_words_of_a_call_are_followed(driven):
    """All that an agent prints while somebody follows is shown before its end, also half a line."""
    driven.write(*TO_THE_CALL)
    entries = follow_loop(NAME, driven.env, "/", follow=True)
    driven.say("first\n")
    seen = [next(entries) for _ in range(6)]
    assert seen[-1] == "first"
    driven.say("second\nlast")
    driven.write(ENDED)
    driven.stint.release()
    *words, ended = entries
    assert words == ["second", "last"]
    assert isinstance(ended.event, e.AgentEnded)


class Watching(Quiet):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_whoever_came_before_the_runner_is_told_its_sandbox_and_no_false_alarm_at_the_end(driven):
    """What protects nothing is said when it is known; a loop that ended is not one that nobody drives."""

    def end():
        driven.write(
            *TO_THE_CALL, e.AbortAsked(), ENDED, e.CheckpointMade(iteration=1, tree="t0", commit="c")
        )
        driven.write(e.LoopEnded(outcome="aborted", reason="x"))
        driven.stint.release()

    watcher = Watching()
    clock = ScriptedClock(at={1.0: end})
    loop = Onlooker(NAME, driven.env, watcher, clock).follow(driven.journal, lambda: clock.slept > 9)
    assert loop.phase == "ended"
    assert watcher.notes == ["S0: the agent can reach your files"]


def test_a_sandbox_that_holds_is_said_as_in_the_header(driven):
    """Who came before the runner hears in one word what the header could not say yet."""
    driven.write(*TO_THE_CALL[1:])
    boxed = replace(STINT, protection="S3", words=("the agent can write only its workspace",))
    watcher = Watching()
    clock = ScriptedClock(at={1.0: lambda: driven.write(boxed)})
    Onlooker(NAME, driven.env, watcher, clock).follow(driven.journal, lambda: clock.slept > 3)
    assert watcher.notes == ["sandboxed (S3)"]
