"""The one way git is called."""

from __future__ import annotations

import os

import pytest
from gitkit import begin, make_repo, write
from userstate import git, same_user, user_state

from ralph.errors import SetupError, UserError
from ralph.shell.git.child import GitResult
from ralph.shell.git.command import clean_text, find_git, git_error, scrubbed_env
from ralph.shell.git.project import find_project, user_call
from ralph.shell.git.refs import RefChange, loop_ref, make_checkpoint, move_refs, publish_result, read_refs
from ralph.shell.git.store import config_text


def test_the_environment_is_scrubbed(monkeypatch):
    """No GIT_* of the caller reaches git."""
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "evil")
    env = scrubbed_env([("a.b", "c")])
    assert "GIT_DIR" not in env
    assert "GIT_EXTERNAL_DIFF" not in env
    assert (env["GIT_CONFIG_KEY_0"], env["GIT_CONFIG_VALUE_0"], env["GIT_CONFIG_COUNT"]) == ("a.b", "c", "1")
    assert env["GIT_NO_REPLACE_OBJECTS"] == "1"


def test_git_that_is_missing_or_too_old_is_named(tmp_path):
    """Without git, or with an old one, the error says which and what version."""
    with pytest.raises(SetupError) as missing:
        find_git(str(tmp_path))
    assert missing.value.code == "E-GIT-MISSING"
    fake = tmp_path / "git"
    fake.write_text("#!/bin/sh\necho git version 2.20.1\n")
    fake.chmod(0o755)
    with pytest.raises(SetupError) as old:
        find_git(str(tmp_path))
    assert old.value.code == "E-GIT-OLD"
    assert "2.20.1" in old.value.what


def test_what_git_says_is_cleaned_and_sorted_by_fault():
    """Escape sequences are gone, and a full disk has its own code."""
    assert clean_text(b"\x1b[31mfatal\x1b[0m: \x1b]0;title\x07no\x00") == "fatal: no"
    full = git_error(GitResult(128, b"", b"fatal: write error: No space left on device"), ["add"], "/x")
    assert full.code == "E-DISK-FULL"
    assert (
        git_error(GitResult(128, b"", b"fatal: detected dubious ownership in"), ["add"], "/x").code
        == "E-GIT-OWNER"
    )


def test_configuration_is_written_so_that_git_reads_it_back(tmp_path):
    """Values with quotes, backslashes and line breaks survive."""
    value = 'a "b" \\c\n#d ; e'
    (tmp_path / "config").write_bytes(config_text([("core.excludesFile", value)]))
    assert git(tmp_path, "config", "-f", "config", "core.excludesFile") == value


def test_refs_move_only_from_where_they_were(tmp_path):
    """Compare-and-swap: the same move twice is fine, another value is never overwritten."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    args = {"tree": loop.start.base_tree, "parent": loop.start.base_commit, "message": "m", "date": 5}
    first = make_checkpoint(loop.store, "demo", 1, **args)
    assert make_checkpoint(loop.store, "demo", 1, **args) == first
    with pytest.raises(SetupError) as moved:
        make_checkpoint(loop.store, "demo", 1, **(args | {"date": 6}))
    assert moved.value.code == "E-REF-MOVED"
    assert read_refs(loop.project, loop_ref("demo", "checkpoint/1")) == {
        loop_ref("demo", "checkpoint/1"): first
    }
    ref = loop_ref("demo", "checkpoint/1")
    both = [RefChange(ref, None, first), RefChange(loop_ref("demo", "x"), first, None)]
    move_refs(loop.project, both)
    move_refs(loop.project, both)
    assert ref not in read_refs(loop.project, "refs/ralph")


def test_a_lock_that_a_killed_git_left_on_our_ref_does_not_stop_us(tmp_path):
    """A stale lock below refs/ralph is ours and is removed once it is old."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    lock = tmp_path / "repo/.git/refs/ralph/demo/checkpoint/1.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    os.utime(lock, (1, 1))
    args = {"tree": loop.start.base_tree, "parent": loop.start.base_commit, "message": "m", "date": 5}
    assert make_checkpoint(loop.store, "demo", 1, **args)
    assert not lock.exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "", "-x", "x.lock", "a..b", "ä"])
def test_names_cannot_climb_out_of_their_refs(name):
    """A loop name is one plain word."""
    with pytest.raises(UserError):
        loop_ref(name, "base")


def test_the_result_branch_is_ours_or_refused(tmp_path):
    """A branch that is checked out, moved, or in the way is never touched."""
    top = make_repo(tmp_path / "repo")
    loop = begin(top, tmp_path / "state")
    base = loop.start.base_commit
    args = {"tree": loop.start.base_tree, "parent": base, "message": "m"}
    one = make_checkpoint(loop.store, "demo", 1, date=1, **args)
    two = make_checkpoint(loop.store, "demo", 2, date=2, **args)
    before = user_state(top)
    publish_result(loop.project, "ralph/demo", one, None)
    publish_result(loop.project, "ralph/demo", one, None)
    publish_result(loop.project, "ralph/demo", two, one)
    assert git(top, "rev-parse", "ralph/demo") == two
    same_user(before, user_state(top))
    for branch, old, code in (
        ("ralph/demo", base, "E-BRANCH-TAKEN"),
        ("main", None, "E-BRANCH-CHECKED-OUT"),
        ("main/x", None, "E-BRANCH-PREFIX"),
        ("bad..name", None, "E-BRANCH-NAME"),
    ):
        with pytest.raises(UserError) as refused:
            publish_result(loop.project, branch, one, old)
        assert refused.value.code == code
    same_user(before, user_state(top))


def test_nothing_the_repository_configures_runs_in_a_call(tmp_path):
    """Filters, hooks, fsmonitor and aliases of the user's repository do not run when Ralph reads it."""
    top = make_repo(tmp_path / "repo", {"a.txt": "1\n", ".gitattributes": "* filter=trip\n"})
    trip = f"touch {tmp_path}/tripped; cat"
    for key in ("filter.trip.clean", "filter.trip.smudge", "core.fsmonitor"):
        git(top, "config", key, trip)
    write(top, {"a.txt": "2\n"})
    hook = top / ".git/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/tripped\n")
    hook.chmod(0o755)
    (tmp_path / "tripped").unlink(missing_ok=True)
    project = find_project(str(top))
    assert project.filters == ("trip",)
    user_call(project, ["status", "--porcelain"])
    user_call(project, ["update-ref", "refs/ralph/x/y", project.head])
    assert not (tmp_path / "tripped").exists()
