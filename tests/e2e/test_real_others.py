"""The agent CLIs that `make test` leaves out: each solves a task, and meets a refused login, an overload."""

import pytest
from realkit import OTHERS, TOKENS, WORK, World, forever

pytestmark = pytest.mark.agents
AIDER = {"args": "--edit-format\ndiff\ncalc.py"}  # the only one that takes edits from prose

# Two of them try again without a word, until Ralph's clock ends it; two tell no more than a failed server.
OVERLOAD = {
    "opencode": "timeout",
    "qwen": "timeout",
    "copilot": "overload",
    "aider": "server",
    "mini": "server",
}


@pytest.fixture
def world(tmp_path):
    """A user with this CLI; whatever a failed test leaves is ended."""
    made = []

    def make(name):
        made.append(World(tmp_path, name))
        return made[-1]

    yield make
    for one in made:
        one.place.kill_all()


def settings(name):
    return AIDER if name == "aider" else {}


@pytest.mark.parametrize("name", OTHERS)
def test_solves_a_task(world, name):
    """Verified by its own tools, with its tokens, and nothing left behind."""
    it = world(name)
    played = it.play({"replies": WORK}, it.loop("--max-iterations", "1"), settings=settings(name))
    it.expect(played, "verified", 0, [None])
    assert played.calls()[0].usage.tokens == len(played.asked()) * TOKENS


@pytest.mark.parametrize("name", OTHERS)
def test_refused_login(world, name):
    """A refused key ends the loop as blocked after one call, with the way to log in."""
    it = world(name)
    played = it.play(forever(error=401), it.loop("--max-time", "100s"), settings=settings(name))
    loop = it.expect(played, "blocked", 3, ["auth"])
    assert "log in with: " in loop.reason


@pytest.mark.parametrize("name", OTHERS)
def test_overload(world, name):
    """An overloaded provider ends the call with the name that the CLI's own words allow."""
    it = world(name)
    played = it.play(forever(error=529), it.loop("--max-time", "30s"), settings=settings(name))
    it.expect(played, "exhausted", 1, [OVERLOAD[name]])


@pytest.mark.parametrize("name", ["acp-gemini", "acp-opencode", "acp-qwen", "acp-copilot"])
def test_solves_a_task_behind_the_bridge(world, name):
    """Others that speak the Agent Client Protocol do the same work, asking the bridge for permission."""
    it = world(name)
    played = it.play({"replies": WORK}, it.loop("--max-iterations", "1"))
    it.expect(played, "verified", 0, [None])
    assert f"agent {name}: outcomes over ACP are weaker" in played.last.text
    assert "a * b" in it.place.result("calc.py")
