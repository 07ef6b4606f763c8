"""A loop at work, told what to do by other processes: pause, steer, abort, resume; and looked at."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import pytest
from crashkit import World
from kit import LIMIT

from ralph.core.model.events import AbortAsked, PauseAsked, Steered
from ralph.shell.run.hold import send

pytestmark = pytest.mark.slow

COPY = "open({folder!r} + '/prompt-' + os.environ['RALPH_CALL'], 'w').write(__import__('sys').stdin.read())"


@pytest.fixture
def world(tmp_path, home):
    made = World(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()


def at_work(world, **how):
    """A loop whose counting agent is in the middle of its first call."""
    copy = COPY.format(folder=str(world.outside))
    running = world.start(*world.words(world.counting(more=copy, **how)))
    running.until(lambda loop: loop.call.running)
    wait_until(world.calls)
    return running


def wait_until(true, limit=LIMIT):
    deadline = time.monotonic() + limit
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def prompt(world, call):
    return (world.outside / f"prompt-{call}").read_text()


def row_of(world, name="l1-00000001"):
    return json.loads(world.ralph("status", name, "--json").out)["loops"][0]


def test_pause_steer_and_resume(world):
    """A living loop is seen, guarded against a second runner, steered, paused and resumed by others."""
    running = at_work(world, before=60)
    follower = world.start("logs", "l1-00000001", "-f")
    for words in (
        ("resume", "l1-00000001"),
        ("merge", "l1-00000001"),
        ("drop", "l1-00000001", "--yes"),
        ("undo", "l1-00000001"),
    ):
        done = world.ralph(*words)
        assert done.code == 5, done.report()
        assert "[E-LOOP-LOCKED]" in done.err
        assert f"pid {running.process.pid} " in done.err
    seen = row_of(world)
    assert (seen["phase"], seen["iteration"], seen["spend"]["calls"]) == ("working", 1, 1)
    assert "AgentStarted" in world.ralph("logs", "l1-00000001").out
    assert "IN_PROGRESS" in world.ralph("report", "--list").out
    assert "no loop ended" in world.ralph("report", "--failed").out
    assert world.ralph("steer", "l1-00000001", "the clock is in UTC").code == 0
    assert world.ralph("pause", "l1-00000001").code == 0
    wait_until(lambda: "PauseAsked" in world.kinds())
    (world.outside / "go").touch()
    done = running.wait()
    assert done.code == 1, done.report()
    loop = world.record().loop
    assert (loop.phase, loop.iteration, loop.spend.calls) == ("paused", 1, 1)
    assert "clock" not in prompt(world, 1)
    world.no_process_left(5)
    world.same_user()
    followed = follower.wait()
    assert followed.code == 0
    rows = [line.split() for line in followed.out.splitlines()]  # what the agent printed stands between them
    assert [row[2] for row in rows if len(row) > 2 and row[0].isdigit()] == world.kinds()

    again = world.ralph("pause", "l1-00000001")
    assert (again.code, "[E-LOOP-STOPPED]" in again.err) == (6, True)
    assert row_of(world)["phase"] == "paused"
    done = world.ralph("resume", "--last", "--steer", "and in 24 hours")
    assert done.code == 0, done.report()
    assert "the clock is in UTC" in prompt(world, 2)
    assert "and in 24 hours" in prompt(world, 2)
    world.whole(calls=2)
    assert "COMPLETED" in world.ralph("report", "--list").out
    final = world.ralph("resume", "l1-00000001")
    assert (final.code, "[E-LOOP-FINAL]" in final.err) == (6, True)


@pytest.mark.soak
@pytest.mark.parametrize("edited", [False, True])
def test_pause_now(world, edited):
    """pause --now stops the agent at once; what it left is kept and judged when the loop goes on."""
    running = at_work(world, before=0 if edited else 60, after=60)
    wait_until(lambda: not edited or (world.outside / "prompt-1").exists())
    began = time.monotonic()
    done = world.ralph("pause", "l1-00000001", "--now")
    assert done.code == 0, done.report()
    assert time.monotonic() - began < 20
    assert running.wait().code == 1
    loop = world.record().loop
    assert (loop.phase, loop.spend.calls) == ("paused", 1)
    assert ("checkpoint/1" in world.refs()) is edited
    world.no_process_left(5)
    world.counting()
    assert world.ralph("resume", "l1-00000001").code == 0
    world.whole(calls=2 if edited else 3)


@pytest.mark.soak
def test_abort(world):
    """abort ends a running loop, keeps a checkpoint of what the agent left, and is final."""
    running = at_work(world, after=60)
    wait_until((world.outside / "prompt-1").exists)
    done = world.ralph("abort", "l1-00000001", "--reason", "wrong approach")
    assert done.code == 0, done.report()
    assert "l1-00000001 aborted" in done.out
    ended = running.wait()
    assert ended.code == 1, ended.report()
    loop = world.record().loop
    assert (loop.outcome, loop.reason) == ("aborted", "wrong approach")
    assert "checkpoint/1" in world.refs()
    assert "+    return a + b" in world.ralph("diff", "l1-00000001", "--iteration", "1").out
    world.no_process_left(5)
    world.same_user()
    assert world.ralph("resume", "l1-00000001").code == 6
    assert world.ralph("abort", "l1-00000001").code == 6
    assert "l1-00000001" in world.ralph("report", "--failed").out


@pytest.mark.soak
def test_abort_of_a_crashed_loop(world):
    """A loop that nobody drives is ended by the one who asks: the lost call is accounted for first."""
    running = at_work(world, before=60)
    running.process.kill()
    running.process.wait()
    assert "crashed" in world.ralph("status").out
    done = world.ralph("abort", "l1-00000001")
    assert done.code == 0, done.report()
    loop = world.record().loop
    assert (loop.outcome, loop.spend.calls, loop.call.running) == ("aborted", 1, False)
    world.no_process_left(5)
    world.same_user()


@pytest.mark.soak
def test_a_command_survives_a_kill(world):
    """A note that was given and not yet heard when Ralph was killed reaches the next prompt, once."""
    running = at_work(world, before=60)
    running.process.kill()
    running.process.wait()
    env = {**os.environ, **world.env()}
    send("l1-00000001", env, Steered(text="mind the gap"), time.time())
    world.counting(more=COPY.format(folder=str(world.outside)))
    world.dying("ralph.shell.run.runner.Runner._obey:call:1", "resume", "l1-00000001", "--display", "plain")
    assert world.ralph("resume", "l1-00000001").code == 0
    world.whole(calls=3)
    assert world.kinds().count("Steered") == 1
    texts = [prompt(world, call).count("mind the gap") for call in (2, 3)]
    assert texts == [1, 0]


@pytest.mark.soak
def test_a_stale_command_does_not_stop_a_resume(world):
    """A pause or abort that came too late for a stopped loop is not obeyed when its user lets it go on."""
    done = world.ralph(*world.words("", "--max-iterations", "1"))
    assert done.code == 1, done.report()
    env = {**os.environ, **world.env()}
    for late in (AbortAsked(reason="late"), PauseAsked(reason="late")):
        send("l1-00000001", env, late, time.time())
    done = world.ralph("resume", "l1-00000001", "--max-iterations", "+2")
    assert done.code == 0, done.report()
    assert world.record().loop.outcome == "verified"


@pytest.mark.soak
def test_readers_of_a_directory_they_cannot_write(world):
    """status, logs and report work for another user, on a state directory that nobody can write."""
    done = world.ralph(*world.words())
    assert done.code == 0, done.report()
    command = [sys.executable, "-m", "ralph"]
    if os.geteuid() == 0:
        plain = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        tried = [*plain, sys.executable, "-c", "import ralph.ui.cli.main"]
        if shutil.which("setpriv") is None or subprocess.run(tried, cwd="/", check=False).returncode:
            pytest.skip("no plain user here can execute this Python: NOT tested")
        command = [*plain, *command]
    top = tempfile.mkdtemp(prefix="readers-")  # outside of pytest's own folders, which are private
    try:
        state = _closed_copy(world.state, os.path.join(top, "state"))
        os.chmod(top, 0o755)
        env = {**world.env(), "RALPH_STATE_DIR": state, "HOME": "/", "PYTHONDONTWRITEBYTECODE": "1"}
        for words, text in (
            (("status", "--all"), "verified"),
            (("status", "l1-00000001"), "verified"),
            (("logs", "l1-00000001"), "LoopEnded"),
            (("report", "l1-00000001"), "VERIFIED"),
        ):
            seen = subprocess.run(
                [*command, *words], cwd="/", env=env, capture_output=True, text=True, check=False
            )
            assert seen.returncode == 0, seen.stderr
            assert text in seen.stdout
    finally:
        for folder, _, _ in os.walk(top):
            os.chmod(folder, 0o700)
        shutil.rmtree(top)


def _closed_copy(source, copy):
    """The state for everybody to read and nobody to write."""
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("workspaces", "loops"))
    for folder, _, files in os.walk(copy):
        for name in files:
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)
    return copy
