"""What watched processes noted about the files they read, made into one answer."""

from __future__ import annotations

from collections.abc import Collection

from ralph.core.model.verdict import FileReads

MAX_NOTES = 16 << 20
MAX_FILES = 20_000


def read_notes(notes: bytes, opened: Collection[str], files: Collection[str], lost: str) -> FileReads:
    """`opened`: seen from outside; `files`: those of the tree, of which alone anything is told."""
    known = frozenset(files)
    by: dict[str, set[str]] = {}
    missed: dict[str, set[str]] = {}
    outside: set[str] = set()
    roots: set[str] = set()
    for line in notes[:MAX_NOTES].decode("utf-8", "replace").split("\n"):
        kind, _, rest = line.partition("\t")
        what, _, who = rest.partition("\t")
        if kind == "read" and what in known and what != who:
            by.setdefault(what, set()).add(who)
        elif kind == "missed" and what not in known and ".pyc" not in what and len(missed) < MAX_FILES:
            missed.setdefault(what, set()).add(who)
        elif kind == "outside":
            outside.add(what)
        elif kind == "root":
            roots.add(what)
    return FileReads(
        opened=tuple(sorted(known.intersection(opened) | by.keys())),
        by={path: tuple(sorted(readers)) for path, readers in sorted(by.items())},
        missed={path: tuple(sorted(readers)) for path, readers in sorted(missed.items())},
        outside=tuple(sorted(outside)),
        roots=tuple(sorted(roots)),
        lost=lost,
    )
