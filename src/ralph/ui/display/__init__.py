"""The one display protocol and how a display is chosen. Each display is a module beside this one.

A display is told what happened and shows it; it can neither stop nor change a loop, and trouble with a
terminal or a closed pipe never reaches the runner. Progress goes to stderr, the result to stdout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Protocol, Self

from ralph.core.model.events import AnyEvent
from ralph.core.model.loop import Loop
from ralph.errors import UserError

if TYPE_CHECKING:
    from ralph.app.drive import Activity
    from ralph.ui.display.none import Silent

MODES = ("auto", "live", "plain", "none")


class Display(Protocol):
    """The runner's `Watcher`, and a context: leaving it gives the terminal back whatever happened."""

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None: ...
    def event(self, seq: int, event: AnyEvent, loop: Loop) -> None: ...
    def hear(self, facts: tuple[object, ...]) -> None: ...
    def tick(self, loop: Loop, activity: Activity) -> None: ...
    def note(self, text: str) -> None: ...
    def finish(self, loop: Loop) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...


def make_watcher(
    mode: str,
    *,
    as_json: bool,
    stdout: IO[str],
    stderr: IO[str],
    env: Mapping[str, str],
    notices: tuple[bool, bool] = (True, True),
    number: int = 0,
) -> Display:
    """The display for this terminal. `--json` turns the live view off; a pipe or a dumb terminal too.

    `notices`: ring the bell at the end, show the loop in the terminal's title.
    """
    if mode not in MODES:
        raise UserError(
            f"'--display' is '{mode}', expected one of {', '.join(MODES)}",
            code="E-USAGE",
            next="ralph loop --help",
        )
    if as_json:
        from ralph.ui.display.jsonlines import JsonLines

        return JsonLines(stdout, stderr)
    made: Silent
    if mode == "none":
        from ralph.ui.display.none import Silent

        made = Silent(stdout, stderr, env, number)
    elif mode == "live" or (mode == "auto" and stderr.isatty() and env.get("TERM", "dumb") != "dumb"):
        from ralph.ui.display.live import Live

        made = Live(stdout, stderr, env, number)
    else:
        from ralph.ui.display.plain import Plain

        made = Plain(stdout, stderr, env, number)
    made.bell, made.title = notices
    return made
