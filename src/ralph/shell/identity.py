"""Which process is that: pid, start time and boot id together, because a pid alone is reused.

Only looking lives here; locks are in `locks`, stopping processes elsewhere.
"""

from __future__ import annotations

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_DEAD = frozenset("ZXx")  # a zombie holds its pid but will never do anything again


def boot_id() -> str:
    """The kernel's id of this boot; empty where the kernel does not tell, which then equals itself."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def start_time(pid: int) -> int | None:
    """Clock ticks between boot and the start of `pid`, or None when there is no such process."""
    seen = _stat(pid)
    return None if seen is None else seen[1]


def alive(pid: int, start: int, boot: str) -> bool:
    """True only for the very process that was meant, and only while it can still act."""
    if boot != boot_id():
        return False
    seen = _stat(pid)
    return seen is not None and seen[1] == start and seen[0] not in _DEAD


def _stat(pid: int) -> tuple[str, int] | None:
    """State and start time; the name in between may hold spaces and brackets, so cut at the last one."""
    if pid <= 0:
        return None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (fields[0].decode("ascii"), int(fields[19])) if len(fields) > 19 else None
