"""No progress at all, only the result. Also what the other displays for people stand on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Self

from ralph.app.words.change import measure
from ralph.app.words.ending import ending
from ralph.app.words.format import safe, use_colour
from ralph.core.model.events import AnyEvent
from ralph.core.model.loop import Loop
from ralph.ui.cli.streams import silence, width_of

if TYPE_CHECKING:
    from ralph.app.drive import Activity


class Silent:
    bell = title = True  # as the user likes

    def __init__(self, stdout: IO[str], stderr: IO[str], env: Mapping[str, str], number: int = 0) -> None:
        self.stdout, self.stderr, self.env, self.number = stdout, stderr, env, number
        self.colour = use_colour(stderr, env)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def release(self) -> None:
        """Give the terminal back; called also when the runner ends by an error."""

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        pass

    def event(self, seq: int, event: AnyEvent, loop: Loop) -> None:
        pass

    def hear(self, facts: tuple[object, ...]) -> None:
        pass

    def tick(self, loop: Loop, activity: Activity) -> None:
        pass

    def note(self, text: str) -> None:
        self.tell(safe(text, 1000))

    def finish(self, loop: Loop) -> None:
        self.release()
        colour = use_colour(self.stdout, self.env)
        wide = width_of(self.stdout)
        for line in ending(loop, measure(loop), number=self.number, colour=colour, width=wide):
            write(self.stdout, line + "\n")
        if self.bell and self.stderr.isatty() and loop.phase in ("ended", "paused"):
            write(self.stderr, "\a")

    def tell(self, line: str) -> None:
        write(self.stderr, line + "\n")


def write(stream: IO[str], text: str) -> None:
    """A reader that went away, or a terminal that was closed, is no reason to stop a loop."""
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        silence(stream)
