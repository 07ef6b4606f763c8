"""What the keys of a live view do: the same where the loop is driven and where somebody only looks on.

A key asks for what a command asks for (`ralph pause`, `steer`, `diff`, `logs`), the same way; only q differs:
where the loop is driven it stops after this iteration, where somebody looks on it leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Self

from ralph.errors import RalphError
from ralph.ui.display.keys import Keys
from ralph.ui.display.live import Live

_ENTER, _ESCAPE, _RUBOUT = ("\r", "\n"), "\x1b", ("\x7f", "\b")
_LEAVE = ("q", "\x03", "\x04")
_COMMANDS = {"d": "diff", "l": "logs"}
_HELP = (
    "p  pause after this iteration; ralph resume goes on",
    "s  note for the next iteration   d  diff so far   l  log",
)
_ROOMY = 78  # columns from which the key that stops says when


class Keyboard:
    def __init__(self, name: str, env: Mapping[str, str], view: Live, *, attached: bool) -> None:
        self._name, self._env, self._view, self._attached = name, env, view, attached
        self._keys = Keys()
        self._note: str | None = None  # what was typed of a note so far
        self._helps = False

    def __enter__(self) -> Self:
        self._keys.__enter__()
        self._show()
        return self

    def __exit__(self, *exc: object) -> None:
        self._keys.__exit__(*exc)

    def poll(self) -> bool:
        """Do what was asked by keys since the last time; True to leave. Never waits."""
        if self._view.is_away:
            if self._keys.is_lent():
                return False
            self._view.open_region()
        typed = self._keys.read()
        if typed.startswith(_ESCAPE):  # an arrow or the like is no word
            typed = _ESCAPE if typed == _ESCAPE else ""
        # Each key counts, also after one that leaves; those typed after the terminal was lent are not for us.
        left = sum(self._take(key) for key in typed if not self._view.is_away)
        self._show()  # for the window as it is now
        return left > 0

    def _take(self, key: str) -> bool:
        if self._note is not None:
            self._edit(key)
        elif key in _LEAVE:
            if self._attached:
                return True
            self._ask("pause")
        elif key == "p":
            self._ask("pause")
        elif key == "s":
            self._note = ""
        elif key in _COMMANDS:
            self._view.release()
            self._view.is_away = True
            self._keys.lend([sys.executable, "-m", "ralph", _COMMANDS[key], self._name])
        elif key == "?":
            self._helps = not self._helps
        return False

    def _edit(self, key: str) -> None:
        assert self._note is not None
        if key in _ENTER:
            text, self._note = self._note.strip(), None
            if text:
                self._ask("note", text)
        elif key in (_ESCAPE, "\x03", "\x04"):
            self._note = None
        elif key in _RUBOUT:
            self._note = self._note[:-1]
        elif key.isprintable():
            self._note += key

    def _ask(self, what: str, text: str = "") -> None:
        from ralph.app.tell import pause_loop, steer_loop

        try:
            if what == "pause":
                pause_loop(self._name, self._env)
            else:
                steer_loop(self._name, text, self._env, author=self._env.get("USER", "terminal"))
        except RalphError as error:
            self._view.note(error.what)

    def _show(self) -> None:
        if self._note is not None:
            self._view.keys = (f"note> {self._note}▏", "Enter sends it with the next iteration, Esc drops it")
            return
        stops = "q leave" if self._attached else "q stop after this iteration  ^C^C now"
        last = stops if self._view.console.width > _ROOMY else stops.partition(" after")[0]
        hint = f"p pause  s note  d diff  l log  {last}  ? help"
        if not self._keys:
            hint = stops.replace("q ", "ctrl-c: ", 1).replace("  ^C^C now", ", twice: now")
        self._view.keys = (*((*_HELP, stops.replace(" ", "  ", 1)) if self._helps else ()), hint)
