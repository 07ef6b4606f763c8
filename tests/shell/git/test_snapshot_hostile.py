"""What an agent can do to its workspace, and that Ralph neither breaks nor runs anything of it."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest
from gitkit import begin, make_repo, write
from userstate import git, same_user, user_state

from ralph.errors import SetupError
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.snapshot import take_snapshot
from ralph.shell.git.trees import list_tree, read_blob, tree_entries
from ralph.shell.git.workspace import restore_workspace

pytestmark = pytest.mark.slow


@pytest.fixture
def loop(tmp_path):
    make_repo(tmp_path / "lib", {"l.txt": "lib\n"})
    top = make_repo(tmp_path / "repo")
    git(top, "submodule", "add", "-q", str(tmp_path / "lib"), "sub")
    git(top, "commit", "-q", "-m", "sub")
    before = user_state(top)
    yield begin(top, tmp_path / "state")
    same_user(before, user_state(top))
    assert not (tmp_path / "tripped").exists(), "code of the agent ran on the host"


def snap(loop, previous=None):
    w = loop.workspace
    return take_snapshot(loop.store, w.path, w.index, previous or loop.start.base_tree, links=w.links)


def put_back(loop):
    restore_workspace(loop.workspace, loop.start.base_tree, loop.start.base_commit)
    assert snap(loop).tree == loop.start.base_tree
    assert git(loop.ws, "status", "--porcelain", "--ignore-submodules=all") in ("", "D sub")
    assert git(loop.ws, "rev-parse", "HEAD") == loop.start.base_commit


def arm(repo, tmp_path):
    """Everything in a `.git` that could start a program."""
    trip = f"touch {tmp_path}/tripped"
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "diff.external",
        "core.alternateRefsCommand",
    ):
        subprocess.run(["git", "config", key, f"{trip}; false"], cwd=repo, check=True)
    for part in ("clean", "smudge", "process"):
        subprocess.run(["git", "config", f"filter.x.{part}", f"{trip}; cat"], cwd=repo, check=True)
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    subprocess.run(["git", "config", "core.hooksPath", str(hooks)], cwd=repo, check=True)
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\n{trip}\n")
        (hooks / name).chmod(0o755)
    (repo / ".gitattributes").write_text("* filter=x diff=x merge=x\n")


def test_a_removed_workspace_is_an_empty_tree(loop):
    """Deleting everything loses one iteration's files, not the loop."""
    remove_tree(str(loop.ws))
    result = snap(loop)
    assert set(tree_entries(loop.store, result.tree)) == {"sub"}
    assert "the workspace folder was gone" in result.warnings
    put_back(loop)


def test_a_removed_or_broken_git_directory_does_not_matter(loop):
    """Without its .git, or with a garbled one, the snapshot is as good as ever."""
    remove_tree(str(loop.ws / ".git"))
    write(loop.ws, {"new": "n\n"})
    first = snap(loop)
    assert [change.path for change in first.changes] == ["new"]
    (loop.ws / ".git").write_text("gitdir: /nowhere\n")
    assert snap(loop).tree == first.tree
    put_back(loop)


def test_an_armed_git_directory_runs_nothing(loop, tmp_path):
    """Filters, hooks, fsmonitor and drivers in the workspace's configuration stay text."""
    arm(loop.ws, tmp_path)
    write(loop.ws, {"a.txt": "changed\n"})
    result = snap(loop)
    assert {change.path for change in result.changes} == {".gitattributes", "a.txt"}
    (tmp_path / "tripped").unlink(missing_ok=True)
    assert snap(loop, result.tree).tree == result.tree
    restore_workspace(loop.workspace, loop.start.base_tree, loop.start.base_commit)


def test_an_armed_repository_in_the_submodules_place_runs_nothing(loop, tmp_path):
    """A submodule swapped for a hostile repository stays the base's link, and nothing of it runs."""
    git(loop.ws / "sub", "init", "-q", ".")
    write(loop.ws, {"sub/l.txt": "other\n"})
    git(loop.ws / "sub", "add", "-A")
    git(loop.ws / "sub", "commit", "-q", "-m", "swapped")
    arm(loop.ws / "sub", tmp_path)
    write(loop.ws, {".gitignore": "!sub\n!sub/*\n", ".gitmodules": '[submodule "sub"]\n\tpath = ../../x\n'})
    (tmp_path / "tripped").unlink(missing_ok=True)
    base = tree_entries(loop.store, loop.start.base_tree)
    tree = snap(loop).tree
    assert tree_entries(loop.store, tree)["sub"] == base["sub"]
    assert not any(path.startswith("sub/") for path in list_tree(loop.store, tree))
    (loop.ws / "sub").rename(loop.ws / "gone")
    (loop.ws / "sub").symlink_to("/etc")
    assert tree_entries(loop.store, snap(loop).tree)["sub"] == base["sub"]
    put_back(loop)
    assert (loop.ws / "sub/l.txt").read_text() == "lib\n"


@pytest.mark.parametrize("commits", [False, True])
def test_repositories_made_inside_are_plain_files(loop, commits):
    """`git init` in a sub-folder, with or without commits, hides nothing from the snapshot."""
    for folder in ("inner", "inner/deeper", "src"):
        (loop.ws / folder).mkdir(exist_ok=True)
        git(loop.ws / folder, "init", "-q", ".")
        write(loop.ws, {f"{folder}/file": "f\n", f"{folder}/x.log": "ignored\n"})
        if commits:
            git(loop.ws / folder, "add", "-A", check=False)
            git(loop.ws / folder, "commit", "-q", "-m", "x", "--allow-empty")
    result = snap(loop)
    listed = tree_entries(loop.store, result.tree)
    for folder in ("inner", "inner/deeper", "src"):
        assert listed[f"{folder}/file"].mode == "100644"
    assert not any(".git/" in path or "ralph-seed" in path or path.endswith(".log") for path in listed)
    assert [path for path, entry in listed.items() if entry.mode == "160000"] == ["sub"]
    write(loop.ws, {"inner/later": "l\n"})
    assert "inner/later" in list_tree(loop.store, snap(loop, result.tree).tree)
    put_back(loop)


def test_too_many_files_to_look_through_are_an_error(loop, monkeypatch):
    """What was not looked through is never handed to git: no bare link gets into a tree."""
    import ralph.shell.git.snapshot as module

    git(loop.ws, "init", "-q", "inner")
    write(loop.ws, {"inner/file": "f\n"})
    git(loop.ws / "inner", "add", "-A")
    git(loop.ws / "inner", "commit", "-q", "-m", "x")
    real = module.scan
    monkeypatch.setattr(module, "scan", lambda top, **how: real(top, **how | {"limit": 1}))
    with pytest.raises(SetupError, match="files and more in the workspace"):
        snap(loop)


def test_pipes_sockets_and_strange_names_are_named_not_fatal(loop, tmp_path):
    """What git cannot hold is left out with a warning, and nothing hangs on a pipe."""
    os.mkfifo(loop.ws / "pipe")
    os.mkfifo(loop.ws / "src/.gitignore")
    os.mkfifo(loop.ws / ".gitattributes")
    os.unlink(loop.ws / "a.txt")
    os.mkfifo(loop.ws / "a.txt")
    here = os.getcwd()
    os.chdir(loop.ws)
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind("sock")
    finally:
        os.chdir(here)
    write(
        loop.ws,
        {"n" * 255: "long\n", ".git /config": "look-alike\n", ".GIT/x": "x\n", "git~1": "x\n", "ok": "ok\n"},
    )
    (loop.ws / os.fsdecode(b"bad\xff\n\x1b[31m")).write_text("odd name\n")
    (loop.ws / "out").symlink_to("/etc/passwd")
    (loop.ws / "up").symlink_to("../../x")
    (loop.ws / "in").symlink_to("ok")
    deep = loop.ws / "/".join(["d" * 200] * 15)
    deep.mkdir(parents=True)
    (deep / "f").write_text("deep\n")
    result = snap(loop)
    listed = list_tree(loop.store, result.tree)
    assert "ok" in listed
    assert "n" * 255 in listed
    assert os.fsdecode(b"bad\xff\n\x1b[31m") in listed
    assert not any(path.lower().startswith((".git /", ".git/")) for path in listed)
    said = "\n".join(result.warnings)
    for word in ("'pipe'", "'sock'", "'a.txt'", "'out' is a link out", "'up' is a link out"):
        assert word in said
    assert "'in' is a link" not in said
    assert "\x1b" not in said
    put_back(loop)


def test_closed_folders_and_files_do_not_break_it(loop):
    """Mode 000 on folders and files is opened or named, and put back."""
    write(loop.ws, {"closed/in/f": "f\n", "locked": "l\n"})
    (loop.ws / "closed/in").chmod(0)
    (loop.ws / "closed").chmod(0)
    (loop.ws / "src").chmod(0)
    (loop.ws / "locked").chmod(0)
    result = snap(loop)
    listed = list_tree(loop.store, result.tree)
    assert "src/b.py" in listed
    assert "closed/in/f" in listed
    assert ("locked" in listed) or any("locked" in warning for warning in result.warnings)
    (loop.ws / "src").chmod(0o500)
    put_back(loop)


def test_its_own_commits_flags_and_replacements_change_nothing(loop):
    """The agent's commits, assume-unchanged, replace refs, excludes and stash do not fool the snapshot."""
    write(loop.ws, {"a.txt": "changed\n", "hidden": "h\n"})
    write(loop.ws / ".git", {"info/exclude": "hidden\n", "info/sparse-checkout": "/none\n"})
    git(loop.ws, "commit", "-q", "-a", "-m", "mine", check=False)
    git(loop.ws, "update-index", "--assume-unchanged", "a.txt")
    git(loop.ws, "update-index", "--skip-worktree", "src/b.py")
    write(loop.ws, {"src/b.py": "edited\n"})
    git(loop.ws, "replace", "-f", "HEAD:a.txt", "HEAD:src/b.py", check=False)
    result = snap(loop)
    assert {change.path for change in result.changes} == {"a.txt", "hidden", "src/b.py"}
    put_back(loop)


def test_an_encoding_that_the_bytes_do_not_have_is_kept_as_bytes(loop):
    """A false working-tree-encoding cannot stop a snapshot."""
    write(
        loop.ws, {".gitattributes": "*.u working-tree-encoding=UTF-16\n*.v working-tree-encoding=NO-SUCH\n"}
    )
    (loop.ws / "x.u").write_bytes(b"odd\xff\xfe\xfd")
    (loop.ws / "x.v").write_bytes(b"v")
    tree = snap(loop).tree
    assert read_blob(loop.store, tree, "x.v") == b"v"
    assert "x.u" in list_tree(loop.store, tree)
