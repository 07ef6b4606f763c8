"""`ralph undo`: take a landing back."""

from __future__ import annotations

import os

import click


@click.command(short_help="Take a landing back.")
@click.argument("loop")
def command(loop: str) -> int:
    """Take back the landing of LOOP, as long as nobody has built on it.

    \b
    Example:
      ralph undo fix-auth
    """
    from ralph.shell.closing import undo
    from ralph.shell.record import find
    from ralph.ui.place import journal_here
    from ralph.ui.telling import Quiet

    with journal_here() as reader:
        name = find(reader, loop)
    landed = undo(name, dict(os.environ), Quiet())
    print(f"took {name} back from {landed.branch}: now at {landed.new[:12]}")
    print(f"  land it again: ralph merge {name}")
    return 0
