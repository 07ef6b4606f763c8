"""Every loop ends, by a limit that can be raised; what each kind of limit does is a row of law_endings.py."""

import kit
import pytest
from kit import agent

from ralph.core.model.events import AgentEnded, AgentStarted

pytestmark = pytest.mark.slow


def test_iterations_and_a_raised_limit(place):
    """The limit ends the loop with a way to raise it. A resume without more room records nothing; with it,
    the same loop goes on where it was.
    """
    done = place.loop(agent("honest_steps", 3), "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2, says="2 of 2 iterations used")
    assert "--max-iterations +" in done.out
    before = [entry.row.hash for entry in place.newest().entries]
    again = place.ralph("resume", loop.sealed.loop)
    assert (again.code, "[E-RESUME-LIMIT]" in again.err) == (6, True), again.report()
    assert [entry.row.hash for entry in place.newest().entries] == before
    again = place.ralph("resume", loop.sealed.loop, "--max-iterations", "+1", "--display", "plain")
    loop = place.expect(again, "verified", 0, 3)
    assert loop.iteration == 3


@pytest.mark.soak
def test_another_agent_stands_in(place):
    """While the first agent is at its limit the second works, and the record says why."""
    commands = {"one": agent("usage_limit", "3600", "9"), "two": agent("honest_steps", "1")}
    tables = [f'[agents.{name}]\ncommand = "{command}"\n' for name, command in commands.items()]
    (place.config / "ralph" / "config.toml").write_text("\n".join(tables))
    words = ["loop", kit.TASK, "--check", kit.CHECK, "--display", "plain", "--agent", "one,two"]
    done = place.ralph(*words)
    loop = place.expect(done, "verified", 0, 2, says="because command: limit, usage limit reached")
    assert loop.iteration == 1
    assert [event.using for event in done.all(AgentStarted)] == [0, 1]


def test_hang(place):
    """A call over its time is ended whatever it ignores; three of them in a row get nowhere."""
    done = place.loop(agent("hang_ignores_term"), "--iteration-timeout", "1s")
    loop = place.expect(done, "stalled", 1, 3, says="ran longer than one iteration may take")
    assert {event.ended for event in done.all(AgentEnded)} == {"timeout"}
    assert loop.iteration == 0
