"""What is in no snapshot of a session: named, and known to have changed or not, without running anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ralph.core.session.record import Session
from ralph.shell.git.project import find_project
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import open_store
from ralph.shell.session.work_tree import unseen_changes, unseen_parts


def git(cwd: Path, *words: str) -> None:
    argv = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *words]
    subprocess.run(argv, cwd=cwd, check=True, capture_output=True)


def repository(path: Path, **files: str) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q")
    for name, text in files.items():
        (path / f"{name}.py").write_text(text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", "base")
    return path


def test_only_what_was_made_or_changed_since_is_held_against_the_work(tmp_path: Path) -> None:
    """Caches, ignored files, times and the commits of a repository inside are nobody's work; contents are."""
    top = repository(tmp_path / "repo", a="a = 1\n")
    git(top, "submodule", "add", "-q", str(repository(tmp_path / "origin", s="s = 1\n")), "sub")
    git(top, "commit", "-qm", "sub")
    inner = repository(top / "inner", i="i = 1\n")
    (inner / ".gitignore").write_text("build/\n")
    (top / "big.bin").touch()
    os.truncate(top / "big.bin", 60 << 20)
    store = open_store(find_project(str(top)), str(tmp_path / "store"))

    def look() -> dict[str, str]:
        return unseen_parts(store, user_tree(store, str(tmp_path / "index"))[1], str(tmp_path))

    seen = look()
    assert [words.split("'")[1] for words in seen] == ["big.bin", "inner/", "sub"]
    session = Session(unseen=seen)
    for name in ("inner/__pycache__/i.pyc", "inner/build/x", "sub/__pycache__/s.pyc"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("made by a run\n")
    git(inner, "commit", "-q", "--allow-empty", "-m", "more")
    os.utime(inner / "i.py", (1, 1))
    assert unseen_changes(session, look()) == ()
    (inner / "i.py").write_text("i = 2\n")
    (top / "sub" / "s.py").write_text("s = 2\n")
    os.truncate(top / "big.bin", 70 << 20)
    repository(top / "made")
    said = unseen_changes(session, look())
    assert [words.split("'")[1] for words in said] == ["big.bin", "inner/", "made/", "sub"]
    assert [": undo that" not in words for words in said] == [False, False, True, False]
