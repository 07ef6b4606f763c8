"""From a tree to files: the checkouts that are judged, kept where no agent can write.

Here: filling and cleaning a folder so that it is exactly one tree, and proving that it is. Also the files
of submodules. Not here: from files to a tree (snapshot), the workspace's own `.git` (workspace).
"""

from __future__ import annotations

import filecmp
import os
import stat
import tempfile
from collections.abc import Sequence

import msgspec

from ralph.errors import RalphError, SetupError
from ralph.shell.files.safe_tree import (
    ensure_directory,
    ensure_directory_below,
    open_up,
    remove_tree,
    scan,
)
from ralph.shell.git.project import submodule_git_dir
from ralph.shell.git.store import Store, disk_error, private_call, write_git_dir
from ralph.shell.git.trees import changed_paths, gitlinks, tree_of, write_tree


class Submodule(msgspec.Struct, frozen=True):
    """A submodule of the base whose files come from the user's local copy of it."""

    path: str
    commit: str
    key: str  # distinguishes its index from those of its siblings
    store: Store
    inner: tuple[Submodule, ...] = ()


def find_modules(store: Store, tree: str, home: str) -> tuple[Submodule, ...]:
    """The submodules of a tree, each with a private git directory over the user's local objects."""
    return _find_modules(store, tree, home, "", "")


def _find_modules(store: Store, tree: str, home: str, lead: str, key: str) -> tuple[Submodule, ...]:
    links = gitlinks(store, tree)
    if not links:
        return ()
    names = _module_names(store, tree)
    found: list[Submodule] = []
    for number, (path, commit) in enumerate(sorted(links.items())):
        full = lead + path
        git_dir = submodule_git_dir(store.project, full, names.get(path))
        own = f"{key}-{number}"
        if git_dir is None:
            raise _module_missing(store, full, "it is not checked out here")
        inside = Store(store.project, os.path.join(home, f"module{own}"), os.path.join(git_dir, "objects"))
        if not os.path.exists(os.path.join(inside.dir, "HEAD")):
            write_git_dir(store.project, inside.dir, [("gc.auto", "0")], ref="refs/heads/none", commit=None)
        if private_call(inside, ["cat-file", "-e", f"{commit}^{{tree}}"], ok=None).code:
            raise _module_missing(store, full, f"its commit {commit[:12]} is not in the local copy")
        inner = _find_modules(inside, commit, home, full + "/", own)
        found.append(Submodule(path, commit, own, inside, inner))
    return tuple(found)


def _module_missing(store: Store, path: str, why: str) -> SetupError:
    return SetupError(
        f"submodule '{path}' cannot be filled",
        code="E-GIT-SUBMODULE",
        at=os.path.join(store.project.top, path),
        why=why,
        next=f"git submodule update --init --recursive -- '{path}'",
    )


def _module_names(store: Store, tree: str) -> dict[str, str]:
    asked = ["config", "-z", "--blob", f"{tree}:.gitmodules", "--get-regexp", r"^submodule\..*\.path$"]
    out = private_call(store, asked, ok=None).out
    names: dict[str, str] = {}
    for entry in os.fsdecode(out).split("\0")[:-1]:
        key, _, path = entry.partition("\n")
        names[path] = key[len("submodule.") : -len(".path")]
    return names


def update_checkout(store: Store, path: str, index: str, tree: str, modules: Sequence[Submodule] = ()) -> str:
    """Makes the folder exactly `tree` by touching only what differs; answers with the tree it proved.

    Untracked and ignored files go too. When the folder was so treated that this fails, it is emptied and
    filled anew.
    """
    try:
        try:
            return _update(store, path, index, tree, modules)
        except (OSError, RalphError) as broken:
            if getattr(broken, "code", "") == "E-DISK-FULL":
                raise
            _empty(path, index)
            return _update(store, path, index, tree, modules)
    except OSError as broken:
        raise disk_error(broken, path) from broken


def fresh_checkout(store: Store, path: str, index: str, tree: str, modules: Sequence[Submodule] = ()) -> str:
    """Fills an emptied folder with `tree` and proves it by hashing every byte again."""
    try:
        _empty(path, index)
        _update(store, path, index, tree, modules)
        proven = prove_tree(store, path, tree)
        _prove_modules(path, modules)
    except OSError as broken:
        raise disk_error(broken, path) from broken
    if proven != tree:
        raise _unproven(path, tree, [])
    return proven


def _prove_modules(path: str, modules: Sequence[Submodule]) -> None:
    for module in modules:
        inside = os.path.join(path, module.path)
        wanted = tree_of(module.store, module.commit)
        if prove_tree(module.store, inside, wanted) != wanted:
            raise _unproven(inside, wanted, [])
        _prove_modules(inside, module.inner)


def prove_tree(store: Store, path: str, tree: str) -> str:
    """The id of what stands on disk, every file read and hashed again.

    A file that breaks the repository's own line-end rules hashes to something else than what it was
    written from; it counts as the tree's when its bytes are those that git writes for it.
    """
    seen = hash_files(store, path, tree)
    if seen == tree:
        return tree
    changes = changed_paths(store, tree, seen, renames=False)
    if all(change.status == "M" for change in changes):
        with tempfile.TemporaryDirectory(dir=store.dir) as scratch:
            index = os.path.join(scratch, "index")
            private_call(store, ["read-tree", tree], index=index)
            if not _other_bytes(store, path, index, [change.path for change in changes]):
                return tree
    return seen


def hash_files(store: Store, path: str, tree: str) -> str:
    """The tree that `git add` makes of a folder that should hold `tree`.

    The index starts with the entries of `tree` but without their file times, so nothing is taken on trust;
    the entries matter only because git's rules on line ends look at what was there before.
    """
    links = gitlinks(store, tree)
    with tempfile.TemporaryDirectory(dir=store.dir) as scratch:
        index = os.path.join(scratch, "index")
        private_call(store, ["read-tree", tree], index=index)
        specs = b":(top)\0"
        for left_out in links:
            specs += b":(top,exclude,literal)" + os.fsencode(left_out) + b"\0"
        args = ["add", "-A", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"]
        private_call(store, args, index=index, work_tree=path, stdin=specs)
        return write_tree(store, index)


def _other_bytes(store: Store, path: str, index: str, names: Sequence[str]) -> list[str]:
    """Which of these files are not, byte for byte, what git writes for the index."""
    with tempfile.TemporaryDirectory(dir=store.dir) as scratch:
        listed = b"".join(os.fsencode(name) + b"\0" for name in names)
        args = ["checkout-index", "-z", "-f", "--stdin", f"--prefix={scratch}/"]
        private_call(store, args, index=index, work_tree=path, stdin=listed)
        return [
            name for name in names if not _same_file(os.path.join(path, name), os.path.join(scratch, name))
        ]


def _same_file(one: str, two: str) -> bool:
    try:
        first, second = os.lstat(one).st_mode, os.lstat(two).st_mode
        if stat.S_IFMT(first) != stat.S_IFMT(second) or (first ^ second) & stat.S_IXUSR:
            return False
        if stat.S_ISLNK(first):
            return os.readlink(one) == os.readlink(two)
        return stat.S_ISREG(first) and filecmp.cmp(one, two, shallow=False)
    except OSError:
        return False


def _empty(path: str, index: str) -> None:
    remove_tree(index)
    if ensure_directory(path):
        open_up(path, [b""])
        for name in os.listdir(path):
            remove_tree(os.path.join(path, name))


def _update(store: Store, path: str, index: str, tree: str, modules: Sequence[Submodule]) -> str:
    if ensure_directory(path):
        _clear_what_git_skips(path)
    # Submodules' files are of no concern to the outer index; they are handled below.
    private_call(store, ["read-tree", "--reset", "-u", tree], index=index, work_tree=path)
    for module in modules:
        inside = ensure_directory_below(path, module.path)
        _update(module.store, inside, index + module.key, module.commit, module.inner)
    asked = ["ls-files", "-m", "-o", "-t", "--directory", "-z"]
    differs: list[str] = []
    for line in private_call(store, asked, index=index, work_tree=path).out.split(b"\0")[:-1]:
        mark, name = line[:1], os.fsdecode(line[2:])
        if mark == b"?":
            remove_tree(os.path.join(path, name.rstrip("/")))
        elif not any(name == module.path for module in modules):
            differs.append(name)
    if differs:
        differs = _other_bytes(store, path, index, differs)
    if differs:
        raise _unproven(path, tree, differs)
    return tree


def _clear_what_git_skips(path: str) -> None:
    """Pipes, sockets, closed folders and every `.git`: git looks past them, a gate might not."""
    found = scan(path)
    if found.closed:
        open_up(path, found.closed)
        found = scan(path)
    nested = (os.path.join(os.fsdecode(folder), ".git") for folder in found.nested)
    for name in (".git", *map(os.fsdecode, found.special), *nested):
        remove_tree(os.path.join(path, name))


def _unproven(path: str, tree: str, differs: Sequence[str]) -> SetupError:
    why = f"files that differ: {', '.join(differs[:5])}" if differs else "the hash of its files is another"
    return SetupError(
        f"the checkout at '{path}' is not tree {tree[:12]}",
        code="E-CHECKOUT",
        at=path,
        why=why,
        next="ralph doctor",
    )
