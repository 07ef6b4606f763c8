"""Runs of a backlog that go on in the background: what was ordered, until it is done or taken back.

One file an order, beside the backlog's locks. It says what is to be started again when the process that works
on it is gone; what has been done is in the journal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ralph.shell.backlog.place import BacklogPlace
from ralph.shell.backlog.store import lock_path, write_file

_SUFFIX = ".order"


class RunOrder(Struct, frozen=True):
    cwd: str
    words: tuple[str, ...]  # of `ralph backlog run`
    stream: str
    env: dict[str, str] = {}  # of the starter: where programs are found
    needs: tuple[str, ...] = ()  # variables that the agent gets its keys from
    begun_with: int = 0  # attempts of runs before it: what counts towards --max-items came after them


def order_path(root: str, place: BacklogPlace) -> str:
    return lock_path(root, place, _SUFFIX[1:])


def put_order(path: str, order: RunOrder) -> None:
    write_file(path, msgspec.json.encode(order), None)


def read_order(path: str) -> RunOrder | None:
    """None when there is none, or one of another version, which is left alone."""
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=RunOrder)
    except (OSError, msgspec.MsgspecError):
        return None


def drop_order(path: str) -> bool:
    """Whether there was one."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def open_orders(root: str) -> Iterator[tuple[str, RunOrder]]:
    """Each order with its path."""
    folder = os.path.join(root, "backlogs")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for path in (os.path.join(folder, name) for name in names if name.endswith(_SUFFIX)):
        if (order := read_order(path)) is not None:
            yield path, order


def run_lock(path: str) -> str:
    """Held by the process that works on an order."""
    return f"{path.removesuffix(_SUFFIX)}.run"
