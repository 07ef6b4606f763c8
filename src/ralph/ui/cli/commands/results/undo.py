"""`ralph undo`: take a landing back."""

from __future__ import annotations

import os

import click


@click.command(short_help="Undo a merge.")
@click.argument("loop")
def command(loop: str) -> int:
    """Undo the merge of LOOP, as long as nothing was built on it.

    \b
    Example:
      ralph undo fix-auth
    """
    from ralph.app.place import find_loop
    from ralph.app.results.land import undo

    env = dict(os.environ)
    name = find_loop(loop, env)
    landed = undo(name, env)
    print(f"took {name} back from {landed.branch}: now at {landed.new[:12]}")
    print(f"  land it again: ralph merge {name}")
    return 0
