"""Standard streams that may be closed, full, or a pipe whose reader is gone: none of that is a bug of ours.

A closed stream is opened again: else the next file that Ralph opens, the journal perhaps, would get its
number, and what is printed would go into it.
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import IO

CANNOT_WRITE = 4
# One column stands in for one column, so that nothing moves.
_STAND_INS = dict(
    zip(
        "✔✘◑‖▶▸▏→·…─█░“”\N{MULTIPLICATION SIGN}\N{MINUS SIGN}≈∞",
        '+x~=>>_>-~-#.""x-~-',
        strict=True,
    )
)


def open_streams() -> None:
    """Streams 0 to 2 are open after this, and what is written into a closed one fails when it is flushed."""
    for fd, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        try:
            os.fstat(fd)
            if getattr(sys, name) is not None:
                continue
        except OSError:
            full = fd > 0 and os.path.exists("/dev/full")
            os.open("/dev/full" if full else os.devnull, os.O_RDWR)  # the lowest free number: this very one
        setattr(sys, name, open(fd, "w" if fd else "r", closefd=False, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a locale that lacks a character must not end a loop
            codecs.register_error("ralph-ascii", _stand_in)
            stream.reconfigure(errors="ralph-ascii")


def _stand_in(error: UnicodeError) -> tuple[str | bytes, int]:
    """What a terminal without these characters shows in their place; ? for all that have none."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_STAND_INS.get(character, "?") for character in lost), error.end


def flush_streams(code: int) -> int:
    """The exit code when everything was written; what could not be is told where that is still possible."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            silence(stream)  # the reader of our output is gone (`ralph logs | head`): end quietly
        except (OSError, ValueError) as error:
            silence(stream)
            tell_trouble(f"error: the output could not be written: {error}  [E-OUTPUT]")
            code = code or CANNOT_WRITE
    return code


def can_write() -> bool:
    """Does stdout take what is printed? If not, it is silent from here on."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        silence(sys.stdout)
        return False
    return True


def tell_trouble(text: str) -> None:
    """A last word on stderr, if that can still be written."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


def silence(stream: IO[str]) -> None:
    """What is still in its buffer goes nowhere: the interpreter flushes once more when it ends."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()
    except (OSError, ValueError):
        return
