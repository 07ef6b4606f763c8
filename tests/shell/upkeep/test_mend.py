"""What `ralph doctor --mend` puts right, and what it leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from ralph.shell.upkeep import mend
from ralph.shell.upkeep.mend import find_locks, git_dirs

OLD = 3600.0


@pytest.fixture
def repo(tmp_path):
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        git(tmp_path, *words)
    return tmp_path


def git(top, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *who, *words], cwd=top, check=True, capture_output=True)


def lock(path, age=OLD):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def locks(repo):
    top = str(repo)
    return {
        os.path.relpath(one.path, top): one
        for one in find_locks(((top, place) for place in git_dirs(top)), time.time())
    }


def test_every_lock_of_git_is_found_and_nothing_else(repo):
    """Index, HEAD, configuration, packed and loose refs, of second work trees too; no other file."""
    git(repo, "worktree", "add", "-q", "../second")
    inside = (
        *("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock"),
        *("refs/heads/ralph/x.lock", "refs/tags/v1.lock", "worktrees/second/index.lock"),
        "modules/lib/refs/heads/main.lock",
    )
    for name in inside:
        lock(repo / ".git" / name)
    for name in ("hooks/deps.lock", "lfs/cache.lock", "poetry.lock", "objects/index.lock"):
        lock(repo / ".git" / name)
    assert sorted(locks(repo)) == sorted(f".git/{name}" for name in inside)
    assert all(one.stale for one in locks(repo).values())
    second = repo.parent / "second"
    found = {
        one.path for one in find_locks(((str(second), place) for place in git_dirs(str(second))), time.time())
    }
    assert str(repo / ".git/worktrees/second/index.lock") in found


def test_a_lock_that_somebody_may_need_is_left(repo):
    """New, held open, or beside a git at work in the repository, whose editor may be open for an hour."""
    new = lock(repo / ".git" / "index.lock", age=5)
    assert not locks(repo)[".git/index.lock"].stale
    lock(new)
    with open(new, "ab") as held:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=held)
    try:
        assert locks(repo)[".git/index.lock"].by == f"process {child.pid}"
    finally:
        child.communicate(b"\n")
    lock(new)
    waiting = subprocess.Popen(["git", "cat-file", "--batch"], cwd=repo, stdin=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 10
        while not (by := locks(repo)[".git/index.lock"].by) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert by == f"git {waiting.pid}"
    finally:
        waiting.communicate()
    assert locks(repo)[".git/index.lock"].stale
    assert mend.remove_lock(locks(repo)[".git/index.lock"])
    assert not locks(repo)
