"""Pictures of the screens at three sizes and of the last cards: the ones that README and docs show.

`RALPH_GOLDEN=write` draws them again; then they are to be looked at.
"""

import io
import os
import re
from pathlib import Path

import making
import pytest
from making import Maker, order
from rich.console import Console
from rich.text import Text

from ralph.agents import Said, ToolUsed
from ralph.app.words.change import ChangeSize
from ralph.app.words.ending import ending
from ralph.core.model import events as e
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import GuardResult
from ralph.shell.ports import Activity
from ralph.ui.display.live import Live
from ralph.ui.display.stint_words import header

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
TASK = "make the tests of the login pass"
FACTS = (
    ToolUsed("read", "src/auth/refresh.py", ""),
    Said("The rotation test expects the old token to be revoked before a new one is issued."),
    ToolUsed("edit", "src/auth/refresh.py", "", 31, 4),
    ToolUsed("bash", "", "pytest -q tests/auth"),
)


class StoppedClock:
    wall = 0.0

    def now(self):
        return self.wall


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Recorder(Console):
    """The console of a live view, with a picture at the end."""

    def on_broken_pipe(self):
        raise BrokenPipeError


def login():
    made = order("login-7f3a91c2", task=TASK, limits=Limits(cost=5.0), agent="claude", model="sonnet")
    return Maker(made).begin()


def as_svg(lines_of, width, height, title):
    console = Recorder(
        record=True,
        width=width,
        height=height,
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
        markup=False,
    )
    lines_of(console)
    svg = console.export_svg(title=title, unique_id="ralph")
    return re.sub(
        r"@font-face \{.*?\}\n|<!-- .*? -->\n?", "", svg, flags=re.DOTALL
    )  # no server is asked for letters


def draw_live(width, height):
    def draw(console):
        at = StoppedClock()
        live = Live(io.StringIO(), Terminal(), {"TERM": "xterm"}, 7, at)
        live.console = console
        maker = login()
        for line in header(maker.loop, (), 7, width):
            console.print(line)
        maker.failing(claim="IN_PROGRESS").failing()
        maker.add(e.AgentStarted(iteration=3, call=3, agent="claude", prompt="a" * 64))
        loop = making.Loop()
        for seq, event in enumerate(maker.events, 1):
            loop = making.decide(loop, event)
            live.event(seq, event, loop)
        live.hear(FACTS)
        live._activity, at.wall = Activity("agent", (), 17.0, 100, 2.0), loop.now + 17.0
        stop = "q stop after this iteration  ^C^C now" if width > 78 else "q stop"  # as `keyboard` says it
        live.keys = (f"p pause  s note  d diff  l log  {stop}  ? help",)
        console.print(live.screen(loop))

    return as_svg(draw, width, height, "ralph loop")


def draw_card(maker, change):
    def draw(console):
        for line in ending(maker.loop, change, number=7, colour=True, width=80):
            console.print(Text.from_ansi(line))

    return as_svg(draw, 80, 24, "ralph loop")


def verified():
    maker = login().failing().call().gates("fast", "pass", "pass").gates("final", "pass", "pass")
    tree = maker.loop.work.tree
    told = (
        GuardResult("base_tests", tree, True, "no test and no test config changed: …"),
        GuardResult("repeat", tree, True, "green 3 times on the same tree", counted={"repeats": 3}),
        GuardResult(
            "diff_coverage", tree, True, "31 of 31", counted={"changed_lines": 31, "executed_lines": 31}
        ),
    )
    maker.add(e.GuardsEnded(iteration=maker.loop.iteration, tree=tree, results=told), 5.0)
    maker.add(e.ResultPublished(branch=maker.loop.landing.branch, commit="c" * 40, tree=tree))
    return draw_card(maker.finish(), ChangeSize(1, 31, 4))


def paused():
    maker = login().failing()
    maker.add(e.PauseAsked(reason="paused by the user", now=True))
    return draw_card(maker, ChangeSize(1, 31, 4))


DRAWN = {
    "live-120x40": lambda: draw_live(120, 40),
    "live-80x24": lambda: draw_live(80, 24),
    "live-60x20": lambda: draw_live(60, 20),
    "verified": verified,
    "paused": paused,
}


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_show_what_the_program_draws(name):
    """The pictures in docs are the screens of today, letter by letter, and ask no server for anything."""
    path, drawn = PICTURES / f"{name}.svg", DRAWN[name]()
    if os.environ.get("RALPH_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn, encoding="utf-8")
    assert "http" not in drawn.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert path.read_text(encoding="utf-8") == drawn
