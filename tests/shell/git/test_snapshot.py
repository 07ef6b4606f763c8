"""Snapshots of the user's files at the start, and of the workspace after an iteration."""

from __future__ import annotations

import os
import threading

import pytest
from gitkit import DATE, begin, make_repo, write
from userstate import git, same_user, user_state

from ralph.errors import SetupError, UserError
from ralph.shell.git.refs import make_checkpoint
from ralph.shell.git.snapshot import start_refs, take_snapshot
from ralph.shell.git.trees import list_tree, read_blob, tree_of


def snap(loop, previous=None):
    w = loop.workspace
    return take_snapshot(loop.store, w.path, w.index, previous or loop.start.base_tree, links=w.links)


def show(top, ref, path):
    return git(top, "show", f"refs/ralph/demo/{ref}:{path}")


def test_the_start_pins_base_and_dirty_files(tmp_path):
    """Dirty, staged, untracked, deleted and executable files are in user-start; ignored ones are not."""
    top = make_repo(
        tmp_path / "repo", {"a": "1\n", "b": "1\n", "c": "1\n", "x": "1\n", ".gitignore": "*.log\n"}
    )
    write(top / ".git", {"info/exclude": "secret\n"})
    write(top, {"a": "dirty\n", "b": "staged\n", "n e w": "new\n", "z.log": "ignored\n", "secret": "s\n"})
    git(top, "add", "b")
    (top / "c").unlink()
    (top / "x").chmod(0o755)
    before = user_state(top)
    loop = begin(top, tmp_path / "state")
    same_user(before, user_state(top))
    assert loop.start.dirty
    assert loop.start.base_commit == loop.project.head
    listed = git(top, "ls-tree", "-r", "refs/ralph/demo/user-start").splitlines()
    assert [line.split("\t")[1] for line in listed] == [".gitignore", "a", "b", "n e w", "x"]
    assert listed[-1].startswith("100755")
    assert show(top, "user-start", "a") == "dirty"
    assert (loop.ws / "a").read_text() == "1\n"
    again = start_refs(loop.store, "demo", None, with_changes=False, date=DATE + 9, scratch=str(loop.home))
    assert again == loop.start


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_of_the_users_index_hide_nothing(tmp_path, flag):
    """Edits behind assume-unchanged and skip-worktree are in the snapshot."""
    top = make_repo(tmp_path / "repo")
    git(top, "update-index", flag, "a.txt")
    write(top, {"a.txt": "hidden edit\n"})
    begin(top, tmp_path / "state")
    assert show(top, "user-start", "a.txt") == "hidden edit"


def test_a_sparse_checkout_has_deleted_nothing(tmp_path):
    """Files outside the sparse cone count as unchanged, edits inside it are kept."""
    top = make_repo(tmp_path / "repo", {"in/a": "1\n", "out/b": "1\n", "top": "1\n"})
    git(top, "sparse-checkout", "set", "in")
    assert not (top / "out").exists()
    write(top, {"in/a": "2\n"})
    before = user_state(top)
    loop = begin(top, tmp_path / "state")
    same_user(before, user_state(top))
    assert list_tree(loop.store, loop.start.user_start_commit) == ["in/a", "out/b", "top"]
    assert (loop.ws / "out/b").exists()


def test_with_changes_the_loop_begins_with_the_users_files(tmp_path):
    """--with-changes makes the snapshot the base; with another base it is refused."""
    top = make_repo(tmp_path / "repo")
    write(top, {"a.txt": "dirty\n", "new": "n\n"})
    loop = begin(top, tmp_path / "state", with_changes=True)
    assert loop.start.base_commit == loop.start.user_start_commit
    assert (loop.ws / "a.txt").read_text() == "dirty\n"
    assert (loop.ws / "new").exists()
    git(top, "commit", "-q", "-a", "-m", "more")
    with pytest.raises(UserError) as refused:
        begin(top, tmp_path / "other", name="other", with_changes=True, base="HEAD~1")
    assert refused.value.code == "E-BASE-CHANGES"
    with pytest.raises(UserError):
        begin(top, tmp_path / "third", name="third", base="no-such")
    older = begin(top, tmp_path / "fourth", name="fourth", base="HEAD~1")
    assert older.start.base_commit == git(top, "rev-parse", "HEAD~1")


def test_nested_repositories_and_huge_files_of_the_user_are_named_and_left_out(tmp_path):
    """They are not copied into the object store; a warning says so."""
    top = make_repo(tmp_path / "repo")
    git(top, "init", "-q", "nested")
    write(top, {"nested/file": "f\n"})
    with open(top / "big", "wb") as file:
        file.truncate(51 * 1024 * 1024)
    loop = begin(top, tmp_path / "state")
    assert len(loop.start.warnings) == 2
    assert list_tree(loop.store, loop.start.user_start_commit) == [".gitignore", "a.txt", "src/b.py"]


def test_an_untouched_workspace_gives_the_base_back(tmp_path):
    """No change is no change, and costs no new tree."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    first = snap(loop)
    assert (first.tree, first.files_changed, first.changes) == (loop.start.base_tree, 0, ())


def test_a_snapshot_counts_what_changed(tmp_path):
    """Files, lines added and removed, since the tree before."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    write(loop.ws, {"a.txt": "one\ntwo\nthree\n", "new": "n\n", "ignored.log": "x"})
    (loop.ws / "src/b.py").unlink()
    first = snap(loop)
    assert (first.files_changed, first.added, first.removed) == (3, 3, 1)
    assert "ignored.log" not in list_tree(loop.store, first.tree)
    write(loop.ws, {"new": "n\nm\n"})
    second = snap(loop, first.tree)
    assert (second.files_changed, second.added, second.removed) == (1, 1, 0)


def test_edits_that_keep_size_and_time_are_seen(tmp_path):
    """A file rewritten with the same length and the old modification time is still a change."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    before = os.stat(loop.ws / "a.txt")
    write(loop.ws, {"a.txt": "ONE\n"})
    os.utime(loop.ws / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [change.path for change in snap(loop).changes] == ["a.txt"]


@pytest.mark.parametrize("autocrlf", ["true", "input", "false"])
def test_line_ends_of_the_user_do_not_make_changes(tmp_path, autocrlf):
    """With autocrlf, eol rules and files that break them, an untouched workspace is unchanged."""
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    files = {"lf.txt": "a\nb\n", "crlf.txt": "a\r\nb\r\n", "mixed.txt": "a\r\nb\n", "forced.t": "a\r\n"}
    write(top, files | {'o"d [x] \\*.t': "a\r\n"})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "bytes as they are")
    write(top, {".gitattributes": "*.t text eol=lf\n"})
    git(top, "add", ".gitattributes")
    git(top, "commit", "-q", "-m", "rules that the files break")
    git(top, "config", "core.autocrlf", autocrlf)
    loop = begin(top, tmp_path / "state")
    for name in ("lf.txt", "crlf.txt"):
        os.utime(loop.ws / name)
    (loop.ws / "forced.t").touch()
    assert snap(loop).files_changed == 0
    expected = b"a\r\nb\r\n" if autocrlf == "true" else b"a\nb\n"
    assert (loop.ws / "lf.txt").read_bytes() == expected


def test_a_gc_while_a_loop_begins_costs_another_try(tmp_path):
    """The user's `gc --prune=now` takes what no ref holds yet: loops begin, and mend it when asked again."""
    top = make_repo(tmp_path / "repo")
    write(top, {f"new/{number}": f"{number}\n" for number in range(50)})
    store = begin(top, tmp_path / "state").store
    over = threading.Event()

    def prune():
        while not over.is_set():
            git(top, "prune", "--expire=now", check=False)
            over.wait(0.1)  # a gc takes longer than that to begin again

    pruning = threading.Thread(target=prune)
    pruning.start()
    scratch = os.fspath(tmp_path / "state")

    def start(number):
        return start_refs(store, f"demo-{number}", None, with_changes=False, date=DATE, scratch=scratch)

    try:
        for number in range(4):
            start(number)
    finally:
        over.set()
        pruning.join()
    for number in range(4):  # what a gc took that had looked at the refs before is put back
        assert read_blob(store, tree_of(store, start(number).user_start_commit), "new/7") == b"7\n"


def test_gc_by_the_user_loses_nothing(tmp_path):
    """After `gc --prune=now` base and checkpoints are readable and the next snapshot works."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    write(loop.ws, {"kept": "k\n"})
    first = snap(loop)
    commit = make_checkpoint(
        loop.store, "demo", 1, tree=first.tree, parent=loop.start.base_commit, message="1", date=DATE
    )
    write(loop.ws, {"never referenced": "x\n"})
    second = snap(loop, first.tree)
    git(top, "gc", "-q", "--prune=now")
    assert git(top, "cat-file", "-t", second.tree, check=False) == ""
    assert read_blob(loop.store, tree_of(loop.store, commit), "kept") == b"k\n"
    write(loop.ws, {"third": "3\n"})
    third = snap(loop, first.tree)
    assert read_blob(loop.store, third.tree, "never referenced") == b"x\n"
    assert read_blob(loop.store, third.tree, "third") == b"3\n"


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a small tmpfs")
def test_a_full_disk_changes_nothing(tmp_path):
    """Without space the snapshot is E-DISK-FULL, and works again once there is some."""
    import subprocess

    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", small], check=False).returncode:
        pytest.skip("cannot mount here")
    try:
        top = make_repo(small / "repo")
        loop = begin(top, tmp_path / "state")
        index = (tmp_path / "state/home/workspace.index").read_bytes()
        (loop.ws / "noise").write_bytes(os.urandom(8 << 20))
        with pytest.raises(SetupError) as full:
            snap(loop)
        assert full.value.code == "E-DISK-FULL"
        assert (tmp_path / "state/home/workspace.index").read_bytes() == index
        (loop.ws / "noise").write_bytes(b"small\n")
        assert snap(loop).files_changed == 1
    finally:
        subprocess.run(["umount", small], check=True)
