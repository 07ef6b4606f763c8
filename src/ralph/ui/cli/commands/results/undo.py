"""`ralph undo`: take a merge back."""

from __future__ import annotations

import os

import click


@click.command(short_help="Undo a merge.")
@click.argument("loop", required=False)
def command(loop: str | None) -> int:
    """Undo the merge of LOOP, as long as nothing was built on it.

    \b
    Example:
      ralph undo fix-auth
    """
    from ralph.app.results.land import undo
    from ralph.ui.cli.pick_loop import loop_for

    env = dict(os.environ)
    name = loop_for("undo", loop)
    landed = undo(name, env)
    print(f"undid the merge of {name}: {landed.branch} is at {landed.new[:12]} again")
    print(f"  merge it again: ralph merge {name}")
    return 0
