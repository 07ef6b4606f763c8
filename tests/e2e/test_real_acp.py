"""A real CLI over the Agent Client Protocol: the same work and the same failures, told by less."""

import json
import sys
from pathlib import Path

import kit
import pytest
from realkit import ADD, BLOCK, LOOK, MUL, World, forever

AGENT = Path(__file__).parents[1] / "agents" / "acpagent.py"
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
    assert loop.work.protection in ("S2", "S3"), "this machine has no sandbox: bubblewrap is needed"
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
    assert not loop.landing.result
    assert played.calls()[0].claim.status == "COMPLETE"
    assert "log in with: goose configure" in loop.reason
    assert len(played.asked()) == 2


@pytest.mark.agents
def test_a_broken_stream_over_acp(it):
    """goose calls that a good end; the missing usage gives it away, and the fault has its name."""
    played = it.play(forever(**CUT), it.loop("--max-time", "19s"))
    loop = it.expect(played, "exhausted", 1, ["network"])
    assert loop.iteration == 0
    assert "waiting would exceed the time limit" in loop.reason


@pytest.mark.agents
def test_hangs_over_acp(it):
    """A model that falls silent ends the call by Ralph's clock: bridge, agent and all."""
    played = it.play(forever(say="Now wait.", stall=-1), it.loop("--max-time", "8s"))
    it.expect(played, "exhausted", 1, ["timeout"])
    assert len(played.asked()) == 1
    assert any(fact.get("gone") for fact in played.facts)


@pytest.mark.soak
def test_any_program_by_configuration(place, tmp_path):
    """A program that nobody knows works by one line of configuration; it writes through the bridge."""
    right = (place.repo / "calc.py").read_text()
    for change in (ADD["edit"], MUL["edit"]):
        right = right.replace(change["old"], change["new"])
    target = {"sessionId": "s-1", "path": str(place.repo / "calc.py"), "content": right}
    done = {"answer": {"stopReason": "end_turn", "usage": {"totalTokens": 12}}}
    script = {"session/prompt": [{"ask": "fs/write_text_file", "params": target}, done]}
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "script.json").write_text(json.dumps(script))
    words = f"{sys.executable} -S {AGENT} {tmp_path}/given/script.json"
    table = f'[agents.mine]\ncommand = "{words}"\nsettings = {{protocol = "acp"}}\n'
    (place.config / "ralph" / "config.toml").write_text(table)
    loop_words = ("loop", kit.TASK, "--check", kit.CHECK, "--agent", "mine", "--display", "plain")
    played = place.ralph(*loop_words, "--max-iterations", "1", "--confirm", "1")
    loop = place.expect(played, "verified", 0, 1)
    assert loop.spend.tokens == 12
    assert "agent mine: outcomes over ACP are weaker" in played.text
