"""Backlogs that are worked through in the background: the worker starts their process again when it is gone.

As with loops, nothing known here matters: orders are in files, who is at work in the kernel's locks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from ralph.clock import Clock
from ralph.core.decide.failover import FAULT_CAP
from ralph.core.decide.machine import EVENTS
from ralph.core.decide.stints.wake import PATIENCE_SECONDS
from ralph.core.model.events import NoVerdict
from ralph.errors import JournalError
from ralph.shell.backlog.orders import RunOrder, drop_order, open_orders, run_lock
from ralph.shell.journal.store import JournalReader
from ralph.shell.state import locks
from ralph.shell.worker.spawn import ralph_argv, spawn_detached


class _Deed(Struct):
    """What is read of a backlog's fact."""

    deed: str = ""
    item: str = ""
    loop: str = ""
    attempt: dict[str, Any] = {}


Progress = tuple[int, ...]
# A start writes some of these itself (it queues the loop again), and no answer is no step forward either.
_NO_STEP = frozenset(kind.__name__ for kind, row in EVENTS.items() if row.aside or kind is NoVerdict)


class _Watched(Struct):
    process: subprocess.Popen[bytes] | None = None
    progress: Progress = ()  # when it was started last
    starts: int = 0  # in a row, without getting anywhere between them
    gone: float = 0.0  # monotonic; when it was first seen without a process


class BacklogHost:
    def __init__(self, root: str, env: Mapping[str, str], clock: Clock, tell: Callable[[str], None]) -> None:
        self._root, self._env, self._clock, self._tell = root, dict(env), clock, tell
        self._seen: dict[str, _Watched] = {}

    def look(self, reader: JournalReader) -> int:
        """Start what was ordered and is not at work; the number of orders."""
        orders = dict(open_orders(self._root))
        self._seen = {path: self._seen.get(path, _Watched()) for path in orders}
        for path, order in orders.items():
            one = self._seen[path]
            if one.process is not None and one.process.poll() is not None:
                one.process = None
            if one.process is not None or locks.holder(run_lock(path)) is not None:
                one.gone = 0.0
                continue
            if not one.gone:
                one.gone, before = self._clock.monotonic(), one.progress
                one.progress = progress_of(order.stream, reader)
                one.starts = one.starts if one.progress == before else 0
            missing = [name for name in order.needs if name not in self._env]
            if missing or one.starts >= FAULT_CAP:
                why = f"the agent's key was in {', '.join(missing)}, which is not set here"
                why = why if missing else f"it ended {one.starts} times in a row without getting anywhere"
                self._tell(
                    f"backlog of {order.cwd}: given up: {why}; start it again with ralph backlog run -d"
                )
                drop_order(path)
            elif self._clock.monotonic() - one.gone >= PATIENCE_SECONDS[one.starts]:
                one.process, one.starts = start_order(self._root, order, self._env), one.starts + 1
                one.gone = 0.0
                self._tell(f"backlog of {order.cwd}: started pid {one.process.pid}")
        return len(orders)


def progress_of(stream: str, reader: JournalReader) -> Progress:
    """How far its runs came: attempts that count, and how far the loops are that were begun.

    An attempt that is begun again, or that the machine spoiled, is no progress: such a run would never end.
    """
    counted, begun = 0, dict[str, str]()
    for row in reader.rows(stream):
        fact = msgspec.json.decode(row.body, type=_Deed)
        if fact.deed == "started":
            begun[fact.item] = fact.loop
        elif fact.deed == "attempt":
            begun.pop(fact.item, None)
            counted += bool(fact.attempt.get("counted", True))
    return (counted, *(step for loop in begun.values() if (step := _newest_step(loop, reader))))


def _newest_step(loop: str, reader: JournalReader) -> int:
    newest = 0
    with suppress(JournalError):  # damaged: it comes no further than here
        for row in reader.rows(loop):
            newest = newest if row.kind in _NO_STEP else row.seq
    return newest


def start_order(root: str, order: RunOrder, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    argv = ralph_argv("backlog", "run", *order.words, "--hosted", order.cwd)
    return spawn_detached(argv, {**env, **order.env, "RALPH_STATE_DIR": root}, order_log(root))


def order_log(root: str) -> str:
    return os.path.join(root, "logs", "backlog.log")
