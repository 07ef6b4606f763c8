"""An edit in the very second in which the workspace was made, of a file whose size stays the same."""

import time

import pytest
from gitkit import begin, make_repo, write
from userstate import git

from ralph.shell.git.snapshot import take_snapshot


@pytest.mark.slow
def test_an_edit_of_the_same_size_in_the_same_second_is_seen(tmp_path):
    """Git looks at whole seconds; a quick agent's one-letter repair must not be taken for no change."""
    loop = edited_at_once(tmp_path)
    time.sleep(1.05)
    workspace = loop.workspace
    seen = take_snapshot(loop.store, workspace.path, workspace.index, loop.start.base_tree)
    assert [change.path for change in seen.changes] == ["a.txt"]
    assert "+two" in git(loop.ws, "diff"), "the agent's own git does not see it"


@pytest.mark.slow
def test_beside_a_nested_repository_too(tmp_path):
    """What a nested repository needs of the index does not make the edit look old."""
    loop = edited_at_once(tmp_path)
    git(loop.ws, "init", "--quiet", "sub")
    write(loop.ws, {"sub/inner.txt": "inner\n"})
    time.sleep(1.05)
    workspace = loop.workspace
    seen = take_snapshot(loop.store, workspace.path, workspace.index, loop.start.base_tree)
    assert [change.path for change in seen.changes] == ["a.txt", "sub/inner.txt"]


def edited_at_once(top):
    """A workspace that was made and changed within one second."""
    for number in range(10):
        repo = make_repo(top / str(number) / "repo")
        time.sleep(1.01 - time.time() % 1)
        begun = time.time()
        loop = begin(repo, top / str(number) / "state")
        write(loop.ws, {"a.txt": "two\n"})
        if int(time.time()) == int(begun):
            return loop
    pytest.skip("this machine does not do both within one second")
