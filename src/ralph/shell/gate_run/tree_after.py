"""Which tracked files did a call write? Every file's stamps before it, held against those after it.

The time at which a file's inode changed cannot be set by whoever writes it, so a file that was rewritten and
put back shows as well. Nothing is read: a stamp costs some microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

MAX_NAMED = 50
MAX_STAMPED = 200_000

Stamps = dict[str, tuple[int, int, int]]


def take_stamps(checkout: str, paths: Iterable[str]) -> Stamps:
    """Of the files that are there; `paths` are relative to `checkout`."""
    found: Stamps = {}
    for path in paths:
        if (stamp := _stamp(os.path.join(checkout, path))) is not None and len(found) < MAX_STAMPED:
            found[path] = stamp
    return found


def written_paths(checkout: str, before: Stamps) -> tuple[str, ...]:
    """Those that were written, replaced, renamed or removed since; the first few."""
    changed = [path for path, stamp in before.items() if _stamp(os.path.join(checkout, path)) != stamp]
    return tuple(sorted(changed)[:MAX_NAMED])


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return None
    return seen.st_ino, seen.st_size, seen.st_ctime_ns
