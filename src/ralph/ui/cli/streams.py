"""Standard streams that may be closed, full, or a pipe whose reader is gone: none of that is a bug of ours.

A closed stream is opened again: else the next file that Ralph opens, the journal perhaps, would get its
number, and what is printed would go into it.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from typing import IO

CANNOT_WRITE = 4
# What these print is for programs, editors and clipboards, or fits the window already.
_AS_IT_IS = frozenset(("completions", "config", "diff", "export", "hook", "mcp", "prompt", "report"))
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_COMMAND = re.compile(r"(?<=  |: )(?:ralph|git|npm|uv|pipx|curl|apt) .*?(?=  |$)")  # to copy: never broken
# One column stands in for one column, so that nothing moves.
_STAND_INS = dict(
    zip("✔✘◑‖▶▸▏→·…─█░“”\N{MULTIPLICATION SIGN}\N{MINUS SIGN}≈∞", '+x~=>>_>-~-#.""x-~-', strict=True)
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


class _Screen(io.TextIOWrapper):
    """A terminal: what is wider than it is broken between words."""

    def write(self, text: str) -> int:
        width = width_of(self)
        return super().write("\n".join(fold_line(line, width) for line in text.split("\n")))


def fold_to_window(command: str) -> None:
    """What this command prints on a terminal fits its window from here on."""
    for name in () if command in _AS_IT_IS else ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            setattr(sys, name, _Screen(stream.buffer, stream.encoding, stream.errors, line_buffering=True))


def on_terminal() -> bool:
    """Somebody sits there and can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def width_of(stream: IO[str]) -> int:
    """Columns of a terminal; 0 when the stream is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        return 0


def fold_line(line: str, width: int) -> str:
    """The rest stands under a column of the first third; short cells and commands stay whole, colours too."""
    if len(line) <= width and line.isascii():
        return line
    plain = _count_twice(_COLOUR.sub("", line))
    if not 0 < width < len(plain) or "\x1b" in plain or "\r" in plain or not plain.strip():
        return line
    from textwrap import wrap

    columns = [found.end() for found in re.finditer(r"(?<=\S) {2,}", plain)]
    indent = len(plain) - len(plain.lstrip())
    hang = min((at for at in columns if at <= width // 3), default=min(indent or 2, width // 2))
    whole = re.compile(rf"(?<=  )\S(?:\S| (?! )){{1,{max(1, width // 3)}}}(?=  |$)")
    held = "\0" * indent + whole.sub(_hold, _COMMAND.sub(_hold, plain)).lstrip()
    held = re.sub(rf" +(?=\S{{{width - hang + 1}}})", _hold, held)  # what no line can hold stays at its label
    folded = "\n".join(
        wrap(held, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False)
    )
    folded = folded.replace("\0", " ").replace("\1", "")
    inked = [at for at, character in enumerate(folded) if not character.isspace()]
    for found in reversed(list(_COLOUR.finditer(line))):
        count = len("".join(_COLOUR.sub("", line[: found.start()]).split()))
        ends = found[0] == "\x1b[0m" or count == len(inked)
        at = inked[count - 1] + 1 if count and ends else inked[count]
        folded = folded[:at] + found[0] + folded[at:]
    return folded


def _count_twice(plain: str) -> str:
    """With a mark behind each character that takes two columns."""
    if plain.isascii():
        return plain
    from unicodedata import east_asian_width

    return "".join(f"{one}\1" if east_asian_width(one) in "WF" and one.strip() else one for one in plain)


def _hold(found: re.Match[str]) -> str:
    return found[0].replace(" ", "\0")


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
