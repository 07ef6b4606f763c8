"""What a call leaves in its folder: notes for whoever accounts for it, files for its parser, its output."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import msgspec

LARGEST = 32 << 20  # bytes of a file that a CLI leaves for its parser


class Kept(msgspec.Struct, frozen=True):
    """What must be known of a call after its end, also by a runner that did not begin it."""

    program: str = ""
    session: str = ""
    outputs: tuple[str, ...] = ()


def read_kept(folder: str) -> Kept:
    try:
        with open(os.path.join(folder, "kept.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=Kept)
    except (OSError, msgspec.DecodeError):
        return Kept()


def files_left(folder: str, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """What the CLI left beside its output. The agent could have written it too: bounded, and never a link."""
    for name in names:
        path = os.path.join(folder, "tmp", os.path.basename(name))
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with os.fdopen(handle, "rb") as file:
            if stat.S_ISREG(os.fstat(handle).st_mode):
                yield name, file.read(LARGEST)


def output_pieces(folder: str, *, gap: bool) -> Iterator[bytes]:
    """Head and tail in pieces; a gap between them ends the line that it falls into."""
    for name in ("out", "out-tail"):
        path = os.path.join(folder, name)
        if name == "out-tail" and gap:
            yield b"\n"
        if os.path.exists(path):
            with open(path, "rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk
