"""Snapshots: what stands in the user's work tree at the start, and in the workspace after an iteration.

Both are taken with the private git directory, a private index and the agent's `.git` out of play. Here:
from files to a tree id. Not here: commits and refs of iterations (gitrefs), files from a tree (checkout).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from ralph.clock import SystemClock
from ralph.errors import SetupError, UserError
from ralph.shell.files.safe_tree import (
    SCAN_ENTRIES,
    drop_torn_objects,
    drop_traps,
    ensure_directory,
    open_up,
    remove_tree,
    scan,
)
from ralph.shell.git.bounds import Bounds, LeftOut, beyond_bounds, too_many_error
from ralph.shell.git.child import GitResult
from ralph.shell.git.command import clean_text, git_error
from ralph.shell.git.leftovers import put_back, set_aside
from ralph.shell.git.project import LARGE_BYTES, Project, find_object, regular_size, user_call
from ralph.shell.git.refs import RefChange, commit_tree, loop_ref, move_refs, read_refs
from ralph.shell.git.store import Store, disk_error, private_call
from ralph.shell.git.trees import GITLINK, SYMLINK, TreeChange, diff_with_stat, gitlinks, tree_of, write_tree

_SEED = ".ralph-seed"
_MAX_WARNINGS = 50
_GC_TRIES = 10
_PRUNED = (" object", "unable to read", "unable to write", "unable to create temporary")
_EMPTY_BLOB = {
    "sha1": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "sha256": "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}


Globs = tuple[str, ...]
UserTree = tuple[str, list[LeftOut]]


class Start(msgspec.Struct, frozen=True):
    base_commit: str
    base_tree: str
    user_start_commit: str
    user_head: str
    dirty: bool
    warnings: tuple[str, ...] = ()


class Snapshot(msgspec.Struct, frozen=True):
    tree: str
    files_changed: int
    added: int
    removed: int
    changes: tuple[TreeChange, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # what was too large or too many, in words


def start_refs(
    store: Store, name: str, rev: str | None, *, with_changes: bool, date: int, scratch: str, skip: Globs = ()
) -> Start:
    """Pins the base and the user's dirty state; done twice it answers with what the first time pinned.

    `skip` are globs of files that Ralph itself writes there: they stay as HEAD has them.
    A `gc --prune=now` of the user's may take objects that no ref holds yet: then it is done anew.
    """
    users = partial(user_tree, store, os.path.join(scratch, "user.index"), skip=skip)
    for _ in range(_GC_TRIES):
        try:
            return _pin(store, name, rev, users, with_changes=with_changes, date=date)
        except SetupError as broken:
            if not any(word in broken.why for word in _PRUNED):
                raise
    return _pin(store, name, rev, users, with_changes=with_changes, date=date)


def _pin(
    store: Store, name: str, rev: str | None, users: Callable[[], UserTree], *, with_changes: bool, date: int
) -> Start:
    project = store.project
    there = read_refs(project, loop_ref(name, "base")) | read_refs(project, loop_ref(name, "user-start"))
    base, user = (there.get(loop_ref(name, what), "") for what in ("base", "user-start"))
    if len(there) == 2 and _intact(store, base, user):
        head = private_call(store, ["rev-parse", f"{user}^"]).out.decode().strip()
        dirty = tree_of(store, user) != tree_of(store, head)
        return Start(base, tree_of(store, base), user, head, dirty)
    base = project.head if rev is None else resolve_commit(project, rev)
    if with_changes and base != project.head:
        what = f"--with-changes needs the checked-out commit as base, not '{rev}'"
        why = "your uncommitted changes are changes to HEAD"
        raise UserError(what, code="E-BASE-CHANGES", why=why, next="git stash list")
    tree, left_out = users()
    user = commit_tree(store, tree, [project.head], f"ralph {name}: your files at the start", date)
    if with_changes:
        base = user
    base_tree = tree_of(store, base)
    changes = [(loop_ref(name, "base"), base), (loop_ref(name, "user-start"), user)]
    move_refs(project, [RefChange(ref, commit, there.get(ref)) for ref, commit in changes])
    if not _intact(store, base, user):
        what = "a gc took objects away while this loop began"
        why = "nonexistent object: it had looked at the refs before"
        raise SetupError(what, code="E-GIT-PRUNED", at=project.top, why=why, next="git gc")
    dirty = tree != tree_of(store, project.head)
    return Start(base, base_tree, user, project.head, dirty, tuple(one.words for one in left_out))


def _intact(store: Store, *commits: str) -> bool:
    """Nothing of these is missing: a gc that looked at the refs before they were made takes it later."""
    asked = ["rev-list", "--objects", "--quiet", *commits, "--not", store.project.head]
    return private_call(store, asked, ok=None).code == 0


def resolve_commit(project: Project, rev: str) -> str:
    """The commit a user's words mean."""
    if commit := find_object(project, f"{rev}^{{commit}}"):
        return commit
    raise UserError(
        f"'{rev}' is not a commit here", code="E-BASE", at=project.top, next="git log --oneline -5"
    )


def user_tree(store: Store, index: str, *, kept: bool = False, skip: Globs = ()) -> UserTree:
    """The user's work tree as a tree: tracked and untracked files, ignore rules honoured, nothing written.

    The index is Ralph's own: a copy of the user's would carry the flags that hide edits. It is new each time,
    unless the caller has `kept` the one of its last snapshot: then only files that changed are read.
    """
    project = store.project
    if os.path.lexists(index) and not kept:
        os.unlink(index)
    if not os.path.lexists(index):
        private_call(store, ["read-tree", project.head], index=index)
    untracked = private_call(
        store, ["ls-files", "-o", "--exclude-standard", "-z"], index=index, work_tree=project.top
    ).out.split(b"\0")[:-1]
    left_out: dict[bytes, str] = {}
    for path in untracked:
        if path.endswith(b"/"):
            left_out[path[:-1]] = f"the repository inside this one at '{_show(path)}' is not in the snapshot"
        elif regular_size(project.top, path) > LARGE_BYTES:
            left_out[path] = f"'{_show(path)}' is over 50 MB and untracked, and not in the snapshot"
    closed = [*left_out, *(os.fsencode(path) for path in gitlinks(store, project.head))]
    _skip_sparse(store, index)
    done = _add_all(store, index, project.top, closed, skip)
    told = [LeftOut(path, words) for path, words in left_out.items()]
    told += [LeftOut(b"", words) for words in _complaints(done, project.top)]
    return write_tree(store, index), told


def _skip_sparse(store: Store, index: str) -> None:
    """In a sparse checkout a file that is not on disk was never deleted."""
    project = store.project
    if project.config.get("core.sparsecheckout", "").lower() != "true":
        return
    top = os.fsencode(project.top)
    listed = user_call(project, ["ls-files", "-t", "-z"]).out.split(b"\0")[:-1]
    hidden = [line[2:] for line in listed if line.startswith(b"S ")]
    missing = [path for path in hidden if not os.path.lexists(os.path.join(top, path))]
    known = set(private_call(store, ["ls-files", "-z"], index=index).out.split(b"\0"))
    names = b"".join(path + b"\0" for path in missing if path in known)
    if names:
        args = ["update-index", "-z", "--skip-worktree", "--stdin"]
        private_call(store, args, index=index, work_tree=project.top, stdin=names)


def take_snapshot(
    store: Store,
    workspace: str,
    index: str,
    previous: str,
    *,
    links: Iterable[str] = (),
    shared: Iterable[str] = (),
    bounds: Bounds = Bounds(),  # noqa: B008 (frozen)
) -> Snapshot:
    """The workspace as a tree, with what changed since the tree `previous`.

    `index` is kept between iterations and holds the last snapshot; it is replaced only at the end, so a
    failure leaves everything as it was. `links` are the base's submodules: they stay what they are.
    `shared` are folders that were brought in (dependencies): never part of the tree, whatever ignore rules
    an agent writes.
    """
    warnings: list[str] = []
    left_out = [*links, *shared]
    try:
        if not ensure_directory(workspace):
            warnings.append("the workspace folder was gone")
        since = os.stat(index).st_mtime_ns if os.path.exists(index) else 0
        seeds, young = _prepare(store, workspace, warnings, since)
        work = index + ".new"
        remove_tree(work)  # of a snapshot that was killed
        if os.path.lexists(index):
            # With its file time: git looks into files that are as young as the index, and a copy that is
            # younger would hide an edit of the same size within the same second.
            shutil.copy2(index, work)
        else:
            private_call(store, ["read-tree", previous], index=work)
        beyond = beyond_bounds(store, workspace, work, young, bounds)
        left_out += [os.fsdecode(one.path) for one in beyond]
        tree = _plain_tree(
            store, workspace, work, seeds, left_out=left_out, warnings=warnings, previous=previous
        )
        changes, counts = ([], None) if tree == previous else diff_with_stat(store, previous, tree)
        if _has_new_gitlink(changes, links):
            # A repository the scan did not reach: its content goes in as files, not as a link.
            found = [os.fsencode(change.path) for change in changes if change.mode == GITLINK]
            private_call(store, ["read-tree", previous], index=work)
            tree = _plain_tree(
                store, workspace, work, found, left_out=left_out, warnings=warnings, previous=previous
            )
            changes, counts = diff_with_stat(store, previous, tree)
        os.replace(work, index)
    except OSError as broken:
        raise disk_error(broken, workspace) from broken
    warnings += _notable(workspace, changes)
    if len(warnings) > _MAX_WARNINGS:
        warnings[_MAX_WARNINGS:] = [f"and {len(warnings) - _MAX_WARNINGS} more warnings"]
    named = tuple(one.words for one in beyond[:_MAX_WARNINGS])
    if counts is None:
        return Snapshot(tree, 0, 0, 0, (), tuple(warnings), named)
    return Snapshot(tree, counts.files, counts.added, counts.removed, tuple(changes), tuple(warnings), named)


def _prepare(
    store: Store, workspace: str, warnings: list[str], since: int
) -> tuple[list[bytes], tuple[tuple[bytes, int], ...]]:
    """Looks the workspace through before git does: nested repositories, and files younger than `since`."""
    heed = store.project.git.heed
    look = (lambda: heed("status", 0.0)) if heed is not None else None
    found = scan(workspace, since=since, heed=look)
    if found.closed:
        open_up(workspace, found.closed)
        found = scan(workspace, since=since, heed=look)
    drop_traps(workspace, found.special)
    warnings += [
        f"'{_show(path)}' is a pipe, socket or device: not in the snapshot" for path in found.special
    ]
    warnings += [f"'{_show(path)}' cannot be read: not in the snapshot" for path in found.closed]
    warnings += [
        f"'{_show(path)}' holds a repository of its own: its files are kept" for path in found.nested
    ]
    if not found.complete:
        raise too_many_error(SCAN_ENTRIES, "files and more in the workspace", workspace)
    return list(found.nested), found.young


def _plain_tree(
    store: Store,
    workspace: str,
    index: str,
    nested: Sequence[bytes],
    *,
    left_out: Iterable[str],
    warnings: list[str],
    previous: str,
) -> str:
    """`git add -A`, where a nested repository counts as a folder.

    Git walks into a folder of which it knows a file; so a file is made known that is not there, and the
    same `add` forgets it again.
    """
    closed = [os.fsencode(path) for path in left_out]
    seeds = [path for path in nested if not any(path == one or path.startswith(one + b"/") for one in closed)]
    if seeds:
        blob = _EMPTY_BLOB[store.project.object_format].encode()
        lines = b"".join(b"100644 %s\t%s/%s\0" % (blob, path, _SEED.encode()) for path in seeds)
        args = ["update-index", "-z", "--add", "--replace", "--index-info"]
        young = os.stat(index).st_mtime_ns
        private_call(store, args, index=index, stdin=lines)
        # Written anew without a look at the files, so it keeps its age: see `take_snapshot`.
        os.utime(index, ns=(young, young))
    done = _add_all(store, index, workspace, closed)
    if done.code not in (0, 1):
        raise git_error(done, ["add"], workspace)
    warnings += _complaints(done, workspace)
    written = private_call(store, ["write-tree"], index=index, ok=None)
    if written.code:
        if b"invalid object" not in written.err:
            raise git_error(written, ["write-tree"], workspace)
        # The user's gc took blobs that no ref held yet: hash everything again.
        os.unlink(index)
        private_call(store, ["read-tree", previous], index=index)
        _add_all(store, index, workspace, closed)
        return write_tree(store, index)
    return written.out.decode().strip()


def _add_all(store: Store, index: str, top: str, left_out: Sequence[bytes], skip: Globs = ()) -> GitResult:
    args: list[str] = ["add", "-A", "--ignore-errors"]
    specs = b""
    if left_out or skip:
        # Submodules must not even be looked at: git would start a git inside them.
        args += ["--pathspec-from-file=-", "--pathspec-file-nul"]
        specs = b":(top)\0" + b"".join(b":(top,exclude,literal)" + path + b"\0" for path in left_out)
        specs += b"".join(b":(top,exclude,glob)" + os.fsencode(glob) + b"\0" for glob in skip)
    begun = SystemClock().now()
    done = private_call(store, args, index=index, work_tree=top, stdin=specs, ok=None)
    text = done.err.lower()
    if b"no space left" in text or b"quota exceeded" in text:
        drop_torn_objects(store.objects, since=begun)
        raise git_error(done, ["add"], top)
    if done.code == 128 and b"encode" in text:
        # An attribute names an encoding the bytes do not have; as plain bytes they can be kept.
        return _add_as_bytes(store, args, index, top, specs)
    return done


def _add_as_bytes(store: Store, args: list[str], index: str, top: str, specs: bytes) -> GitResult:
    rules = os.path.join(store.dir, "info", "attributes")
    put_back(rules)
    set_aside(rules)
    try:
        with open(rules, "ab") as file:
            file.write(b"\n* -working-tree-encoding\n")
        return private_call(store, args, index=index, work_tree=top, stdin=specs, ok=None)
    finally:
        put_back(rules)


def _complaints(done: GitResult, top: str) -> list[str]:
    if done.code not in (0, 1):
        raise git_error(done, ["add"], top)
    lines = clean_text(done.err, 20_000).splitlines()
    return [
        f"not in the snapshot: {line}" for line in lines if line.startswith(("error:", "warning: could not"))
    ]


def _has_new_gitlink(changes: Sequence[TreeChange], links: Iterable[str]) -> bool:
    known = set(links)
    return any(change.mode == GITLINK and change.path not in known for change in changes)


def _notable(workspace: str, changes: Sequence[TreeChange]) -> list[str]:
    """Warnings about what was just added: links that leave the tree, very large files."""
    said: list[str] = []
    for change in changes:
        full = os.path.join(workspace, change.path)
        if change.mode == SYMLINK:
            try:
                target = os.readlink(full)
            except OSError:
                continue
            landing = os.path.normpath(os.path.join(os.path.dirname(change.path), target))
            if os.path.isabs(target) or landing == ".." or landing.startswith("../"):
                said.append(f"'{_show(os.fsencode(change.path))}' is a link out of the tree")
        elif regular_size(workspace, os.fsencode(change.path)) > LARGE_BYTES:
            said.append(f"'{_show(os.fsencode(change.path))}' is over 50 MB")
    return said


def _show(path: bytes) -> str:
    return clean_text(path, 200)


def refuse_unknown_objects(store: Store, commit: str) -> None:
    """Stops when objects of the base are not here (partial clone): a checkout would fail half-way."""
    args = ["rev-list", "--objects", "--missing=print", "--no-walk", commit]
    out = private_call(store, args, ok=None).out
    if any(line.startswith(b"?") for line in out.splitlines()):
        raise SetupError(
            "objects of the base commit are not in this clone",
            code="E-GIT-PARTIAL",
            at=store.project.top,
            why="a partial clone fetches them on demand, which Ralph does not do",
            next="git fetch --refetch --no-filter",
        )
