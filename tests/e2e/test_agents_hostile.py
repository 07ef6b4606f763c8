"""Agents that attack what is around them: the tests, the user's files, their keeper, the disk."""

import os
import subprocess

import pytest
from kit import Place, agent

from ralph.core.model import events as e

pytestmark = pytest.mark.slow


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


@pytest.mark.soak
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_kills_its_parent(place, sandbox):
    """Whoever kills the processes around it ends its own call; the loop and its record go on."""
    done = place.loop(agent("kills_parent"), "--sandbox", sandbox)
    if sandbox == "auto":
        place.expect(done, "verified", 0, 1)
    else:  # the keeper is dead, and with it the call before it changed anything: five of them are broken
        place.expect(done, "broken", 4, 5, says="5 faults in a row")
        assert [event.ended for event in done.all(e.AgentEnded)] == ["keeper-lost"] * 5


@pytest.mark.soak
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


@pytest.mark.soak
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_check_that_leaves_processes(place, sandbox):
    """What a check leaves running is gone when its verdict is there."""
    check = f"sh -c 'setsid sleep 600 {place.top} & python3 -m unittest' 2>&1"
    done = place.loop(agent("honest_steps", 1), "--sandbox", sandbox, check=check)
    place.expect(done, "verified", 0, 1)


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
    """Below the floor no loop begins, and it is said how much is there. A disk that fills up pauses the loop
    with a clear error; nothing is lost, and with space it goes on."""
    refused = tight.loop(agent("honest_steps"))
    assert refused.code == 4, refused.report()
    assert "E-DISK-LOW" in refused.err
    assert "MB are free" in refused.err
    tight.same_user()
    assert os.listdir(tight.state / "workspaces") == []
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


def test_skips_the_failing_tests(place):
    """Skipped is not passed; whoever tries it again is stopped for a human, and rejected work is kept."""
    done = place.loop(agent("skips_test"))
    loop = place.expect(done, "blocked", 3, 2, says="tampered with twice; a human must review")
    assert not loop.landing.result
    assert loop.progress.integrity_hits == 2
    assert place.git("for-each-ref", f"refs/ralph/{loop.sealed.loop}/rejected/")
    said = loop.proof.not_yet
    assert any("test_add" in sentence and "skipped" in sentence for sentence in said), said
