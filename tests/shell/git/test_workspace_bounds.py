"""A workspace has bounds: what is too large or too many is named and left out before git hashes it."""

from __future__ import annotations

import os
import time

import pytest
from gitkit import begin, make_repo, write
from userstate import git

from ralph.errors import SetupError
from ralph.shell.git.bounds import Bounds
from ralph.shell.git.snapshot import take_snapshot

SMALL = Bounds(file_bytes=1000, total_bytes=3000, files=20)


@pytest.fixture
def loop(tmp_path):
    made = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    time.sleep(0.02)
    return made


def snap(loop, bounds=SMALL):
    w = loop.workspace
    return take_snapshot(loop.store, w.path, w.index, loop.start.base_tree, bounds=bounds)


def bytes_read():
    """By this process and the children that it has waited for."""
    with open("/proc/self/io") as file:
        return int(file.readline().removeprefix("rchar: "))


def names(loop, found):
    return git(loop.project.top, "ls-tree", "-r", "--name-only", found.tree).split("\n")


def test_a_file_over_the_bound_is_named_and_left_out(loop):
    """The rest of the work is kept."""
    write(loop.ws, {"huge.bin": "x" * 1001, "src/new.py": "new = 1\n"})
    found = snap(loop)
    assert found.left_out == ("'huge.bin' has 0 MB, and a file may have 0",)
    assert "src/new.py" in names(loop, found)
    assert "huge.bin" not in names(loop, found)


def test_gigabytes_are_not_read(loop):
    """A sparse file of 8 GB costs nothing: git never reads it."""
    with (loop.ws / "sparse").open("wb") as file:
        file.truncate(8 << 30)
    before = bytes_read()
    found = snap(loop, Bounds())
    assert bytes_read() - before < 1 << 30
    assert found.left_out == ("'sparse' has 8,590 MB, and a file may have 256",)


def test_what_is_ignored_does_not_count(loop):
    """Build folders may be as large as they like."""
    write(loop.ws, {"build/huge.bin": "x" * 5000, "a.log": "y" * 5000})
    assert snap(loop).left_out == ()


def test_a_tracked_file_that_grew_keeps_its_old_content(loop):
    """And is named, so that nobody believes it was kept."""
    write(loop.ws, {"a.txt": "x" * 1001})
    found = snap(loop)
    assert "'a.txt'" in found.left_out[0]
    assert git(loop.project.top, "cat-file", "blob", f"{found.tree}:a.txt") == "one"


def test_of_too_much_together_the_largest_go(loop):
    """Small files stay."""
    write(loop.ws, {f"d{n}.bin": "x" * 900 for n in range(4)} | {"small.py": "s = 1\n"})
    found = snap(loop)
    assert len(found.left_out) == 1
    assert "small.py" in names(loop, found)


def test_of_too_many_the_fullest_folder_goes(loop):
    """It is named with its count."""
    write(loop.ws, {f"cache/{n}": "x" for n in range(30)} | {"src/new.py": "n = 1\n"})
    found = snap(loop)
    assert found.left_out == ("'cache/' holds 30 new files, and 20 are allowed",)
    assert "src/new.py" in names(loop, found)
    assert not any(name.startswith("cache") for name in names(loop, found))


def test_too_many_at_the_top_stop_with_a_reason(loop):
    """Nothing can be left out there without leaving the work out."""
    write(loop.ws, {f"n{n}": "x" for n in range(30)})
    with pytest.raises(SetupError) as seen:
        snap(loop)
    assert seen.value.code == "E-WORKSPACE-FILES"


def test_what_was_there_before_does_not_count(loop):
    """Bounds are for one iteration: what the base or an earlier snapshot holds is not measured again."""
    write(loop.ws, {f"src/old{n}.txt": "x" * 100 for n in range(19)})
    first = snap(loop)
    time.sleep(0.02)
    write(loop.ws, {f"src/new{n}.txt": "x" * 100 for n in range(19)})
    second = snap(loop)
    assert (first.left_out, second.left_out) == ((), ())
    assert len(names(loop, second)) == 3 + 38
    assert os.path.exists(loop.workspace.index)
