"""Agents that attack what is around them: the workspace, the user's files, their keeper, the disk."""

import os
import subprocess

import pytest
from kit import Place, agent

from ralph.core.model import events as e

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_deletes_its_workspace(place):
    """An emptied workspace is a tree like any other: judged, refused, taken back, and the loop goes on."""
    turns = (
        f"if [ $RALPH_ITERATION = 1 ]; then {agent('deletes_workspace')}; else {agent('honest_steps', 1)}; fi"
    )
    done = place.loop(turns)
    place.expect(done, "verified", 0, 2, says="said done: refused")
    assert "return a + b" in place.result("calc.py")


@pytest.mark.soak
def test_deletes_its_workspace_without_a_sandbox(place):
    """The same where the folder itself can be removed."""
    turns = (
        f"if [ $RALPH_ITERATION = 1 ]; then {agent('deletes_workspace')}; else {agent('honest_steps', 1)}; fi"
    )
    done = place.loop(turns, "--sandbox", "none")
    place.expect(done, "verified", 0, 2)


def test_writes_to_the_users_repository(place):
    """Inside the box the user's path is the workspace: what is written there is in the result, no more."""
    other = place.top / "other-project"
    other.mkdir()
    done = place.loop(agent("writes_user_repo", place.repo, other, place.state, place.home))
    place.expect(done, "verified", 0, 1)
    assert place.result("TRESPASS.txt") == "# trespass"
    assert not (place.repo / "TRESPASS.txt").exists()
    assert list(other.iterdir()) == []
    assert not list(place.state.glob("TRESPASS*"))


def test_writes_to_the_users_repository_without_a_sandbox(place):
    """Without a box nothing stops it. That is said before it starts; only the workspace is judged."""
    # In a shell's words: a path that is an argument by itself is given as the workspace's.
    done = place.loop(f"true; {agent('writes_user_repo', place.repo)}", "--sandbox", "none")
    place.expect(
        done,
        "verified",
        0,
        1,
        untouched=False,
        says="no sandbox: agents and gates have your own rights (ralph help sandbox)",
    )
    assert (place.repo / "TRESPASS.txt").read_text() == "# trespass\n"
    assert "trespass" in place.git("branch", "--list")
    assert "TRESPASS.txt" not in place.git("ls-tree", "--name-only", done.loop.landing.branch)
    assert "return a - b" in (place.repo / "calc.py").read_text(), "Ralph itself never writes there"


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_kills_its_parent(place, sandbox):
    """Whoever kills the processes around it ends its own call; the loop and its record go on."""
    done = place.loop(agent("kills_parent"), "--sandbox", sandbox)
    if sandbox == "auto":
        place.expect(done, "verified", 0, 1)
    else:  # the keeper is dead, and with it the call before it changed anything: five of them are broken
        place.expect(done, "broken", 4, 5, says="5 faults in a row")
        assert [event.ended for event in done.all(e.AgentEnded)] == ["keeper-lost"] * 5


def test_kills_the_runner(place):
    """An agent without a box that kills Ralph itself ends with it; the loop is taken up where it was."""
    above = (
        "p=$PPID; until grep -qz '^--agent-cmd' /proc/$p/cmdline; do p=$(cut -d' ' -f4 /proc/$p/stat); done"
    )
    kills = f"if [ $RALPH_CALL = 1 ]; then {above}; kill -9 $p; sleep 60; fi"
    done = place.loop(f"{kills}; {agent('honest_steps', 1)}", "--sandbox", "none")
    assert done.code == 137, done.report()
    place.no_process_left(grace=5)
    again = place.ralph("resume", "--last", "--display", "plain")
    loop = place.expect(again, "verified", 0, 2)
    assert loop.iteration == 1


def test_escape_sequences_and_secrets(place):
    """What an agent prints is shown, logged and reported without terminal sequences and secrets."""
    key = "sk-verysecret-0123456789"
    words = f"printf 'key %s \\033]0;title\\007\\033[31mred' $OPENAI_API_KEY; {agent('staller')}"
    done = place.loop(words, "--max-iterations", "1", env={"OPENAI_API_KEY": key})
    place.expect(done, "exhausted", 1, 1)
    kept = "".join(path.read_text(errors="replace") for path in place.state.glob("*/*.log"))
    told = place.ralph("report", env={"OPENAI_API_KEY": key}).out
    for text in (done.text, kept, told):
        assert text
        assert key not in text
        assert "\x1b" not in text


@pytest.mark.soak
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_check_that_leaves_processes(place, sandbox):
    """What a check leaves running is gone when its verdict is there."""
    check = f"sh -c 'setsid sleep 600 {place.top} & python3 -m unittest' 2>&1"
    done = place.loop(agent("honest_steps", 1), "--sandbox", sandbox, check=check)
    place.expect(done, "verified", 0, 1)


@pytest.mark.soak
def test_edits_the_script_of_the_check(place):
    """A script of the repository that is the check is not the agent's to change."""
    place.commit("a check", check__sh="#!/bin/sh\npython3 -m unittest\n")
    (place.repo / "check.sh").chmod(0o755)
    place.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "executable", "--", "check.sh")
    place.forget()
    done = place.loop("echo '#!/bin/sh' > check.sh", check="./check.sh")
    loop = place.expect(done, "blocked", 3, 2, says="tampered with twice")
    assert any("check.sh" in sentence for sentence in loop.proof.not_yet), loop.proof.not_yet


@pytest.fixture
def tight(tmp_path, home):
    """A user whose state directory is on a disk of 48 MB."""
    state = tmp_path / "w" / "state"
    state.mkdir(parents=True)
    size = "size=48m,mode=0700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", state], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"a small disk can be mounted by root only: {mounted.stderr.decode().strip()}")
    made = Place(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()
    subprocess.run(["umount", "-l", state], check=True)


def test_fills_the_disk(tight):
    """A full disk pauses the loop with a clear error; nothing is lost, and with space it goes on."""
    tight.commit("the junk is ignored", __gitignore="__pycache__/\njunk.bin\n")
    room = {"RALPH_RETENTION_MIN_FREE": "1MB"}
    done = tight.loop(agent("fills_disk", 100), env=room)
    tight.expect(done, None, 4, 1, says="next")
    assert "E-DISK" in done.err or "no space left" in done.err, done.report()
    assert done.loop.phase == "paused"
    subprocess.run(["mount", "-o", "remount,size=400m", tight.state], check=True)
    again = tight.ralph("resume", "--last", "--display", "plain", env=room)
    tight.expect(again, "verified", 0, 1)
    assert "return a + b" in tight.result("calc.py")


def test_too_little_space_to_start(tight):
    """Below the floor no loop begins; the error says how much is there and how much is wanted."""
    done = tight.loop(agent("honest_steps"))
    assert done.code == 4, done.report()
    assert "E-DISK-LOW" in done.err
    assert "MB are free" in done.err
    tight.same_user()
    assert os.listdir(tight.state / "workspaces") == []
