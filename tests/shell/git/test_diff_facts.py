"""What guards look at is read from git whole and true: modes, sizes, contents of both sides."""

import os
import shutil

import pytest
from gitkit import make_repo
from userstate import git

from ralph.shell.git.diff_facts import MAX_BLOB_BYTES, compare_trees
from ralph.shell.git.project import find_project
from ralph.shell.git.store import open_store
from ralph.shell.git.trees import tree_of


def opened(top, tmp_path):
    return open_store(find_project(str(top)), str(tmp_path / "store"))


def commit(top):
    git(top, "add", "-A", "-f")
    git(top, "commit", "-q", "-m", "next")
    return git(top, "rev-parse", "HEAD").strip()


def test_both_sides(tmp_path):
    """Added, changed, moved and deleted files, links and modes, with names of any kind."""
    top = make_repo(
        tmp_path / "r", {"a.txt": "one\n" * 20, "b.py": "b\n", "gone.txt": "x\n", "same.txt": "s\n"}
    )
    base = git(top, "rev-parse", "HEAD").strip()
    (top / "a.txt").rename(top / "moved é\n.txt")
    (top / "b.py").write_bytes(b"\x00\xff")
    (top / "b.py").chmod(0o755)
    (top / "gone.txt").unlink()
    os.symlink("/etc", top / "link")
    (top / "big").write_bytes(b"x" * (MAX_BLOB_BYTES + 5))
    store = opened(top, tmp_path)
    new = commit(top)
    seen = compare_trees(store, tree_of(store, base), tree_of(store, new))
    changes = {change.path: change for change in seen.changes}
    assert {path: change.status for path, change in changes.items()} == {
        "b.py": "M",
        "gone.txt": "D",
        "moved é\n.txt": "R",
        "link": "A",
        "big": "A",
    }
    assert (changes["b.py"].mode, changes["b.py"].old_mode, changes["b.py"].size) == ("100755", "100644", 2)
    assert (changes["link"].mode, changes["big"].size) == ("120000", MAX_BLOB_BYTES + 5)
    assert changes["moved é\n.txt"].before == "a.txt"
    assert seen.base_paths == {"a.txt", "b.py", "gone.txt", "same.txt"}
    assert (seen.read_base("b.py"), seen.read_result("b.py")) == (b"b\n", b"\x00\xff")
    assert seen.read_base("a.txt") == seen.read_result("moved é\n.txt") == b"one\n" * 20
    assert (seen.read_result("link"), len(seen.read_result("big") or b"")) == (b"/etc", MAX_BLOB_BYTES + 5)
    assert (seen.read_base("same.txt"), seen.read_base("link"), seen.read_result("gone.txt")) == (
        b"s\n",
        None,
        None,
    )


def test_submodules_are_not_read(tmp_path):
    """A submodule is a change without content."""
    top = make_repo(tmp_path / "r")
    base = git(top, "rev-parse", "HEAD").strip()
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{base},lib")
    git(top, "commit", "-q", "-m", "link")
    store = opened(top, tmp_path)
    seen = compare_trees(store, tree_of(store, base), tree_of(store, git(top, "rev-parse", "HEAD").strip()))
    assert [(change.path, change.mode, change.size) for change in seen.changes] == [("lib", "160000", None)]


@pytest.mark.slow
def test_two_thousand_files(tmp_path, monkeypatch):
    """Many files take a handful of processes, not one each."""
    top = make_repo(tmp_path / "r", {f"m{n}.py": f"n = {n}\n" for n in range(2000)})
    base = git(top, "rev-parse", "HEAD").strip()
    for n in range(2000):
        (top / f"m{n}.py").write_text(f"n = {n + 1}\n")
    new = commit(top)
    counts, called = tmp_path / "bin" / "git", tmp_path / "called"
    counts.parent.mkdir()
    counts.write_text(f'#!/bin/sh\necho "$1" >> {called}\nexec {shutil.which("git")} "$@"\n')
    counts.chmod(0o755)
    monkeypatch.setenv("PATH", f"{counts.parent}:{os.environ['PATH']}")
    store = opened(top, tmp_path)
    seen = compare_trees(store, tree_of(store, base), tree_of(store, new))
    contents = [(seen.read_base(change.before), seen.read_result(change.path)) for change in seen.changes]
    assert 0 < len(called.read_text().splitlines()) < 20
    assert len(contents) == 2000
    assert all(old and new for old, new in contents)
