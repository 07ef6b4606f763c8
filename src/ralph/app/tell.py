"""Telling a loop something: through its runner's inbox when one lives, else straight into its record.

There is one writer of a loop at a time. A command meets either a living runner, which hears it within a
fraction of a second, or nobody, and then takes the lock and is the writer itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph.clock import Clock, SystemClock
from ralph.core.model.loop import Loop
from ralph.errors import Busy
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import load
from ralph.shell.landing.commands import put_event, send
from ralph.shell.ports import Activity
from ralph.shell.run.open import drive_loop
from ralph.shell.state.directory import open_state, state_dir

TIMEOUT_SECONDS = 30.0


class Quiet:
    """A watcher that looks away."""

    def opened(self, loop: Loop, words: tuple[str, ...]) -> None: ...
    def event(self, seq: int, event: Any, loop: Loop) -> None: ...
    def said(self, facts: tuple[object, ...]) -> None: ...
    def tick(self, loop: Loop, activity: Activity) -> None: ...
    def note(self, text: str) -> None: ...
    def closed(self, loop: Loop) -> None: ...


def send_and_wait(
    name: str,
    env: Mapping[str, str],
    event: Any,
    *,
    until: str,
    drive: bool = True,
    clock: Clock | None = None,
) -> Loop:
    """Say it, and wait until the loop is in phase `until` ("" = do not wait).

    Without a living runner and with `drive`, what the event makes owed is performed right here: a call that
    a crash left open is accounted for, and the loop comes to its end or pause.
    """
    clock = clock or SystemClock()
    state = open_state(state_dir(env), create=True)
    with read_journal(state.root) as reader:
        driven = reader.driver(name) is not None
    if not driven:
        try:
            return _driven(name, env, event, clock) if drive else put_event(name, env, event, Quiet())
        except Busy:
            pass  # a runner came to life in this very moment: it will hear us
    send(name, env, event, clock.now())
    deadline = clock.monotonic() + TIMEOUT_SECONDS
    while True:
        with read_journal(state.root) as reader:
            loop = load(reader, name).loop
        if not until or loop.phase in (until, "ended") or clock.monotonic() > deadline:
            return loop
        clock.sleep(0.05)


def _driven(name: str, env: Mapping[str, str], event: Any, clock: Clock) -> Loop:
    return drive_loop(name, env, Quiet(), min_free=0, most=None, first=(event,), clock=clock)
