"""What a call is asked to be, how it ended, and what became of one whose runner died: only values."""

from __future__ import annotations

import signal
from typing import Literal

import msgspec

EndedBy = Literal[
    "exited", "timeout", "idle", "memory", "stopped", "killed", "runner-lost", "keeper-lost", "spawn-error"
]
# Signals that come from somebody. Others are a program's own: a crash, a limit on its time or its files.
SENT = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
Method = Literal["pidns", "cgroup", "sweep"]


class CallSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a keeper needs. `env` is complete (nothing is inherited) and never reaches the disk."""

    argv: tuple[str, ...]  # argv[0] is an absolute path
    env: dict[str, str]
    cwd: str
    stdin: str = "/dev/null"
    head_bytes: int = 16 << 20
    tail_bytes: int = 4 << 20
    wall_seconds: float
    idle_seconds: float | None = None
    grace_seconds: float = 2.0
    method: Method = "sweep"
    box_args: tuple[str, ...] = ()  # handed to bwrap through a file descriptor
    other_user: tuple[str, ...] = ()  # what a call of root's, as another user, finds below `other_user.STAGE`
    cgroup: str | None = None
    rlimits: dict[str, int] = {}
    watch_memory_bytes: int | None = None  # by sampling, where no cgroup holds the limit
    outlive: bool = False  # True: the call goes on when the runner dies


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended. `exit_code` and `signal` are both None when it never ran or was lost."""

    ended: EndedBy
    exit_code: int | None = None
    signal: int | None = None
    error: str = ""
    seconds: float | None = None
    bytes_out: int | None = None
    dropped_bytes: int | None = None
    write_error: str = ""
    peak_rss_kb: int | None = None
    method: str = ""
    survivors: int | None = None
    outside: bool = False  # somebody outside of the call ended it
    frozen: bool = False  # for a good part of its time the keeper or the box could not go on
    dozed: bool = False  # the command was stopped for as long, by whomever


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What a dead runner's call came to. `alive` occurs only when asked to adopt."""

    state: Literal["finished", "never-started", "interrupted", "alive"]
    ended: Ended | None = None
    survivors: int = 0

    def end(self) -> Ended:
        """How it ended, where nobody looked on: what killed its runner may have killed it too."""
        ended = self.ended or Ended(ended="runner-lost")
        alone = ended.ended != "exited" or ended.signal not in SENT
        return ended if alone else msgspec.structs.replace(ended, ended="runner-lost")
