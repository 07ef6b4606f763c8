"""Where the list of items and the PRDs of a project are; S3's places are found without configuration."""

from __future__ import annotations

import os

from msgspec import Struct

from ralph.core.backlog.prd import Prd, is_prd, prd_names, read_prd
from ralph.errors import UserError
from ralph.shell.backlog.folders import FOLDERS, NAME, PRDS
from ralph.shell.journal.selection import project_top

KnownPrds = dict[str, tuple[tuple[int, ...], Prd]]  # by path, with the stamp of their file
_MAX_PARENTS = 10
_MAX_BYTES = 4 << 20


class BacklogPlace(Struct, frozen=True, kw_only=True):
    top: str
    file: str
    prds: str
    key: str  # of its stream: the repository, unless the list is one beside the project's own

    @property
    def exists(self) -> bool:
        return os.path.exists(self.file)

    @property
    def inside(self) -> str:
        """The list's path in the repository."""
        return os.path.relpath(self.file, self.top)

    @property
    def protect(self) -> tuple[str, ...]:
        """Globs of what no agent may change."""
        folders = (os.path.dirname(self.inside), os.path.relpath(self.prds, self.top))
        return tuple(
            f"{folder}/**" for folder in dict.fromkeys(folders) if folder and not folder.startswith("..")
        )


def find_place(cwd: str, *, harness_dir: str = "", file: str = "", prd: str = "") -> BacklogPlace:
    """`harness_dir` is S3's flag; `file` and `prd` are settings, from the top of the repository."""
    top = project_top(cwd)
    if top is None:
        raise UserError(
            f"'{cwd}' is not inside a git repository",
            code="E-GIT-NONE",
            why="a backlog belongs to a repository",
            next="git init && git add -A && git commit -m start",
        )
    own = os.path.join(top, file) if file else _first(top, FOLDERS, NAME)
    path = own
    if harness_dir:
        path = _upwards(os.path.realpath(os.path.join(cwd, harness_dir)), top)
    prds = os.path.join(top, prd) if prd else _first(top, PRDS, "")
    if harness_dir and not os.path.isdir(prds):
        prds = os.path.join(os.path.dirname(os.path.dirname(path)), "prd")
    key = top if path == own else f"{top}\0{os.path.relpath(path, top)}"
    return BacklogPlace(top=top, file=path, prds=prds, key=key)


def _first(top: str, folders: tuple[str, ...], name: str) -> str:
    """The file, or a folder where it would be; else the first place."""
    paths = [os.path.join(top, folder, name).rstrip("/") for folder in folders]
    there = (path for path in paths if os.path.exists(path))
    begun = (path for path in paths if os.path.isdir(os.path.dirname(path)) and name)
    return next(there, next(begun, paths[0]))


def _upwards(folder: str, top: str) -> str:
    """The list in this folder or one above it, inside the repository."""
    here = folder
    for _ in range(_MAX_PARENTS):
        path = os.path.join(here, NAME)
        if os.path.exists(path) or not here.startswith(top + os.sep):
            break
        here = os.path.dirname(here)
    return path if os.path.exists(path) and path.startswith(top + os.sep) else os.path.join(folder, NAME)


def read_prd_file(place: BacklogPlace, name: str, known: KnownPrds) -> Prd | None:
    """The PRD of this name; None when there is none. Many items share one: it is read again if it changed."""
    paths = [os.path.join(place.prds, one) for one in prd_names(name)]
    found = next((one for one in paths if os.path.isfile(one)), None)
    if found is None:
        return None
    stamp = file_stamp(os.stat(found))
    if found not in known or known[found][0] != stamp:
        if not os.path.realpath(found).startswith(os.path.realpath(place.prds) + os.sep):
            return None
        with open(found, encoding="utf-8", errors="replace") as file:
            known[found] = stamp, read_prd(file.read(_MAX_BYTES), os.path.relpath(found, place.top))
    return known[found][1]


def file_stamp(at: os.stat_result) -> tuple[int, ...]:
    """By this a file is known again without reading it."""
    return (at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)


def prd_files(place: BacklogPlace) -> list[str]:
    """Names of all PRDs."""
    try:
        return sorted(filter(is_prd, os.listdir(place.prds)))
    except (FileNotFoundError, NotADirectoryError):
        return []
