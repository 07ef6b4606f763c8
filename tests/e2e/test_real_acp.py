"""A real CLI over the Agent Client Protocol: the same work and the same failures, told by less."""

import pytest
from realkit import ADD, BLOCK, LOOK, MUL, World, forever

pytestmark = pytest.mark.slow
CUT = {"say": "This will never be said to its end, for the line breaks.", "cut": "body"}


@pytest.fixture
def it(tmp_path):
    """A user with goose, driven over the protocol; whatever a failed test leaves is ended."""
    made = World(tmp_path, "acp-goose")
    yield made
    made.place.kill_all()


def test_solves_a_task_over_acp(it):
    """Two iterations of one conversation: verified by its own tools, no child left, marked as weaker."""
    child = f"setsid nohup python3 -c 'import time; time.sleep(300)' {it.top} >/dev/null 2>&1 &"
    script = [
        *(LOOK, ADD, {"bash": f"{child} echo $! > .git/child; printf 'begun-%d' 0x2a"}),
        {"say": "One of the two functions is right now."},
        *(LOOK, MUL, {"say": "Both are."}),
    ]
    played = it.play({"replies": script}, it.loop("--max-iterations", "2", "--keep-session"))
    loop = it.expect(played, "verified", 0, [None, None])
    assert "VERIFIED_DONE" in played.last.out
    assert loop.protection in ("S2", "S3"), "this machine has no sandbox: bubblewrap is needed"
    assert "agent acp-goose: outcomes over ACP are weaker" in played.last.text
    assert "begun-42" in played.told()
    first, second = (call.session.id for call in played.calls())
    assert first == second
    assert loop.spend.tokens is None  # it tells the last request's only


def test_lies_and_loses_its_login_over_acp(it):
    """A claim changes nothing, and a refused login ends the loop with the command to log in."""
    lie = {"say": "All done, every test passes.\n\n" + BLOCK}
    played = it.play({"replies": [lie, *forever(error=401)["replies"]]}, it.loop("--max-iterations", "3"))
    loop = it.expect(played, "blocked", 3, [None, "auth"])
    assert not loop.result
    assert played.calls()[0].claim.status == "COMPLETE"
    assert "log in with: goose configure" in loop.reason
    assert len(played.asked()) == 2


def test_a_broken_stream_over_acp(it):
    """goose calls that a good end; the missing usage gives it away, and the fault has its name."""
    played = it.play(forever(**CUT), it.loop("--max-time", "19s"))
    loop = it.expect(played, "exhausted", 1, ["network"])
    assert loop.iteration == 0
    assert "waiting for that would pass the time limit" in loop.reason


def test_hangs_over_acp(it):
    """A model that falls silent ends the call by Ralph's clock: bridge, agent and all."""
    played = it.play(forever(say="Now wait.", stall=-1), it.loop("--max-time", "8s"))
    it.expect(played, "exhausted", 1, ["timeout"])
    assert len(played.asked()) == 1
    assert any(fact.get("gone") for fact in played.facts)
