"""How many loops of one repository are at work at once: a place for each, held as long as it is driven.

A place is a kernel lock of its own beside the loop's lock, which `merge`, `drop` and others take too, and
which says nothing of whether an agent may be called. Looking and taking happen under one lock, so that
the limit holds exactly whoever starts and resumes at the same moment; a crashed runner's place is free.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from typing import Protocol

import msgspec

from ralph.errors import Busy
from ralph.shell.state import locks
from ralph.shell.state.directory import unusable_error

_DOOR = ".door"  # no loop can be called so
_PATIENCE_SECONDS = 10.0


class Stint(Protocol):
    """What a runner holds while it drives a loop."""

    def release(self) -> None: ...


class LockedStint(msgspec.Struct, frozen=True):
    lock: locks.Lock
    place: locks.Lock | None  # None: nothing that it may do counts, as when a loop is only ended

    def release(self) -> None:
        if self.place is not None:
            self.place.release()
        self.lock.release()


def take_stint(
    root: str, loop: str, at: int, repo: str, most: int | None, machine: int | None = None
) -> LockedStint:
    """The loop for this process alone, and a place among those at work; `most` None = it needs none."""
    # The place first: a loop that is refused must not leave a folder behind.
    stints = os.path.join(root, "stints")
    place = None if most is None else _take_place(stints, repo, loop, (most, machine), at)
    try:
        path = locks.lock_of_loop(root, loop)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return LockedStint(locks.acquire(path, locks.this_process(at, "runner")), place)
    except BaseException:
        if place is not None:
            place.release()
        raise


def _take_place(stints: str, repo: str, loop: str, most: tuple[int, int | None], at: int) -> locks.Lock:
    """A place among the loops of `repo`, and of the machine, that are at work; Busy when there is none."""
    import hashlib

    folder = os.path.join(stints, hashlib.sha256(os.fsencode(repo)).hexdigest()[:16])
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _door(stints):  # one for all: places are counted over all repositories
            at_work = _other_places(folder, loop)
            if len(at_work) >= most[0]:
                raise many_loops_error(at_work, most[0])
            if most[1] is not None:
                everywhere = [name for one in _folders(stints) for name in _other_places(one, loop)]
                if len(everywhere) >= most[1]:
                    raise many_loops_error(everywhere, most[1], machine=True)
            return locks.acquire(os.path.join(folder, loop), locks.this_process(at, "runner"))
    except OSError as exc:
        raise unusable_error(exc, folder) from exc


def _folders(stints: str) -> list[str]:
    return [entry.path for entry in os.scandir(stints) if entry.is_dir(follow_symlinks=False)]


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


def _door(folder: str) -> AbstractContextManager[None]:
    busy = Busy(
        "another Ralph has been starting a loop here for a long time",
        code="E-LOOPS-STARTING",
        at=folder,
        why="it may have been stopped in the middle of it",
        next="ralph status",
    )
    return locks.behind_door(os.path.join(folder, _DOOR), _PATIENCE_SECONDS, busy)


def many_loops_names(full: Busy) -> list[str]:
    """The loops at work that such a refusal names."""
    return full.why.partition(": ")[2].partition(";")[0].split(", ")


def many_loops_error(at_work: list[str], most: int, *, machine: bool = False) -> Busy:
    count = "1 loop is" if len(at_work) == 1 else f"{len(at_work)} loops are"
    allowed = "1 is" if most == 1 else f"{most} are"
    where = "on this machine" if machine else "in this repository"
    return Busy(
        f"{count} at work {where}, at most {allowed} allowed",
        code="E-LOOPS-MANY",
        why=f"at work: {', '.join(at_work)}; the setting is max_loops{'_machine' if machine else ''}",
        next=f"ralph pause {at_work[0]}",
    )
