"""What a loop learned, appended to the user's AGENTS.md: only when asked, and only there.

A file that agents read by itself must not grow by itself; so this is the one place that writes it, for a
command whose very purpose it is. What is there already is not written again.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Sequence

from ralph.core.prompt.learnings import section
from ralph.errors import NothingToDo, SetupError, UserError
from ralph.shell.prompts.sources import GUIDES

MAX_BYTES = 8 << 20


def guide_of(top: str) -> str:
    """The file that agents are shown: the first that is there, else the first."""
    return next((name for name in GUIDES if os.path.isfile(os.path.join(top, name))), GUIDES[0])


def append_notes(top: str, notes: Sequence[str]) -> tuple[str, str]:
    """The name of the file and what was appended to it."""
    name = guide_of(top)
    path = os.path.join(top, name)
    look = f"ls -l {shlex.quote(path)}"
    real, root = os.path.realpath(path), os.path.realpath(top)
    if not real.startswith(root.rstrip("/") + "/"):
        what = f"'{name}' is a link that leads out of the project"
        raise UserError(what, code="E-LEARNED-LINK", at=path, next=look)
    try:
        handle = os.open(real, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UserError(f"'{name}' is not a regular file", code="E-LEARNED-FILE", at=path, next=look)
            there = file.read(MAX_BYTES) or b""
            text = section(notes, there.decode("utf-8", "replace"))
            if not text:
                what = f"everything is in '{name}' already"
                raise NothingToDo(what, code="E-LEARNED-THERE", at=path, next=f"cat {shlex.quote(path)}")
            file.write(text.encode())
    except OSError as error:
        what = f"'{name}' cannot be written: {(error.strerror or 'unknown error').lower()}"
        raise SetupError(what, code="E-LEARNED-FILE", at=path, next=look) from error
    return name, text
