"""Handing a loop over to the background, where runners drive it that need no terminal (`worker`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ralph.app.background.worker import start_worker
from ralph.app.views.at_work import naming_loops
from ralph.clock import SystemClock
from ralph.core.model.events import AnyEvent
from ralph.core.model.outcome import Priority
from ralph.errors import Busy
from ralph.shell.journal import record
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.store import JournalStore
from ralph.shell.ports import Quiet
from ralph.shell.run.open import stale_commands
from ralph.shell.run.scribe import Scribe
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.state.stints import Stint
from ralph.shell.worker.hosting import queued_fact
from ralph.shell.worker.spawn import ralph_argv, runner_log, spawn_detached


class HandedOver(Struct, frozen=True):
    """A loop that goes on without its starter. `pid` is its runner's; None while it waits for a place."""

    name: str
    number: int
    pid: int | None


def handed_json(handed: HandedOver) -> dict[str, Any]:
    """The same for programs."""
    state = "pending" if handed.pid is None else "running"
    words = {"v": 1, "loop": handed.name, "id": f"ralph-{handed.name}", "number": handed.number}
    return {**words, "pid": handed.pid, "state": state}


def hand_over(
    name: str,
    env: Mapping[str, str],
    *,
    priority: Priority,
    most: int,
    machine: int,
    first: tuple[AnyEvent, ...] = (),
    stint: Stint | None = None,
    queue: bool = False,
) -> HandedOver:
    """Record `first` and that the loop is the worker's; start its runner if there is a place for it now.

    From the moment that is recorded, the loop needs nobody: whatever happens to this process, the worker
    finds it in the journal.
    """
    state, clock = open_state(state_dir(env), create=True), SystemClock()
    at = int(clock.now() * 1000)
    with open_journal(state.root) as journal:
        # Without `queue` a loop that finds no place is refused before anything of it is recorded.
        held = stint or _admit(journal, name, at, None if queue else (most, machine), env)
        try:
            scribe = Scribe(journal, name, record.load(journal, name), clock, Quiet(), state.root)
            for event in first:
                scribe.append(event, taken=stale_commands(scribe, event))
            order, number = scribe.loop.sealed, journal.number_of(name)
            if scribe.loop.phase == "ended":  # its runner was at work until now: nothing is left to hand over
                return HandedOver(name, number, None)
            scribe.append(queued_fact(order, env, priority, most))
        finally:
            held.release()
        free = True
        try:
            journal.admit(name, at=at, repo=order.repo, most=most, machine=machine).release()
        except Busy:
            free = False
    pid = None
    if free:
        words = ralph_argv("worker", "drive", name)
        pid = spawn_detached(words, env, runner_log(state.root, name)).pid
    start_worker(env)
    return HandedOver(name, number, pid)


def _admit(
    journal: JournalStore, name: str, at: int, places: tuple[int, int] | None, env: Mapping[str, str]
) -> Stint:
    if places is None:
        return journal.admit(name, at=at)
    repo = record.load(journal, name).loop.sealed.repo
    with naming_loops(env):
        return journal.admit(name, at=at, repo=repo, most=places[0], machine=places[1])
