"""Telling a loop something while another process drives it: heard once, and waited for by the clock."""

import pytest
from builders import order
from clockkit import ScriptedClock

from ralph.app.tell import TIMEOUT_SECONDS, send_and_wait
from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.record import load, summary_row
from ralph.shell.ports import Quiet
from ralph.shell.run.scribe import Scribe
from ralph.shell.state.directory import open_state

NAME = "fix-1"


class Elsewhere:
    """The loop's runner, played through handles of its own: it holds the loop and hears only its inbox."""

    def __init__(self, folder):
        self.env = {"RALPH_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
        self.root = open_state(self.env["RALPH_STATE_DIR"], create=True).root
        started = e.LoopStarted(rules=e.RULES, order=order(), at=5.0)
        row = summary_row(fold((started,)), 5.0)
        with open_journal(self.root) as journal:
            self.stint = journal.admit(NAME, at=5000, repo="/repo", most=1)
            journal.create(NAME, at=5000, kind="LoopStarted", v=1, body=e.encode(started), summary=row)

    def obey(self):
        with open_journal(self.root) as journal:
            scribe = Scribe(journal, NAME, load(journal, NAME), ScriptedClock(), Quiet(), self.root)
            scribe.append(e.StintStarted(pid=1, host="h", version="1", protection="S2"))
            for number, _, body in scribe.inbox():
                scribe.append(e.decode(body), taken=(number,))

    def waiting(self):
        with open_journal(self.root) as journal:
            return [(command.kind, command.at) for command in journal.inbox_open(NAME)]


@pytest.fixture
def runner(tmp_path):
    made = Elsewhere(tmp_path)
    yield made
    made.stint.release()


def test_a_runner_that_obeys_is_waited_for(runner):
    """The command lies in the inbox until its runner takes it; then the teller goes on, and not before."""
    seen = []
    clock = ScriptedClock(at={1.0: lambda: seen.extend(runner.waiting()), 3.0: runner.obey})
    loop = send_and_wait(NAME, runner.env, e.PauseAsked(now=True), until="paused", clock=clock)
    assert loop.phase == "paused"
    assert seen == [("PauseAsked", int(clock.start * 1000))]
    assert runner.waiting() == []
    assert 3.0 <= clock.slept < 3.1


def test_a_runner_that_is_silent_is_not_waited_for_without_end(runner):
    """After half a minute by the clock the teller goes home; what it said stays in the inbox."""
    clock = ScriptedClock()
    loop = send_and_wait(NAME, runner.env, e.PauseAsked(), until="paused", clock=clock)
    assert loop.phase == "baseline"
    assert TIMEOUT_SECONDS < clock.slept < TIMEOUT_SECONDS + 0.2
    assert [kind for kind, _ in runner.waiting()] == ["PauseAsked"]
