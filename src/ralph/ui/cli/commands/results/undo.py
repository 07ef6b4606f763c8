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
    from ralph.app.tell import Quiet
    from ralph.shell.journal.record import find_loop
    from ralph.shell.landing.commands import undo
    from ralph.ui.ask.place import journal_here

    with journal_here() as reader:
        name = find_loop(reader, loop)
    landed = undo(name, dict(os.environ), Quiet())
    print(f"took {name} back from {landed.branch}: now at {landed.new[:12]}")
    print(f"  land it again: ralph merge {name}")
    return 0
