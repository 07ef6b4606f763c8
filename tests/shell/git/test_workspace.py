"""The workspace of a loop: made, left alone, put back, removed."""

from __future__ import annotations

import os
import shutil

import pytest
from gitkit import DATE, begin, commit_on_top, make_repo, write
from userstate import git, same_user, user_state

from ralph.core.model.verdict import Checkpoint
from ralph.errors import SetupError, UserError
from ralph.shell.git.project import object_mounts
from ralph.shell.git.refs import keep_rejected, publish_result, read_refs
from ralph.shell.git.snapshot import take_snapshot
from ralph.shell.git.trees import tree_of
from ralph.shell.git.workspace import make_workspace, remove_loop, restore_workspace


def test_a_workspace_is_a_repository_of_its_own(tmp_path):
    """It shares the objects, has no remote, works with plain git, and its git leaves the user's alone."""
    top = make_repo(tmp_path / "my repo ü")
    git(top, "remote", "add", "origin", "https://example.invalid/x.git")
    git(top, "stash", "list")
    before = user_state(top)
    loop = begin(top, tmp_path / "state")
    ws = loop.ws
    assert git(ws, "remote") == ""
    assert git(ws, "status", "--porcelain") == ""
    assert git(ws, "log", "--format=%s") == "first"
    write(ws, {"a.txt": "2\n"})
    git(ws, "commit", "-q", "-a", "-m", "by the agent")
    git(ws, "branch", "-f", "main")
    git(ws, "gc", "-q", "--prune=now")
    same_user(before, user_state(top))


def test_a_complete_workspace_is_left_alone_and_half_of_one_made_anew(tmp_path):
    """Making it twice keeps the agent's work; one that a crash left half-made starts over."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    args = (loop.store, str(loop.ws), str(loop.home / "home"), loop.start.base_commit)
    write(loop.ws, {"work": "w\n"})
    assert make_workspace(*args) == loop.workspace
    assert (loop.ws / "work").exists()
    (loop.home / "home/workspace.made").unlink()
    (loop.ws / "a.txt").unlink()
    assert make_workspace(*args) == loop.workspace
    assert not (loop.ws / "work").exists()
    assert git(loop.ws, "status", "--porcelain") == ""


@pytest.mark.parametrize("meddled", ["no", "link", "file"])
def test_the_work_goes_on_in_another_sandbox(tmp_path, meddled):
    """Boxed yesterday, not today: the agent's files and commits stay; only the object paths are others."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    args = (loop.store, str(loop.ws), str(loop.home / "home"), loop.start.base_commit)
    write(loop.ws, {"a.txt": "half done\n"})
    git(loop.ws, "commit", "-q", "-a", "-m", "by the agent")
    write(loop.ws, {"work": "w\n"})
    info, elsewhere = loop.ws / ".git/objects/info", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if meddled != "no":
        shutil.rmtree(info)
        info.symlink_to(elsewhere) if meddled == "link" else info.write_text("mine")
    make_workspace(*args, alternates="/box/objects")
    assert (info / "alternates").read_text() == "/box/objects\n"
    assert not list(elsewhere.iterdir())
    assert make_workspace(*args) == loop.workspace
    assert (loop.ws / "work").exists()
    assert git(loop.ws, "log", "-1", "--format=%s") == "by the agent"


def test_a_lost_workspace_holds_the_newest_checkpoint_again(tmp_path):
    """A folder that somebody removed is made anew as the loop last recorded it, not as the base was."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    commit = commit_on_top(loop, {"a.txt": "2\n"})
    args = (loop.store, str(loop.ws), str(loop.home / "home"), loop.start.base_commit)
    shutil.rmtree(loop.ws)
    with pytest.raises(SetupError):  # and what is only half made is none
        make_workspace(*args, newest=Checkpoint(1, "1" * 40, commit))
    make_workspace(*args, newest=Checkpoint(1, tree_of(loop.store, commit), commit))
    assert (loop.ws / "a.txt").read_text() == "2\n"


def test_the_paths_of_object_stores_inside_a_box_are_written(tmp_path):
    """Each store of a chain is named where the sandbox binds it."""
    make_repo(tmp_path / "first")
    git(tmp_path, "clone", "-q", "--shared", "first", "second")
    loop = begin(tmp_path / "second", tmp_path / "state")
    mounts = object_mounts(loop.project, "/box/objects")
    assert mounts == [
        (str(tmp_path / "second/.git/objects"), "/box/objects"),
        (str(tmp_path / "first/.git/objects"), "/box/objects.1"),
    ]
    made = make_workspace(
        loop.store,
        str(tmp_path / "ws2"),
        str(tmp_path / "home2"),
        loop.start.base_commit,
        alternates="/box/objects",
    )
    text = (tmp_path / "ws2/.git/objects/info/alternates").read_text()
    assert text == "/box/objects\n/box/objects.1\n"
    assert made.alternates == ("/box/objects", "/box/objects.1")


def test_a_sealed_workspace_holds_the_bases_history_only(tmp_path):
    """With history = base the agent cannot read other branches or stashes."""
    top = make_repo(tmp_path / "repo")
    git(top, "checkout", "-q", "-b", "secret")
    write(top, {"secret.txt": "s\n"})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "secret")
    secret = git(top, "rev-parse", "HEAD")
    git(top, "checkout", "-q", "main")
    loop = begin(top, tmp_path / "state")
    make_workspace(
        loop.store, str(tmp_path / "ws2"), str(tmp_path / "home2"), loop.start.base_commit, history="base"
    )
    assert git(tmp_path / "ws2", "log", "--format=%s") == "first"
    assert git(tmp_path / "ws2", "status", "--porcelain") == ""
    git(tmp_path / "ws2", "fsck", "--strict")
    assert git(tmp_path / "ws2", "cat-file", "-t", secret, check=False) == ""
    assert git(loop.ws, "cat-file", "-t", secret) == "commit"


def test_putting_back_keeps_nothing_else(tmp_path):
    """Restore gives the tree exactly, whatever stood beside it."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    commit = commit_on_top(loop, {"a.txt": "2\n", "n": "n\n"})
    write(loop.ws, {".venv/x": "v", "build/o": "ignored", "junk": "j", "x.log": "l", "src/b.py": "broken"})
    tree = tree_of(loop.store, commit)
    rejected = take_snapshot(loop.store, str(loop.ws), loop.workspace.index, tree, shared=[".venv"])
    kept = keep_rejected(
        loop.store, "demo", 2, tree=rejected.tree, parent=commit, message="rejected 2", date=DATE
    )
    restore_workspace(loop.workspace, tree, commit)
    assert sorted(os.listdir(loop.ws)) == [".git", ".gitignore", "a.txt", "n", "src"]
    assert git(loop.ws, "log", "--format=%s", "-1") == "iteration 1"
    assert git(loop.project.top, "show", f"{kept}:junk") == "j"
    restore_workspace(loop.workspace, loop.start.base_tree, loop.start.base_commit)
    assert sorted(os.listdir(loop.ws)) == [".git", ".gitignore", "a.txt", "src"]


def test_dropping_a_loop_leaves_no_trace(tmp_path):
    """Refs, folders and an unmoved result branch go; a moved one is refused first."""
    top = make_repo(tmp_path / "repo")
    before = user_state(top)
    loop = begin(top, tmp_path / "state")
    commit = commit_on_top(loop, {"a.txt": "2\n"})
    publish_result(loop.project, "ralph/demo", commit, None)
    git(top, "update-ref", "refs/heads/ralph/demo", loop.project.head)
    args = {"paths": [str(loop.ws), str(loop.home)], "branch": "ralph/demo"}
    with pytest.raises(UserError) as moved:
        remove_loop(loop.project, "demo", result=commit, **args)
    assert moved.value.code == "E-BRANCH-TAKEN"
    assert len(read_refs(loop.project, "refs/ralph/demo/")) == 3
    git(top, "update-ref", "refs/heads/ralph/demo", commit)
    (loop.ws / "src").chmod(0)
    git(top, "pack-refs", "--all")
    git(top, "pack-refs", "--all")
    remove_loop(loop.project, "demo", result=commit, **args)
    remove_loop(loop.project, "demo", result=commit, **args)
    assert not loop.home.exists()
    assert read_refs(loop.project, "refs/ralph") == {}
    assert git(top, "branch", "--format=%(refname:short)") == "main"
    after = user_state(top)
    assert before["refs"] == after["refs"]


def test_a_loop_whose_name_begins_like_another_keeps_its_refs(tmp_path):
    """Dropping `demo` does not touch `demo-2`."""
    top = make_repo(tmp_path / "repo")
    begin(top, tmp_path / "one", name="demo")
    loop = begin(top, tmp_path / "two", name="demo-2")
    remove_loop(loop.project, "demo")
    assert len(read_refs(loop.project, "refs/ralph/")) == 2


def test_lfs_files_are_refused_and_the_attribute_alone_is_not(tmp_path):
    """A pointer in place of a file would make a wrong work tree."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1\n"
    attribute = {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.txt": pointer}
    begin(make_repo(tmp_path / "fine", attribute), tmp_path / "state1")
    with pytest.raises(SetupError) as refused:
        begin(make_repo(tmp_path / "lfs", attribute | {"x.bin": pointer}), tmp_path / "state2")
    assert refused.value.code == "E-GIT-LFS"


def test_a_clone_without_the_bases_objects_is_refused(tmp_path):
    """A partial clone fetches on demand; Ralph says what is missing instead."""
    top = make_repo(tmp_path / "repo", {"a": "1\n", "d/b": "2\n"})
    git(top, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{top}", "partial")
    git(tmp_path / "partial", "read-tree", "HEAD")
    with pytest.raises(SetupError) as refused:
        begin(tmp_path / "partial", tmp_path / "state")
    assert refused.value.code == "E-GIT-PARTIAL"


def test_a_shallow_clone_works(tmp_path):
    """The workspace ends its history where the clone does."""
    top = make_repo(tmp_path / "repo")
    git(top, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{top}", "shallow")
    loop = begin(tmp_path / "shallow", tmp_path / "state")
    assert git(loop.ws, "log", "--format=%s") == "second"
    assert git(loop.ws, "status", "--porcelain") == ""


def test_sha256_repositories_work(tmp_path):
    """The object format of the user's repository is carried over."""
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", "--object-format=sha256")
    write(top, {"a.txt": "1\n"})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    loop = begin(top, tmp_path / "state")
    git(loop.ws, "init", "-q", "--object-format=sha256", "inner")
    commit = commit_on_top(loop, {"inner/x": "x\n", "a.txt": "2\n"})
    assert git(top, "ls-tree", "-r", "--name-only", commit).splitlines() == ["a.txt", "inner/x"]
