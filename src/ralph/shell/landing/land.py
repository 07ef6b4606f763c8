"""Landing: bringing a result into the user's checked-out branch, and taking it back.

The one place where Ralph changes the user's files, by the user's own git with the user's hooks, filters
and configuration. Here: what stands in the way, the fast-forward, its undo, and merging trees for what is
no fast-forward. Not here: finishing a landing that was killed half-way (landing_recovery).
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence

import msgspec

from ralph.errors import NeedsHuman, RalphError, SetupError, UserError
from ralph.shell.git.command import clean_text
from ralph.shell.git.project import Project, find_project, is_ancestor, user_call
from ralph.shell.git.refs import RefChange, commit_tree, loop_ref, move_refs, read_refs
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import GITLINK, TreeChange, TreeEntry, changed_paths, tree_entries
from ralph.shell.landing.recover import (
    Landing,
    recover,
    remove_note,
    run_user_git,
    set_index_entries,
    write_note,
)


class LandingProblem(msgspec.Struct, frozen=True):
    code: str
    text: str
    paths: tuple[str, ...] = ()
    next: str = "git status"  # `{again}` is the command that was refused


class Merged(msgspec.Struct, frozen=True):
    tree: str | None  # None when there are conflicts
    conflicts: tuple[str, ...] = ()


def check_landing(
    store: Store, old: str, new: str, user_start: str | None = None, *, own_git: bool = False
) -> list[LandingProblem]:
    """Everything that stands in the way of moving the user's branch from `old` to `new`; nothing is changed.

    With `user_start` the loop began with the user's uncommitted changes: files that are still as they were
    then are part of the result and do not stand in the way. `own_git` is for the user's own command to land:
    their configured filters may then run, without which every filtered file looks edited.
    """
    try:
        project = find_project(store.project.top, store.project.git)
    except RalphError as broken:
        return [LandingProblem(broken.code, broken.what, next=broken.next)]
    found = _branch_problems(project, old)
    if os.path.lexists(os.path.join(project.git_dir, "index.lock")):
        found.append(
            LandingProblem("E-LAND-LOCKED", "another git is at work here (index.lock)", next="git status")
        )
    if not is_ancestor(project, old, new):
        found.append(
            LandingProblem("E-LAND-NOT-FF", "the result does not continue the branch: it needs a merge")
        )
    if found:
        return found
    return _overlaps(store, project, old, new, start=user_start, own_git=own_git)


def _branch_problems(project: Project, old: str) -> list[LandingProblem]:
    if project.branch is None:
        return [
            LandingProblem(
                "E-LAND-DETACHED", "HEAD is detached: no branch to bring the result into", next="git switch -"
            )
        ]
    found: list[LandingProblem] = []
    short = project.branch.removeprefix("refs/heads/")
    if project.head != old:
        text = f"branch '{short}' is at {project.head[:12]}, expected {old[:12]}"
        found.append(LandingProblem("E-LAND-MOVED", text, next=f"git log -3 {short}"))
    listed = os.fsdecode(user_call(project, ["worktree", "list", "--porcelain"]).out).splitlines()
    if listed.count(f"branch {project.branch}") > 1:
        text = f"branch '{short}' is checked out in another worktree too"
        found.append(LandingProblem("E-LAND-WORKTREE", text, next="git worktree list"))
    return found


def _overlaps(
    store: Store, project: Project, old: str, new: str, *, start: str | None, own_git: bool
) -> list[LandingProblem]:
    changes = changed_paths(store, old, new, renames=False)
    dirty = set(
        _edited_files(store, project, old, [c.path for c in changes if c.status != "A"], own_git=own_git)
    )
    staged = _staged_entries(project, old)
    if start is not None:
        ours = tree_entries(store, start)
        same = set(
            _edited_files(store, project, start, [c.path for c in changes if c.path in ours], own_git=own_git)
        )
        dirty = {path for path in dirty if not _as_at_start(path, ours, same, project)}
        staged = {path: entry for path, entry in staged.items() if entry != ours.get(path)}
        late = [c for c in changes if c.status == "A" and c.path in ours]
        dirty |= {c.path for c in late if c.path in same}
        kept = {c.path for c in late} | {c.path for c in changed_paths(store, old, start, renames=False)}
    else:
        kept = set()
    touched = {change.path for change in changes}
    blocked = _in_the_way(project.top, changes, kept - dirty)
    found: list[LandingProblem] = []
    aside, all_aside = (
        "git stash && {again} && git stash pop --index",
        "git stash --include-untracked && {again}",
    )
    for code, paths, text, way_out in (
        ("E-LAND-DIRTY", dirty, "your uncommitted changes overlap the result", aside),
        ("E-LAND-STAGED", staged.keys() & touched - dirty, "your staged changes overlap the result", aside),
        ("E-LAND-UNTRACKED", blocked - dirty, "untracked files are in the way of the result", all_aside),
    ):
        if paths:
            found.append(LandingProblem(code, text, tuple(sorted(paths)), way_out))
    return found


def _as_at_start(path: str, ours: dict[str, TreeEntry], changed: set[str], project: Project) -> bool:
    if path in ours:
        return path not in changed
    return not os.path.lexists(os.path.join(project.top, path))


def _edited_files(
    store: Store, project: Project, tree: str, paths: Sequence[str], *, own_git: bool
) -> list[str]:
    """Which of these files on disk are not what `tree` says, whatever the user's index claims.

    Hashed through a new private index, so no flag can hide an edit. Where the user has filters, their own
    git has the last word: without them every filtered file would look edited.
    """
    if not paths:
        return []
    listed = tree_entries(store, tree)
    wanted = {path: listed[path] for path in paths if path in listed and listed[path].mode != GITLINK}
    with tempfile.TemporaryDirectory(dir=store.dir) as scratch:
        index = os.path.join(scratch, "index")
        private_call(store, ["read-tree", tree], index=index)
        asked = ["ls-files", "-m", "-z"]
        out = private_call(store, asked, index=index, work_tree=project.top).out
    edited = [path for path in dict.fromkeys(os.fsdecode(out).split("\0")[:-1]) if path in wanted]
    if not edited:
        return []
    listed_flags = os.fsdecode(user_call(project, ["ls-files", "-v", "-z"]).out).split("\0")[:-1]
    flags = {line[2:]: line[0] for line in listed_flags}
    absent = {p for p in edited if flags.get(p) == "S" and not os.path.lexists(os.path.join(project.top, p))}
    edited = [path for path in edited if path not in absent]
    if own_git and project.filters and edited:
        asked = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]
        truly = set(os.fsdecode(run_user_git(project, asked).stdout).split("\0"))
        # "H" is an entry without flags: only there does the user's git look at the file at all.
        edited = [path for path in edited if path in truly or flags.get(path) != "H"]
    return edited


def _staged_entries(project: Project, tree: str) -> dict[str, TreeEntry | None]:
    """Paths whose entry in the user's index is not the one of `tree`, with what is staged."""
    index = os.path.join(project.git_dir, "index")
    asked = ["diff-index", "--cached", "-z", "--raw", "--no-abbrev", "--no-renames", tree]
    fields = user_call(project, asked, index=index).out.split(b"\0")[:-1]
    staged: dict[str, TreeEntry | None] = {}
    for meta, path in zip(fields[0::2], fields[1::2], strict=True):
        _old_mode, mode, _old, oid, status = meta[1:].decode().split(" ")
        staged[os.fsdecode(path)] = None if status == "D" else TreeEntry(mode, oid)
    return staged


def _in_the_way(top: str, changes: Sequence[TreeChange], known: set[str]) -> set[str]:
    """Files of the user, ignored ones too, where the result adds something."""
    going = {change.path for change in changes if change.status == "D"} | known
    blocked: set[str] = set()
    for change in changes:
        if change.status != "A" or change.path in known:
            continue
        parts = change.path.split("/")
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            try:
                mode = os.lstat(os.path.join(top, path)).st_mode
            except OSError:
                break
            if stat.S_ISDIR(mode):
                if count == len(parts):
                    blocked |= _files_below(top, path) - going
            elif path not in going:
                blocked.add(path)
    return blocked


def _files_below(top: str, path: str) -> set[str]:
    found: set[str] = set()
    for here, _folders, files in os.walk(os.path.join(top, path)):
        found |= {os.path.relpath(os.path.join(here, name), top) for name in files}
    return found


def land(store: Store, name: str, landing: Landing, *, date: int, note: str) -> None:
    """Fast-forwards the user's branch, after pinning their files once more.

    `note` is a file of the state directory: it says what was begun, so that a kill at any instant can be
    finished by `recover_landing`. On success it is gone.
    """
    problems = check_landing(store, landing.old, landing.new, landing.user_start, own_git=True)
    if problems:
        raise refusal_error(problems, f"ralph merge {name}")
    project = find_project(store.project.top, store.project.git)
    pin_user_files(store, name, project, date)
    write_note(note, landing, project)
    if landing.user_start is not None:
        take_up_changes(store, project, landing)
    done = run_user_git(
        project, ["merge", "--ff-only", "--no-stat", "--no-autostash", "-q", landing.new], note=note
    )
    if done.returncode != 0:
        recover(store, landing, note)
        now = find_project(project.top, project.git).head
        if now != landing.new:
            raise SetupError(
                "your git refused the fast-forward",
                code="E-LAND-REFUSED",
                at=project.top,
                why=clean_text(done.stderr),
                next="git status",
            )
    remove_note(note)


def pin_user_files(store: Store, name: str, project: Project, date: int) -> str:
    """A snapshot of the user's files as they are now, at `refs/ralph/<name>/user-land`."""
    fresh = msgspec.structs.replace(store, project=project)
    tree, _ = user_tree(fresh, os.path.join(store.dir, "user-land.index"))
    commit = commit_tree(fresh, tree, [project.head], f"ralph {name}: your files before landing", date)
    ref = loop_ref(name, "user-land")
    move_refs(project, [RefChange(ref, commit, read_refs(project, ref).get(ref))])
    return commit


def take_up_changes(store: Store, project: Project, landing: Landing) -> None:
    """Moves the branch to the user's own changes, which are already on disk: index first, then the ref."""
    assert landing.user_start is not None
    changes = changed_paths(store, landing.old, landing.user_start, renames=False)
    set_index_entries(project, changes)
    if project.branch is None:
        raise UserError("HEAD is detached", code="E-LAND-DETACHED", next="git switch -")
    args = ["update-ref", "-m", "ralph: your changes", project.branch, landing.user_start, landing.old]
    user_call(project, args)


def undo_landing(store: Store, name: str, landing: Landing, *, note: str) -> None:
    """Takes back a landing that nobody built on: the branch stands at `new` and its files are untouched."""
    back = Landing(old=landing.new, new=landing.old, user_start=landing.user_start, undo=True)
    project = find_project(store.project.top, store.project.git)
    problems = _branch_problems(project, back.old) or _overlaps(
        store, project, back.old, back.target, start=None, own_git=True
    )
    if problems:
        raise refusal_error(problems, f"ralph undo {name}")
    write_note(note, back, project)
    done = run_user_git(project, ["read-tree", "-m", "-u", back.old, back.target], note=note)
    if done.returncode != 0:
        remove_note(note)
        raise SetupError(
            "your git refused to undo the merge",
            code="E-UNDO-REFUSED",
            at=project.top,
            why=clean_text(done.stderr),
            next="git status",
        )
    recover(store, back, note)
    remove_note(note)


def recover_landing(store: Store, landing: Landing, *, note: str) -> str:
    """After a kill in the middle: "landed" or "not landed"; stops, changing nothing, on foreign edits."""
    answer = recover(store, landing, note)
    remove_note(note)
    return answer


def refusal_error(problems: Sequence[LandingProblem], again: str) -> NeedsHuman:
    first = problems[0]
    way_out = first.next.replace("{again}", again)
    named = [path for problem in problems for path in problem.paths]
    shown = ", ".join(f"'{path}'" for path in named[:5])
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    return NeedsHuman(first.text, code=first.code, why=shown + more, next=way_out)


def merge_tree(store: Store, ours: str, theirs: str) -> Merged:
    """What a merge of two commits would give, made of objects alone; drivers of the user are not run."""
    if store.project.git.version < (2, 38):
        raise SetupError("merging needs git 2.38 or newer", code="E-GIT-OLD", next="git --version")
    asked = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs]
    done = private_call(store, asked, ok=(0, 1))
    fields = os.fsdecode(done.out).split("\0")
    if done.code == 0:
        return Merged(fields[0])
    return Merged(None, tuple(dict.fromkeys(path for path in fields[1:] if path)))


def commit_merge(store: Store, tree: str, parents: Sequence[str], message: str, date: int) -> str:
    return commit_tree(store, tree, parents, message, date)
