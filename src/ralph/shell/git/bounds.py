"""How much of a workspace may go into one snapshot, and what is left out when it is more.

Git hashes whatever it is shown, and a file of gigabytes or a hundred thousand new ones would take minutes of
every iteration. So what an agent wrote since the last snapshot is measured before git sees it; what an
ignore rule covers is never hashed and does not count. What is left out is told by its name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import msgspec

from ralph.errors import SetupError
from ralph.shell.git.command import clean_text
from ralph.shell.git.store import Store, private_call


class Bounds(msgspec.Struct, frozen=True):
    file_bytes: int = 256_000_000
    total_bytes: int = 2_000_000_000
    files: int = 50_000


class LeftOut(msgspec.Struct, frozen=True):
    path: bytes
    words: str


def beyond_bounds(
    store: Store, workspace: str, index: str, young: Sequence[tuple[bytes, int]], bounds: Bounds
) -> list[LeftOut]:
    """What of the young files is too large or too many; `index` says which of them are ignored."""
    if _within(young, bounds):
        return []
    asked = b"".join(path + b"\0" for path, _ in young)
    found = private_call(
        store, ["check-ignore", "-z", "--stdin"], index=index, work_tree=workspace, stdin=asked, ok=(0, 1)
    )
    ignored = set(found.out.split(b"\0"))
    kept = [(path, size) for path, size in young if path not in ignored]
    return [] if _within(kept, bounds) else _choose(kept, bounds)


def _within(files: Sequence[tuple[bytes, int]], bounds: Bounds) -> bool:
    sizes = [size for _, size in files]
    return (
        len(sizes) <= bounds.files
        and sum(sizes) <= bounds.total_bytes
        and max(sizes, default=0) <= bounds.file_bytes
    )


def _choose(files: list[tuple[bytes, int]], bounds: Bounds) -> list[LeftOut]:
    """The largest files first, then the fullest folders: whatever is small and few stays."""
    out: list[LeftOut] = []
    kept: list[tuple[bytes, int]] = []
    total = sum(size for _, size in files)
    for path, size in sorted(files, key=lambda one: -one[1]):
        if size > bounds.file_bytes or total > bounds.total_bytes:
            total -= size
            bound = bounds.file_bytes if size > bounds.file_bytes else bounds.total_bytes
            what = "a file" if size > bounds.file_bytes else "new files together"
            words = f"has {size / 1e6:,.0f} MB, and {what} may have {bound / 1e6:,.0f}"
            out.append(LeftOut(path, f"'{clean_text(path, 200)}' {words}"))
        else:
            kept.append((path, size))
    return out + _fullest(kept, bounds)


def _fullest(files: list[tuple[bytes, int]], bounds: Bounds) -> list[LeftOut]:
    folders = Counter(os.path.dirname(path) for path, _ in files)
    if len(folders) > bounds.files // 10:  # spread over many: their tops are few
        folders = Counter(path.partition(b"/")[0] for path, _ in files if b"/" in path)
    out: list[LeftOut] = []
    left = len(files)
    for folder, count in folders.most_common():
        if left <= bounds.files:
            break
        if not folder:  # the top itself cannot be left out
            continue
        left -= count
        words = f"'{clean_text(folder, 200)}/' holds {count:,} new files, and {bounds.files:,} are allowed"
        out.append(LeftOut(folder, words))
    if left > bounds.files:
        raise too_many_error(left, "new files at the top of the workspace")
    return out


def too_many_error(count: int, what: str, at: str = "") -> SetupError:
    return SetupError(
        f"there are {count:,} {what}",
        code="E-WORKSPACE-FILES",
        at=at,
        why="they cannot all be looked through, and what nobody has seen is not kept",
        next="ralph diff",
    )
