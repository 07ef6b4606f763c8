"""`ralph discard`: remove everything of a loop, after showing it."""

from __future__ import annotations

import os
import sys

import click

from ralph.errors import NeedsHuman


@click.command(short_help="Discard a loop and its result.")
@click.argument("loop", required=False)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def command(loop: str | None, yes: bool) -> int:
    """Discard LOOP: remove the workspace, refs, result branch, logs and reports. Its journal stays.

    What you merged stays merged. A loop that has not ended is aborted first.

    \b
    Example:
      ralph discard fix-auth
    """
    from ralph.app.results.drop import drop, find_belongings
    from ralph.app.words.format import safe
    from ralph.ui.cli.pick_loop import loop_for

    env = dict(os.environ)
    name = loop_for("discard", loop)
    owned = find_belongings(name, env)
    for line in (*owned.folders, *owned.refs, *([f"branch {owned.branch}"] if owned.branch else [])):
        print(f"  {safe(line, 200)}")
    if not yes:
        if not sys.stdin.isatty():
            raise NeedsHuman("discarding needs a yes", code="E-DROP-ASK", next=f"ralph discard {name} --yes")
        if not click.confirm("remove all of this?", default=False):
            return 1
    drop(name, env)
    print(f"discarded {name}; its record stays: ralph logs {name}")
    return 0
