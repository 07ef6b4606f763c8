"""Every error Ralph raises on purpose, by whose fault it is.

    RalphError
     ├ UserError       2   bad flag, bad config, unknown loop
     │  └ NothingToDo  6   the request is fine, there is just nothing to act on
     ├ NeedsHuman      3   approval, question, review, expired login
     ├ SetupError      4   agent, git, tool or sandbox missing; journal or disk unusable
     │  └ JournalError 4   one loop's record is torn, garbled or from a newer Ralph
     ├ Busy            5   at capacity, or another runner holds the loop
     └ Bug            70   an illegal event or a broken invariant: ours

Faults of agents and gates are values (`core.model.order.Fault`, `core.model.order.Verdict`), never
exceptions: they are part of a loop's life. Each error carries a stable code, where it was found, why, and one
runnable next step; how that is printed lives in `ui`, not here.
"""

from __future__ import annotations

import errno
import os

# In a next step: the command as it was typed, which `ui` puts in its place.
AGAIN = "{again}"


class RalphError(Exception):
    """An expected failure: what, where, why, and what to do next."""

    exit_code = 70
    kind = "bug"

    def __init__(self, what: str, *, code: str, at: str = "", why: str = "", next: str = "") -> None:  # noqa: A002
        super().__init__(what)
        self.what = what
        self.code = code
        self.at = at
        self.why = why
        self.next = next


class UserError(RalphError):
    exit_code = 2
    kind = "usage"


class NothingToDo(UserError):  # noqa: N818
    exit_code = 6
    kind = "nothing_to_do"


class NeedsHuman(RalphError):  # noqa: N818
    exit_code = 3
    kind = "blocked"


class SetupError(RalphError):
    exit_code = 4
    kind = "setup"


class JournalError(SetupError):
    kind = "journal"


class Busy(RalphError):  # noqa: N818
    exit_code = 5
    kind = "busy"


class Bug(RalphError):  # noqa: N818
    """Ours. Prints a block ready to paste; stops this loop only."""

    exit_code = 70
    kind = "bug"

    def __init__(self, what: str, *, code: str = "E-BUG", at: str = "", why: str = "") -> None:
        super().__init__(what, code=code, at=at, why=why, next="ralph version --json")


class IllegalEvent(Bug):
    """The machine was handed an event that its phase does not allow; nothing changed."""

    def __init__(self, what: str) -> None:
        super().__init__(what, code="E-ILLEGAL-EVENT")


# What the machine lacks when a system call fails: what, code, why, what helps. Everything else is named by
# whoever made the call, because only they know what for.
_KEPT = "nothing that was recorded is lost"
_ELSEWHERE = 'export RALPH_STATE_DIR="$HOME/ralph-state"'
_SERVED = "the program or the machine that serves it has ended or cannot be reached"
_LACKS: dict[int, tuple[str, str, str, str]] = {
    errno.ENOSPC: ("no space left on the disk", "E-DISK-FULL", _KEPT, "ralph clean"),
    errno.EDQUOT: ("the disk quota is used up", "E-DISK-FULL", _KEPT, "ralph clean"),
    errno.EROFS: ("the disk is read-only", "E-DISK-READONLY", _KEPT, "ralph doctor"),
    errno.EIO: ("the disk failed", "E-DISK-IO", "a read or a write ended with an error", "ralph doctor"),
    errno.ENOTCONN: ("a mounted file system does not answer", "E-DISK-IO", _SERVED, "findmnt"),
    errno.ESTALE: ("a mounted file system does not answer", "E-DISK-IO", _SERVED, "findmnt"),
    errno.EMFILE: ("too many open files in this process", "E-FILES", _KEPT, "ulimit -n 4096"),
    errno.ENFILE: ("too many open files on this machine", "E-FILES", "", "ralph doctor"),
    errno.ENOMEM: ("no memory left", "E-MEMORY", "the machine refused to give any", "ralph doctor"),
    errno.EAGAIN: ("the process limit of this user is reached", "E-PROCESSES", "", "ralph doctor"),
    errno.ENAMETOOLONG: ("a path is longer than this system allows", "E-PATH-LONG", "", _ELSEWHERE),
}


def machine_error(error: OSError, at: str = "") -> SetupError | None:
    """What the machine lacks, if that is why a system call failed."""
    if error.errno not in _LACKS:
        return None
    what, code, why, following = _LACKS[error.errno]
    where = at or (os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "")
    return SetupError(what, code=code, at=where, why=why, next=following)


# One table; help and docs are generated from it.
EXIT_CODES: tuple[tuple[int, str], ...] = (
    (0, "verified, or the command succeeded"),
    (1, "ended or paused without being verified (exhausted, stalled, aborted, checks fail)"),
    (2, "usage or configuration error"),
    (3, "needs a human (question, review, unproven result, expired login, approval)"),
    (4, "setup problem (agent, git, tool or sandbox missing; journal unusable; machine failure)"),
    (5, "too many active loops, or the loop is in use"),
    (6, "nothing to do (loop: satisfied, the checks passed before any agent call)"),
    (70, "bug in Ralph"),
    (130, "interrupted"),
    (143, "terminated"),
)
