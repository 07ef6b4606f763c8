"""`ralph logs`: the journal of a loop, line by line; with `--iteration` also what the agent printed."""

from __future__ import annotations

import os
from contextlib import closing

import click

from ralph.app.records import RecordEntry, follow_loop, stored_text
from ralph.app.words.format import safe, safe_lines
from ralph.ui.cli.option_groups import Number
from ralph.ui.cli.pick_loop import loop_to_show


@click.command(short_help="Show what happened in a loop.")
@click.argument("loop", required=False)
@click.option("-f", "--follow", is_flag=True, help="Keep printing while the loop is running.")
@click.option(
    "--iteration",
    type=Number(min=0),
    metavar="N",
    help="Show one iteration, with the agent's output.",
)
@click.option("--kind", type=click.Choice(["agent", "gate", "loop"]), help="Show only events of this kind.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines; see docs/json.md.")
def command(loop: str | None, follow: bool, iteration: int | None, kind: str | None, as_json: bool) -> int:
    """Show the journal of LOOP, by default the newest of this project.

    \b
    Examples:
      ralph logs
      ralph logs fix-auth -f
      ralph logs fix-auth --iteration 2
    """
    env = dict(os.environ)
    with closing(follow_loop(loop_to_show(loop), env, os.getcwd(), follow=follow)) as entries:
        for entry in entries:
            if isinstance(entry, str):
                if not as_json and iteration is None and kind in (None, "agent"):
                    print(f"      | {safe(entry, 2000)}", flush=True)
                continue
            if not _is_wanted(entry, iteration, kind):
                continue
            if as_json:
                from ralph.app.views.event_json import row_line

                print(row_line(entry.row).decode(), flush=follow)
                continue
            from ralph.app.words.lines import entry_line

            print(entry_line(entry), flush=follow)
            if iteration is not None and kind != "gate":
                _print_output(entry, env)
    return 0


def _is_wanted(entry: RecordEntry, iteration: int | None, kind: str | None) -> bool:
    from ralph.app.words.lines import group

    if kind is not None and group(entry.row.kind) != kind:
        return False
    return iteration is None or getattr(entry.event, "iteration", None) == iteration


def _print_output(entry: RecordEntry, env: dict[str, str]) -> None:
    digest = getattr(entry.event, "output", "")
    if digest:
        for line in safe_lines(stored_text(digest, env)).rstrip("\n").split("\n"):
            print(f"      | {line}")
