"""Opening a loop for driving: lock, journal, site, hands, signals; then the runner does the rest.

Starting, resuming and recovering are the same path: fold the journal, take the lock, perform what is
owed. Here is also the clock of the real world and the counting of Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief, Order
from ralph.errors import RalphError
from ralph.shell.dependencies import shared
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.leftovers import sweep
from ralph.shell.git.project import find_project
from ralph.shell.git.snapshot import Start, start_refs
from ralph.shell.git.store import Store, open_store
from ralph.shell.git.trees import tree_of
from ralph.shell.git.workspace import remove_loop
from ralph.shell.journal import record
from ralph.shell.journal import writer as journal_
from ralph.shell.ports import Watcher
from ralph.shell.process.fork_client import ForkClient
from ralph.shell.run.performer import RealPerformer
from ralph.shell.run.runner import Runner
from ralph.shell.run.scribe import Scribe, summary_row
from ralph.shell.sandbox.boxes import Site
from ralph.shell.start.order import Prepared, find_protection
from ralph.shell.state import blobs, locks
from ralph.shell.state.directory import State, config_dir, open_state, state_dir
from ralph.shell.state.stints import Stint, take_place


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SignalCount:
    """Ctrl-C counted; SIGTERM and SIGHUP mean stop now."""

    def __init__(self) -> None:
        self._level = 0
        self._number = 0

    def level(self) -> int:
        return self._level

    def reason(self) -> str:
        words = {int(signal.SIGTERM): "terminated", int(signal.SIGHUP): "the terminal was closed"}
        return words.get(self._number, "interrupted by the user")

    @property
    def number(self) -> int:
        """The signal that came last; 0 = none."""
        return self._number

    def heard(self, number: int, _frame: object) -> None:
        self._number = number
        self._level = min(3, self._level + 1) if number == signal.SIGINT else max(2, self._level)

    @contextmanager
    def installed(self) -> Iterator[None]:
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self.heard) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def loop_folder(state: State, name: str) -> str:
    return os.path.join(state.loops, name)


def lock_path(state: State, name: str) -> str:
    return os.path.join(loop_folder(state, name), "lock")


def take_lock(state: State, name: str, now: float) -> locks.Lock:
    os.makedirs(loop_folder(state, name), mode=0o700, exist_ok=True)
    return locks.acquire(lock_path(state, name), locks.this_process(int(now * 1000), "runner"))


def take_stint(state: State, name: str, repo: str, most: int | None, now: float) -> Stint:
    """The loop for this runner alone, and a place among those at work; `most` None = it needs none."""
    # The place first: a loop that is refused must not leave a folder behind.
    place = None if most is None else take_place(state.stints, repo, name, most, now)
    try:
        lock = take_lock(state, name, now)
    except BaseException:
        if place is not None:
            place.release()
        raise
    return Stint(lock, place)


def begin_loop(prepared: Prepared, env: Mapping[str, str], now: float) -> tuple[str, Stint]:
    """Record a new loop. It is held on return, so that nobody takes it for a crashed one."""
    state = open_state(state_dir(env), create=True)
    order, project = prepared.order, prepared.project
    folder = loop_folder(state, order.loop)
    stint = take_stint(state, order.loop, order.repo, prepared.settings.max_loops, now)
    try:
        with journal_.open_journal(state.root) as journal:
            store = open_store(project, os.path.join(folder, "store"))
            pinned = start_refs(
                store,
                order.loop,
                prepared.base_rev,
                with_changes=order.with_changes,
                date=int(now),
                scratch=folder,
            )
            order = msgspec.structs.replace(
                order,
                base_commit=pinned.base_commit,
                base_tree=pinned.base_tree,
                user_start=pinned.user_start_commit,
                brief=_with_specs(order.brief, prepared.specs, state),
                **_shares(store, order, pinned),
            )
            event = e.LoopStarted(order=order, rules=e.RULES, at=now)
            loop = fold((event,))
            journal.create(
                order.loop,
                at=int(now * 1000),
                kind=e.kind_of(event),
                v=e.VERSIONS["LoopStarted"],
                body=e.encode(event),
                summary=summary_row(loop, now),
            )
    except BaseException:
        with suppress(RalphError, OSError):
            if not _recorded(state, order.loop):
                remove_loop(project, order.loop)
                remove_tree(folder)
        stint.release()
        raise
    return order.loop, stint


def _recorded(state: State, name: str) -> bool:
    """Is there such a loop? Then nothing of it goes away because another of its name could not begin."""
    with journal_.read_journal(state.root) as reader:
        return name in reader.names()


def _with_specs(brief: Brief | None, texts: dict[str, str], state: State) -> Brief | None:
    """The brief with its specs kept: a loop is held to the words that were there when it began."""
    if brief is None:
        return None
    kept = {path: blobs.put(state.blobs, text.encode()) for path, text in texts.items()}
    return msgspec.structs.replace(brief, texts=kept)


def _shares(store: Store, order: Order, pinned: Start) -> dict[str, tuple[str, ...]]:
    """Dependency folders that may be shared in: only while what they were built from is the base's."""
    warnings = (*order.warnings, *pinned.warnings)
    if order.setup:  # builds its own; the names say which of its folders are wanted
        return {"share": tuple(shared.safe_paths(order.share)), "warnings": warnings}
    found = tuple(share.path for share in shared.shareable_folders(store, pinned.base_tree, order.share))
    # What is installed is what the work tree asks for; the base may ask for something else.
    users = tree_of(store, pinned.user_start_commit)
    lacking = shared.unmet_requirements(store, users, pinned.base_tree, found) if found else []
    if lacking:
        note = f"{', '.join(found)} not shared: {', '.join(lacking)} in your work tree is not the base's"
        return {"share": (), "warnings": (*warnings, note)}
    return {"share": found, "warnings": warnings}


def repo_of(state: State, name: str) -> str:
    with journal_.read_journal(state.root) as reader:
        return record.load(reader, name).loop.sealed.repo


def open_site(
    order: Order, state: State, env: Mapping[str, str], fork_client: ForkClient | None = None
) -> Site:
    """What all calls of a stint have in common; the sandbox is looked at anew each time."""
    project = find_project(order.repo)
    bwrap, shield = find_protection(order.sandbox, order.network, state.root, env)
    return Site(
        order=order,
        state=state,
        store=open_store(project, os.path.join(loop_folder(state, order.loop), "store")),
        env=dict(env),
        config_dir=config_dir(env),
        bwrap=bwrap,
        unshare=shutil.which("unshare", path=env.get("PATH")),
        level=shield.level,
        words=shield.words,
        fork_client=fork_client,
    )


def _stale(scribe: Scribe) -> tuple[int, ...]:
    """Commands to stop that came too late for a loop which had stopped already: a resume answers them."""
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
) -> Loop:
    """Drive a loop to its next pause or end. `first` are facts to record before, such as a resume.

    `most` loops of a repository may be at work at once; None is for what calls no agent.
    """
    clock, signals = SystemClock(), signals or SignalCount()
    state = open_state(state_dir(env), create=True)
    stint = stint or take_stint(state, name, repo_of(state, name), most, clock.now())
    try:
        with journal_.open_journal(state.root) as journal, signals.installed(), ForkClient() as fork_client:
            with journal_.read_journal(state.root) as reader:
                found = record.load(reader, name)
            scribe = Scribe(journal, name, found, clock, watcher, state.root)
            for event in first:
                scribe.append(event, taken=_stale(scribe) if isinstance(event, e.ResumeAsked) else ())
            site = open_site(scribe.loop.sealed, state, env, fork_client)
            sweep(site.store.dir)
            hands = RealPerformer(site, clock, min_free)
            return Runner(hands, scribe, clock, signals, watcher).drive()
    finally:
        stint.release()
