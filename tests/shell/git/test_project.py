"""Finding the user's repository, and refusing it."""

from __future__ import annotations

import os

import pytest
from gitkit import make_repo, write
from userstate import git, same_user, user_state

from ralph.errors import RalphError
from ralph.shell.git.project import find_project, start_warnings


def refused(path) -> str:
    with pytest.raises(RalphError) as error:
        find_project(str(path))
    assert error.value.next or error.value.code == "E-GIT-PATH"
    return error.value.code


def test_a_project_is_found_from_a_subfolder_with_an_odd_path(tmp_path):
    """Spaces, non-ASCII letters and sub-folders are fine, and the prefix is known."""
    top = make_repo(tmp_path / "mein Projekt ü")
    project = find_project(str(top / "src"))
    assert project.top == str(top)
    assert project.prefix == "src/"
    assert project.branch == "refs/heads/main"
    assert project.head == git(top, "rev-parse", "HEAD")
    assert project.object_dirs == (str(top / ".git/objects"),)


def test_linked_worktrees_and_detached_heads_are_projects(tmp_path):
    """A worktree of a worktree has its own git directory and the common object store."""
    top = make_repo(tmp_path / "repo")
    git(top, "worktree", "add", "-q", "-b", "two", "../two")
    git(tmp_path / "two", "worktree", "add", "-q", "--detach", "../three")
    project = find_project(str(tmp_path / "three"))
    assert project.branch is None
    assert project.common_dir == str(top / ".git")
    assert project.git_dir != project.common_dir
    assert find_project(str(tmp_path / "two")).branch == "refs/heads/two"


def test_alternates_are_followed_and_a_loop_of_them_ends(tmp_path):
    """Every store that objects are borrowed from is known, each once."""
    first = make_repo(tmp_path / "first")
    git(tmp_path, "clone", "-q", "--shared", "first", "second")
    (first / ".git/objects/info/alternates").write_text("../../../second/.git/objects\n")
    project = find_project(str(tmp_path / "second"))
    assert project.object_dirs == (str(tmp_path / "second/.git/objects"), str(first / ".git/objects"))


def test_what_is_no_usable_repository_is_refused(tmp_path):
    """No repository, a bare one, an empty one and the inside of .git each have their own code."""
    (tmp_path / "none").mkdir()
    assert refused(tmp_path / "none") == "E-GIT-NONE"
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert refused(tmp_path / "bare") == "E-GIT-BARE"
    git(tmp_path, "init", "-q", "empty")
    assert refused(tmp_path / "empty") == "E-GIT-EMPTY"
    top = make_repo(tmp_path / "repo")
    assert refused(top / ".git") == "E-GIT-INSIDE"


@pytest.mark.parametrize(
    ("mark", "code"),
    [
        ("MERGE_HEAD", "E-GIT-MERGING"),
        ("rebase-merge", "E-GIT-REBASING"),
        ("rebase-apply", "E-GIT-REBASING"),
        ("CHERRY_PICK_HEAD", "E-GIT-PICKING"),
        ("REVERT_HEAD", "E-GIT-REVERTING"),
        ("BISECT_LOG", "E-GIT-BISECTING"),
    ],
)
def test_unfinished_business_is_refused(tmp_path, mark, code):
    """In the middle of a merge, rebase, cherry-pick, revert or bisect no loop starts."""
    top = make_repo(tmp_path / "repo")
    (top / ".git" / mark).write_text(git(top, "rev-parse", "HEAD"))
    assert refused(top) == code


@pytest.mark.skipif(os.getuid() != 0, reason="needs another owner")
def test_a_repository_of_another_owner_is_refused(tmp_path):
    """Git's safe.directory rule is respected."""
    top = make_repo(tmp_path / "repo")
    os.chown(top, 12345, 12345)
    os.chown(top / ".git", 12345, 12345)
    assert refused(top) == "E-GIT-OWNER"


def test_the_survey_names_what_a_careful_person_would_mention(tmp_path):
    """Nested repositories, large files, sparse, shallow, branch in the way, moved submodules: only said."""
    make_repo(tmp_path / "lib")
    top = make_repo(tmp_path / "repo")
    assert start_warnings(find_project(str(top))) == []
    git(top, "submodule", "add", "-q", "../lib", "lib")
    git(top, "commit", "-q", "-m", "sub")
    write(top, {"lib/a.txt": "changed\n"})
    git(top, "init", "-q", "nested")
    git(top, "branch", "ralph")
    git(top, "config", "core.sparseCheckout", "true")
    git(top, "config", "filter.odd.clean", f"touch {tmp_path}/tripped")
    with open(top / "big.bin", "wb") as file:
        file.truncate(51 * 1024 * 1024)
    (top / ".git/shallow").write_text("")
    before = user_state(top)
    said = " ".join(start_warnings(find_project(str(top))))
    for word in ("'nested/'", "'big.bin'", "sparse", "shallow", "'ralph'", "'lib'", "odd"):
        assert word in said
    assert not (tmp_path / "tripped").exists()
    same_user(before, user_state(top))
