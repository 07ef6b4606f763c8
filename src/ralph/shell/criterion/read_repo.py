"""Reading a repository's own files for inference: from one commit, bounded, nothing followed or executed.

Files come out of the object store, so that links, pipes and half-written files of a work tree do not matter.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable

import msgspec

from ralph.shell.git.project import Project, user_call

MAX_FILE_BYTES = 256 * 1024  # bytes of one file
MAX_TOTAL_BYTES = 8 * 1024 * 1024
MAX_PATHS = 20_000  # paths that are kept; the rest is vendored or generated
VENDORED = frozenset(
    {"node_modules", "vendor", "third_party", ".venv", "venv", "dist", "target", ".git", "site-packages"}
)


class Listed(msgspec.Struct, frozen=True):
    """The regular files of one commit, with their sizes."""

    rev: str
    sizes: dict[str, int]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.sizes)


def list_files(project: Project, rev: str) -> Listed:
    out = user_call(project, ["ls-tree", "-r", "-l", "-z", "--full-tree", rev]).out
    sizes: dict[str, int] = {}
    for entry in out.split(b"\0")[:-1]:
        meta, _, raw = entry.partition(b"\t")
        words = meta.split()
        if len(words) != 4 or words[0] not in (b"100644", b"100755") or not words[3].isdigit():
            continue
        path = os.fsdecode(raw)
        if not path.isprintable() or VENDORED & set(path.split("/")[:-1]):
            continue
        sizes[path] = int(words[3])
        if len(sizes) >= MAX_PATHS:
            break
    return Listed(rev, sizes)


def read_files(project: Project, listed: Listed, paths: Iterable[str]) -> tuple[dict[str, bytes], list[str]]:
    """The contents of these files, and a sentence for each that was left out."""
    wanted: list[str] = []
    skipped: list[str] = []
    room = MAX_TOTAL_BYTES
    for path in dict.fromkeys(paths):
        size = listed.sizes.get(path)
        if size is None:
            continue
        if size > MAX_FILE_BYTES or size > room:
            skipped.append(f"{path} is larger than {MAX_FILE_BYTES // 1024} KB and was not read")
            continue
        room -= size
        wanted.append(path)
    if not wanted:
        return {}, skipped
    asked = b"".join(os.fsencode(f"{listed.rev}:{path}") + b"\n" for path in wanted)
    out = user_call(project, ["cat-file", "--batch"], stdin=asked).out
    found: dict[str, bytes] = {}
    at = 0
    for path in wanted:
        end = out.index(b"\n", at)
        head = out[at:end].split()
        if len(head) != 3 or head[1] != b"blob":
            at = end + 1
            continue
        size = int(head[2])
        found[path] = out[end + 1 : end + 1 + size]
        at = end + 2 + size
    return found, skipped


def names_by_folder(listed: Listed) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in listed.sizes:
        found.setdefault(posixpath.dirname(path) or ".", []).append(posixpath.basename(path))
    return found
