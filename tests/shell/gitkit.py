"""Repositories for the git tests, and a loop's folders around them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from userstate import git

from ralph.shell.git.project import Project, find_project
from ralph.shell.git.snapshot import Start, start_refs
from ralph.shell.git.store import Store, open_store
from ralph.shell.git.workspace import Workspace, make_workspace

DATE = 1_700_000_000


class Loop(NamedTuple):
    project: Project
    store: Store
    start: Start
    workspace: Workspace
    home: Path

    @property
    def ws(self) -> Path:
        return Path(self.workspace.path)


def make_repo(top: Path, files: dict[str, str] | None = None) -> Path:
    top.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    write(top, files or {"a.txt": "one\n", "src/b.py": "b = 1\n", ".gitignore": "*.log\nbuild/\n"})
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    return top


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def commit_on_top(loop: Loop, files: dict[str, str | None], base: str | None = None) -> str:
    """A result commit on top of `base`, made in the workspace the way an iteration does."""
    from ralph.shell.git.refs import make_checkpoint
    from ralph.shell.git.snapshot import take_snapshot

    for name, text in files.items():
        path = loop.ws / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    w = loop.workspace
    snapshot = take_snapshot(loop.store, w.path, w.index, loop.start.base_tree, links=w.links)
    parent = base or loop.start.base_commit
    return make_checkpoint(
        loop.store, "demo", 1, tree=snapshot.tree, parent=parent, message="iteration 1", date=DATE
    )


def begin(
    top: Path, state: Path, *, name: str = "demo", with_changes: bool = False, base: str | None = None
) -> Loop:
    project = find_project(os.fspath(top))
    state.mkdir(parents=True, exist_ok=True)
    store = open_store(project, os.fspath(state / "git"))
    start = start_refs(store, name, base, with_changes=with_changes, date=DATE, scratch=os.fspath(state))
    workspace = make_workspace(
        store, os.fspath(state / "workspace"), os.fspath(state / "home"), start.base_commit
    )
    return Loop(project, store, start, workspace, state)
