"""What guards look at, read from git at once: the changes with modes and sizes, and both contents of each.

One process for many blobs: a git call for each of two thousand files would take longer than the guards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from msgspec import Struct

from ralph.gates.guards import Change
from ralph.shell.git import trees
from ralph.shell.git.store import Store, private_call

MAX_BLOB_BYTES = 1 << 20  # larger blobs are read one by one, when a guard asks for them
MAX_TOTAL_BYTES = 256 << 20
Read = Callable[[str], bytes | None]


class Trees(Struct, frozen=True):
    changes: tuple[Change, ...]
    base_paths: frozenset[str]
    read_base: Read
    read_result: Read


def compare_trees(store: Store, base: str, result: str) -> Trees:
    """The difference between two trees, with everything a guard may ask about it."""
    listed = trees.tree_entries(store, base)
    changed = trees.changed_paths(store, base, result)
    old = {path: listed[path].oid for change in changed if (path := change.old_path or change.path) in listed}
    new = {change.path: change.oid for change in changed if change.status != "D"}
    linked = {change.path for change in changed if trees.GITLINK in (change.mode, change.old_mode)}
    wanted = {oid for oids in (old, new) for path, oid in oids.items() if path not in linked}
    sizes = _sizes(store, wanted)
    blobs = _blobs(store, _affordable(sizes))
    changes = tuple(
        Change(
            status=change.status,  # type: ignore[arg-type]
            path=change.path,
            old_path=change.old_path or "",
            mode=change.mode,
            old_mode=change.old_mode,
            size=sizes.get(change.oid),
        )
        for change in changed
    )
    return Trees(
        changes,
        frozenset(listed),
        _reader(store, base, {path: blobs[oid] for path, oid in old.items() if oid in blobs}),
        _reader(store, result, {path: blobs[oid] for path, oid in new.items() if oid in blobs}),
    )


def contents(store: Store, oids: Iterable[str]) -> dict[str, bytes]:
    """Many blobs at once; those that are too large are left out."""
    return _blobs(store, _affordable(_sizes(store, oids)))


def _reader(store: Store, tree: str, known: dict[str, bytes]) -> Read:
    others: dict[str, bytes | None] = {}

    def read(path: str) -> bytes | None:
        if path in known:
            return known[path]
        if path not in others:
            others[path] = trees.read_blob(store, tree, path)
        return others[path]

    return read


def _affordable(sizes: dict[str, int]) -> list[str]:
    chosen, total = [], 0
    for oid, size in sorted(sizes.items(), key=lambda item: (item[1], item[0])):
        total += size
        if size > MAX_BLOB_BYTES or total > MAX_TOTAL_BYTES:
            break
        chosen.append(oid)
    return chosen


def _sizes(store: Store, oids: Iterable[str]) -> dict[str, int]:
    asked = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    if not asked:
        return {}
    out = private_call(store, ["cat-file", "--batch-check"], stdin=asked).out
    rows = (line.split(" ") for line in os.fsdecode(out).split("\n"))
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}


def _blobs(store: Store, oids: list[str]) -> dict[str, bytes]:
    if not oids:
        return {}
    out = private_call(store, ["cat-file", "--batch"], stdin="".join(f"{oid}\n" for oid in oids).encode()).out
    found: dict[str, bytes] = {}
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        row = out[at:end].decode().split(" ")
        at = end + 1
        if len(row) == 3:  # "<oid> missing" has two words and no content
            size = int(row[2])
            found[row[0]] = out[at : at + size]
            at += size + 1
    return found
