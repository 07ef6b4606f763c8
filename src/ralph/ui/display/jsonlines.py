"""Every event as one line of JSON on stdout, as it is committed; see `ui.words.event_json` and
docs/json.md."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Self

from ralph.app.views.event_json import event_line
from ralph.app.words.format import safe
from ralph.core.model.events import AnyEvent
from ralph.core.model.loop import Loop
from ralph.ui.display.none import write

if TYPE_CHECKING:
    from ralph.app.drive import Activity


class JsonLines:
    def __init__(self, stdout: IO[str], stderr: IO[str]) -> None:
        self.stdout, self.stderr = stdout, stderr

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        pass

    def event(self, seq: int, event: AnyEvent, loop: Loop) -> None:
        write(self.stdout, event_line(seq, loop.sealed.loop, event).decode() + "\n")

    def hear(self, facts: tuple[object, ...]) -> None:
        pass

    def tick(self, loop: Loop, activity: Activity) -> None:
        pass

    def note(self, text: str) -> None:
        write(self.stderr, safe(text, 1000) + "\n")

    def finish(self, loop: Loop) -> None:
        pass
