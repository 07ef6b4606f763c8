"""Keys of a terminal without waiting for Enter, and the terminal lent to another program for a while.

There are none where stdin is no terminal. Nothing here waits: whoever drives a loop must not stand still
because a person types a note or reads a diff.
"""

from __future__ import annotations

import codecs
import os
import select
import signal
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self


class Keys:
    def __init__(self) -> None:
        self._fd = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else -1
        self._before: list[Any] | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lent: subprocess.Popen[bytes] | None = None

    def __bool__(self) -> bool:
        return self._fd >= 0

    def __enter__(self) -> Self:
        with suppress(termios.error, OSError):
            if self and os.tcgetpgrp(self._fd) == os.getpgrp():  # in the background of a shell it is not ours
                self._before = termios.tcgetattr(self._fd)
                tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        if self._lent is not None:
            self._lent.terminate()
            self._lent.wait()
            self._take_back()
        with suppress(termios.error, OSError):
            if self._before is not None:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        self._before = None

    def read(self) -> str:
        """What was typed since the last time; "" while the terminal is lent."""
        with suppress(OSError):
            if self._before is not None and self._lent is None and select.select([self._fd], [], [], 0)[0]:
                return self._decoder.decode(os.read(self._fd, 1024))
        return ""

    def lend(self, argv: Sequence[str]) -> None:
        """Let another program have the terminal as programs expect it, Ctrl-C included."""
        if self._before is None or self._lent is not None:
            return
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        self._lent = subprocess.Popen(argv, process_group=0)
        with _ignore_output_stops(), suppress(OSError):
            os.tcsetpgrp(self._fd, self._lent.pid)

    def is_lent(self) -> bool:
        """Is that program still there? When it has ended the terminal is ours again."""
        if self._lent is None:
            return False
        if self._lent.poll() is None:
            return True
        self._take_back()
        tty.setcbreak(self._fd)
        return False

    def _take_back(self) -> None:
        self._lent = None
        with _ignore_output_stops(), suppress(OSError):
            os.tcsetpgrp(self._fd, os.getpgrp())


@contextmanager
def _ignore_output_stops() -> Iterator[None]:
    """Who is not in front is stopped by a signal for asking to be."""
    before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGTTOU, before)
