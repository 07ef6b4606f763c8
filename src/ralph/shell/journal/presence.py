"""Is there a journal where one must be? A state directory with loops and without their record is damaged.

Looks at names and sizes only; what is in the file is the matter of `reader` and `writer`.
"""

from __future__ import annotations

import os
import stat

from ralph.errors import JournalError


def refuse_lost(path: str) -> None:
    """Stops when the journal is no plain file, or is gone or empty while the folders of loops are there."""
    try:
        seen = os.stat(path)
    except FileNotFoundError:
        _refuse_orphans(path, "is missing")
        return
    except OSError:
        return  # whoever opens it says why that cannot be
    if not stat.S_ISREG(seen.st_mode):
        raise JournalError(
            f"the journal '{path}' is no file",
            code="E-JOURNAL-UNUSABLE",
            why=f"it is {_KINDS.get(stat.S_IFMT(seen.st_mode), 'something else')}",
            next=f"rm -r '{path}'",
        )
    if seen.st_size == 0 and not _size(path + "-wal"):
        _refuse_orphans(path, "is empty")


_KINDS = {
    stat.S_IFIFO: "a pipe, and reading it would wait for ever",
    stat.S_IFDIR: "a folder",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _refuse_orphans(path: str, what: str) -> None:
    root = os.path.dirname(path)
    try:
        # A lock alone is left by a loop that was refused; a store is made after the journal was opened.
        found = [entry.name for entry in os.scandir(os.path.join(root, "loops")) if _was_recorded(entry)]
    except OSError:
        return
    if found:
        some = ", ".join(sorted(found)[:3]) + (" …" if len(found) > 3 else "")
        raise JournalError(
            f"the journal '{path}' {what}, but {len(found)} loops were recorded in it",
            code="E-JOURNAL-LOST",
            why=f"their folders are there: {some}. Put the journal back from a backup, or move them aside",
            next=f"cd '{root}' && mkdir -p unusable && mv loops workspaces unusable/",
        )


def _was_recorded(entry: os.DirEntry[str]) -> bool:
    return os.path.isdir(os.path.join(entry.path, "calls")) or os.path.isdir(os.path.join(entry.path, "git"))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
