"""Trees by id: listing, reading, comparing and composing them. Nothing here looks at files on disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping

import msgspec

from ralph.errors import SetupError
from ralph.shell.git.store import Store, private_call

TEXT_LIMIT = 4 << 20
GITLINK = "160000"
SYMLINK = "120000"


class TreeEntry(msgspec.Struct, frozen=True):
    mode: str
    oid: str


class TreeChange(msgspec.Struct, frozen=True):
    status: str  # A, M, D, T, R
    path: str
    mode: str  # "000000" when deleted
    old_path: str | None = None
    old_mode: str = "000000"
    oid: str = ""


class DiffStat(msgspec.Struct, frozen=True):
    files: int
    added: int  # lines; binary files count as files only
    removed: int


def tree_of(store: Store, commit: str) -> str:
    return private_call(store, ["rev-parse", "--verify", f"{commit}^{{tree}}"]).out.decode().strip()


def tree_entries(store: Store, tree: str, *paths: str) -> dict[str, TreeEntry]:
    """Every file, link and submodule of a tree (below `paths`, when given)."""
    args = ["ls-tree", "-r", "-z", "--full-tree", tree]
    out = private_call(store, [*args, "--", *paths] if paths else args).out
    found: dict[str, TreeEntry] = {}
    for line in out.split(b"\0")[:-1]:
        meta, _, path = line.partition(b"\t")
        mode, _kind, oid = meta.decode().split(" ")
        found[os.fsdecode(path)] = TreeEntry(mode, oid)
    return found


def list_tree(store: Store, tree: str) -> list[str]:
    return list(tree_entries(store, tree))


def read_blob(store: Store, tree: str, path: str, limit: int = TEXT_LIMIT) -> bytes | None:
    """The first `limit` bytes of a file in a tree; None when the tree has no such file."""
    args: list[str | bytes] = ["cat-file", "blob", os.fsencode(f"{tree}:{path}")]
    done = private_call(store, args, ok=None, limit=limit)
    return done.out if done.code == 0 else None


def changed_paths(store: Store, old: str, new: str, *, renames: bool = True) -> list[TreeChange]:
    """What differs between two trees, renames as one change unless told otherwise."""
    args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M" if renames else "--no-renames", old, new]
    return _raw(private_call(store, args).out.split(b"\0"))


def _raw(fields: list[bytes]) -> list[TreeChange]:
    found: list[TreeChange] = []
    at = 0
    while at < len(fields) and fields[at].startswith(b":"):
        old_mode, mode, _old, oid, status = fields[at][1:].decode().split(" ")
        first = os.fsdecode(fields[at + 1])
        second = os.fsdecode(fields[at + 2]) if status[0] in "RC" else None
        path, old_path = (first, None) if second is None else (second, first)
        found.append(TreeChange(status[0], path, mode, old_path, old_mode, oid))
        at += 2 if second is None else 3
    return found


def diff_with_stat(store: Store, old: str, new: str) -> tuple[list[TreeChange], DiffStat]:
    """Changed paths (without renames) and line counts, from one process."""
    args = ["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-abbrev", "--no-renames", old, new]
    fields = private_call(store, args).out.split(b"\0")
    changes = _raw(fields)
    added = removed = 0
    for line in fields[2 * len(changes) :]:
        plus, _, rest = line.partition(b"\t")
        minus = rest.partition(b"\t")[0]
        added += int(plus) if plus.isdigit() else 0
        removed += int(minus) if minus.isdigit() else 0
    return changes, DiffStat(len(changes), added, removed)


def diff_text(
    store: Store, old: str, new: str, *, paths: Iterable[str] = (), limit: int = TEXT_LIMIT, context: int = 3
) -> bytes:
    """The difference as a patch, at most `limit` bytes; no external program takes part."""
    args = ["diff-tree", "-p", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", f"-U{context}"]
    args += ["--src-prefix=a/", "--dst-prefix=b/", "--full-index", old, new, "--"]
    args += [f":(top,literal){path}" for path in paths]
    return private_call(store, args, limit=limit).out


def overlay_tree(
    store: Store, base_tree: str, result_tree: str, *, restore: Iterable[str] = (), drop: Iterable[str] = ()
) -> str:
    """The result with the `restore` paths (files or folders) as in the base and the `drop` paths gone."""
    wanted = tree_entries(store, result_tree)
    base = tree_entries(store, base_tree)
    restored = [path.rstrip("/") for path in restore]
    for path in (*restored, *(path.rstrip("/") for path in drop)):
        for found in _below(wanted, path):
            del wanted[found]
    for path in restored:
        for found in _below(base, path):
            # A file of the result where the base has a folder (or the reverse) gives way.
            for part in _parents(found):
                wanted.pop(part, None)
            for inner in _below(wanted, found):
                del wanted[inner]
            wanted[found] = base[found]
    return write_entries(store, wanted)


def edited_tree(store: Store, tree: str, files: Mapping[str, bytes]) -> str:
    """The tree with other contents for some files, or with files more."""
    wanted = tree_entries(store, tree)
    for path, content in files.items():
        oid = private_call(store, ["hash-object", "-w", "--stdin"], stdin=content).out.decode().strip()
        wanted[path] = TreeEntry(wanted[path].mode if path in wanted else "100644", oid)
    return write_entries(store, wanted)


def with_root_file(store: Store, tree: str, name: str, data: bytes | None) -> str:
    """The tree with these contents for a file at its top, or without that file; its folders are not read."""
    out = private_call(store, ["ls-tree", "-z", tree]).out
    lines = [line for line in out.split(b"\0")[:-1] if line.partition(b"\t")[2] != os.fsencode(name)]
    if data is not None:
        # Uncompressed: written anew with each iteration, and packing is for those that last.
        written = ["-c", "core.looseCompression=0", "hash-object", "-w", "--stdin"]
        oid = private_call(store, written, stdin=data).out.strip()
        lines.append(b"100644 blob %s\t%s" % (oid, os.fsencode(name)))
    made = private_call(store, ["mktree", "-z"], stdin=b"".join(line + b"\0" for line in lines))
    return made.out.decode().strip()


def _below(listed: dict[str, TreeEntry], path: str) -> list[str]:
    if path in ("", "."):
        return list(listed)
    lead = path + "/"
    return [found for found in listed if found == path or found.startswith(lead)]


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def write_entries(store: Store, wanted: dict[str, TreeEntry]) -> str:
    """The tree with exactly these entries."""
    with tempfile.TemporaryDirectory(dir=store.dir) as scratch:
        index = os.path.join(scratch, "index")
        load_entries(store, index, wanted)
        return write_tree(store, index)


def load_entries(store: Store, index: str, wanted: dict[str, TreeEntry]) -> None:
    """Puts entries into a private index, over what it holds."""
    if not wanted:
        return
    lines = [b"%s %s\t%s\0" % (e.mode.encode(), e.oid.encode(), os.fsencode(p)) for p, e in wanted.items()]
    args = ["update-index", "-z", "--add", "--replace", "--index-info"]
    private_call(store, args, index=index, stdin=b"".join(lines))


def write_tree(store: Store, index: str) -> str:
    return private_call(store, ["write-tree"], index=index).out.decode().strip()


def gitlinks(store: Store, tree: str) -> dict[str, str]:
    """The submodules of a tree: path and commit."""
    return {path: entry.oid for path, entry in tree_entries(store, tree).items() if entry.mode == GITLINK}


def refuse_lfs(store: Store, tree: str) -> None:
    """Stops when files of the tree are kept by git-lfs: its pointers alone would make a wrong work tree."""
    listed = tree_entries(store, tree)
    rules = [path for path in listed if path.rsplit("/", 1)[-1] == ".gitattributes"]
    if not any(b"filter=lfs" in (read_blob(store, tree, path) or b"") for path in rules):
        return
    for path in _with_lfs_attribute(store, tree, listed):
        head = private_call(store, ["cat-file", "blob", listed[path].oid], ok=None, limit=64).out
        if head.startswith(b"version https://git-lfs"):
            raise SetupError(
                f"'{path}' is kept by git-lfs",
                code="E-GIT-LFS",
                at=store.project.top,
                why="the loop's clean checkouts run no filters and would hold its pointer instead",
                next="git lfs ls-files",
            )


def _with_lfs_attribute(store: Store, tree: str, listed: dict[str, TreeEntry]) -> list[str]:
    files = [path for path, entry in listed.items() if entry.mode.startswith("100")]
    with tempfile.TemporaryDirectory(dir=store.dir) as scratch:
        index = os.path.join(scratch, "index")
        private_call(store, ["read-tree", tree], index=index)
        names = b"".join(os.fsencode(path) + b"\0" for path in files)
        asked = ["check-attr", "--cached", "-z", "--stdin", "filter"]
        out = private_call(store, asked, index=index, stdin=names).out
    fields = out.split(b"\0")[:-1]
    pairs = zip(fields[0::3], fields[2::3], strict=True)
    return [os.fsdecode(path) for path, value in pairs if value == b"lfs"]
