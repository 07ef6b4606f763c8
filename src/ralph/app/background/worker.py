"""The worker as its users see it: started, stopped, asked how it is. What it does is in `shell.worker`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec import Struct

from ralph.app.people.notify import telling_people
from ralph.app.settings import user_settings
from ralph.clock import SystemClock
from ralph.core.model.events import PauseAsked
from ralph.errors import Busy, NothingToDo
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.run.hold import hold_record
from ralph.shell.state import locks
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.worker import unit
from ralph.shell.worker.spawn import ralph_argv, spawn_detached
from ralph.shell.worker.supervise import Supervisor, worker_lock

LINGER_SECONDS = 600.0  # that a worker which `-d` has started stays when there is nothing to look after
STOP_SECONDS = 10.0


class WorkerState(Struct, frozen=True):
    pid: int  # 0 = there is none
    since: float = 0.0
    counts: dict[str, int] = {}  # of background loops, by where they stand


def start_worker(env: Mapping[str, str], *, stay: bool = False) -> int:
    """The worker's pid, started if there is none. `stay`: also when there is nothing to look after."""
    state = open_state(state_dir(env), create=True)
    found = locks.holder(worker_lock(state.root))
    if found is not None:
        return found.pid
    words = ralph_argv("worker", "start", "--foreground", *(() if stay else ("--linger",)))
    return spawn_detached(words, env, worker_log(env)).pid


def worker_log(env: Mapping[str, str]) -> str:
    return os.path.join(open_state(state_dir(env), create=True).logs, "worker.log")


def run_worker(
    env: Mapping[str, str], stopping: list[int], tell: Callable[[str], None], *, linger: bool
) -> None:
    """Be the worker, until `stopping` holds a signal. Busy when there is one already."""
    state, clock = open_state(state_dir(env), create=True), SystemClock()
    me = locks.this_process(int(clock.now() * 1000), "worker")
    with suppress(NothingToDo):  # nobody has ever started a loop here: there will be one
        open_journal(state.root).close()
    lock = locks.acquire(worker_lock(state.root), me)

    def leave_paused(loop: str, why: str) -> None:
        with telling_people(env, tell, wait=False) as people, hold_record(loop, env, clock, people) as scribe:
            scribe.append(PauseAsked(reason=why, now=True, by="limit"))

    tell(f"worker started: pid {os.getpid()}")
    try:
        places = user_settings(env, os.sep).places
        machine = places.max_loops_machine
        worker = Supervisor(
            state.root,
            env,
            clock,
            machine=machine,
            stopping=lambda: bool(stopping),
            tell=tell,
            leave_paused=leave_paused,
        )
        worker.run(LINGER_SECONDS if linger else None)
        tell("worker ended: " + ("asked to" if stopping else "nothing left to look after"))
    finally:
        lock.release()


def worker_state(env: Mapping[str, str]) -> WorkerState:
    """Is there a worker, and what does it look after?"""
    from ralph.app.views.rows import list_row

    root = open_state(state_dir(env), create=False).root
    found = locks.holder(worker_lock(root))
    counts: dict[str, int] = {}
    with read_journal(root) as reader:
        for summary in reader.summaries(active=True):
            row = list_row(summary, reader)
            if row.body.get("host", {}).get("background"):
                counts[row.word] = counts.get(row.word, 0) + 1
    return WorkerState(found.pid if found else 0, found.since / 1000 if found else 0.0, counts)


def stop_worker(env: Mapping[str, str]) -> int:
    """End the worker; its pid. Loops at work go on: their runners are processes of their own."""
    from signal import SIGTERM

    from ralph.clock import wait_until

    path = worker_lock(open_state(state_dir(env), create=True).root)
    found = locks.holder(path)
    if found is None or not found.pid:
        raise NothingToDo("there is no worker", code="E-WORKER-NONE", next="ralph worker start")
    if locks.alive(found.pid, found.start, found.boot):
        with suppress(ProcessLookupError):
            os.kill(found.pid, SIGTERM)
    if not wait_until(lambda: locks.holder(path) is None, SystemClock(), seconds=STOP_SECONDS, every=0.05):
        raise Busy(
            f"the worker, pid {found.pid}, has not ended within {STOP_SECONDS:.0f} s",
            code="E-WORKER-BUSY",
            why="it may be stopped, or its disk may hang",
            next=f"kill -9 {found.pid}",
        )
    return found.pid


def worker_unit(env: Mapping[str, str]) -> tuple[str, str]:
    """Where the systemd user unit belongs, and what is in it."""
    return unit.unit_path(env), unit.unit_text(ralph_argv("worker", "start", "--foreground"), env)
