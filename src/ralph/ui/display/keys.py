"""Keys of a terminal, one at a time, without waiting for Enter; none where there is no terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self


class Keys:
    def __init__(self) -> None:
        self._fd = sys.stdin.fileno() if sys.stdin.isatty() else -1
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        if self._fd >= 0:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def read_key(self) -> str:
        """The key that waits, "" for none."""
        if self._fd < 0 or not select.select([self._fd], [], [], 0)[0]:
            return ""
        return os.read(self._fd, 1).decode("ascii", "replace")

    @contextmanager
    def aside(self) -> Iterator[None]:
        """The terminal as programs expect it, for a question or another command."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()
