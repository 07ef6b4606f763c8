"""Refs and commits in the user's repository: made the same way twice, moved only by compare-and-swap.

Here: `refs/ralph/<name>/*`, the result branch, deterministic commits. Not here: which tree goes into them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import msgspec

from ralph.clock import SystemClock
from ralph.errors import SetupError, UserError
from ralph.shell.git.child import GitResult
from ralph.shell.git.command import LOCKED, clean_text, git_error, identity_env
from ralph.shell.git.leftovers import end_orphans, forget_move, note_move, noted_move
from ralph.shell.git.project import MAKER, Project, user_call
from ralph.shell.git.store import Store, private_call

_LOCK_AGE_SECONDS = 2.0
_LOCK_TRIES = 30
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")


class RefChange(msgspec.Struct, frozen=True):
    ref: str
    new: str | None  # None deletes it
    old: str | None  # None: it must not exist yet


def loop_ref(name: str, what: str) -> str:
    """`refs/ralph/<name>/<what>`, for names that cannot climb out of it."""
    if not _NAME.match(name) or ".." in name or name.endswith((".lock", ".")):
        raise UserError(f"'{name}' is not a loop name", code="E-LOOP-NAME", next="ralph status --all")
    return f"refs/ralph/{name}/{what}"


def read_refs(project: Project, prefix: str) -> dict[str, str]:
    """Every ref below `prefix` (or that very ref) and the object it points at."""
    out = user_call(project, ["for-each-ref", "--format=%(objectname) %(refname)", prefix]).out
    pairs = (line.split(" ", 1) for line in os.fsdecode(out).splitlines())
    return {ref: oid for oid, ref in pairs}


def move_refs(project: Project, changes: Sequence[RefChange]) -> None:
    """All of `changes` or none. A ref that already has its new value counts as moved."""
    done = _transaction(project, changes)
    if done.code == 0:
        return
    left: list[RefChange] = []
    for change in changes:
        now = read_refs(project, change.ref).get(change.ref)
        if now == change.new:
            continue
        if now != change.old:
            raise SetupError(
                f"ref '{change.ref}' is at {now or 'nothing'}, expected {change.old or 'nothing'}",
                code="E-REF-MOVED",
                at=project.git_dir,
                why="something else moved it; Ralph does not overwrite what it did not write",
                next=f"git log -1 {change.ref}",
            )
        left.append(change)
    if left:
        if len(left) == len(changes):
            raise git_error(done, ["update-ref"], project.top)
        move_refs(project, left)


def _transaction(project: Project, changes: Sequence[RefChange]) -> GitResult:
    lines: list[str] = []
    for change in changes:
        if change.new is None:
            lines.append(f"delete {change.ref}\0{change.old or ''}\0")
        elif change.old is None:
            lines.append(f"create {change.ref}\0{change.new}\0")
        else:
            lines.append(f"update {change.ref}\0{change.new}\0{change.old}\0")
    text = os.fsencode("".join(lines))
    before = noted_move(project.notes)
    note_move(project.notes, [*before[0], *(change.ref for change in changes)])
    done = user_call(project, ["update-ref", "-z", "--stdin"], stdin=text, ok=None)
    for _ in range(_LOCK_TRIES):
        match = LOCKED.search(clean_text(done.err, 10_000)) if done.code else None
        if match is None:
            break
        _drop_stale_lock(project, match.group(1), changes, before)
        SystemClock().sleep(0.1)
        done = user_call(project, ["update-ref", "-z", "--stdin"], stdin=text, ok=None)
    if done.code >= 0:  # a git that was killed may have left a lock, whose maker is still to be known
        forget_move(project.notes)
    return done


def _drop_stale_lock(
    project: Project, path: str, changes: Sequence[RefChange], before: tuple[set[str], float]
) -> None:
    """Removes a lock that a killed git of ours left, and no other.

    Ours are those below refs/ralph, where nobody else writes; that of a ref which is about to move when it
    holds the very commit which the ref moves to; and, whatever it holds, one that came about while `before`
    was noted by a Ralph that is gone. Any other is the user's business and only waited for.
    """
    full = os.path.realpath(os.path.join(project.top, path))
    try:
        made = os.lstat(full).st_mtime
        if SystemClock().now() - made <= _LOCK_AGE_SECONDS:
            return
        refs, since = before
        ours = full.startswith(os.path.join(project.common_dir, "refs", "ralph") + os.sep)
        ours = ours or any(
            full == os.path.join(project.common_dir, f"{change.ref}.lock")
            and (_holds(full, change.new) or (change.ref in refs and made >= since - 1))
            for change in changes
        )
        if ours:
            if project.notes:
                end_orphans(f"{MAKER}={project.notes}")
            os.unlink(full)
    except OSError:
        return


def _holds(lock: str, commit: str | None) -> bool:
    with open(lock, "rb") as file:
        return commit is not None and file.read(200).strip() == commit.encode()


def commit_tree(store: Store, tree: str, parents: Sequence[str], message: str, date: int) -> str:
    """A commit by Ralph: the same arguments give the same id."""
    args = ["commit-tree", tree]
    for parent in parents:
        args += ["-p", parent]
    text = message.rstrip("\n") + "\n"
    done = private_call(store, args, stdin=text.encode("utf-8", "surrogateescape"), extra=identity_env(date))
    return done.out.decode().strip()


def make_checkpoint(
    store: Store, name: str, iteration: int, *, tree: str, parent: str, message: str, date: int
) -> str:
    """The commit that holds the tree after an iteration, at `refs/ralph/<name>/checkpoint/<n>`."""
    commit = commit_tree(store, tree, [parent], message, date)
    ref = loop_ref(name, f"checkpoint/{iteration}")
    move_refs(store.project, [RefChange(ref, commit, None)])
    return commit


def keep_rejected(
    store: Store, name: str, iteration: int, *, tree: str, parent: str, message: str, date: int
) -> str:
    """The same for work that was set aside: nothing an agent wrote is lost by a revert."""
    commit = commit_tree(store, tree, [parent], message, date)
    ref = loop_ref(name, f"rejected/{iteration}")
    move_refs(store.project, [RefChange(ref, commit, None)])
    return commit


def find_published_result(project: Project, branch: str, loop: str, tree: str, base: str) -> str | None:
    """The commit on the result branch, if it is this loop's result: a killed runner put it there."""
    asked = [
        "log",
        "-1",
        "--format=%H%x00%T%x00%P%x00%(trailers:key=Ralph-Loop,valueonly)",
        f"refs/heads/{branch}",
    ]
    done = user_call(project, asked, ok=None)
    if done.code:
        return None
    commit, *seen = os.fsdecode(done.out).strip().split("\0")
    return commit if seen == [tree, base, loop] else None


def publish_result(project: Project, branch: str, commit: str, expected_old: str | None) -> None:
    """Puts the result on its branch; a branch that is checked out or that Ralph did not make is refused."""
    ref = branch if branch.startswith("refs/heads/") else f"refs/heads/{branch}"
    short = ref.removeprefix("refs/heads/")
    if user_call(project, ["check-ref-format", ref], ok=None).code:
        raise UserError(f"'{short}' is not a branch name", code="E-BRANCH-NAME", next="git branch --list")
    asked = ["for-each-ref", "--format=%(objectname)%00%(refname)%00%(worktreepath)", "refs/heads"]
    for line in os.fsdecode(user_call(project, asked).out).splitlines():
        now, found, place = line.split("\0")
        if short.startswith(found.removeprefix("refs/heads/") + "/"):
            raise UserError(
                f"branch '{found.removeprefix('refs/heads/')}' is in the way of '{short}'",
                code="E-BRANCH-PREFIX",
                why="git cannot hold a branch and a folder of branches by one name",
                next="ralph config show --origin",
            )
        if found != ref or now == commit:
            continue
        if place:
            raise UserError(
                f"branch '{short}' is checked out at '{place}'",
                code="E-BRANCH-CHECKED-OUT",
                next="git worktree list",
            )
        if now != expected_old:
            raise UserError(
                f"branch '{short}' is at {now[:12]}, expected {(expected_old or 'no branch')[:12]}",
                code="E-BRANCH-TAKEN",
                why="it was not made by this loop, or moved since",
                next=f"git log -1 {short}",
            )
    move_refs(project, [RefChange(ref, commit, expected_old)])
