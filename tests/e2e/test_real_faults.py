"""The real CLIs when the provider fails: each fault keeps its name, nothing hangs, nobody is left."""

import pytest
from realkit import CLOSED, MAIN, TOKENS, WORK, World, forever

from ralph.core.model.events import WaitOver

pytestmark = pytest.mark.slow
SHORT = {"error": {"status": 429, "headers": {"retry-after": "1"}}}
LONG = {"error": {"status": 429, "headers": {"retry-after": "3600"}}}
CUT = {"say": "This will never be said to its end, for the line breaks.", "cut": "body"}
# reply, where the model is, time limit (below what Ralph would wait), outcome, code, fault, most requests
FAULTS = {
    "429 for an hour": (LONG, "{url}", "100s", "exhausted", 1, "limit", 4),
    "401": ({"error": 401}, "{url}", "100s", "blocked", 3, "auth", 2),
    "529": ({"error": 529}, "{url}", "19s", "exhausted", 1, "overload", 4),
    "refused": ({"error": 500}, CLOSED, "19s", "exhausted", 1, "network", 0),
    "cut": (CUT, "{url}", "19s", "exhausted", 1, "network", 6),
}


@pytest.fixture
def world(tmp_path):
    """A user with these CLIs; whatever a failed test leaves is ended."""
    made = []

    def make(*names):
        made.append(World(tmp_path, *names))
        return made[-1]

    yield make
    for one in made:
        one.place.kill_all()


# One fault of each CLI; the others are shown by make test-agents.
ONCE = {"claude": "429 for an hour", "codex": "cut", "goose": "refused", "gemini": "401"}
MATRIX = [
    pytest.param(name, case, marks=() if ONCE[name] == case else pytest.mark.agents)
    for name in MAIN
    for case in FAULTS
]


@pytest.mark.parametrize(("name", "case"), MATRIX)
def test_provider_fails(world, name, case):
    """One call, ended instead of retried for long, named in the record, its iteration given back."""
    reply, url, limit, outcome, code, fault, most = FAULTS[case]
    it = world(name)
    played = it.play(forever(**reply), it.loop("--max-time", limit), url=url)
    loop = it.expect(played, outcome, code, [fault])
    assert loop.iteration == 0
    assert len(played.asked()) <= most
    assert case == "cut" or not played.calls()[0].usage.tokens  # half an answer may have been counted
    if outcome == "blocked":
        assert "log in with: " in played.last.text
    elif "time limit of 19 s reached" not in loop.reason:  # so long a CLI may take to begin on a busy machine
        assert f"{fault}: " in loop.reason or "network down since " in loop.reason
        assert "waiting would exceed the time limit" in loop.reason


@pytest.mark.agents
@pytest.mark.parametrize("name", MAIN)
def test_429_for_a_moment(world, name):
    """A short limit is got over by the CLI itself: the call goes on where it was."""
    it = world(name)
    played = it.play({"replies": [SHORT, *WORK]}, it.loop("--max-time", "100s"))
    it.expect(played, "verified", 0, [None])
    assert len(played.asked()) == len(WORK) + 1
    assert played.calls()[-1].usage.tokens == len(WORK) * TOKENS


@pytest.mark.agents
def test_a_network_that_comes_back(world):
    """While nobody answers the loop looks and waits, spends nothing, and goes on as soon as somebody does."""
    it = world("goose")
    flags = ("--max-time", "100s", "--max-iterations", "1")
    played = it.play({"replies": WORK}, it.loop(*flags), back_at="probing 127.0.0.1:")
    loop = it.expect(played, "verified", 0, ["network", None])
    assert loop.iteration == 1
    assert len(played.asked()) == len(WORK)
    failed = played.calls()[0]
    assert failed.usage.tokens in (0, None)
    assert failed.fault.address.startswith("127.0.0.1:")
    assert f"probing {failed.fault.address}" in played.last.text
    (over,) = played.last.all(WaitOver)
    assert f"{failed.fault.address} answers" in over.note


@pytest.mark.agents
@pytest.mark.parametrize("name", MAIN)
def test_hangs(world, name):
    """A model that falls silent ends the call by Ralph's clock, with every process of it."""
    it = world(name)
    script = forever(say="Now wait.", stall=-1)
    played = it.play(script, it.loop("--max-time", "12s" if name == "gemini" else "8s"))
    it.expect(played, "exhausted", 1, ["timeout"])
    assert len(played.asked()) == 1
    assert any(fact.get("gone") for fact in played.facts)
