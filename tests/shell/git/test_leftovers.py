"""What a killed git of ours left is removed; what may be somebody else's is not."""

from __future__ import annotations

import os
import subprocess
import time

import pytest
from gitkit import begin, make_repo, write
from userstate import git

from ralph.errors import Busy, SetupError
from ralph.shell.git import leftovers
from ralph.shell.git.refs import RefChange, move_refs
from ralph.shell.git.snapshot import take_snapshot


def aged(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (time.time() - 60, time.time() - 60))


def test_a_branch_lock_that_holds_our_commit_is_ours(tmp_path):
    """The lock of the result branch goes when it holds the very commit that the branch shall get."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    lock = top / ".git" / "refs" / "heads" / "ralph" / "demo.lock"
    aged(lock, loop.project.head.encode() + b"\n")
    move_refs(loop.project, [RefChange("refs/heads/ralph/demo", loop.project.head, None)])
    assert git(top, "rev-parse", "refs/heads/ralph/demo") == loop.project.head
    assert not lock.exists()


@pytest.mark.sample(test=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("refs/heads/ralph/demo.lock", b""),
        ("refs/heads/ralph/demo.lock", b"1" * 40),
        ("packed-refs.lock", b""),
    ],
)
def test_a_lock_that_is_not_provably_ours_stays(tmp_path, place, content):
    """Nothing is removed, and the error names the file and the step."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    ref = "refs/heads/ralph/demo"
    if place == "packed-refs.lock":  # a packed ref is deleted under that lock
        git(top, "update-ref", ref, "HEAD")
        git(top, "pack-refs", "--all")
    change = (
        RefChange(ref, None, loop.project.head)
        if "packed" in place
        else RefChange(ref, loop.project.head, None)
    )
    lock = top / ".git" / place
    aged(lock, content)
    with pytest.raises(SetupError) as seen:
        move_refs(loop.project, [change])
    assert (seen.value.code, seen.value.next) == ("E-GIT-LOCKED", f"rm '{lock}'")
    assert lock.read_bytes() == content


def test_a_git_that_never_ends_is_named(tmp_path):
    """After some patience the user is told which process stands in the way."""
    index = tmp_path / "some.index"
    with leftovers.sole_user(str(index)) as fd:
        child = subprocess.Popen(["sleep", "60"], pass_fds=(fd,))
    (tmp_path / "some.index.lock").touch()
    try:
        with pytest.raises(Busy) as seen, leftovers.sole_user(str(index), patience=0.1):
            pass
        assert seen.value.next == f"kill -9 {child.pid}"
        assert (tmp_path / "some.index.lock").exists()
    finally:
        child.kill()
        child.wait()
    with leftovers.sole_user(str(index)):
        assert not (tmp_path / "some.index.lock").exists()


def test_the_store_is_swept(tmp_path):
    """Locks, scratch folders and a rule that was borrowed for one call go; all else stays."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    store = tmp_path / "state" / "git"
    rules = store / "info" / "attributes"
    rules.write_bytes(b"* text\n")
    before = {str(path): path.is_file() and path.read_bytes() for path in store.rglob("*")}
    leftovers.set_aside(str(rules))
    rules.write_bytes(b"* -working-tree-encoding\n")
    for name in ("HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "refs/heads/none.lock"):
        (store / name).touch()
    write(store, {"tmpabc/index": "", "tmpabc/index.lock": "", "landing-xyz/old/a": "x"})
    leftovers.sweep(str(store))
    assert {str(path): path.is_file() and path.read_bytes() for path in store.rglob("*")} == before
    w = loop.workspace
    assert take_snapshot(loop.store, w.path, w.index, loop.start.base_tree).tree == loop.start.base_tree
