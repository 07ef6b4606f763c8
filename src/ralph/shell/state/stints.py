"""How many loops of one repository are at work at once: a place for each, held as long as it is driven.

A place is a kernel lock of its own beside the loop's lock, which `merge`, `drop` and others take too, and
which says nothing of whether an agent may be called. Looking and taking happen under one lock, so that
the limit holds exactly whoever starts and resumes at the same moment; a crashed runner's place is free.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import msgspec

from ralph.errors import Busy
from ralph.shell.state import locks
from ralph.shell.state.directory import unusable_error

_DOOR = ".door"  # no loop can be called so
_PATIENCE_SECONDS = 10.0


class Stint(msgspec.Struct, frozen=True):
    """What a runner holds while it drives a loop."""

    lock: locks.Lock
    place: locks.Lock | None  # None: nothing that it may do counts, as when a loop is only ended

    def release(self) -> None:
        if self.place is not None:
            self.place.release()
        self.lock.release()


def take_place(stints: str, repo: str, loop: str, most: int, now: float) -> locks.Lock:
    """A place among the loops of `repo` that are at work, or Busy when there are `most` already."""
    folder = os.path.join(stints, hashlib.sha256(os.fsencode(repo)).hexdigest()[:16])
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _door(folder):
            at_work = _other_places(folder, loop)
            if len(at_work) >= most:
                raise _full(at_work, most)
            me = locks.this_process(int(now * 1000), "runner")
            return locks.acquire(os.path.join(folder, loop), me)
    except OSError as exc:
        raise unusable_error(exc, folder) from exc


def _other_places(folder: str, loop: str) -> list[str]:
    """The other loops that are being driven; what those before them left is removed."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name in (_DOOR, loop):
            continue
        path = os.path.join(folder, name)
        if locks.holder(path) is not None:
            found.append(name)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)  # nobody can be waiting for it: that is done behind the door only
    return found


@contextmanager
def _door(folder: str) -> Iterator[None]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(os.path.join(folder, _DOOR), flags, 0o600)
    try:
        until = time.monotonic() + _PATIENCE_SECONDS
        while not _try_enter(fd):
            if time.monotonic() > until:
                raise Busy(
                    "another Ralph has been starting a loop here for a long time",
                    code="E-LOOPS-STARTING",
                    at=folder,
                    why="it may have been stopped in the middle of it",
                    next="ralph status",
                )
            time.sleep(0.005)
        yield
    finally:
        os.close(fd)


def _try_enter(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _full(at_work: list[str], most: int) -> Busy:
    count = "1 loop is" if len(at_work) == 1 else f"{len(at_work)} loops are"
    allowed = "1 is" if most == 1 else f"{most} are"
    return Busy(
        f"{count} at work in this repository, at most {allowed} allowed",
        code="E-LOOPS-MANY",
        why=f"at work: {', '.join(at_work)}; the setting is max_loops",
        next=f"ralph pause {at_work[0]}",
    )
