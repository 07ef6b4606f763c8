"""Locks and identity: one holder, known by name, gone when it is gone."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from journal_kit import child, finish

from ralph.errors import Busy, SetupError
from ralph.shell.process.tree import boot_id, read_process
from ralph.shell.state import locks
from ralph.shell.state.locks import alive

HOLD = """
lock = locks.acquire(directory, locks.this_process(int(sys.argv[2]), "loop"))
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "one.lock")


def test_one_holder(path):
    """A held lock is refused to others, with pid, host and age of the holder; released it is free."""
    lock = locks.acquire(path, locks.this_process(1_000))
    with pytest.raises(Busy) as caught:
        locks.acquire(path, locks.this_process(61_000))
    assert (caught.value.code, caught.value.exit_code) == ("E-LOOP-LOCKED", 5)
    assert f"pid {os.getpid()} on {os.uname().nodename}, since 60 s" in str(caught.value)
    found = locks.holder(path)
    assert found is not None
    assert (found.pid, found.since) == (os.getpid(), 1_000)
    lock.release()
    assert locks.holder(path) is None
    locks.acquire(path, locks.this_process(2_000)).release()


def test_nobody(path):
    """A lock that never was is held by nobody, and asking does not make the file."""
    assert locks.holder(path) is None
    assert not os.path.exists(path)


def test_killed_holder_frees_the_lock(path):
    """After kill -9 of the holder the lock is free at once, though the file still names it."""
    process = child(HOLD, path, 5, stdin=-1)
    assert process.stdout.readline() == "held\n"
    found = locks.holder(path)
    assert found is not None
    assert found.pid == process.pid
    assert alive(found.pid, found.start, found.boot)
    with pytest.raises(Busy, match=f"pid {process.pid}"):
        locks.acquire(path, locks.this_process(6))
    process.kill()
    process.communicate()
    assert locks.holder(path) is None
    locks.acquire(path, locks.this_process(7)).release()


def test_not_inherited(path):
    """A child started while the lock is held does not keep it alive."""
    lock = locks.acquire(path, locks.this_process(1))
    sleeper = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        lock.release()
        assert locks.holder(path) is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_passed_on(path):
    """A child that was given the lock on purpose holds it on after the first holder has let go."""
    lock = locks.acquire(path, locks.this_process(1))
    sleeper = subprocess.Popen(["sleep", "30"], pass_fds=(lock.fd,))
    lock.release()
    assert locks.holder(path) is not None
    sleeper.kill()
    sleeper.wait()
    assert locks.holder(path) is None


def test_looking_never_makes_a_start_fail(path):
    """However often others ask who holds the lock, taking it succeeds."""
    code = """
until = time.time() + 0.3
print("looking", flush=True)
while time.time() < until: locks.holder(directory)
"""
    locks.acquire(path, locks.this_process(0)).release()
    process = child(code, path)
    process.stdout.readline()
    try:
        while process.poll() is None:
            locks.acquire(path, locks.this_process(1)).release()
    finally:
        process.communicate()


@pytest.mark.slow
def test_race_has_one_winner(path):
    """Of several processes that take the lock at the same instant one gets it."""
    code = """
print("ready", flush=True)
while not os.path.exists(directory + ".go"): pass
try:
    lock = locks.acquire(directory, locks.this_process(1))
    print("won", flush=True)
except RalphError as exc:
    print(exc.code, flush=True)
sys.stdin.readline()
"""
    racing = [child(code, path, stdin=subprocess.PIPE) for _ in range(3)]
    try:
        assert [process.stdout.readline() for process in racing] == ["ready\n"] * 3
        Path(path + ".go").touch()
        told = [process.stdout.readline().strip() for process in racing]
    finally:
        for process in racing:
            finish(process)
    assert sorted(told) == ["E-LOOP-LOCKED", "E-LOOP-LOCKED", "won"]


def test_removed_file_is_not_a_lock(path):
    """When the lock file was removed, a new holder locks the new file, not the one that is gone."""
    old = locks.acquire(path, locks.this_process(1))
    os.unlink(path)
    new = locks.acquire(path, locks.this_process(2))
    assert locks.holder(path) is not None
    old.release()
    assert locks.holder(path) is not None
    new.release()


def test_garbage_in_the_file(path):
    """A lock file with garbage works; an unnamed holder is said to be unnamed."""
    with open(path, "wb") as file:
        file.write(b"\xff{]" * 3000)
    assert locks.holder(path) is None
    lock = locks.acquire(path, locks.this_process(1))
    os.ftruncate(lock.fd, 3)
    with pytest.raises(Busy, match="left no name"):
        locks.acquire(path, locks.this_process(2))
    lock.release()


def test_link_is_not_followed(tmp_path, path):
    """A link in place of the lock file is refused, and its target is untouched."""
    (tmp_path / "target").write_text("precious")
    os.symlink(tmp_path / "target", path)
    with pytest.raises(SetupError):
        locks.acquire(path, locks.this_process(1))
    assert (tmp_path / "target").read_text() == "precious"


def test_alive_is_about_one_process():
    """The same pid with another start time or boot is another process."""
    start = read_process(os.getpid()).start
    assert start is not None
    assert alive(os.getpid(), start, boot_id())
    assert not alive(os.getpid(), start + 1, boot_id())
    assert not alive(os.getpid(), start, "another boot")
    assert not alive(0, 0, boot_id())
    assert read_process(2**22 + 1) is None


def test_zombie_is_dead():
    """A process that ended but was not waited for does not count as alive."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = read_process(process.pid).start
    assert start is not None
    assert alive(process.pid, start, boot_id())
    os.kill(process.pid, signal.SIGKILL)
    until = time.monotonic() + 5
    while alive(process.pid, start, boot_id()) and time.monotonic() < until:
        time.sleep(0.01)
    assert not alive(process.pid, start, boot_id())
    assert read_process(process.pid).start == start
    process.communicate()


def test_strange_process_names(tmp_path):
    """A process called `) Z 1 (` is read right."""
    script = tmp_path / ") Z 1 ("
    os.symlink("/bin/sleep", script)
    process = subprocess.Popen([script, "30"])
    try:
        start = read_process(process.pid).start
        assert start is not None
        assert start > 1
        assert alive(process.pid, start, boot_id())
    finally:
        process.kill()
        process.wait()
