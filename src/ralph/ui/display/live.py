"""The live view: inline, so that scrollback stays useful. Finished iterations fold into one line above it.

Drawn when the runner ticks, by no thread of its own. What keys do is in `keyboard`; here they are only named.
The cursor stays visible: a runner that is killed must not leave a terminal without one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.live import Live as Region
from rich.segment import Segment
from rich.text import Text

from ralph.app.words.format import cut_words, safe, use_colour
from ralph.app.words.lines import event_words
from ralph.app.words.story import StoryCall, call_mark, call_parts, is_settled, update_call
from ralph.clock import Clock, SystemClock
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.ui.cli.streams import width_of
from ralph.ui.display.none import Silent, write
from ralph.ui.display.panel import View, panel
from ralph.ui.display.stint_words import fact_words, header

if TYPE_CHECKING:
    from ralph.app.drive import Activity

MAX_FACTS = 12
PUSH_TITLE, POP_TITLE, SET_TITLE = "\x1b[22;2t", "\x1b[23;2t", "\x1b]2;ralph {}\a"
_ASIDE = (e.NoVerdict, e.WorkspaceRestored, e.Steered, e.PauseAsked, e.AbortAsked)
_TONES = {"✔": "green", "✘": "red", "!": "yellow", "·": "dim"}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the program here; for us it is one display less."""
        raise BrokenPipeError


class Live(Silent):
    def __init__(
        self,
        stdout: IO[str],
        stderr: IO[str],
        env: Mapping[str, str],
        number: int = 0,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(stdout, stderr, env, number)
        colour = use_colour(stderr, env)
        if width_of(stderr):  # what the window was when somebody exported it does not follow it
            env = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")}
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
        self.keys: tuple[str, ...] = ("ctrl-c stops after this iteration, twice: now",)
        self.is_away = False  # another program has the terminal
        self._clock = clock or SystemClock()
        self._region: Region | None = None
        self._loop: Loop | None = None
        self._activity: Activity | None = None
        self._call: StoryCall | None = None
        self._drawn: tuple[int, RenderableType] = (0, "")
        self._held: list[Text] = []  # what came while the terminal was away
        self._facts: deque[str] = deque(maxlen=MAX_FACTS)
        self._red: dict[str, int] = {}  # by gate: newest, and before this iteration
        self._red_before: dict[str, int] = {}

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        self._loop = loop
        for line in header(loop, words, self.number, self.console.width):
            self._print(Text(line))
        self.open_region()

    def open_region(self) -> None:
        """Begin to draw, or begin again after the terminal was given back for a while."""
        self.is_away = False
        held, self._held = self._held, []
        for text in held:
            self._print(text)
        self._region = Region(
            console=self.console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._guard(self._region.start)
        if self.title and self.stderr.isatty():
            write(self.stderr, PUSH_TITLE)
        self._guard(lambda: self.console.show_cursor(True))

    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None:  # noqa: ARG002
        self._loop = loop
        if self._region is not None and self.title and self.stderr.isatty():
            write(self.stderr, SET_TITLE.format(f"{loop.sealed.loop} it {loop.iteration} {loop.phase}"))
        before, self._call = self._call, update_call(self._call, event)
        if isinstance(event, e.GateEnded):
            self._red[event.verdict.gate] = event.verdict.red
        if isinstance(event, e.AgentStarted):
            self._facts.clear()
            if before is not None:
                self._print(self._fold_call(before))
            self._red_before = dict(self._red)
        if isinstance(event, _ASIDE):
            self._print(Text(f"  {event_words(event)}", style="dim"))
        if self._call is not None and is_settled(self._call, loop):
            self._print(self._fold_call(self._call))
            self._call = None
        self._draw()

    def hear(self, facts: tuple[object, ...]) -> None:
        self._facts.extend(filter(None, map(fact_words, facts)))

    def tick(self, loop: Loop, activity: Activity) -> None:
        self._loop, self._activity = loop, activity
        self._draw()

    def note(self, text: str) -> None:
        self._print(Text(f"  {safe(text, 300)}", style="yellow"))
        self._draw()

    def release(self) -> None:
        self._clear_wrapped()
        region, self._region = self._region, None
        if region is not None:
            self._guard(region.stop)
            if self.title and self.stderr.isatty():
                write(self.stderr, POP_TITLE)

    def _print(self, text: Text) -> None:
        if self.is_away:
            self._held.append(text)
        else:
            self._clear_wrapped()
            self._guard(lambda: self.console.print(text, soft_wrap=False, overflow="fold"))

    def _draw(self) -> None:
        region, loop = self._region, self._loop
        if region is None or loop is None:
            return
        self._clear_wrapped()
        self._drawn = (self.console.width, self.screen(loop))
        self._guard(lambda: region.update(self._drawn[1], refresh=True))

    def _clear_wrapped(self) -> None:
        """A narrower window has broken the lines that were drawn: go up by what they take more of it now."""
        (width, screen), now = self._drawn, self.console.width
        if self._region is None or now >= width or not self.stderr.isatty():
            return
        self._drawn = (now, screen)
        lines = self.console.render_lines(screen, self.console.options.update(width=width), pad=False)
        more = sum(max(0, Segment.get_line_length(line) - 1) // now for line in lines)
        write(self.stderr, f"\x1b[{more}A\x1b[J" if more else "")

    def screen(self, loop: Loop) -> RenderableType:
        """What stands below the folded lines now."""
        # What a person says in between is an event too: time goes on from the newest one, whatever it was.
        going = self._activity is not None and loop.phase not in ("paused", "ended")
        since = max(0.0, self._clock.now() - loop.now) if going else 0.0
        return panel(
            View(
                loop=loop,
                activity=self._activity,
                facts=tuple(self._facts),
                reds=self._red_before,
                seconds=loop.elapsed_seconds + since,
                keys=self.keys,
                width=self.console.width,
                height=self.console.height,
            )
        )

    def _fold_call(self, call: StoryCall) -> Text:
        """✘ 1  +2 in 1 file  tests 2→1 red  0:41  $0.12"""
        mark = call_mark(call)
        words = f" {call.iteration}  {'  '.join(call_parts(call, self._red_before))}"
        return Text.assemble((mark, _TONES[mark]), cut_words(words, max(20, self.console.width - 1)))

    def _guard(self, action: object) -> None:
        """A terminal that went away is no reason to stop a loop."""
        assert callable(action)
        try:
            action()
        except (OSError, ValueError):
            self._region = None
