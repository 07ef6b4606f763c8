"""The backlog's result branch: one commit for each item that passed, on top of the ones before it."""

from __future__ import annotations

import os
import secrets

from msgspec import Struct

from ralph.app.backlog.criteria import ItemGates
from ralph.app.backlog.desk import Desk
from ralph.app.backlog.judge import judge_commit
from ralph.core.model.loop import Loop
from ralph.errors import NeedsHuman
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.project import Project, is_ancestor, user_call
from ralph.shell.git.refs import RefChange, commit_tree, loop_ref, move_refs, publish_result, read_refs
from ralph.shell.git.store import open_store
from ralph.shell.landing.land import merge_tree
from ralph.shell.run.site import loop_folder
from ralph.shell.state.directory import open_state, state_dir


class Joined(Struct, frozen=True):
    """The commit on the branch; "" and why not."""

    commit: str
    trouble: str = ""


def branch_of(desk: Desk) -> str:
    return f"{desk.settings.paths.branch_prefix}/backlog"


def tip_of(desk: Desk, project: Project) -> str:
    ref = f"refs/heads/{branch_of(desk)}"
    return read_refs(project, ref).get(ref, "")


def base_for_item(desk: Desk, project: Project) -> str:
    """Where the next item begins: the branch, or the user's commit when that holds the branch already."""
    newest = newest_of(desk, project)
    if newest == project.head or is_ancestor(project, project.head, newest):
        return newest
    raise NeedsHuman(
        f"your branch and '{branch_of(desk)}' have both moved on",
        code="E-BACKLOG-DIVERGED",
        why="items that passed are on the one, your own commits on the other",
        next=f"git merge {branch_of(desk)}",
    )


def newest_of(desk: Desk, project: Project) -> str:
    """Where items have to pass: the branch, unless the user's commit holds it already."""
    tip = tip_of(desk, project)
    return project.head if not tip or is_ancestor(project, tip, project.head) else tip


def changed_paths(project: Project, old: str, new: str) -> list[str]:
    asked = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", old, new, "--"]
    return [os.fsdecode(path) for path in user_call(project, asked).out.split(b"\0")[:-1]]


def join_branch(desk: Desk, project: Project, loop: Loop, gates: ItemGates) -> Joined:
    """Put a loop's result on the branch. When others came first, the item's gates judge the merge."""
    result, tip = loop.landing.result, tip_of(desk, project)
    if tip and is_ancestor(project, result, tip):  # a runner that was killed put it there
        return Joined(result)
    commit = result
    if tip and not is_ancestor(project, tip, loop.sealed.base.commit):
        made = _merged_commit(desk, project, loop, tip)
        if isinstance(made, Joined):
            return made
        verdicts = judge_commit(desk, project, made, gates.commands)
        red = [one for one in verdicts.values() if one.status != "pass"]
        if red:
            return Joined(
                "", f"it does not pass together with what passed meanwhile: {red[0].gate}: {red[0].summary}"
            )
        commit = made
    publish_result(project, branch_of(desk), commit, tip or None)
    _drop_own_branch(project, loop)
    return Joined(commit)


def _merged_commit(desk: Desk, project: Project, loop: Loop, tip: str) -> str | Joined:
    state = open_state(state_dir(desk.env), create=True)
    folder = loop_folder(state, f"backlog-{secrets.token_hex(4)}")
    try:
        store = open_store(project, os.path.join(folder, "store"))
        merged = merge_tree(store, tip, loop.landing.result)
        if merged.tree is None:
            return Joined(
                "", f"it changes the same lines as what passed meanwhile: {', '.join(merged.conflicts[:5])}"
            )
        said = user_call(project, ["log", "-1", "--format=%B", loop.landing.result]).out.decode(
            "utf-8", "replace"
        )
        message = f"{said.rstrip()}\nRalph-Rejudged: {merged.tree}\n"
        return commit_tree(store, merged.tree, [tip], message, int(loop.last_work_at))
    finally:
        remove_tree(folder)


def _drop_own_branch(project: Project, loop: Loop) -> None:
    """The loop's own branch has served: its commit is kept under refs/ralph, and on the backlog's branch."""
    name, result = loop.sealed.loop, loop.landing.result
    kept, own = loop_ref(name, "result"), f"refs/heads/{loop.landing.branch}"
    changes = [RefChange(kept, result, None)] if not read_refs(project, kept) else []
    if read_refs(project, own).get(own) == result:
        changes.append(RefChange(own, None, result))
    if changes:
        move_refs(project, changes)


def keep_failed_work(project: Project, loop: Loop) -> str:
    """The ref under which the work of a failed attempt is kept; "" = it changed nothing."""
    if not loop.work.commit or loop.work.tree == loop.sealed.base.tree:
        return ""
    ref = loop_ref(loop.sealed.loop, f"rejected/{loop.iteration}")
    if not read_refs(project, ref):
        move_refs(project, [RefChange(ref, loop.work.commit, None)])
    return ref
