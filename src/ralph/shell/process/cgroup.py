"""Control groups, version 2: a child group per call where this user may make one; otherwise nothing.

Absence is normal (containers, plain users without delegation) and never an error. On machines with both
versions only the unified hierarchy is used. Limits are written only where the controller is there; the
caller learns which ones hold. Everything else about killing lives in `keeper`.
"""

from __future__ import annotations

import os

from ralph.clock import SystemClock, wait_until


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> bool:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return False
    return True


def _unescape(path: str) -> str:
    for code, letter in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        path = path.replace(code, letter)
    return path


def own_group() -> str | None:
    """The directory of our own version 2 group, or None."""
    lines = _read("/proc/self/cgroup").splitlines()
    inside = next((line[3:] for line in lines if line.startswith("0::")), None)
    if inside is None:
        return None
    for line in _read("/proc/self/mountinfo").splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 "):
            root, point = (_unescape(word) for word in fields.split()[3:5])
            below = inside if root == "/" else inside.removeprefix(root)
            path = os.path.normpath(point + "/" + below)
            return path if os.path.isdir(path) else None
    return None


def make(name: str) -> str | None:
    """A new empty group called `name` under our own, ready for `cgroup.kill`; None where that cannot be."""
    parent = own_group()
    if parent is None or not os.access(parent, os.W_OK) or not os.access(parent + "/cgroup.procs", os.W_OK):
        return None
    path = os.path.join(parent, name)
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        pass
    except OSError:
        return None
    if not os.access(path + "/cgroup.kill", os.W_OK):
        remove(path)
        return None
    return path


def limit(path: str, *, memory_bytes: int | None = None, processes: int | None = None) -> tuple[str, ...]:
    """Set limits; the names of those that now hold ("memory", "processes")."""
    held = []
    if memory_bytes and _write(path + "/memory.max", str(memory_bytes)):
        _write(path + "/memory.swap.max", "0")
        held.append("memory")
    if processes and _write(path + "/pids.max", str(processes)):
        held.append("processes")
    return tuple(held)


def has_processes(path: str) -> bool:
    return "populated 1" in _read(path + "/cgroup.events")


def kill(path: str, seconds: float = 5.0) -> bool:
    """Kill every process in the group and wait; True when it is empty."""
    if not os.path.isdir(path):
        return True
    _write(path + "/cgroup.kill", "1")
    return wait_until(lambda: not has_processes(path), SystemClock(), seconds=seconds, every=0.001)


def remove(path: str) -> bool:
    """Remove an empty group; a group that is gone counts as removed."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
