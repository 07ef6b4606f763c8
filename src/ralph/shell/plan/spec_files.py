"""Specs, plans and documents of the user's work tree: found, read and, for a new spec, written.

Read as hostile: bounded, regular files only, opened without waiting, and never through a link that leads out
of the project. A new spec never replaces a file; an
edited one replaces what was read, and nothing else. What is in them is the core's
business (`core.specs.parse`, `core.plan.file`).
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ralph.core.specs.parse import template
from ralph.core.text.clean import one_line
from ralph.core.text.markdown import slug
from ralph.errors import NeedsHuman, NothingToDo, RalphError, SetupError, UserError
from ralph.shell.files.paths import covers
from ralph.shell.files.write_whole import write_whole
from ralph.shell.journal.selection import project_top

FOLDER = "specs"
MAX_BYTES = 8 * 1024 * 1024
MAX_FILES = 2000
MARK = "\ufeff"  # the byte order mark that some editors write
_NUMBERED = re.compile(r"(\d{1,4})-(.*)\.md")


class Files(msgspec.Struct, frozen=True):
    """Texts by their path inside the project, and a sentence for each file that was left out."""

    top: str
    texts: dict[str, str]
    skipped: dict[str, str] = {}
    marked: frozenset[str] = frozenset()  # the files that begin with MARK, which is in no text


def top_of(cwd: str) -> str:
    """The project around a folder; outside of one, the folder itself."""
    return project_top(cwd) or os.path.realpath(cwd)


def read_specs(cwd: str, asked: Sequence[str] = ()) -> Files:
    """The specs that were asked for (files or folders, seen from `cwd`), else all of `specs/`."""
    top = top_of(cwd)
    paths = list(_asked_paths(cwd, top, asked)) if asked else list(_list_specs(top, FOLDER))
    if not paths:
        where = "found" if asked else f"in '{FOLDER}/'"
        raise NothingToDo(
            f"no specs {where}", code="E-SPEC-NONE", at=top, next="ralph specs new first-feature"
        )
    if len(paths) > MAX_FILES:
        raise UserError(
            f"there are {len(paths)} specs, expected at most {MAX_FILES}",
            code="E-SPEC-MANY",
            next=f"ralph specs check {shlex.quote(paths[0])}",
        )
    texts: dict[str, str] = {}
    marked: set[str] = set()
    skipped: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        found = _read_whole(top, path)
        if isinstance(found, str):
            texts[path] = found.removeprefix(MARK)
            marked |= {path} if found.startswith(MARK) else set()
        else:
            skipped[path] = found.what
    return Files(top, texts, skipped, frozenset(marked))


def _asked_paths(cwd: str, top: str, asked: Iterable[str]) -> Iterator[str]:
    for one in asked:
        whole = os.path.normpath(os.path.join(os.path.realpath(cwd), one))
        path = os.path.relpath(whole, top)
        if path == ".." or path.startswith("../"):
            raise UserError(f"'{one}' is not inside '{top}'", code="E-SPEC-OUTSIDE", next="ralph specs check")
        if os.path.isdir(whole):
            yield from _list_specs(top, path)
        elif os.path.lexists(whole):
            yield path
        else:
            raise UserError(
                f"there is no file '{one}'", code="E-SPEC-UNKNOWN", at=whole, next="ralph specs check"
            )


def _list_specs(top: str, folder: str) -> list[str]:
    place = os.path.join(top, folder)
    if not _inside(top, place):
        raise _leads_out(folder)
    try:
        names = sorted(os.listdir(place))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(folder, error) from None
    prefix = "" if folder == "." else f"{folder}/"
    return [f"{prefix}{name}" for name in names if name.endswith(".md") and name.lower() != "readme.md"]


def read_text(top: str, path: str) -> str | RalphError:
    """One file of the project as text, or why not."""
    found = _read_whole(top, path)
    return found.removeprefix(MARK) if isinstance(found, str) else found


def _read_whole(top: str, path: str) -> str | RalphError:
    whole = os.path.join(top, path)
    if not _inside(top, whole):
        return _leads_out(path)
    try:
        handle = os.open(whole, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not hang us
    except OSError as error:
        return _unreadable(path, error)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            return UserError(f"'{path}' is not a regular file", code="E-SPEC-KIND", next="ralph specs check")
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(path, error)
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        return UserError(
            f"'{path}' is larger than {MAX_BYTES} bytes", code="E-SPEC-LARGE", next="ralph specs check"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return UserError(
            f"'{path}' is not valid UTF-8 (line {line})", code="E-SPEC-TEXT", next="ralph specs check"
        )


def new_spec(cwd: str, name: str) -> tuple[str, str]:
    """Write a template for a new spec; the project, and the path inside it."""
    top = top_of(cwd)
    short = slug(name)
    if not short:
        raise UserError(
            f"'{one_line(name, 60)}' makes no file name, expected words with letters or digits",
            code="E-SPEC-NAME",
            next='ralph specs new "log in"',
        )
    place = os.path.join(top, FOLDER)
    if not _inside(top, place):
        raise _leads_out(FOLDER)
    try:
        os.makedirs(place, exist_ok=True)
        there = os.listdir(place)
    except OSError as error:
        raise _unreadable(FOLDER, error) from None
    numbers = [0]
    for found in map(_NUMBERED.fullmatch, sorted(there)):
        if found and found[2] == short:
            path = f"{FOLDER}/{found[0]}"
            raise UserError(
                f"there is a spec '{short}' already",
                code="E-SPEC-EXISTS",
                at=path,
                next=f"ralph specs check {path}",
            )
        numbers += [int(found[1])] if found else []
    text = template(one_line(name, 100), prefix_of(short)).encode()
    for number in range(max(numbers) + 1, max(numbers) + 100):  # another one may be made at this moment
        path = f"{FOLDER}/{number:02}-{short}.md"
        if _write_new(os.path.join(top, path), text):
            return top, path
    raise SetupError("no free number for a new spec", code="E-SPEC-NUMBER", at=place, next="ls specs")


def replace_spec(top: str, path: str, old: str, new: str) -> None:
    """Write `new` where `old` still is: a plain file, which was not edited meanwhile."""
    whole = os.path.join(top, path)
    found = _read_whole(top, path)
    mark = MARK if found == MARK + old else ""
    if found != mark + old or os.path.realpath(whole) != os.path.join(os.path.realpath(top), path):
        why = "is a link" if found == mark + old else "was changed meanwhile"
        raise NeedsHuman(
            f"'{path}' {why}; it was left as it is", code="E-SPEC-MOVED", next=f"ralph specs refine '{path}'"
        )
    try:
        write_whole(whole, (mark + new).encode())
    except OSError as error:
        raise _unreadable(path, error) from None


def write_beside(top: str, folder: str, stem: str, end: str, data: bytes) -> str:
    """Write a new file into a folder of the project, which is made when there is none; its path inside."""
    place = os.path.join(top, folder)
    if os.path.realpath(place) != os.path.join(os.path.realpath(top), folder):
        raise _leads_out(folder)
    try:
        os.makedirs(place, exist_ok=True)
    except OSError as error:
        raise _unreadable(folder, error) from None
    for number in range(1, 100):
        path = f"{folder}/{stem}{f'-{number}' if number > 1 else ''}{end}"
        if _write_new(os.path.join(top, path), data):
            return path
    raise SetupError("no free name for the file", code="E-SPEC-NUMBER", at=place, next=f"ls {folder}")


def prefix_of(short: str) -> str:
    """LOG-IN for `log-in`: the first part of the ids of its criteria."""
    words = [word.upper()[:16] for word in short.split("-")[:3]]
    return "-".join(word if word[0].isalpha() else f"N{word}"[:16] for word in words)


def _write_new(path: str, data: bytes) -> bool:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        handle = os.open(path, flags, 0o666)
    except FileExistsError:
        return False
    except OSError as error:
        raise _unreadable(path, error) from None
    with open(handle, "wb") as file:
        file.write(data)
    return True


def _inside(top: str, path: str) -> bool:
    return covers(os.path.realpath(top), os.path.realpath(path))


def _leads_out(path: str) -> UserError:
    return UserError(
        f"'{path}' is a link that leads out of the project", code="E-SPEC-LINK", next=f"ls -l '{path}'"
    )


def _unreadable(path: str, error: OSError) -> SetupError:
    why = (error.strerror or "unknown error").lower()
    return SetupError(f"'{path}' cannot be used: {why}", code="E-SPEC-FILE", next=f"ls -ld '{path}'")
