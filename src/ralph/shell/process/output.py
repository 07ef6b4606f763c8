"""What is kept of a call's output: the head as it comes, a ring of the tail, and honest counts.

Bytes are moved in large chunks and never looked at. Used by the keeper only; reading back is `client`.
"""

from __future__ import annotations

# ruff: noqa: SIM105 - contextlib would cost as much as the rest of the keeper
import fcntl
import os

from ralph.clock import SystemClock

CHUNK = 1 << 20
F_SETPIPE_SZ = 1031


class Stream:
    """One pipe of the call. Memory: one chunk, and the ring once the head is full."""

    def __init__(self, folder: str, name: str, head_bytes: int, tail_bytes: int) -> None:
        self.read_fd, self.write_fd = os.pipe()
        try:
            fcntl.fcntl(self.read_fd, F_SETPIPE_SZ, CHUNK)
        except OSError:
            pass  # the user's pipe budget is spent: slower, not wrong
        os.set_blocking(self.read_fd, False)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self.path = os.path.join(folder, name)
        self.file = os.open(self.path, flags, 0o600)
        self.head_left = head_bytes
        self.chunk = memoryview(bytearray(CHUNK))
        self.tail_bytes = max(tail_bytes, 1)
        self.ring: memoryview | None = None
        self.at = 0
        self.ringed = 0
        self.total = 0
        self.lost = 0
        self.error = ""
        self.last = SystemClock().monotonic()

    @property
    def dropped(self) -> int:
        return self.lost + max(0, self.ringed - self.tail_bytes)

    def pump(self) -> bool:
        """Move one chunk; False at the end of the stream."""
        try:
            got = self._to_head() if self.head_left > 0 else self._to_ring()
        except BlockingIOError:
            return True
        self.total += got
        self.last = SystemClock().monotonic()
        return got > 0

    def _to_head(self) -> int:
        got = os.readv(self.read_fd, [self.chunk[: min(CHUNK, self.head_left)]])
        self.head_left -= got
        done = 0
        while done < got:
            try:
                done += os.write(self.file, self.chunk[done:got])
            except OSError as error:
                # A full disk must not block the call: count what is lost, keep the tail in memory.
                self.error = f"{self.path}: {error.strerror}"
                self.lost += got - done
                self.head_left = 0
                break
        return got

    def _to_ring(self) -> int:
        if self.ring is None:
            self.ring = memoryview(bytearray(self.tail_bytes))
        got = os.readv(self.read_fd, [self.ring[self.at : self.at + CHUNK]])
        self.at = (self.at + got) % self.tail_bytes
        self.ringed += got
        return got

    def last_words(self) -> str:
        """The end of the kept head, for the error of a box that did not come up."""
        size = os.fstat(self.file).st_size
        return os.pread(self.file, 400, max(0, size - 400)).decode("utf-8", "replace").strip()

    def finish(self) -> None:
        """Take what stands in the pipe, without waiting for whoever holds it open; write the tail."""
        drained = self.total
        while True:
            before = self.total
            if not self.pump() or self.total == before or self.total - drained > 64 * CHUNK:
                break
        os.close(self.read_fd)
        if self.ring is None or not self.ringed:
            return
        whole = self.ringed > self.tail_bytes
        parts = (self.ring[self.at :], self.ring[: self.at]) if whole else (self.ring[: self.ringed],)
        try:
            fd = os.open(self.path + "-tail", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            for part in parts:
                done = 0
                while done < len(part):
                    done += os.write(fd, part[done:])
            os.close(fd)
        except OSError as error:
            self.error = f"{self.path}-tail: {error.strerror}"
            self.lost += min(self.ringed, self.tail_bytes)


def read_ends(path: str, limit: int, hidden: int) -> tuple[bytes, int, bytes]:
    """Head, number of bytes left out, tail of the stream at `path`; `hidden` bytes of it were never kept."""
    head_size, tail_size = _size(path), _size(path + "-tail")
    if head_size + tail_size <= limit and not hidden:
        return _slice(path, 0, head_size) + _slice(path + "-tail", 0, tail_size), 0, b""
    half = limit // 2
    from_tail = min(tail_size, half)
    tail = _slice(path + "-tail", tail_size - from_tail, from_tail)
    head_end = 0
    if len(tail) < half:  # the head file holds the rest of the end
        head_end = min(half - len(tail), max(0, head_size - (limit - half))) if not hidden else 0
        tail = _slice(path, head_size - head_end, head_end) + tail
    head = _slice(path, 0, min(head_size - head_end, limit - len(tail)))
    return head, head_size + tail_size + hidden - len(head) - len(tail), tail


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _slice(path: str, start: int, count: int) -> bytes:
    if count <= 0:
        return b""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, count, start)
    finally:
        os.close(fd)
