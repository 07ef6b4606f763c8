"""What a killed git of ours leaves in the state directory: locks, scratch folders, a borrowed rule.

Git makes `<file>.lock`, writes it and renames it; killed in between, it leaves the lock, and every later git
refuses the file. Everything here stands in the state directory, where only Ralph's own git writes, so what
no living process holds is rubbish. Not here: locks in the user's repository (gitrefs, landing_recovery).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ralph.clock import SystemClock, wait_until
from ralph.errors import Busy
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.process import tree
from ralph.shell.state.locks import try_lock

PATIENCE_SECONDS = 30.0
ORPHAN_SECONDS = 10.0  # that a git may go on whose Ralph was killed; then it is ended
_LOOK_SECONDS = 0.02
_MOVING = "moving"
_SCRATCH = ("tmp", "landing-")  # of `tempfile`, and of a landing that is finished after a kill


@contextmanager
def sole_user(index: str, patience: float = PATIENCE_SECONDS) -> Iterator[int]:
    """A private index for one git alone, without the lock that a killed one left in it.

    The open file is handed to git, which so holds it too: when Ralph is killed and its git lives on, the
    next Ralph waits for that git instead of taking the lock away from under it.
    """
    fd = os.open(index + ".held", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not _wait_for_lock(fd, min(patience, ORPHAN_SECONDS)):
            end_processes(holders(index + ".held"))
            if not _wait_for_lock(fd, patience):
                raise _still_held(index)
        remove_tree(index + ".lock")
        yield fd
    finally:
        os.close(fd)


def _wait_for_lock(fd: int, seconds: float) -> bool:
    return wait_until(lambda: try_lock(fd), SystemClock(), seconds=seconds, every=_LOOK_SECONDS)


def end_processes(pids: list[str]) -> None:
    """Gits of ours whose Ralph is gone, only those: asked first, so that they take their locks away."""
    found = [seen for pid in pids if (seen := tree.read_process(int(pid))) and _is_git(pid)]
    for number in (signal.SIGTERM, signal.SIGCONT):
        for one in found:
            tree.send(one.pid, one.start, number)
    gone = wait_until(
        lambda: not any(tree.alive(one.pid, one.start) for one in found),
        SystemClock(),
        seconds=1.0,
        every=_LOOK_SECONDS,
    )
    for one in found if not gone else []:
        tree.send(one.pid, one.start, signal.SIGKILL)


def _is_git(pid: str) -> bool:
    return (tree.read_bytes(f"/proc/{pid}/comm") or b"").startswith(b"git")


def note_move(notes: str, refs: Sequence[str]) -> None:
    """Before refs of the user's repository are moved: what a git that is killed now leaves there is ours."""
    if notes:
        with open(os.path.join(notes, _MOVING), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("\n".join(refs))


def noted_move(notes: str) -> tuple[set[str], float]:
    """Which refs were being moved when Ralph was killed, and since when; forgotten by `forget_move`."""
    try:
        with open(os.path.join(notes, _MOVING), encoding="utf-8", errors="surrogateescape") as file:
            return set(file.read().split("\n")), os.fstat(file.fileno()).st_mtime
    except OSError:
        return set(), 0.0


def forget_move(notes: str) -> None:
    if notes:
        remove_tree(os.path.join(notes, _MOVING))


def end_orphans(marker: str) -> None:
    """Gits that a killed Ralph left at work in the user's repository."""
    end_processes([str(proc.pid) for proc in tree.find_marked(marker)])


def _still_held(index: str) -> Busy:
    pids = holders(index + ".held")
    return Busy(
        f"a git that Ralph started earlier is still at work on '{index}'",
        code="E-GIT-HELD",
        at=index,
        why="Ralph was killed and that git was not; two at a time would tear the index",
        next=f"kill -9 {' '.join(pids)}" if pids else "ralph status",
    )


def holders(path: str) -> list[str]:
    """The processes that have this file open, but for this one."""
    found: list[str] = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            held = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        except OSError:
            continue
        if os.path.realpath(path) in held:
            found.append(pid)
    return found


def sweep(store: str) -> None:
    """Clears a loop's private git directory; the caller holds the loop's lock."""
    for name in os.listdir(store):
        if name.startswith(_SCRATCH):
            remove_tree(os.path.join(store, name))
    for folder, _, names in os.walk(store):
        for name in names:
            if name.endswith(".lock"):
                remove_tree(os.path.join(folder, name))
    put_back(os.path.join(store, "info", "attributes"))


def set_aside(path: str) -> None:
    """Keep a rule file as it is before it is changed for one call."""
    kept = path + ".kept"
    with open(path, "rb") as file, open(kept + ".new", "wb") as copy:
        copy.write(file.read())
    os.replace(kept + ".new", kept)


def put_back(path: str) -> None:
    """The rule file as it was when it was set aside; nothing when it was not."""
    try:
        os.replace(path + ".kept", path)
    except FileNotFoundError:
        return
