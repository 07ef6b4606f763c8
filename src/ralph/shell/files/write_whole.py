"""Writing a file as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress


def write_whole(
    path: str, data: bytes, mode: int | None = None, *, before: Callable[[], None] = lambda: None
) -> None:
    """Aside, synced, renamed. A link at its place is replaced; who wants the file behind it names that.

    Without a mode it keeps the one of the file that is there, or gets what any new file gets. Nobody but its
    owner reads what is only half there. `before` looks once more, right before the rename, and may raise.
    """
    fresh = f"{path}.ralph-{os.getpid()}"
    try:
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(opened, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(opened, _mode_of(path) if mode is None else mode)
            os.fsync(opened)
        before()
        os.replace(fresh, path)
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh)


def _mode_of(path: str) -> int:
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o7777
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask
