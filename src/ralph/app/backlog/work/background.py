"""A run of the backlog in the background: ordered, kept going by the worker, stopped.

Its loops are background loops as any other, so that an agent call outlives whatever dies; what runs here
only hands them over and waits for them.
"""

from __future__ import annotations

import os
from contextlib import suppress
from signal import SIGTERM
from typing import TYPE_CHECKING

from msgspec import Struct

from ralph.app.background.worker import start_worker
from ralph.app.backlog.desk import Desk
from ralph.app.backlog.work.outcome import begun_loops
from ralph.app.tell import pause_loop
from ralph.clock import SystemClock, wait_until
from ralph.core.backlog.select import nothing_words
from ralph.errors import Busy, NothingToDo
from ralph.shell.backlog.orders import RunOrder, drop_order, order_path, put_order, read_order, run_lock
from ralph.shell.journal.store import backlog_stream
from ralph.shell.state import locks
from ralph.shell.worker.backlogs import order_log, start_order
from ralph.shell.worker.hosting import queued_fact

if TYPE_CHECKING:  # all that a loop needs: not for stopping one
    from ralph.app.backlog.work.run import RunRequest


class OrderedRun(Struct, frozen=True):
    pid: int
    log: str


def order_run(desk: Desk, request: RunRequest, words: tuple[str, ...], cwd: str) -> OrderedRun:
    """Whatever would refuse the first item refuses the order; from then on it needs nobody."""
    path = order_path(desk.root, desk.place)
    desk.hold_for_run().release()
    from ralph.app.backlog.work.run import prepare_first

    prepared = prepare_first(desk, request)
    env: dict[str, str] = {}
    needs: tuple[str, ...] = ()
    if prepared is not None:
        fact = queued_fact(prepared.order, desk.env, "medium", 1)
        env, needs = fact.env, fact.needs
    elif not begun_loops(desk):
        why = nothing_words(desk.read().found)
        step = "ralph backlog next --explain"
        raise NothingToDo("there is nothing to work on", code="E-BACKLOG-NOTHING", why=why, next=step)
    stream = backlog_stream(desk.place.key)
    made = RunOrder(cwd, words, stream, env, needs, _attempts_of_runs(desk))
    put_order(path, made)
    pid = start_order(desk.root, made, desk.env).pid
    start_worker(desk.env)
    return OrderedRun(pid, order_log(desk.root))


def _attempts_of_runs(desk: Desk) -> int:
    return sum("loop" in one for item in desk.read().found.items for one in item.attempts)


def done_before(desk: Desk) -> int:
    """How many attempts this order came to before its process was started again."""
    order = read_order(order_path(desk.root, desk.place))
    return _attempts_of_runs(desk) - order.begun_with if order else 0


def is_ordered(desk: Desk) -> bool:
    return read_order(order_path(desk.root, desk.place)) is not None


def end_order(desk: Desk) -> None:
    drop_order(order_path(desk.root, desk.place))


def stop_run(desk: Desk) -> list[str]:
    """Take the order back, end its process, and pause its loops; the names of those."""
    path = order_path(desk.root, desk.place)
    ordered = drop_order(path)
    found = locks.holder(run_lock(path))
    if found is None and not ordered:
        raise NothingToDo(
            "no run of this backlog is at work", code="E-BACKLOG-NO-RUN", next="ralph backlog list"
        )
    if found is not None and locks.alive(found.pid, found.start, found.boot):
        with suppress(ProcessLookupError):
            os.kill(found.pid, SIGTERM)
        if not wait_until(
            lambda: locks.holder(run_lock(path)) is None, SystemClock(), seconds=10, every=0.05
        ):
            raise Busy(f"pid {found.pid} has not ended", code="E-BACKLOG-BUSY", next=f"kill -9 {found.pid}")
    paused = []
    for loop, ended in begun_loops(desk).values():
        if not ended:
            with suppress(NothingToDo):
                pause_loop(loop, desk.env, now=True)
            paused.append(loop)
    return paused
