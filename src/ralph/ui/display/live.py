"""The live view: inline, so that scrollback stays useful. Finished iterations fold into one line above it.

Drawn when the runner ticks, by no thread of its own. There is no keyboard here, so only ctrl-c is named.
The cursor stays visible: a runner that is killed must not leave a terminal without one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.live import Live as Region
from rich.text import Text

from ralph.app.words.format import safe, use_colour
from ralph.app.words.lines import event_words
from ralph.app.words.story import StoryCall, call_mark, call_parts, is_settled, update_call
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.ui.display import Doing
from ralph.ui.display.boxes import boxes, narrow
from ralph.ui.display.none import Silent
from ralph.ui.display.stint_words import alert_words, doing_words, fact_words, header, purpose_words

WIDE = 90  # columns that the three boxes need
MAX_FACTS = 3
_ASIDE = (e.NoVerdict, e.WorkspaceRestored, e.Steered, e.PauseAsked, e.AbortAsked, e.ResultPublished)
_TONES = {"✔": "green", "✘": "red", "!": "yellow", "·": "dim"}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the program here; for us it is one display less."""
        raise BrokenPipeError


class Live(Silent):
    def __init__(self, stdout: IO[str], stderr: IO[str], env: Mapping[str, str]) -> None:
        super().__init__(stdout, stderr, env)
        colour = use_colour(stderr, env)
        self.console = _Console(
            file=stderr,
            force_terminal=stderr.isatty(),
            no_color=not colour,
            color_system="standard" if colour else None,
            highlight=False,
            markup=False,
            emoji=False,
            _environ=env,
        )
        self._region: Region | None = None
        self._loop: Loop | None = None
        self._activity: Doing | None = None
        self._call: StoryCall | None = None
        self._facts: deque[str] = deque(maxlen=MAX_FACTS)
        self._note = ""
        self.hint = ""  # which keys there are

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        self._loop = loop
        for line in header(loop, words):
            self._print(Text(line))
        self.open_region()

    def open_region(self) -> None:
        """Begin to draw, or begin again after the terminal was given back for a while."""
        self._region = Region(
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._guard(self._region.start)
        self._guard(lambda: self.console.show_cursor(True))

    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None:  # noqa: ARG002
        self._loop, self._activity = loop, None
        before, self._call = self._call, update_call(self._call, event)
        if isinstance(event, e.AgentStarted):
            self._facts.clear()
            if before is not None:
                self._print(self._fold_call(before, loop))
        if isinstance(event, _ASIDE):
            self._print(Text(f"  {event_words(event)}", style="dim"))
        if self._call is not None and is_settled(self._call, loop):
            self._print(self._fold_call(self._call, loop))
            self._call = None
        self._draw()

    def hear(self, facts: tuple[object, ...]) -> None:
        self._facts.extend(filter(None, map(fact_words, facts)))

    def tick(self, loop: Loop, activity: Doing) -> None:
        self._loop, self._activity = loop, activity
        self._draw()

    def note(self, text: str) -> None:
        self._note = safe(text, 300)
        self._print(Text(f"  {self._note}", style="yellow"))
        self._draw()

    def release(self) -> None:
        region, self._region = self._region, None
        if region is not None:
            self._guard(region.stop)

    def _print(self, text: Text) -> None:
        self._guard(lambda: self.console.print(text, soft_wrap=False, overflow="fold"))

    def _draw(self) -> None:
        region, loop = self._region, self._loop
        if region is not None and loop is not None:
            self._guard(lambda: region.update(self.screen(loop), refresh=True))

    def screen(self, loop: Loop) -> RenderableType:
        """What stands below the folded lines now."""
        width = self.console.width
        parts: list[RenderableType] = [self._current(loop)]
        parts += [Text(f"   {line}", no_wrap=True, overflow="ellipsis", style="dim") for line in self._facts]
        parts.append(boxes(loop, self._activity, width) if width >= WIDE else narrow(loop, self._activity))
        warned = alert_words(loop)
        if warned:
            parts.append(Text(f" ! {warned}", style="yellow", no_wrap=True, overflow="ellipsis"))
        hint = (
            "stopping after this iteration"
            if loop.control.pause_reason
            else self.hint or "ctrl-c stops after this iteration"
        )
        parts.append(Text(f" {hint}", style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def _current(self, loop: Loop) -> Text:
        limit = loop.limits.iterations
        hand = purpose_words(loop)
        where = f"it {loop.iteration}/{limit or '∞'}" if loop.iteration else "" if hand else "baseline"
        where = "  ".join(part for part in (where, hand) if part)
        doing = doing_words(loop, self._activity) if self._activity is not None else loop.phase
        return Text(f"▶ {where}  {doing}", style="bold", no_wrap=True, overflow="ellipsis")

    def _fold_call(self, call: StoryCall, loop: Loop) -> Text:
        mark = call_mark(call)
        line = Text.assemble((mark, _TONES[mark]), f" it {call.iteration}  ", "  ".join(call_parts(call)))
        if not call.published and loop.proof.not_yet:
            line.append(f"\n       not yet: {safe(loop.proof.not_yet[0], 160)}", style="dim")
        return line

    def _guard(self, action: object) -> None:
        """A terminal that went away is no reason to stop a loop."""
        assert callable(action)
        try:
            action()
        except (OSError, ValueError):
            self._region = None
