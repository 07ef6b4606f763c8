"""Process trees as /proc shows them: identity, descendants, marks, and the sweep that empties a tree.

The keeper and the runner's recovery share this. Stdlib only and light, because the keeper starts once
per call. What a call is, its clocks and its output live in `keeper`; cgroups live in `cgroup`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os

from ralph.clock import SystemClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
DEAD_STATES = "ZXx"


class Proc:
    """One line of the process table: what identifies it and what it has used."""

    __slots__ = ("parent", "pid", "rss", "start", "state", "ticks")

    def __init__(self, pid: int, stat: bytes) -> None:
        # The command name may hold spaces and brackets: everything counts from the last ")".
        fields = stat[stat.rindex(b")") + 2 :].split()
        self.pid = pid
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.ticks = sum(map(int, fields[11:15]))
        self.start = int(fields[19])
        self.rss = int(fields[21]) * PAGE


def read_bytes(path: str) -> bytes | None:
    """The whole of a small file, or None when it is not there or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(fd)


def boot_id() -> str:
    """Names this boot: pids and start times mean nothing in another one."""
    return (read_bytes("/proc/sys/kernel/random/boot_id") or b"").decode().strip()


def read_process(pid: int) -> Proc | None:
    """The process as it is now, zombies included."""
    stat = read_bytes(f"/proc/{pid}/stat")
    return Proc(pid, stat) if stat else None


def alive(pid: int, start: int) -> bool:
    """True while that very process lives; a zombie nobody reaped counts as dead."""
    found = read_process(pid)
    return found is not None and found.start == start and found.state not in DEAD_STATES


def is_stopped(pid: int) -> bool:
    """By a signal or by whoever traces it."""
    found = read_process(pid)
    return found is not None and found.state in "Tt"


def list_processes() -> dict[int, Proc]:
    """Every process that can be seen."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (proc := read_process(int(name))):
            found[proc.pid] = proc
    return found


def descendants(root: int) -> list[Proc]:
    """All living processes below `root`, without itself and without zombies."""
    procs = list_processes()
    children: dict[int, list[int]] = {}
    for proc in procs.values():
        children.setdefault(proc.parent, []).append(proc.pid)
    below: list[Proc] = []
    todo = list(children.get(root, ()))
    while todo:
        pid = todo.pop()
        if procs[pid].state not in DEAD_STATES:
            below.append(procs[pid])
        todo.extend(children.get(pid, ()))
    return below


def find_marked(marker: str) -> list[Proc]:
    """Living processes that were started with `marker` ("NAME=value") in their environment."""
    needle = b"\0" + marker.encode() + b"\0"
    found = []
    own = os.getpid()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == own:
            continue
        environ = read_bytes(f"/proc/{name}/environ")
        if environ and needle in b"\0" + environ:
            proc = read_process(int(name))
            if proc and proc.state not in DEAD_STATES:
                found.append(proc)
    return found


def send(pid: int, start: int, number: int) -> bool:
    """Signal exactly that process: through a pidfd, after its start time was checked."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        found = read_process(pid)
        if found is None or found.start != start:
            return False
        _signal.pidfd_send_signal(fd, number)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def reap() -> bool:
    """Collect every child that has ended; False when there is no child at all."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def sweep(find: Callable[[], Iterable[Proc]], seconds: float, *, looks: int = 1) -> int:
    """Stop, then kill, what `find` returns, until it returns nothing; the count of survivors after `seconds`.

    Stopping first keeps a respawner from forking between the look and the kill. One look can miss a child
    that is born while its parent dies: where nothing else proves emptiness, ask for several in a row.
    """
    deadline = SystemClock().monotonic() + seconds
    pause, calm = 0.0005, 0
    while True:
        stopped: set[tuple[int, int]] = set()
        for _ in range(20):
            fresh = [p for p in find() if (p.pid, p.start) not in stopped]
            if not fresh:
                break
            for proc in fresh:
                send(proc.pid, proc.start, _signal.SIGSTOP)
                stopped.add((proc.pid, proc.start))
        for pid, start in stopped:
            send(pid, start, _signal.SIGKILL)
        calm = 0 if stopped else calm + 1
        if calm >= looks:
            return 0
        if SystemClock().monotonic() > deadline:
            return len(list(find()))
        SystemClock().sleep(pause)
        pause = min(pause * 2, 0.02)
