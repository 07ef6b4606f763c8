"""What stands in the user's work tree while a session works in it, kept as trees by Ralph's own git."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.session.record import Session
from ralph.core.text.clean import one_line
from ralph.errors import SetupError
from ralph.shell.git.bounds import LeftOut
from ralph.shell.git.project import find_project
from ralph.shell.git.refs import make_checkpoint
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import Store, open_store, private_call
from ralph.shell.git.trees import diff_with_stat, gitlinks
from ralph.shell.session.stream import add_fact, session_folder
from ralph.shell.state.directory import State

MAX_PATHS = 20
_READ_BYTES = 1 << 20


def take_session_snapshot(state: State, name: str, session: Session) -> tuple[str, dict[str, str]]:
    """The user's work tree as it stands: a tree in the user's objects, by a private index; and what is in
    no tree.
    """
    store = open_store(
        find_project(session.loop.sealed.repo), os.path.join(session_folder(state, name), "store")
    )
    index = os.path.join(session_folder(state, name), "work.index")
    try:
        tree, left_out = user_tree(store, index, kept=True)
    except SetupError:  # the user's gc took what only this index knew
        tree, left_out = user_tree(store, index)
    return tree, unseen_parts(store, left_out, session_folder(state, name))


def unseen_parts(store: Store, left_out: list[LeftOut], folder: str) -> dict[str, str]:
    """What no check looks at, in words, each with a mark that changes when it does."""
    links = [
        LeftOut(os.fsencode(path), f"the submodule at '{one_line(path, 200)}' is judged as it was committed")
        for path in gitlinks(store, store.project.head)
    ]
    index = os.path.join(folder, "unseen.index")
    return {
        one_line(one.words, 300): _mark(store, one.path, index) if one.path else ""
        for one in [*left_out, *links]
    }


def _mark(store: Store, path: bytes, index: str) -> str:
    """Of a file, or of everything in a folder that is not ignored there: by content, or size and time."""
    full = os.path.join(os.fsencode(store.project.top), path)
    names = [b""]
    if os.path.isdir(full):
        with suppress(FileNotFoundError):
            os.unlink(index)
        asked = ["ls-files", "-o", "--exclude-standard", "-z"]
        names = private_call(store, asked, index=index, work_tree=os.fsdecode(full)).out.split(b"\0")[:-1]
    seen = hashlib.sha256()
    for name in sorted(one for one in names if b"__pycache__/" not in one):
        with suppress(OSError):
            seen.update(name + b"\0" + _content(os.path.join(full, name) if name else full) + b"\0")
    return seen.hexdigest()[:16]


def _content(path: bytes) -> bytes:
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > _READ_BYTES:
        return b"%d %d" % (found.st_size, found.st_mtime_ns)
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(_READ_BYTES)).digest()


def unseen_changes(session: Session, now: dict[str, str]) -> tuple[str, ...]:
    """What was made or changed since the task began where no check looks: of that nothing can be said."""
    since = {words: mark for words, mark in now.items() if session.unseen.get(words) != mark}
    undo = "and was changed since: undo that, or ask the user to commit it or to add it to .gitignore"
    return tuple(f"{words}, {undo}" if words in session.unseen else words for words in since)


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
        left_out=session.loop.work.left_out,
    )
    return add_fact(state, name, clock, lambda _: made)[0]
