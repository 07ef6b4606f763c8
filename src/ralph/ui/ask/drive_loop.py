"""Driving a loop with somebody watching: display, log file, a blocked loop's question; see `app.drive`.

Shared by `loop`, `resume` and `demo`. What is shown is the displays' matter, what is done the shell's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, Protocol

from ralph.app.drive import Activity, DriveRequest, SignalCount, Stint, drive
from ralph.app.place import log_path, loop_number, recorded_rows
from ralph.app.settings import terminal_notices
from ralph.core.model.events import AnyEvent, ResumeAsked, Steered
from ralph.core.model.loop import Loop
from ralph.core.views.plan_view import plan_line
from ralph.ui.ask.detach import Room
from ralph.ui.cli.streams import on_terminal
from ralph.ui.display import Display, make_watcher
from ralph.ui.display.plain import Plain

if TYPE_CHECKING:
    from ralph.ui.display.keyboard import Keyboard


class Both:
    """Two displays as one: the screen, and the loop's log file."""

    def __init__(self, *displays: Display) -> None:
        self._displays = displays
        self.keyboard: Keyboard | None = None

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        for display in self._displays:
            display.begin(loop, words)

    def event(self, seq: int, event: AnyEvent, loop: Loop) -> None:
        for display in self._displays:
            display.event(seq, event, loop)

    def hear(self, facts: tuple[object, ...]) -> None:
        for display in self._displays:
            display.hear(facts)

    def tick(self, loop: Loop, activity: Activity) -> None:
        for display in self._displays:
            display.tick(loop, activity)
        if self.keyboard is not None:
            self.keyboard.poll()

    def note(self, text: str) -> None:
        for display in self._displays:
            display.note(text)

    def finish(self, loop: Loop) -> None:
        for display in self._displays:
            display.finish(loop)


class DriveRoom(Room, Protocol):
    """What whoever started or took up a loop knows; a starter also holds its first stint."""

    @property
    def min_free(self) -> int: ...


def drive_and_show(
    name: str,
    env: Mapping[str, str],
    room: DriveRoom,
    *,
    mode: str,
    as_json: bool = False,
    first: tuple[AnyEvent, ...] = (),
    may_ask: bool = True,
    hosted: bool = False,
    min_free: int | None = None,
    alone: bool = False,
) -> int:
    """Drive until the loop stops; a blocked one asks on a terminal and goes on with the answer.

    `alone`: loops of other repositories do not keep it waiting.
    """
    stint: Stint | None = getattr(room, "stint", None)
    signals, number = SignalCount(detached=hosted), loop_number(name, env, os.getcwd())
    if as_json and stint is not None:
        _show_begun(env, name)
    while True:
        with ExitStack() as stack:
            screen = stack.enter_context(
                make_watcher(
                    mode,
                    as_json=as_json,
                    stdout=sys.stdout,
                    stderr=sys.stderr,
                    env=env,
                    notices=terminal_notices(env),
                    number=number,
                )
            )
            log = stack.enter_context(_log_file(env, name))
            watcher = Both(screen, Plain(log, log, {**env, "NO_COLOR": "1"}, number))
            watcher.keyboard = _keyboard(stack, name, env, screen)
            request = DriveRequest(
                name=name,
                min_free=room.min_free if min_free is None else min_free,
                max_loops=room.max_loops,
                max_loops_machine=None if alone else room.max_loops_machine,
                first=first,
                hosted=hosted,
            )
            driven = drive(request, env, watcher, stint=stint, signals=signals, tell=_print_trouble)
        stint, first = None, _answer(driven.loop) if may_ask and not as_json else ()
        if not first:
            return driven.exit_code


def _keyboard(stack: ExitStack, name: str, env: Mapping[str, str], screen: Display) -> Keyboard | None:
    """Keys beside a live view; nothing else reads them."""
    from ralph.ui.display.live import Live

    if not isinstance(screen, Live):
        return None
    from ralph.ui.display.keyboard import Keyboard

    return stack.enter_context(Keyboard(name, env, screen, attached=False))


def _print_trouble(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)


def _show_begun(env: Mapping[str, str], name: str) -> None:
    """What was recorded when the loop was made: its stream has no gap at the beginning either."""
    from ralph.app.views.event_json import row_line

    for row in recorded_rows(name, env):
        print(row_line(row).decode(), flush=True)


def _answer(loop: Loop) -> tuple[AnyEvent, ...]:
    """The human's word to a blocked loop, if there is a human at a terminal; () leaves it blocked."""
    if loop.outcome != "blocked" or not on_terminal():
        return ()
    line = plan_line(loop)
    boxes = line.human if line is not None else ()
    try:
        if boxes:  # no word to an agent ticks them
            said = input(f"have you done {', '.join(boxes)}? [y/N] ").strip().lower()
            return (ResumeAsked(author="terminal", done=boxes),) if said in ("y", "yes") else ()
        print("your answer goes into the next prompt; an empty one leaves the loop blocked", file=sys.stderr)
        text = input("answer> ").strip()
    except (EOFError, KeyboardInterrupt):
        return ()
    return (ResumeAsked(author="terminal"), Steered(text=text, author="terminal")) if text else ()


def _log_file(env: Mapping[str, str], name: str) -> IO[str]:
    """The loop's own log, with `latest` pointing at it."""
    path = log_path(name, env)
    latest = os.path.join(os.path.dirname(path), "latest")
    with suppress(OSError):
        fresh = f"{latest}.{os.getpid()}"
        os.symlink(f"{name}.log", fresh)
        os.replace(fresh, latest)
    return open(path, "a", encoding="utf-8", opener=lambda p, f: os.open(p, f | os.O_NOFOLLOW, 0o600))
