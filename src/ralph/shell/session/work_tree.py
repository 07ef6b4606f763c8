"""What stands in the user's work tree while a session works in it, kept as trees by Ralph's own git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.session.record import Session
from ralph.core.text.clean import one_line
from ralph.errors import Busy, SetupError
from ralph.shell.git.project import find_project
from ralph.shell.git.refs import make_checkpoint
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import open_store
from ralph.shell.git.trees import diff_with_stat
from ralph.shell.session.stream import add_fact, session_folder
from ralph.shell.state.directory import State
from ralph.shell.state.locks import Lock, acquire, this_process

MAX_PATHS = 20
_POLL_SECONDS = 0.05
_TIMEOUT_SECONDS = 30.0


def take_session_snapshot(state: State, name: str, session: Session) -> str:
    """The user's work tree as it stands: a tree in the user's objects, by a private index."""
    store = open_store(
        find_project(session.loop.sealed.repo), os.path.join(session_folder(state, name), "store")
    )
    index = os.path.join(session_folder(state, name), "work.index")
    try:
        return user_tree(store, index, kept=True)[0]
    except SetupError:  # the user's gc took what only this index knew
        return user_tree(store, index)[0]


def keep_checkpoint(state: State, name: str, session: Session, tree: str, clock: Clock) -> Session:
    """The tree kept under a ref and recorded; what was recorded last is not recorded again."""
    order = session.loop.sealed
    if tree == session.loop.work.tree:
        return session
    store = open_store(find_project(order.repo), os.path.join(session_folder(state, name), "store"))
    number = session.loop.iteration + 1
    commit = make_checkpoint(
        store, name, number, tree=tree, parent=order.base.commit,
        message=f"ralph: stop {number} of a session with {session.host}", date=int(clock.now()),
    )  # fmt: skip
    changes, counts = diff_with_stat(store, session.loop.work.tree, tree)
    whole = diff_with_stat(store, order.base.tree, tree)[1]
    made = e.CheckpointMade(
        iteration=number,
        tree=tree,
        commit=commit,
        files=counts.files,
        added=counts.added,
        removed=counts.removed,
        total_lines=whole.added + whole.removed,
        paths=tuple(one_line(change.path, 200) for change in changes[:MAX_PATHS]),
    )
    return add_fact(state, name, clock, lambda _: made)[0]


@contextmanager
def alone(state: State, name: str, clock: Clock) -> Iterator[None]:
    """One snapshot of a session at a time; a second hook waits for the first."""
    path = os.path.join(session_folder(state, name), "snapshot.lock")
    until = clock.monotonic() + _TIMEOUT_SECONDS
    held: Lock | None = None
    while held is None:
        try:
            held = acquire(path, this_process(int(clock.now() * 1000), "snapshot"))
        except Busy:
            if clock.monotonic() >= until:
                raise
            clock.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        held.release()
