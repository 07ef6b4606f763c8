"""Whose doing an end was, for real calls that are struck, frozen, or end themselves; and for a full disk."""

import json
import os
import signal
import subprocess
import time

import pytest
from hostile import callkit
from hostile.callkit import LEVELS

from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import is_missing
from ralph.gates.readers import Observation, reader
from ralph.gates.seal import seal
from ralph.shell.process import client, tree
from ralph.shell.process.client import Ended
from ralph.shell.sandbox.machine_cause import held_against, machine_made, unless_full

levels = pytest.mark.parametrize("level", LEVELS)
boxed = pytest.mark.skipif("box" not in LEVELS, reason="no bubblewrap")
GATE = seal("tests", "true", cwd=".", tree_paths=frozenset(), read="exit")
RED = Reading("fail", "1 failed")


def read(ended):
    """As a gate call reads it."""
    seen = Observation(exit_code=ended.exit_code, ended=ended.ended, error=ended.error)
    return machine_made(ended) or held_against(reader("exit")(seen, GATE), ended)


def made(level, tmp_path, command, strike=None, **words):
    spec, mark = callkit.spec(level, tmp_path, "/bin/sh", "-c", f"echo ready; {command}", **words)
    call = client.start_call(str(tmp_path / "call"), spec)
    assert callkit.ready(tmp_path / "call")
    if strike:
        strike(json.loads((tmp_path / "call" / "keeper.json").read_text()))
    reading = read(client.wait(call))
    assert callkit.living(mark) == []
    return reading.status, reading.cause, reading.doubt


def send(who, number, *, then=0.0):
    def strike(record):
        os.kill(record[f"{who}_pid"], number)
        if then:
            time.sleep(then)
            os.kill(record[f"{who}_pid"], signal.SIGCONT)

    return strike


def command_killed(record):
    inside = [proc for proc in tree.list_processes().values() if proc.parent == record["init_pid"]]
    os.kill(inside[0].pid, signal.SIGKILL)


@pytest.mark.sample(test=4)
@pytest.mark.slow
@boxed
@pytest.mark.parametrize(
    ("strike", "cause"),
    [
        (send("keeper", signal.SIGKILL), "keeper-lost"),
        (send("keeper", signal.SIGTERM), "interrupted"),
        (send("child", signal.SIGKILL), "interrupted"),
        (send("child", signal.SIGTERM), "interrupted"),
        (send("init", signal.SIGKILL), "interrupted"),
        (send("child", signal.SIGSTOP), "frozen"),
        (send("init", signal.SIGSTOP), "frozen"),
        (send("keeper", signal.SIGSTOP, then=2.0), "frozen"),
        (send("keeper", signal.SIGSTOP), "frozen"),  # the runner wakes it
    ],
)
def test_what_comes_from_outside_of_a_box_is_the_machines(tmp_path, strike, cause):
    """Keeper, bwrap and the box's pid 1 cannot be reached from inside: what happens to them is no answer."""
    assert made("box", tmp_path, "sleep 9", strike, wall_seconds=1.5) == ("error", cause, False)


@pytest.mark.sample(test=6)
@pytest.mark.slow
@levels
@pytest.mark.parametrize(
    ("command", "cause", "doubt"),
    [
        ("kill -9 $$", "killed", True),
        ("sleep 9 & kill -9 $$", "killed", True),
        ("kill -TERM $$", "killed", True),
        ("kill -SEGV $$", "killed", False),
        ("kill -XCPU $$", "killed", False),
        ("sleep 9", "timeout", False),
        ("while :; do :; done", "timeout", False),
        ("kill -STOP $$; sleep 9", "timeout", True),
    ],
)
def test_what_a_check_does_to_itself_is_its_own(tmp_path, level, command, cause, doubt):
    """A signal that anybody could have sent is in doubt, and asked about again; all else is its own."""
    assert made(level, tmp_path, command, wall_seconds=1.5) == ("error", cause, doubt)


@pytest.mark.slow
@boxed
def test_nobody_in_a_box_ends_the_box(tmp_path):
    """Killing parent and pid 1 from inside does nothing: the check's own exit code counts."""
    assert made("box", tmp_path, "kill -9 $PPID; kill -9 1; exit 3") == ("fail", "", False)


@pytest.mark.slow
@boxed
def test_a_command_that_was_killed_from_outside_is_in_doubt(tmp_path):
    """The kernel does not say who sent it, so it is asked again."""
    assert made("box", tmp_path, "sleep 9; true", command_killed) == ("error", "killed", True)


@pytest.mark.slow
@levels
def test_a_memory_limit_is_the_checks_own(tmp_path, level):
    """What holds more than a check may have is red, and not killed by who knows whom."""
    command = f"{callkit.PYTHON} -I -S -c 'x = bytearray(300 << 20); import time; time.sleep(9)'"
    assert made(level, tmp_path, command, watch_memory_bytes=100 << 20) == ("error", "memory", False)


@pytest.mark.slow
@levels
def test_a_freeze_that_the_check_survives_changes_nothing(tmp_path, level):
    """A keeper that was stopped for a while finds the check's own end, though its time is over."""
    strike = send("keeper", signal.SIGSTOP, then=2.0)
    assert made(level, tmp_path, "sleep 0.5", strike, wall_seconds=1.5) == ("pass", "", False)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("bwrap: Creating new namespace failed: No space left on device", "spawn"),
        ("/usr/bin/pytest: Resource temporarily unavailable", "spawn"),
        ("/usr/bin/pytest: Cannot allocate memory", "spawn"),
        ("bwrap: Can't find source path /srv/share: No such file or directory", "spawn"),
        ("bwrap: setting up uid map: Permission denied", "spawn"),
        ("bwrap: execvp pytest: No such file or directory", None),
        ("/usr/bin/pytest: Permission denied", None),
        ("bwrap: Can't chdir to /repo/sub: No such file or directory", None),
    ],
)
def test_a_start_that_failed(error, cause):
    """What the machine is short of is its own doing; a command or folder that is not there is not."""
    found = machine_made(Ended(ended="spawn-error", error=error))
    assert (found.cause if found else None) == cause


def test_green_is_green():
    """How a call went is only asked of what is red."""
    green = Reading("pass", "2 passed")
    assert held_against(green, Ended(ended="exited", exit_code=0, frozen=True, dozed=True)) == green
    assert held_against(RED, Ended(ended="exited", exit_code=1, frozen=True)).cause == "frozen"
    assert held_against(RED, Ended(ended="exited", exit_code=1, dozed=True)).doubt
    assert held_against(RED, Ended(ended="exited", exit_code=1)) == RED


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small tmpfs")
def test_a_full_disk_is_the_machines_unless_the_check_filled_it(tmp_path):
    """Red on a full disk says nothing of the tree; but what a check itself has written is its own doing."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("cannot mount")
    try:
        spec, _ = callkit.spec("bare", tmp_path, "/bin/sh", "-c", "head -c 9000000 /dev/zero; exit 1")
        lost = read(client.wait(client.start_call(str(small / "call"), spec)))
        assert lost.cause == "disk"
        assert is_missing(lost)
        assert unless_full(RED, str(small), lambda: None).cause == "disk"
        assert unless_full(Reading("pass", ""), str(small), lambda: None).status == "pass"
        assert unless_full(RED, str(small), lambda: os.unlink(small / "call" / "out")) == RED
    finally:
        subprocess.run(["umount", str(small)], check=True)
