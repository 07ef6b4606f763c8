"""`ralph drop`: remove everything of a loop, after showing it."""

from __future__ import annotations

import os
import sys

import click

from ralph.errors import NeedsHuman


@click.command(short_help="Discard a loop and its result.")
@click.argument("loop")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def command(loop: str, yes: bool) -> int:
    """Remove the workspace, refs, result branch, logs and reports of LOOP. Its journal stays.

    What you merged stays merged. A loop that has not ended is aborted first.

    \b
    Example:
      ralph drop fix-auth
    """
    from ralph.app.place import find_loop
    from ralph.app.results.drop import drop, find_belongings
    from ralph.app.words.format import safe

    env = dict(os.environ)
    name = find_loop(loop, env)
    owned = find_belongings(name, env)
    for line in (*owned.folders, *owned.refs, *([f"branch {owned.branch}"] if owned.branch else [])):
        print(f"  {safe(line, 200)}")
    if not yes:
        if not sys.stdin.isatty():
            raise NeedsHuman("dropping needs a yes", code="E-DROP-ASK", next=f"ralph drop {name} --yes")
        if not click.confirm("remove all of this?", default=False):
            return 1
    drop(name, env)
    print(f"dropped {name}; its record stays: ralph logs {name}")
    return 0
