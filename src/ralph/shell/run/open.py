"""Opening a loop for driving: lock, journal, site, hands, signals; then the runner does the rest.

Starting, resuming and recovering are the same path: fold the journal, take the lock, perform what is
owed. Here is also the counting of Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from ralph.clock import Clock, SystemClock
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import BoxTerms, Brief, Order
from ralph.core.model.outcome import Stopper
from ralph.errors import RalphError
from ralph.shell.dependencies import shared
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.leftovers import sweep
from ralph.shell.git.snapshot import Start, start_refs
from ralph.shell.git.store import Store, open_store
from ralph.shell.git.trees import tree_of
from ralph.shell.git.workspace import refuse_base, remove_loop
from ralph.shell.journal import record
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.ports import Watcher
from ralph.shell.process.fork_client import ForkClient
from ralph.shell.run.activity import log_activity
from ralph.shell.run.performer import RealPerformer
from ralph.shell.run.runner import Runner
from ralph.shell.run.scribe import Scribe, record_start
from ralph.shell.run.site import loop_folder, open_site
from ralph.shell.sandbox.tools import refuse_system_paths
from ralph.shell.start.prepare import Prepared
from ralph.shell.state import blobs
from ralph.shell.state.directory import State, open_state, state_dir
from ralph.shell.state.stints import Stint


class SignalCount:
    """Ctrl-C counted; SIGTERM and SIGHUP mean stop now."""

    def __init__(self, *, detached: bool = False) -> None:
        # Without a terminal there is none that could be closed.
        self._numbers = (signal.SIGINT, signal.SIGTERM, *(() if detached else (signal.SIGHUP,)))
        self._level = 0
        self._number = 0

    def level(self) -> int:
        return self._level

    def reason(self) -> str:
        words = {int(signal.SIGTERM): "terminated", int(signal.SIGHUP): "the terminal was closed"}
        return words.get(self._number, "interrupted by the user")

    def by(self) -> Stopper:
        """Ctrl-C is a person's word; SIGTERM and SIGHUP come with a logout or a shutdown as well."""
        return "person" if self._number == signal.SIGINT else "signal"

    @property
    def number(self) -> int:
        """The signal that came last; 0 = none."""
        return self._number

    def count(self, number: int, _frame: object) -> None:
        self._number = number
        self._level = min(3, self._level + 1) if number == signal.SIGINT else max(2, self._level)

    @contextmanager
    def install(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # signals come to the main thread, which has work of its own: a server's, say
            return
        before = {number: signal.signal(number, self.count) for number in self._numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Ear:
    """Lets every git of a stint be heard of by its runner, which is made later than the first git runs."""

    runner: Runner | None = None

    def __call__(self, command: str, seconds: float) -> None:
        if self.runner is not None:
            self.runner.heed(command, seconds)


def refuse_start(prepared: Prepared) -> None:
    """What the first call of the loop would be refused for, found before anything is written."""
    refuse_base(prepared.project, prepared.base_rev or prepared.project.head)
    refuse_system_paths(prepared.order.box.allow_write)


def begin_loop(
    prepared: Prepared, env: Mapping[str, str], now: float, *, queue: bool = False
) -> tuple[str, Stint]:
    """Record a new loop. It is held on return, so that nobody takes it for a crashed one.

    With `queue` it needs no place yet: whoever hands it over to the worker says so next.
    """
    state = open_state(state_dir(env), create=True)
    order, project = prepared.order, prepared.project
    folder = loop_folder(state, order.loop)
    with open_journal(state.root) as journal:
        at, places = int(now * 1000), prepared.settings.places
        most = None if queue else places.max_loops
        stint = journal.admit(order.loop, at=at, repo=order.repo, most=most, machine=places.max_loops_machine)
        try:
            store = open_store(project, os.path.join(folder, "store"))
            pinned = start_refs(
                store,
                order.loop,
                prepared.base_rev,
                with_changes=order.with_changes,
                date=int(now),
                scratch=folder,
                skip=prepared.rendered,
            )
            box, warnings = _shares(store, order, pinned)
            order = msgspec.structs.replace(
                order,
                base=msgspec.structs.replace(
                    order.base,
                    commit=pinned.base_commit,
                    tree=pinned.base_tree,
                    user_start=pinned.user_start_commit,
                ),
                brief=_with_specs(order.brief, prepared.specs, state),
                box=box,
                warnings=warnings,
            )
            log_activity(*record_start(journal, order, now))
        except BaseException:
            with suppress(RalphError, OSError), read_journal(state.root) as reader:
                # Nothing of a loop goes away because another of its name could not begin.
                if order.loop not in reader.names():
                    remove_loop(project, order.loop)
                    remove_tree(folder)
            stint.release()
            raise
    return order.loop, stint


def _with_specs(brief: Brief | None, texts: dict[str, str], state: State) -> Brief | None:
    """The brief with its specs kept: a loop is held to the words that were there when it began."""
    if brief is None:
        return None
    kept = {path: blobs.put(state.blobs, text.encode()) for path, text in texts.items()}
    return msgspec.structs.replace(brief, texts=kept)


def _shares(store: Store, order: Order, pinned: Start) -> tuple[BoxTerms, tuple[str, ...]]:
    """With dependency folders that may be shared in, while what they were built from is the base's."""
    warnings = (*order.warnings, *pinned.warnings)
    box = shared.with_usable_shares(store, pinned.base_tree, order.box)
    if box.setup:
        return box, warnings
    # What is installed is what the work tree asks for; the base may ask for something else.
    users = tree_of(store, pinned.user_start_commit)
    lacking = shared.unmet_requirements(store, users, pinned.base_tree, box.share) if box.share else []
    inside = tuple(f"{path}/" for path in box.share)  # packages bring manifests of their own
    lacking = [path for path in lacking if not path.startswith(inside)]
    if lacking:
        note = f"{', '.join(box.share)} not shared: {', '.join(lacking)} in your work tree is not the base's"
        return msgspec.structs.replace(box, share=()), (*warnings, note)
    return box, warnings


def stale_commands(scribe: Scribe, event: e.AnyEvent) -> tuple[int, ...]:
    """Commands to stop that came too late for a loop which had stopped already: a resume answers them."""
    if not isinstance(event, e.ResumeAsked):
        return ()
    stops = {e.kind_of(e.PauseAsked()), e.kind_of(e.AbortAsked())}
    return tuple(number for number, kind, _ in scribe.inbox() if kind in stops)


def drive_loop(
    name: str,
    env: Mapping[str, str],
    watcher: Watcher,
    *,
    min_free: int,
    most: int | None,
    stint: Stint | None = None,
    first: tuple[e.AnyEvent, ...] = (),
    signals: SignalCount | None = None,
    clock: Clock | None = None,
    machine: int | None = None,
    hosted: bool = False,
) -> Loop:
    """Drive a loop to its next pause or end. `first` are facts to record before, such as a resume.

    `most` loops of a repository may be at work at once, `machine` of all; None is for what calls no agent.
    `hosted` is under the worker: agent calls outlive a crash of this process.
    """
    clock, signals = clock or SystemClock(), signals or SignalCount()
    state = open_state(state_dir(env), create=True)
    try:
        with open_journal(state.root) as journal:
            if stint is None:
                repo = record.load(journal, name).loop.sealed.repo
                at = int(clock.now() * 1000)
                stint = journal.admit(name, at=at, repo=repo, most=most, machine=machine)
            with signals.install(), ForkClient() as fork_client:
                scribe = Scribe(journal, name, record.load(journal, name), clock, watcher, state.root)
                for event in first:
                    scribe.append(event, taken=stale_commands(scribe, event))
                ear = _Ear()
                site = open_site(scribe.loop.sealed, state, env, clock, fork_client, hosted=hosted, heed=ear)
                sweep(site.store.dir)
                hands = RealPerformer(site, clock, min_free, watcher, scribe.loop.checkpoint)
                runner = Runner(hands, scribe, clock, signals, watcher)
                ear.runner = runner
                return runner.drive()
    finally:
        if stint is not None:
            stint.release()
