"""Landing a result in the user's branch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from effort import examples
from gitkit import DATE, begin, commit_on_top, make_repo, write
from userstate import git, same_user, user_state

from ralph.errors import Busy, NeedsHuman
from ralph.shell.git.trees import changed_paths, tree_of
from ralph.shell.landing.land import (
    check_landing,
    commit_merge,
    land,
    merge_tree,
    recover_landing,
    undo_landing,
)
from ralph.shell.landing.recover import Landing, read_note, set_index_entries, write_note

pytestmark = pytest.mark.slow


def codes(problems):
    return [problem.code for problem in problems]


def do_land(loop, new, user_start=None):
    note = str(loop.home / "landing.json")
    land(loop.store, "demo", Landing(loop.project.head, new, user_start), date=DATE, note=note)
    assert not os.path.exists(note)


def test_a_landing_moves_branch_index_and_files_and_keeps_unrelated_dirt(tmp_path):
    """A fast-forward lands the result and leaves unrelated dirty, staged and untracked files alone."""
    top = make_repo(
        tmp_path / "my repo", {"a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n", "x/gone.txt": "1\n"}
    )
    write(top, {"b.txt": "dirty\n", "c.txt": "staged\n", "new.txt": "untracked\n"})
    git(top, "add", "c.txt")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "2\n", "d/e.txt": "new\n", "x/gone.txt": None})
    before = user_state(top)
    assert check_landing(loop.store, loop.project.head, new) == []
    same_user(before, user_state(top))
    do_land(loop, new)
    assert git(top, "rev-parse", "main") == new
    assert (top / "a.txt").read_text() == "2\n"
    assert not (top / "x").exists()
    assert git(top, "status", "--porcelain").splitlines() == ["M b.txt", "M  c.txt", "?? new.txt"]
    assert git(top, "show", "refs/ralph/demo/user-land:b.txt") == "dirty"


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda top: write(top, {"a.txt": "mine\n"}), "E-LAND-DIRTY"),
        (lambda top: (write(top, {"a.txt": "mine\n"}), git(top, "add", "a.txt")), "E-LAND-DIRTY"),
        (
            lambda top: (
                git(top, "update-index", "--assume-unchanged", "a.txt"),
                write(top, {"a.txt": "mine\n"}),
            ),
            "E-LAND-DIRTY",
        ),
        (
            lambda top: (
                write(top, {"a.txt": "mine\n"}),
                git(top, "add", "a.txt"),
                write(top, {"a.txt": "one\n"}),
            ),
            "E-LAND-STAGED",
        ),
        (lambda top: write(top, {"new.py": "mine\n"}), "E-LAND-UNTRACKED"),
        (lambda top: write(top, {"deep": "a file where a folder comes\n"}), "E-LAND-UNTRACKED"),
        (lambda top: write(top, {"deep/x.log": "ignored and in the way\n"}), "E-LAND-UNTRACKED"),
        (lambda top: write(top, {"new.py/inside": "a folder where a file comes\n"}), "E-LAND-UNTRACKED"),
        (lambda top: git(top, "commit", "--allow-empty", "-q", "-m", "moved"), "E-LAND-MOVED"),
        (lambda top: git(top, "checkout", "-q", "--detach"), "E-LAND-DETACHED"),
        (lambda top: write(top / ".git", {"MERGE_HEAD": git(top, "rev-parse", "HEAD")}), "E-GIT-MERGING"),
        (lambda top: write(top / ".git", {"index.lock": ""}), "E-LAND-LOCKED"),
        (lambda top: git(top, "worktree", "add", "-q", "-f", "../other", "main"), "E-LAND-WORKTREE"),
    ],
)
def test_a_landing_is_refused_before_anything_is_touched(tmp_path, spoil, code):
    """Whatever would be overwritten, ignored files included, stops the landing and stays as it is."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "two\n", "new.py": "n\n"})
    (loop.ws / "deep").mkdir()
    (loop.ws / ".gitignore").write_text("build/\n")
    new = commit_on_top_again(loop, new, {"deep/x.log": "result\n"})
    spoil(top)
    before = user_state(top)
    assert code in codes(check_landing(loop.store, loop.project.head, new))
    with pytest.raises(NeedsHuman):
        do_land(loop, new)
    same_user(before, user_state(top))


def commit_on_top_again(loop, parent, files):
    from ralph.shell.git.refs import make_checkpoint
    from ralph.shell.git.snapshot import take_snapshot

    write(loop.ws, files)
    w = loop.workspace
    snapshot = take_snapshot(loop.store, w.path, w.index, tree_of(loop.store, parent), links=w.links)
    return make_checkpoint(loop.store, "demo", 2, tree=snapshot.tree, parent=parent, message="2", date=DATE)


def test_undo_takes_a_landing_back_and_keeps_what_else_the_user_has(tmp_path):
    """Undo restores branch, index entries and files; unrelated dirt and staged work stay."""
    top = make_repo(tmp_path / "repo", {"a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n"})
    loop = begin(top, tmp_path / "state")
    old = loop.project.head
    new = commit_on_top(loop, {"a.txt": "2\n", "d/e.txt": "new\n"})
    do_land(loop, new)
    write(top, {"b.txt": "dirty\n", "c.txt": "staged\n"})
    git(top, "add", "c.txt")
    undo_landing(loop.store, "l1", Landing(old, new), note=str(loop.home / "undo.json"))
    assert git(top, "rev-parse", "main") == old
    assert git(top, "status", "--porcelain").splitlines() == ["M b.txt", "M  c.txt"]
    assert not (top / "d").exists()


def test_undo_refuses_when_somebody_built_on_it(tmp_path):
    """A landing under later commits or edits of the same files is not taken back."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "2\n"})
    do_land(loop, new)
    landing = Landing(loop.project.head, new)
    write(top, {"a.txt": "edited\n"})
    before = user_state(top)
    with pytest.raises(NeedsHuman) as dirty:
        undo_landing(loop.store, "l1", landing, note=str(loop.home / "undo.json"))
    assert dirty.value.code == "E-LAND-DIRTY"
    same_user(before, user_state(top))
    git(top, "commit", "-q", "-a", "-m", "built on it")
    with pytest.raises(NeedsHuman) as moved:
        undo_landing(loop.store, "l1", landing, note=str(loop.home / "undo.json"))
    assert moved.value.code == "E-LAND-MOVED"


def with_changes_loop(tmp_path):
    top = make_repo(tmp_path / "repo", {"a.txt": "1\n", "b.txt": "1\n", "del.txt": "1\n", "c.txt": "1\n"})
    write(top, {"a.txt": "user\n", "b.txt": "user b\n", "new.txt": "user new\n"})
    (top / "del.txt").unlink()
    loop = begin(top, tmp_path / "state", with_changes=True)
    new = commit_on_top(loop, {"a.txt": "user\nagent\n", "new.txt": "user new\nagent\n"})
    return top, loop, new


def test_a_loop_that_began_with_the_users_changes_lands_clean(tmp_path):
    """Dirty files still as the loop saw them become part of the landed history and end clean."""
    top, loop, new = with_changes_loop(tmp_path)
    old, start = loop.project.head, loop.start.user_start_commit
    assert codes(check_landing(loop.store, old, new)) != []
    assert check_landing(loop.store, old, new, start) == []
    do_land(loop, new, start)
    assert git(top, "status", "--porcelain") == ""
    assert (top / "a.txt").read_text() == "user\nagent\n"
    assert git(top, "rev-parse", "HEAD") == new
    undo_landing(loop.store, "l1", Landing(old, new, start), note=str(loop.home / "undo.json"))
    assert git(top, "rev-parse", "HEAD") == old
    assert (top / "a.txt").read_text() == "user\n"
    assert sorted(git(top, "status", "--porcelain").splitlines()) == [
        " D del.txt",
        " M b.txt",
        "?? new.txt",
        "M a.txt",
    ]


def test_changes_edited_after_the_start_still_block(tmp_path):
    """A file that the user edited again since the loop saw it is an overlap."""
    top, loop, new = with_changes_loop(tmp_path)
    write(top, {"new.txt": "edited again\n"})
    before = user_state(top)
    problems = check_landing(loop.store, loop.project.head, new, loop.start.user_start_commit)
    assert [problem.paths for problem in problems] == [("new.txt",)]
    with pytest.raises(NeedsHuman):
        do_land(loop, new, loop.start.user_start_commit)
    same_user(before, user_state(top))


@pytest.mark.parametrize("reached", ["index", "branch", "files"])
def test_a_landing_of_the_users_changes_is_finished_from_every_stage(tmp_path, reached):
    """Killed after the index, after the branch or among the files, it ends landed and clean."""
    top, loop, new = with_changes_loop(tmp_path)
    old, start = loop.project.head, loop.start.user_start_commit
    landing = Landing(old, new, start)
    note = str(loop.home / "note.json")
    write_note(note, landing, loop.project)
    set_index_entries(loop.project, changed_paths(loop.store, old, start, renames=False))
    if reached != "index":
        git(top, "update-ref", "refs/heads/main", start)
    if reached == "files":
        write(top, {"a.txt": "user\nag"})
        write(top / ".git", {"index.lock": "torn"})
    assert recover_landing(loop.store, landing, note=note) == "landed"
    assert git(top, "status", "--porcelain") == ""
    assert git(top, "rev-parse", "HEAD") == new


@pytest.mark.parametrize("with_changes", [False, True])
def test_an_undo_that_was_killed_is_finished(tmp_path, with_changes):
    """Half-way back is completed to all the way back."""
    top, loop, new = with_changes_loop(tmp_path)
    old, start = loop.project.head, loop.start.user_start_commit
    if not with_changes:
        git(top, "checkout", "-q", "-f", "main")
        git(top, "clean", "-q", "-f", "-d")
    start = start if with_changes else None
    do_land(loop, new, start)
    note = str(loop.home / "undo.json")
    back = Landing(new, old, start, undo=True)
    write_note(note, back, loop.project)
    write(top, {"a.txt": "user\n" if with_changes else "1\n"})
    write(top / ".git", {"index.lock": "torn"})
    assert read_note(note) == back
    assert recover_landing(loop.store, back, note=note) == "landed"
    assert git(top, "rev-parse", "HEAD") == old
    expected = [" D del.txt", " M b.txt", "?? new.txt", "M a.txt"] if with_changes else []
    assert sorted(git(top, "status", "--porcelain").splitlines()) == expected


def test_merging_trees_touches_nothing_and_names_conflicts(tmp_path):
    """A non-fast-forward merge is made of objects; conflicts are named and the user's drivers never run."""
    top = make_repo(tmp_path / "repo", {"a.txt": "1\n", "b.txt": "1\n", ".gitattributes": "* merge=evil\n"})
    git(top, "config", "merge.evil.driver", f"touch {tmp_path}/tripped")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "result\n"})
    write(top, {"b.txt": "user\n"})
    git(top, "commit", "-q", "-a", "-m", "user's")
    theirs = git(top, "rev-parse", "HEAD")
    before = user_state(top)
    merged = merge_tree(loop.store, theirs, new)
    assert merged.tree is not None
    commit = commit_merge(loop.store, merged.tree, [theirs, new], "merge", DATE)
    assert commit == commit_merge(loop.store, merged.tree, [theirs, new], "merge", DATE)
    same_user(before, user_state(top))
    write(top, {"a.txt": "conflicting\n"})
    git(top, "commit", "-q", "-a", "-m", "conflict")
    assert merge_tree(loop.store, git(top, "rev-parse", "HEAD"), new).conflicts == ("a.txt",)
    assert not (tmp_path / "tripped").exists()


def test_a_landing_that_never_began_is_not_landed(tmp_path):
    """A kill between the note and git leaves everything, and recovery says so."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "2\n"})
    note = str(loop.home / "note.json")
    before = user_state(top)
    write_note(note, Landing(loop.project.head, new), loop.project)
    assert read_note(note) == Landing(loop.project.head, new)
    assert recover_landing(loop.store, Landing(loop.project.head, new), note=note) == "not landed"
    same_user(before, user_state(top))


def test_recovery_stops_at_an_edit_that_is_not_ours(tmp_path):
    """A file with neither old nor new bytes stops recovery by name, and nothing at all is changed."""
    top = make_repo(tmp_path / "repo", {"a.txt": "1\n", "b.txt": "1\n"})
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "2\n", "b.txt": "2\n"})
    note = str(loop.home / "note.json")
    landing = Landing(loop.project.head, new)
    write_note(note, landing, loop.project)
    write(top, {"a.txt": "2\n", "b.txt": "typed in between\n"})
    before = user_state(top)
    with pytest.raises(NeedsHuman) as stopped:
        recover_landing(loop.store, landing, note=note)
    assert stopped.value.code == "E-LAND-EDITED"
    assert "b.txt" in stopped.value.what
    same_user(before, user_state(top))


def test_a_lock_of_somebody_else_is_left_alone(tmp_path):
    """index.lock is removed only when a note says that we began and no git lives."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "2\n"})
    lock = top / ".git" / "index.lock"
    lock.write_text("")
    with pytest.raises(Busy):
        recover_landing(loop.store, Landing(loop.project.head, new), note=str(loop.home / "none.json"))
    assert lock.exists()


def test_folders_and_files_that_change_places_are_recovered(tmp_path):
    """Half a landing in which a file became a folder, and a folder a file, is completed."""
    top = make_repo(tmp_path / "repo", {"f": "file\n", "d/x": "x\n", "d/y": "y\n", "m.sh": "m\n", "l": "l\n"})
    loop = begin(top, tmp_path / "state")
    (loop.ws / "f").unlink()
    (loop.ws / "d/x").unlink()
    (loop.ws / "d/y").unlink()
    (loop.ws / "d").rmdir()
    (loop.ws / "m.sh").chmod(0o755)
    (loop.ws / "l").unlink()
    (loop.ws / "l").symlink_to("m.sh")
    new = commit_on_top(loop, {"f/in": "in\n", "d": "now a file\n"})
    note = str(loop.home / "note.json")
    landing = Landing(loop.project.head, new)
    write_note(note, landing, loop.project)
    (top / "d/x").unlink()
    (top / ".git/index.lock").write_bytes(b"half")
    assert recover_landing(loop.store, landing, note=note) == "landed"
    assert git(top, "status", "--porcelain") == ""
    assert git(top, "rev-parse", "HEAD^{tree}") == tree_of(loop.store, new)
    assert recover_landing(loop.store, landing, note=note) == "landed"


LANDER = textwrap.dedent("""
    import msgspec, sys
    from ralph.shell.git.store import open_store
    from ralph.shell.landing.land import land
    from ralph.shell.landing.recover import Landing
    from ralph.shell.git.project import find_project
    top, state, old, new = sys.argv[1:]
    store = open_store(find_project(top), state + "/git")
    print("go", flush=True)
    land(store, "demo", Landing(old, new), date=1700000000, note=state + "/landing.json")
""")


def start_landing(top, loop, old, new, note):
    """A landing in its own process group; returns when its note is on disk."""
    child = subprocess.Popen(
        [sys.executable, "-c", LANDER, str(top), str(loop.home), old, new],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    child.stdout.readline()
    while not os.path.exists(note) and child.poll() is None:
        time.sleep(0.0005)
    return child


@pytest.mark.slow
def test_kill_9_in_the_middle_of_landings_is_recovered(tmp_path):
    """Killed at spread-out moments, every landing is finished or never began, and user edits survive."""
    files = {f"d{n % 20}/f{n}.txt": f"{n}\n" * 200 for n in range(400)}
    top = make_repo(tmp_path / "repo", files | {"mine.txt": "1\n", "staged.txt": "1\n"})
    write(top, {"mine.txt": "my edit\n", "staged.txt": "staged\n", "untracked.txt": "u\n"})
    git(top, "add", "staged.txt")
    loop = begin(top, tmp_path / "state")
    old = loop.project.head
    new = commit_on_top(loop, {name: text + "changed\n" for name, text in files.items()} | {"added/x": "x\n"})
    note = str(loop.home / "landing.json")
    landing = Landing(old, new)
    with start_landing(top, loop, old, new, note) as whole:
        begun = time.monotonic()
        assert whole.wait() == 0
    duration = time.monotonic() - begun
    undo_landing(loop.store, "l1", landing, note=note)
    half = 0
    trials = examples(5)
    for trial in range(4 * trials):
        if trial >= trials and half:
            break
        with start_landing(top, loop, old, new, note) as child:
            time.sleep(duration * (trial % trials) / trials)
            os.killpg(child.pid, signal.SIGKILL)
        changed = [n for n in files if (top / n).exists() and (top / n).read_text().endswith("changed\n")]
        half += 0 < len(changed) < len(files)
        answer = recover_landing(loop.store, landing, note=note)
        assert git(top, "rev-parse", "HEAD") == (new if answer == "landed" else old)
        assert sorted(git(top, "status", "--porcelain").splitlines()) == [
            "?? untracked.txt",
            "M  staged.txt",
            "M mine.txt",
        ]
        assert (top / "mine.txt").read_text() == "my edit\n"
        if answer == "landed":
            undo_landing(loop.store, "l1", landing, note=note)
        assert git(top, "rev-parse", "HEAD") == old
    assert half, "the kills must hit the middle of landings to mean anything"


@pytest.mark.parametrize("name", ["index", "HEAD", "refs/heads/main"])
def test_a_lock_that_a_killed_git_left_is_taken_away(tmp_path, name):
    """Git killed while it lands leaves a lock: ours is taken away by the recovery, a user's stops it."""
    top = make_repo(tmp_path / "repo", {"x": "x\n"})
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"x": "changed\n"})
    note = str(loop.home / "landing.json")
    lock = top / ".git" / f"{name}.lock"
    lock.touch()
    with pytest.raises(Busy, match="another git"):
        write_note(note, Landing(loop.project.head, new), loop.project)
    lock.unlink()
    write_note(note, Landing(loop.project.head, new), loop.project)
    lock.touch()
    recover_landing(loop.store, Landing(loop.project.head, new), note=note)
    assert not lock.exists()


def test_files_under_a_filter_of_the_user_can_be_landed(tmp_path):
    """With a clean and smudge filter the user's own git decides what is edited, and writes filtered files."""
    top = make_repo(tmp_path / "repo", {".gitattributes": "*.up filter=up\n", "x": "x\n"})
    git(top, "config", "filter.up.clean", "tr A-Z a-z")
    git(top, "config", "filter.up.smudge", "tr a-z A-Z")
    write(top, {"f.up": "HELLO\n", "g.up": "HELLO\n"})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "filtered")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"f.up": "changed\n"})
    do_land(loop, new)
    assert (top / "f.up").read_text() == "CHANGED\n"
    assert git(top, "status", "--porcelain") == ""
    note = str(loop.home / "undo.json")
    write(top, {"f.up": "EDITED\n"})
    with pytest.raises(NeedsHuman):
        undo_landing(loop.store, "l1", Landing(loop.project.head, new), note=note)
    write(top, {"f.up": "CHANGED\n"})
    undo_landing(loop.store, "l1", Landing(loop.project.head, new), note=note)
    assert (top / "f.up").read_text() == "HELLO\n"


def test_line_ends_survive_landing_and_recovery(tmp_path):
    """With autocrlf the landed files have the user's line ends, also when a recovery wrote them."""
    top = make_repo(tmp_path / "repo", {"a.txt": "1\n", "b.txt": "1\n"})
    git(top, "config", "core.autocrlf", "true")
    write(top, {"a.txt": "1\r\n", "b.txt": "1\r\n"})
    git(top, "add", "-A")
    loop = begin(top, tmp_path / "state")
    assert (loop.ws / "a.txt").read_bytes() == b"1\r\n"
    new = commit_on_top(loop, {"a.txt": "1\r\n2\r\n", "b.txt": "1\r\n2\r\n"})
    landing = Landing(loop.project.head, new)
    note = str(loop.home / "note.json")
    write_note(note, landing, loop.project)
    write(top, {"a.txt": "1\r\n2"})
    assert recover_landing(loop.store, landing, note=note) == "landed"
    assert (top / "a.txt").read_bytes() == (top / "b.txt").read_bytes() == b"1\r\n2\r\n"
    assert git(top, "status", "--porcelain") == ""


def test_hooks_of_the_user_apply_to_a_landing(tmp_path):
    """A landing is the user's own command: a hook that refuses it is not bypassed."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    new = commit_on_top(loop, {"a.txt": "2\n"})
    hook = top / ".git/hooks/post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/hooked'\n")
    hook.chmod(0o755)
    do_land(loop, new)
    assert (tmp_path / "hooked").exists()
