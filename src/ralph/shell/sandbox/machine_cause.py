"""Whose doing the end of a gate's call was: the machine's, the tree's own, or not to be told.

Nobody in a box can reach bwrap, the box's pid 1 or the keeper, so an end of theirs came from outside. Without
a box a check can reach its keeper: what it wins by that is a pause. A signal to the command itself has no
sender that the kernel would name: it is in doubt, and asking again tells (`core.decide.after_fault`).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from msgspec.structs import replace

from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import MACHINE
from ralph.shell.process.call_spec import SENT, Ended
from ralph.shell.state import directory

FULL = 1 << 20  # bytes; a disk with less than this is full
_LOST = {"keeper-lost": "keeper-lost", "stopped": "interrupted", "killed": "interrupted"}
_LOST["runner-lost"] = "interrupted"
# Of a start that failed: what a machine is short of. A command that is not there is another matter.
_SHORT = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOSPC, errno.EDQUOT)
_SHORT_WORDS = (*(os.strerror(number) for number in _SHORT), "Creating new namespace failed")


def machine_made(ended: Ended) -> Reading | None:
    """What to say of a call that the machine ended; None when it was the check's own end."""
    if ended.ended in _LOST:
        return missing(_LOST[ended.ended], ended.error)
    if ended.survivors:
        return missing("survivors")
    if ended.outside:
        return missing("interrupted", ended.error or f"killed from outside by signal {ended.signal}")
    if ended.write_error:
        return missing("disk", ended.write_error)
    if ended.ended == "spawn-error" and _is_machines(ended.error):
        return missing("spawn", ended.error)
    return None


def _is_machines(error: str) -> bool:
    """A start that failed for want of something, or for a box that could not be built.

    A program or a folder that is not in the tree is the tree's own matter.
    """
    boxless = error.startswith("bwrap: ") and "execvp" not in error and "Can't chdir" not in error
    return boxless or any(words in error for words in _SHORT_WORDS)


def missing(cause: str, why: str = "") -> Reading:
    words = MACHINE[cause]
    return Reading("error", f"{words} ({why})" if why else words, cause=cause)


def held_against(reading: Reading, ended: Ended) -> Reading:
    """A red reading, after what is known of how its call went: frozen, stopped, ended by who knows whom."""
    if reading.status == "pass":
        return reading
    if ended.frozen:
        return missing("frozen", reading.summary)
    sent = ended.ended == "exited" and ended.signal in SENT
    return replace(reading, doubt=True) if sent or ended.dozed else reading


def unless_full(reading: Reading, folder: str, tidy: Callable[[], None]) -> Reading:
    """A red reading, unless the disk is full, and not only with what the check itself had put there."""
    was_full = reading.status != "pass" and directory.free_bytes(folder) < FULL
    tidy()
    if was_full and directory.free_bytes(folder) < FULL:
        return missing("disk", f"no room is left for '{folder}'")
    return reading
