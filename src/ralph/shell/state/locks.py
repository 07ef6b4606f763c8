"""The kernel lock that makes one runner the only driver of a loop.

The lock is the kernel's (`flock`): it is gone the moment its last holder is, whatever way that died.
The text in the file only says who it was, for people to read; it is never trusted for a decision.
Lock files are never removed by this module: removing one that somebody waits on would make two holders.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from ralph.clock import Clock, SystemClock, wait_until
from ralph.errors import Busy, SetupError, machine_error
from ralph.shell.process import tree

# Who only looks (`holder`) has the lock too, for some microseconds: a tenth of a second of trying tells
# that from a real holder. The name in the file cannot: it may be that of a former one who is still alive.
_MAX_TRIES = 20
_POLL_SECONDS = 0.005
_MAX_BYTES = 4096


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock; pid 0 when the file does not tell."""

    pid: int = 0
    start: int = 0
    boot: str = ""
    host: str = ""
    since: int = 0
    what: str = ""


class Lock(msgspec.Struct, frozen=True):
    """A held lock. `fd` may be passed on to a child, which then holds it too."""

    path: str
    fd: int

    def release(self) -> None:
        os.close(self.fd)


def try_lock(fd: int) -> bool:
    """The kernel's lock on an open file, now and for us alone; False when somebody else has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def this_process(since: int, what: str = "") -> Holder:
    pid, seen = os.getpid(), tree.read_process(os.getpid())
    start = seen.start if seen else 0
    return Holder(pid=pid, start=start, boot=tree.boot_id(), host=os.uname().nodename, since=since, what=what)


def acquire(path: str, me: Holder) -> Lock:
    """Take the lock now or raise Busy with the holder; `me.since` is now, in milliseconds."""
    seen = Holder()
    for _ in range(_MAX_TRIES):
        fd = _open(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same_file(fd, path):
                os.ftruncate(fd, 0)
                os.pwrite(fd, msgspec.json.encode(me), 0)
                return Lock(path, fd)
            os.close(fd)  # removed between open and lock: that file guards nothing any more
        except BlockingIOError:
            seen = _read(fd)
            os.close(fd)
            SystemClock().sleep(_POLL_SECONDS)
        except BaseException:
            os.close(fd)
            raise
    raise locked_error(path, seen, me.since)


def acquire_within(path: str, what: str, clock: Clock, seconds: float) -> Lock:
    """The same for one of many who take turns: Busy when it is not free within so many seconds."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    until = clock.monotonic() + seconds
    while True:
        try:
            return acquire(path, this_process(int(clock.now() * 1000), what))
        except Busy:
            if clock.monotonic() >= until:
                raise


@contextmanager
def behind_door(path: str, seconds: float, busy: Busy) -> Iterator[None]:
    """Alone for a moment, by a lock that nobody holds for long; `busy` after so many seconds."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        if not wait_until(lambda: try_lock(fd), SystemClock(), seconds=seconds, every=0.002):
            raise busy
        yield
    finally:
        os.close(fd)


def holder(path: str) -> Holder | None:
    """Who holds the lock right now, without keeping it; None when nobody does."""
    try:
        fd = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(fd)
    finally:
        os.close(fd)
    return None


def lock_of_loop(root: str, loop: str) -> str:
    return os.path.join(root, "loops", loop, "lock")


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise machine_error(exc, path) or SetupError(
            f"cannot open the lock '{path}': {exc.strerror}",
            code="E-LOCK-UNUSABLE",
            why="without it Ralph cannot know that nobody else drives this loop",
            next="ralph doctor",
        ) from exc


def _same_file(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(path))
    except FileNotFoundError:
        return False


def _read(fd: int) -> Holder:
    try:
        return msgspec.json.decode(os.pread(fd, _MAX_BYTES, 0), type=Holder)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return Holder()


def locked_error(path: str, seen: Holder, now: int) -> Busy:
    folder, name = os.path.split(path)
    name = os.path.basename(folder) if name == "lock" else name
    who = f"pid {seen.pid} on {seen.host}" if seen.pid else "a process that left no name"
    age = f", since {max(0, now - seen.since) // 1000} s" if seen.pid else ""
    gone = bool(seen.pid) and not alive(seen.pid, seen.start, seen.boot)
    return Busy(
        f"'{name}' is held by {who}{age}",
        code="E-LOOP-LOCKED",
        at=path,
        why="that process ended, but something it started still lives"
        if gone
        else "only one runner may drive a loop",
        next="ralph status",
    )


def alive(pid: int, start: int, boot: str) -> bool:
    """True only for the very process that was meant, and only while it can still act."""
    return boot == tree.boot_id() and tree.alive(pid, start)
