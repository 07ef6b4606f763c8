"""`ralph prompt`: what an agent was told, or would be told next."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from ralph.ui.cli.option_groups import Number


@click.group(short_help="Show the prompts sent to an agent.")
def command() -> None:
    """Show prompts: what was sent to an agent, part by part, and how much of its context window it takes."""


@command.command("show", short_help="Print the prompt of a call and its parts.")
@click.argument("loop", required=False)
@click.option("--iteration", type=Number(min=1), metavar="N", help="Show the call of iteration N.")
@click.option("--diff", "as_diff", is_flag=True, help="Show only what differs from the previous call.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(loop: str | None, iteration: int | None, as_diff: bool, as_json: bool) -> int:
    """Print the prompt of LOOP's newest call, or of the next call if one is due.

    The prompt goes to stdout. Its parts, their estimated tokens and their share of the context window go to
    stderr, with a warning above 60 %.

    \b
    Examples:
      ralph prompt show
      ralph prompt show fix-auth --iteration 2 --diff
    """
    from ralph.app.place import state_of
    from ralph.app.records import read_newest
    from ralph.app.views.prompts import difference, find_prompts
    from ralph.errors import NothingToDo

    record = read_newest(loop, os.environ, os.getcwd())
    shown, before = find_prompts(record, state_of(os.environ), iteration)
    if as_diff and before is None:
        raise NothingToDo(
            f"call {shown.call} of loop '{record.name}' is the first: there is none before it",
            code="E-PROMPT-FIRST",
            next=f"ralph prompt show {record.name}",
        )
    lines = difference(before, shown) if as_diff and before is not None else None
    if as_json:
        print(json.dumps(_plain(shown, lines), ensure_ascii=False))
        return 0
    if lines is None:
        print(shown.text.rstrip("\n"))
    else:
        print("\n".join(_paint_lines(lines)) if lines else "no difference")
    sys.stdout.flush()
    for line in parts_lines(shown):
        print(line, file=sys.stderr)
    return 0


def parts_lines(shown: Any) -> list[str]:
    """The table of parts, and the warning."""
    from ralph.app.words.format import safe, table, thousands
    from ralph.core.prompt.budget import WARN_SHARE

    word = "sent to" if shown.sent else "would be sent to"
    agent = safe(f"{shown.agent}{f' ({shown.model})' if shown.model else ''}", 80)
    item = f", item {safe(shown.item, 80)}" if shown.item else ""
    rows = [
        (safe(part.title, 60), thousands(part.tokens), f"{part.tokens / shown.window:.1%}")
        for part in shown.parts
    ]
    rows.append(("in all", thousands(shown.tokens), f"{shown.share:.1%}"))
    width = max(len(row[1]) for row in rows)
    lines = [f"{shown.loop}: iteration {shown.iteration}, call {shown.call}{item}; {word} {agent}"]
    lines += table([(title, count.rjust(width), share) for title, count, share in rows], "  ")
    lines.append(
        f"estimated: 3.5 ASCII characters a token, a window of {thousands(shown.window)}; "
        "what the agent itself adds is not counted"
    )
    if shown.large:
        lines.append(f"warning: more than {WARN_SHARE:.0%} of the window before the agent has read a file")
    return lines


def _paint_lines(lines: list[str]) -> list[str]:
    from ralph.app.words.format import paint, use_colour

    on = use_colour(sys.stdout, os.environ)
    tones = {"+": "green", "-": "red", "@": "blue"}
    return [paint(line, tones[line[0]], on) if line[:1] in tones else line for line in lines]


def _plain(shown: Any, lines: list[str] | None) -> dict[str, Any]:
    import msgspec

    known = {"share": round(shown.share, 4), "large": shown.large}
    return {"v": 1, **msgspec.to_builtins(shown), **known, "diff": lines}
