"""A CLI's own folders in the box: writable, so that a refreshed login is kept; settings and hooks are not.

What would run outside the box later (hooks, plugins, settings that name commands) is bound over itself
read-only; where it does not exist yet, something empty stands in its place, so that it cannot be planted.
Conversations about other work look empty. At the lower level (no box) none of this can be held.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable

import msgspec

from ralph.agents import Launch

NOTE = "stood-in.json"  # in the call's folder: what bubblewrap had to make on the host


class Places(msgspec.Struct, frozen=True):
    write: tuple[str, ...] = ()
    binds: tuple[tuple[str, str], ...] = ()  # read-only, (host, inside)
    hide: tuple[str, ...] = ()


def places(launch: Launch, folder: str, repo: str = "") -> Places:
    """What of a launch's folders exists on this machine; blank stand-ins are made in the call's folder."""
    write = tuple(path for path in map(os.path.realpath, launch.login) if os.path.isdir(path))
    blanks = os.path.join(folder, "blank")
    binds: list[tuple[str, str]] = []
    missing: list[str] = []
    hide: list[str] = []
    for path, given in launch.over.items():
        real = _real(path)
        if os.path.dirname(real) in write and not os.path.exists(real):
            missing.append(real)
        if not repo or not real.startswith(repo.rstrip("/") + "/"):  # else it would land in the workspace
            binds.append((given, real))
    for path in (*launch.protect, *launch.hide):
        real = _real(path)
        if path in launch.over:
            continue
        if not any(os.path.dirname(real) == own for own in write):
            continue
        hidden = path in launch.hide
        if hidden and os.path.isdir(real):
            hide.append(real)
        elif hidden and os.path.isfile(real):
            binds.append((_blank(blanks, real), real))
        elif not hidden and os.path.exists(real):
            binds.append((os.path.realpath(real), real))
        elif not hidden:
            binds.append((_blank(blanks, real), real))
            missing.append(real)
    if missing:
        with open(os.path.join(folder, NOTE), "w", encoding="utf-8") as file:
            json.dump(missing, file)
    return Places(write, tuple(binds), tuple(hide))


def _real(path: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _blank(folder: str, path: str) -> str:
    """Something empty of the same sort: an object of JSON, an empty text, an empty folder."""
    os.makedirs(os.path.join(folder, "folder"), mode=0o700, exist_ok=True)
    ending = os.path.splitext(path)[1]
    if not ending:
        return os.path.join(folder, "folder")
    blank = os.path.join(folder, f"file{ending}")
    with open(blank, "w", encoding="utf-8") as file:
        file.write("{}\n" if ending == ".json" else "")
    return blank


def clear(folder: str) -> None:
    """Take away the empty files and folders that were made on the host as places to bind to."""
    try:
        with open(os.path.join(folder, NOTE), encoding="utf-8") as file:
            made: Iterable[str] = json.load(file)
    except (OSError, ValueError):
        return
    for path in made:
        with contextlib.suppress(OSError):
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            elif os.lstat(path).st_size == 0:
                os.unlink(path)
