"""Telling a loop something (pause, abort, a note): through its runner's inbox, else into its record.

There is one writer of a loop at a time. A command meets either a living runner, which hears it within a
fraction of a second, or nobody, and then takes the lock and is the writer itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralph.app.place import journal_of
from ralph.app.records import read_loop
from ralph.clock import Clock, SystemClock
from ralph.core.model.events import AbortAsked, AnyEvent, PauseAsked, Steered
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import FINAL
from ralph.errors import Busy, NothingToDo, UserError
from ralph.shell.ports import Quiet
from ralph.shell.process.tree import is_stopped
from ralph.shell.run.hold import hold_loop, send
from ralph.shell.run.open import drive_loop

TIMEOUT_SECONDS = 30.0
MAX_NOTE_CHARS = 8000


def pause_loop(name: str, env: Mapping[str, str], *, now: bool = False) -> Loop:
    """Stop a loop after its iteration, or `now`; the loop as it is when this returns."""
    found = read_loop(name, env).loop
    if found.phase in ("paused", "ended"):
        raise NothingToDo(
            f"loop '{name}' is {found.outcome or found.phase} already",
            code="E-LOOP-STOPPED",
            next=f"ralph status {name}",
        )
    event = PauseAsked(reason="paused by the user", now=now)
    loop = send_and_wait(name, env, event, until="paused" if now else "")
    if now and loop.phase not in ("paused", "ended"):
        raise _unheard(name, env, "paused")
    return loop


def abort_loop(name: str, env: Mapping[str, str], *, reason: str = "") -> Loop:
    """End a loop for good; what it reached stays on its refs."""
    refuse_ended((name,), env)
    loop = send_and_wait(name, env, AbortAsked(reason=reason), until="ended")
    if (
        loop.phase == "paused"
    ):  # its last checkpoint took too long and was given up: now there is nothing to keep
        loop = send_and_wait(name, env, AbortAsked(reason=reason), until="ended")
    if loop.phase != "ended":
        raise _unheard(name, env, "ended")
    return loop


def _unheard(name: str, env: Mapping[str, str], what: str) -> Busy:
    """The word was left for the runner, and nothing came of it in time: who that is, and how to go on."""
    with journal_of(env) as reader:
        runner = reader.driver(name)
    pid = runner.pid if runner else 0
    stopped = bool(pid) and is_stopped(pid)
    return Busy(
        f"loop '{name}' has not {what} within {TIMEOUT_SECONDS:.0f} s",
        code="E-LOOP-UNHEARD",
        why=(f"its runner, process {pid}, is stopped" if stopped else f"its runner, process {pid}, is busy")
        if pid
        else "nobody drives it any more",
        next=f"kill -CONT {pid}" if stopped else f"kill {pid}" if pid else f"ralph status {name}",
    )


def refuse_ended(names: Iterable[str], env: Mapping[str, str]) -> None:
    """Refuse to abort any of several loops when one of them has ended already."""
    for name in names:
        if read_loop(name, env).loop.phase == "ended":
            raise NothingToDo(
                f"loop '{name}' has ended already", code="E-LOOP-ENDED", next=f"ralph status {name}"
            )


def steer_loop(name: str, text: str, env: Mapping[str, str], *, author: str = "") -> Loop:
    """A human note that joins the next prompt."""
    check_note(text)
    found = read_loop(name, env).loop
    if found.outcome in FINAL:
        raise NothingToDo(
            f"loop '{name}' is {found.outcome}, which is final",
            code="E-LOOP-FINAL",
            next=f"ralph status {name}",
        )
    return send_and_wait(name, env, Steered(text=text, author=author), until="", drive=False)


def check_note(text: str) -> None:
    """Refuse a note that no prompt could carry."""
    if not text.strip() or len(text) > MAX_NOTE_CHARS:
        raise UserError(
            f"the note has {len(text)} characters, expected 1 to {MAX_NOTE_CHARS}",
            code="E-STEER",
            next="ralph steer --help",
        )


def send_and_wait(
    name: str,
    env: Mapping[str, str],
    event: AnyEvent,
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
    if not _has_runner(name, env):
        try:
            return _drive_with(name, env, event, clock) if drive else _record(name, env, event, clock)
        except Busy:
            pass  # a runner came to life in this very moment: it will hear us
    send(name, env, event, clock.now())
    deadline = clock.monotonic() + TIMEOUT_SECONDS
    while True:
        loop = read_loop(name, env).loop
        if not until or loop.phase in (until, "paused", "ended") or clock.monotonic() > deadline:
            return loop
        clock.sleep(0.05)


def _has_runner(name: str, env: Mapping[str, str]) -> bool:
    with journal_of(env) as reader:
        return reader.driver(name) is not None


def _drive_with(name: str, env: Mapping[str, str], event: AnyEvent, clock: Clock) -> Loop:
    return drive_loop(name, env, Quiet(), min_free=0, most=None, first=(event,), clock=clock)


def _record(name: str, env: Mapping[str, str], event: AnyEvent, clock: Clock) -> Loop:
    """One fact into a loop that nobody drives, and nothing else done."""
    with hold_loop(name, env, clock) as held:
        return held.scribe.append(event)
