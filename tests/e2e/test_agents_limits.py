"""Every loop ends: limits on iterations, time, cost, tokens and calls an hour, and raising them."""

import kit
import pytest
from kit import agent

from ralph.core.model.events import AgentStarted

pytestmark = pytest.mark.slow

SPENDER = """echo '{"ralph": 1, "type": "usage", "tokens": 600, "cost": 0.6}'; echo x >> calc.txt"""


def test_iterations_and_a_raised_limit(place):
    """The limit ends the loop with a way to raise it; raised, the same loop goes on where it was."""
    done = place.loop(agent("honest_steps", 3), "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2, says="2 of 2 iterations used")
    assert "--max-iterations +" in done.out
    again = place.ralph("resume", loop.sealed.loop, "--max-iterations", "+1", "--display", "plain")
    loop = place.expect(again, "verified", 0, 3)
    assert loop.iteration == 3


@pytest.mark.soak
def test_resume_without_room_is_exhausted_at_once(place):
    """Going on without raising the limit that ended it spends nothing."""
    place.expect(place.loop(agent("liar_ticks"), "--max-iterations", "1"), "exhausted", 1, 1)
    again = place.ralph("resume", "--last", "--display", "plain")
    place.expect(again, "exhausted", 6, 1, says="--max-iterations")


def test_time(place):
    """Active time is bounded over calls; a call gets no more than what is left."""
    done = place.loop("sleep 300", "--max-time", "2s")
    loop = place.expect(done, "exhausted", 1, done.loop.spend.calls, says="time limit")
    assert loop.spend.calls <= 2
    assert done.seconds < 60


@pytest.mark.soak
def test_cost(place):
    """What calls report as cost adds up to the limit."""
    done = place.loop(SPENDER, "--max-cost", "1", "--max-iterations", "9")
    loop = place.expect(done, "exhausted", 1, 2, says="cost limit of 1 USD reached (1.20)")
    assert loop.spend.cost == pytest.approx(1.2)
    assert loop.spend.blind == 0


@pytest.mark.soak
def test_tokens(place):
    """So do tokens."""
    done = place.loop(SPENDER, "--max-tokens", "1000")
    place.expect(done, "exhausted", 1, 2, says="token limit of 1000 reached (1200)")


@pytest.mark.soak
def test_calls_an_hour(place):
    """More calls than an hour allows wait; where that would pass the time limit the loop ends instead."""
    done = place.loop(agent("honest_steps", 3), "--calls-per-hour", "2", "--max-time", "10m")
    place.expect(done, "exhausted", 1, 2, says="2 calls per hour used; waiting would exceed the time limit")


def test_cost_limit_without_any_other(place):
    """A cost limit with an agent that may never tell its cost is refused unless another limit is typed."""
    done = place.loop(agent("honest_steps"), "--max-cost", "1")
    assert done.code == 2, done.report()
    assert done.record is None


@pytest.mark.soak
def test_unlimited_needs_another_limit(place):
    """Unlimited iterations alone are refused."""
    done = place.loop(agent("honest_steps"), "--max-iterations", "unlimited")
    assert done.code == 2, done.report()
    assert done.record is None
    timed = place.loop(agent("honest_steps"), "--max-iterations", "unlimited", "--max-time", "5m")
    place.expect(timed, "verified", 0, 2)


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
