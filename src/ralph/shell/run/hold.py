"""A loop held for one command, with nobody driving it; and a word to the runner that does drive it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.shell.git.leftovers import sweep
from ralph.shell.git.project import find_project
from ralph.shell.git.store import Store, open_store
from ralph.shell.journal import record
from ralph.shell.journal.open import open_journal
from ralph.shell.ports import Quiet, Watcher
from ralph.shell.run.scribe import Scribe
from ralph.shell.run.site import loop_folder
from ralph.shell.state.directory import State, open_state, state_dir


class HeldLoop(msgspec.Struct):
    """A loop held for one command: its lock, its journal, its store."""

    scribe: Scribe
    store: Store
    state: State
    note: str

    @property
    def loop(self) -> Loop:
        return self.scribe.loop


@contextmanager
def hold_loop(name: str, env: Mapping[str, str], clock: Clock) -> Iterator[HeldLoop]:
    """The loop with nobody else driving it."""
    state = open_state(state_dir(env), create=True)
    with _hold(name, state, clock, Quiet()) as scribe:
        folder = loop_folder(state, name)
        store = open_store(find_project(scribe.loop.sealed.repo), os.path.join(folder, "store"))
        sweep(store.dir)
        yield HeldLoop(scribe, store, state, os.path.join(folder, "landing.json"))


@contextmanager
def hold_record(name: str, env: Mapping[str, str], clock: Clock, watcher: Watcher) -> Iterator[Scribe]:
    """The same where the repository may be gone: only what happened can be added to."""
    with _hold(name, open_state(state_dir(env), create=True), clock, watcher) as scribe:
        watcher.begin(scribe.loop, ())
        yield scribe


@contextmanager
def _hold(name: str, state: State, clock: Clock, watcher: Watcher) -> Iterator[Scribe]:
    with open_journal(state.root) as journal:
        stint = journal.admit(name, at=int(clock.now() * 1000))
        try:
            yield Scribe(journal, name, record.load(journal, name), clock, watcher, state.root)
        finally:
            stint.release()


def send(name: str, env: Mapping[str, str], event: e.AnyEvent, now: float) -> None:
    """A command for the runner that drives this loop; it is heard within a fraction of a second."""
    state = open_state(state_dir(env), create=True)
    with open_journal(state.root) as journal:
        journal.inbox_put(name, int(now * 1000), e.kind_of(event), e.encode(event))
