"""What was added to the user's work tree, looked at between two trees: for parts of the work."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ralph.clock import Clock
from ralph.core.session.record import Session
from ralph.shell.git.project import find_project
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import Store, open_store
from ralph.shell.git.trees import tree_of
from ralph.shell.session.added_code import AddedCode, find_in_added
from ralph.shell.session.stream import alone, session_folder
from ralph.shell.state.directory import open_state, state_dir


def snapshot_here(name: str, env: Mapping[str, str], cwd: str, clock: Clock) -> tuple[Store, str]:
    """The work tree around this folder as a tree, and the git directory that knows it."""
    state = open_state(state_dir(env), create=True)
    folder = session_folder(state, name)
    with alone(state, name, "snapshot", clock):
        store = open_store(find_project(cwd), os.path.join(folder, "store"))
        return store, user_tree(store, os.path.join(folder, "look.index"))[0]


def added_problems(
    name: str,
    env: Mapping[str, str],
    cwd: str,
    clock: Clock,
    session: Session,
    *,
    since: str,
    files: Sequence[str],
) -> tuple[AddedCode, str]:
    """What is wrong with lines added since this tree, the start of the session's task, or the last commit."""
    store, tree = snapshot_here(name, env, cwd, clock)
    top = store.project.top
    order = session.loop.order if session.active and session.loop.sealed.repo == top else None
    base = since or (order.base.tree if order else tree_of(store, store.project.head))
    # The host may name files, and often does not: what git sees changed is looked at then.
    inside = {os.path.relpath(os.path.realpath(os.path.join(cwd, one)), top) for one in files}
    return find_in_added(store, base, tree, order.task if order else "", frozenset(inside)), tree
