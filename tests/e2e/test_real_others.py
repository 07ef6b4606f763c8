"""The agent CLIs that `make test` leaves out: each solves a task, and names a refused login and an overload."""

import pytest
from realkit import OTHERS, TOKENS, WORK, World, forever

pytestmark = pytest.mark.agents
AIDER = {"args": "--edit-format\ndiff"}  # the only one that takes edits from prose


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
    played = it.play(forever(error=401), it.loop("--max-time", "60s"), settings=settings(name))
    loop = it.expect(played, "blocked", 3, ["auth"])
    assert "log in with: " in loop.reason


@pytest.mark.parametrize("name", OTHERS)
def test_overload(world, name):
    """An overloaded provider has a name of its own; two of them only say nothing, and Ralph's clock ends that."""
    it = world(name)
    played = it.play(forever(error=529), it.loop("--max-time", "19s"), settings=settings(name))
    silent = name in ("opencode", "qwen")
    it.expect(played, "exhausted", 1, ["timeout" if silent else "overload"])
