"""What a check writes over in its own tree is seen, and so is what it puts back."""

import os

import pytest
from gitkit import begin, make_repo

from ralph.shell.gate_run.watch_call import take_stamps, written_paths


def rewrite_and_restore(path):
    before = path.stat()
    text = path.read_text()
    path.write_text("x" * len(text))
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DEEDS = {
    "written over": lambda path: path.write_text("other\n"),
    "put back, with its old time": rewrite_and_restore,
    "removed": lambda path: path.unlink(),
    "replaced": lambda path: path.with_name("n").write_text("one\n") and path.with_name("n").replace(path),
    "made a link": lambda path: (path.unlink(), path.symlink_to("/dev/null")),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_written_file_is_named(tmp_path, deed):
    """However it is done, the one file is named and its neighbour is not."""
    top = make_repo(tmp_path / "r", {"a.txt": "one\n", "b.txt": "one\n"})
    loop = begin(top, tmp_path / "s")
    stamps = take_stamps(loop.store, loop.start.base_tree, str(top))
    (top / "b.txt").read_text()
    (top / "new.log").write_text("x")
    assert written_paths(str(top), stamps) == (), "reading is not writing, and new files are no concern"
    DEEDS[deed](top / "a.txt")
    assert written_paths(str(top), stamps) == ("a.txt",)
