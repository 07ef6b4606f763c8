"""One git process: it answers to whoever waits for it, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from gitkit import begin, make_repo
from msgspec.structs import replace
from userstate import git

from ralph.errors import SetupError
from ralph.shell.git import child
from ralph.shell.git.command import find_git, run_git, scrubbed_env
from ralph.shell.git.snapshot import take_snapshot

WAITS = ["-c", "alias.wait=!sleep 60", "wait"]


class Enough(Exception):
    pass


def slow_git(**more):
    def heed(command, seconds):
        heard.append((command, seconds))
        if seconds > 0.3:
            raise Enough

    heard: list[tuple[str, float]] = []
    return replace(find_git(), heed=heed, **more), heard


@pytest.mark.parametrize("limit", [None, 100])
def test_whoever_waits_is_asked_and_can_end_it(tmp_path, limit):
    """A git that takes long is ended when it is given up, with what it started."""
    tool, heard = slow_git()
    began = time.monotonic()
    with pytest.raises(Enough):
        run_git(tool, WAITS, env=scrubbed_env(), cwd=str(tmp_path), limit=limit)
    assert time.monotonic() - began < 30  # it would wait for a minute
    assert heard
    assert heard[0][0] == "-c"


def test_a_stopped_git_is_told_to_go_on(tmp_path, monkeypatch):
    """SIGSTOP from anybody holds a checkpoint up for two seconds, not for ever."""
    monkeypatch.setattr(child, "AWAKE_EVERY", 2)
    script = tmp_path / "git"
    script.write_text(
        f"#!{sys.executable}\nimport os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nprint('on')\n"
    )
    script.chmod(0o755)
    done = child.run_whole([str(script)], dict(os.environ), str(tmp_path))
    assert (done.code, done.out) == (0, b"on\n")


def test_termination_ends_the_git_too(tmp_path):
    """SIGTERM outside of a loop: exit 143, and no git goes on alone."""
    (tmp_path / "run.py").write_text(
        "import os\nfrom ralph.shell.git.command import find_git, run_git, scrubbed_env\n"
        "print('go', flush=True)\n"
        f"run_git(find_git(), {WAITS!r}, env=scrubbed_env(), cwd={str(tmp_path)!r})\n"
    )
    env = {**os.environ, "TERMINATION_TEST": str(tmp_path)}
    with subprocess.Popen([sys.executable, str(tmp_path / "run.py")], env=env, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        time.sleep(0.4)
        run.send_signal(signal.SIGTERM)
        assert run.wait(30) == 143
    mark = f"TERMINATION_TEST={tmp_path}".encode()
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and mark in _environ(pid) and _is_git(pid)]
    assert left == []


def _environ(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _is_git(pid: str) -> bool:
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().startswith("git")
    except OSError:
        return False


def test_a_folder_that_is_gone_is_named(tmp_path):
    """Not a missing git, and not a bug: the folder is what is missing."""
    with pytest.raises(SetupError) as seen:
        run_git(find_git(), ["status"], env=scrubbed_env(), cwd=str(tmp_path / "gone"))
    assert seen.value.code == "E-FOLDER-GONE"


@pytest.mark.slow
def test_a_snapshot_that_was_given_up_leaves_no_lock(tmp_path):
    """An interrupted `git add` can be made again at once."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    (loop.ws / "big").write_bytes(os.urandom(60_000_000))
    w = loop.workspace
    hasty = replace(loop.store, project=replace(loop.project, git=slow_git()[0]))
    hasty = replace(hasty, project=replace(hasty.project, notes=loop.store.dir))
    with pytest.raises(Enough):
        take_snapshot(hasty, w.path, w.index, loop.start.base_tree)
    found = take_snapshot(loop.store, w.path, w.index, loop.start.base_tree)
    assert git(top, "cat-file", "-s", f"{found.tree}:big") == "60000000"
