"""Which files below a folder are opened, by whatever process: the kernel tells, by an inotify watch a folder.

It does not tell who. Folders that are made while it goes on are not watched: what stands in them was made by
the call itself. When the kernel drops events, or watches are used up, that is said.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading

_EVENT = struct.Struct("iIII")
_IN_OPEN, _IN_Q_OVERFLOW, _IN_ISDIR = 0x20, 0x4000, 0x40000000
_BUFFER = 1 << 20
MAX_FOLDERS = 20_000
POLL_MILLISECONDS = 200


class OpenedFiles:
    """Watches from the moment it is made until `stop`."""

    def __init__(self, root: str) -> None:
        self.lost = ""
        self._root = root
        self._found: set[str] = set()
        self._folders: dict[int, str] = {}
        self._over = threading.Event()
        self._fd = -1
        self._thread: threading.Thread | None = None
        try:
            self._begin()
        except (OSError, AttributeError, RuntimeError) as error:  # no inotify or no thread, or none to spare
            self.lost = f"opened files could not be watched ({error})"

    def _begin(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        for folder, names, _ in os.walk(self._root):
            names[:] = [name for name in names if name != ".git"]
            below = os.path.relpath(folder, self._root)
            watch = libc.inotify_add_watch(self._fd, os.fsencode(folder), _IN_OPEN)
            if watch < 0 or len(self._folders) >= MAX_FOLDERS:
                self.lost = "there are more folders than can be watched"
                break
            self._folders[watch] = "" if below == "." else f"{below}/"
        thread = threading.Thread(target=self._listen, daemon=True)
        thread.start()
        self._thread = thread

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while True:
            last = self._over.is_set()
            if poll.poll(0 if last else POLL_MILLISECONDS):
                self._take(os.read(self._fd, _BUFFER))
            elif last:
                return

    def _take(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            at += _EVENT.size + length
            if mask & _IN_Q_OVERFLOW:
                self.lost = "more files were opened at once than the kernel keeps count of"
            elif name and not mask & _IN_ISDIR and watch in self._folders:
                self._found.add(self._folders[watch] + os.fsdecode(name))

    def stop(self) -> frozenset[str]:
        """Paths below the root that were opened."""
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        return frozenset(self._found)
