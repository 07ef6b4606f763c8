"""Promise 4 over many user states: whatever the repository looks like, a loop leaves it bit-identical."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from effort import examples
from gitkit import DATE, begin, make_repo, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from userstate import git, same_user, user_state

from ralph.shell.git.checkout import fresh_checkout, update_checkout
from ralph.shell.git.project import find_project, start_warnings
from ralph.shell.git.refs import keep_rejected, make_checkpoint, publish_result
from ralph.shell.git.snapshot import take_snapshot
from ralph.shell.git.workspace import remove_loop, restore_workspace
from ralph.shell.landing.land import check_landing


def dirty(top):
    write(top, {"a.txt": "dirty\n"})


def staged(top):
    write(top, {"src/b.py": "staged\n"})
    git(top, "add", "src/b.py")
    write(top, {"src/b.py": "staged and edited\n"})


def untracked(top):
    write(top, {"new dir/ünï \n x": "u\n", "ignored.log": "i\n"})


def renamed(top):
    git(top, "mv", "keep.txt", "renamed.txt")


def deleted(top):
    (top / "gone.txt").unlink(missing_ok=True)


def executable(top):
    (top / "run.sh").chmod(0o755)


def symlink(top):
    (top / "lnk").symlink_to("/etc/hostname")
    (top / "dirlink").symlink_to("src")


def crlf(top):
    git(top, "config", "core.autocrlf", "true")
    write(top, {"crlf.txt": "a\r\nb\r\n"})


def flags(top):
    git(top, "update-index", "--assume-unchanged", "hidden.txt")
    write(top, {"hidden.txt": "hidden edit\n"})


def exclude(top):
    write(top / ".git", {"info/exclude": "*.secret\n"}) if (top / ".git").is_dir() else None
    write(top, {"x.secret": "s\n"})


def stash(top):
    write(top, {"stashed.txt": "stashed\n"})
    git(top, "stash", "push", "-q", "--", "stashed.txt")


def sparse(top):
    git(top, "sparse-checkout", "set", "--no-cone", "/*", "!/cone/")


def replaced(top):
    git(top, "replace", "-f", "HEAD:a.txt", "HEAD:keep.txt", check=False)


def nested(top):
    git(top, "init", "-q", "nested")
    write(top, {"nested/f": "f\n"})


def tripwires(top):
    trip = f"touch '{top.parent}/tripped'"
    git(top, "config", "filter.trip.clean", f"{trip}; cat")
    git(top, "config", "filter.trip.smudge", f"{trip}; cat")
    git(top, "config", "filter.trip.required", "true")
    git(top, "config", "diff.trip.textconv", f"{trip}; cat")
    git(top, "config", "merge.trip.driver", trip)
    git(top, "config", "core.fsmonitor", f"{trip}; false")
    git(top, "config", "alias.add", f"!{trip}")
    git(top, "config", "gpg.program", trip)
    git(top, "config", "commit.gpgSign", "true")
    common = Path(os.path.join(top, git(top, "rev-parse", "--git-common-dir")))
    write(common, {"info/attributes": "* filter=trip diff=trip merge=trip\n"})
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "pre-commit"):
        write(common, {f"hooks/{hook}": f"#!/bin/sh\n{trip}\n"})
        (common / "hooks" / hook).chmod(0o755)


STATES = [dirty, staged, untracked, renamed, deleted, executable, symlink]
STATES += [crlf, flags, exclude, stash, sparse, replaced, nested]
FILES = {
    "a.txt": "one\n",
    "keep.txt": "keep\n",
    "gone.txt": "gone\n",
    "hidden.txt": "h\n",
    "stashed.txt": "s\n",
    "run.sh": "#!/bin/sh\n",
    "src/b.py": "b\n",
    "cone/c": "c\n",
    ".gitignore": "*.log\n",
}


def whole_loop(top: Path, state: Path, *, with_changes: bool) -> None:
    """Everything of a loop but landing, with an agent that does a bit of everything."""
    start_warnings(find_project(str(top)))
    loop = begin(top, state, with_changes=with_changes)
    w = loop.workspace
    co, index = str(state / "co"), str(state / "co.index")
    previous, parent = loop.start.base_tree, loop.start.base_commit
    for number in (1, 2):
        write(loop.ws, {"agent.txt": f"{number}\n", f"n{number}/x": "x\n", "src/b.py": f"agent {number}\n"})
        result = take_snapshot(loop.store, w.path, w.index, previous, links=w.links)
        assert "src/b.py" in [change.path for change in result.changes]
        facts = {"tree": result.tree, "parent": parent, "message": "m", "date": DATE + number}
        parent = make_checkpoint(loop.store, "demo", number, **facts)
        assert update_checkout(loop.store, co, index, result.tree, modules=w.modules) == result.tree
        previous = result.tree
    assert fresh_checkout(loop.store, co, index, previous, modules=w.modules) == previous
    keep_rejected(loop.store, "demo", 3, tree=previous, parent=parent, message="m", date=DATE)
    restore_workspace(w, loop.start.base_tree, loop.start.base_commit)
    assert take_snapshot(loop.store, w.path, w.index, loop.start.base_tree, links=w.links).files_changed == 0
    check_landing(
        loop.store, loop.project.head, parent, loop.start.user_start_commit if with_changes else None
    )
    publish_result(loop.project, "ralph/demo", parent, None)
    remove_loop(loop.project, "demo", paths=[str(state)], branch="ralph/demo", result=parent)


def check_state(chosen, *, with_changes: bool, place: str) -> None:
    work = Path(tempfile.mkdtemp(prefix="ralph user "))
    try:
        top = make_repo(work / "repo ü", FILES)
        if place == "worktree":
            git(top, "worktree", "add", "-q", "-b", "one", work / "one")
            git(work / "one", "worktree", "add", "-q", "-b", "two", work / "two")
            top = work / "two"
        elif place == "submodule":
            make_repo(work / "lib", {"l.txt": "lib\n"})
            git(top, "submodule", "add", "-q", str(work / "lib"), "lib")
            git(top, "commit", "-q", "-m", "lib")
            write(top, {"lib/l.txt": "dirty submodule\n"})
        for change in chosen:
            change(top)
        tripwires(top)
        before = user_state(top)
        (work / "tripped").unlink(missing_ok=True)
        whole_loop(top, work / "state", with_changes=with_changes)
        assert not (work / "tripped").exists(), "something the repository configured was run"
        same_user(before, user_state(top))
    finally:
        shutil.rmtree(work)


@pytest.mark.parametrize(
    "place",
    [
        "plain",
        pytest.param("worktree", marks=pytest.mark.slow),
        pytest.param("submodule", marks=pytest.mark.slow),
    ],
)
def test_every_state_at_once_is_left_bit_identical(place):
    """All kinds of user state together: index, work tree, stash, config, hooks and refs stay as they were."""
    check_state(STATES, with_changes=place == "plain", place=place)


@pytest.mark.slow
@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    chosen=st.lists(st.sampled_from(STATES), unique=True, max_size=8),
    with_changes=st.booleans(),
    place=st.sampled_from(["plain", "worktree", "submodule"]),
)
def test_any_user_state_is_left_bit_identical(chosen, with_changes, place):
    """Any mix of user states, in any place, survives a whole loop bit-identical."""
    check_state(chosen, with_changes=with_changes, place=place)


@pytest.mark.soak
def test_ten_thousand_files_stay_affordable(tmp_path):
    """On 10,000 files snapshot, checkpoint and checkout cost far less than 1.5 s of an iteration."""
    top = tmp_path / "repo"
    files = {f"d{n // 50}/f{n}.py": f"x = {n}\n" for n in range(10_000)}
    make_repo(top, files)
    before = user_state(top)
    loop = begin(top, tmp_path / "state")
    w = loop.workspace
    co, index = str(tmp_path / "co"), str(tmp_path / "co.index")
    update_checkout(loop.store, co, index, loop.start.base_tree)
    previous, parent = loop.start.base_tree, loop.start.base_commit
    spent = []
    for number in itertools.count(1):
        write(loop.ws, {"d7/f351.py": f"x = -{number}\n", f"new{number}": "n\n"})
        begun = sum(os.times()[:4])  # of this process and of each git: the clock would measure others too
        result = take_snapshot(loop.store, w.path, w.index, previous)
        facts = {"tree": result.tree, "parent": parent, "message": "m", "date": DATE}
        parent = make_checkpoint(loop.store, "demo", number, **facts)
        update_checkout(loop.store, co, index, result.tree)
        spent.append(sum(os.times()[:4]) - begun)
        previous = result.tree
        if number == 3:
            break
    assert min(spent) < 1.5
    same_user(before, user_state(top))
