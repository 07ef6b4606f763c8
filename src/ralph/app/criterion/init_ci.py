"""Files for CI and hooks, written into a repository from templates. What is there is never replaced."""

from __future__ import annotations

import os
from importlib import resources
from typing import Literal

from msgspec import Struct

from ralph.errors import NothingToDo, SetupError, UserError
from ralph.shell.git.project import find_project

CiKind = Literal["github", "pre-commit"]
# Template -> where it goes, from the top of the repository.
_PLACES: dict[CiKind, dict[str, str]] = {
    "github": {
        "ralph-issue.yml": ".github/workflows/ralph-issue.yml",
        "ralph-verify.yml": ".github/workflows/ralph-verify.yml",
    },
    "pre-commit": {"pre-commit.yml": ".pre-commit-config.yaml"},
}


class CiFile(Struct, frozen=True):
    path: str  # from the top
    text: str


def ci_files(kind: CiKind) -> tuple[CiFile, ...]:
    folder = resources.files("ralph") / "templates" / "ci"
    return tuple(
        CiFile(path, (folder / name).read_text(encoding="utf-8")) for name, path in _PLACES[kind].items()
    )


def write_ci(kind: CiKind, cwd: str) -> tuple[str, ...]:
    """All of them or none; the paths that were written."""
    top = os.path.realpath(find_project(cwd).top)
    new = [one for one in ci_files(kind) if not _is_there(top, one)]
    if not new:
        raise NothingToDo("these files are there already", code="E-INIT-CI-DONE", at=top, next="git status")
    written: list[str] = []
    try:
        for one in new:
            path = os.path.join(top, one.path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            written.append(path)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(one.text)
    except OSError as error:
        for path in written:
            os.unlink(path)
        raise SetupError(
            f"cannot write '{error.filename}': {error.strerror}", code="E-INIT-CI-WRITE", next="git status"
        ) from error
    return tuple(one.path for one in new)


def _is_there(top: str, one: CiFile) -> bool:
    """Is this very file there? Another one, or a folder that leads out of the repository, is refused."""
    path = os.path.join(top, one.path)
    folder = os.path.realpath(os.path.dirname(path))
    if folder != os.path.dirname(path):
        raise UserError(
            f"'{os.path.dirname(one.path)}' is a link", code="E-INIT-CI-LINK", at=folder, next="git status"
        )
    if not os.path.lexists(path):
        return False
    try:
        with open(path, encoding="utf-8") as file:
            if not os.path.islink(path) and file.read(len(one.text) + 1) == one.text:
                return True
    except (OSError, ValueError):
        pass
    raise UserError(
        f"'{one.path}' is there already, and Ralph does not replace it",
        code="E-INIT-CI-EXISTS",
        at=path,
        why="what would be written is shown by the next command: take over what you want",
        next=f"ralph init --ci {'github' if one.path.startswith('.github') else 'pre-commit'} --dry-run",
    )
