"""`ralph diff`: what a loop changed, from the commits that its journal names. Nothing is written."""

from __future__ import annotations

import os
import re
import sys

import click

from ralph.app.words.format import paint, safe_lines, use_colour
from ralph.ui.cli.option_groups import Number

_TONES = {"+": "green", "-": "red", "@": "blue"}
_HEAD = re.compile(r"(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename |old mode|new mode)")


@click.command(short_help="Show what a loop changed.")
@click.argument("loop", required=False)
@click.option(
    "--iteration",
    type=Number(min=1),
    metavar="N",
    help="Compare the base with the checkpoint of iteration N.",
)
@click.option("--stat", is_flag=True, help="Show only files and line counts.")
def command(loop: str | None, iteration: int | None, stat: bool) -> int:
    """Show what LOOP changed: its base against its result, or against the best checkpoint so far.

    \b
    Examples:
      ralph diff fix-auth
      ralph diff fix-auth --iteration 2 --stat
    """
    from ralph.app.records import read_loop
    from ralph.app.views.differences import diff_text
    from ralph.ui.cli.pick_loop import loop_to_show

    text = diff_text(read_loop(loop_to_show(loop), os.environ), iteration, stat=stat)
    colour = use_colour(sys.stdout, os.environ)
    for line in safe_lines(text).split("\n"):
        print(_paint_line(line, colour=colour and not stat))
    return 0


def _paint_line(line: str, *, colour: bool) -> str:
    if not colour:
        return line
    if _HEAD.match(line):
        return paint(line, "bold", on=True)
    tone = _TONES.get(line[:1])
    return paint(line, tone, on=True) if tone else line
