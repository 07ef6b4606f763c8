"""`ralph pause`: stop a loop after its iteration, to be resumed later."""

from __future__ import annotations

import os

import click

from ralph.app.tell import send_and_wait
from ralph.errors import NothingToDo


@click.command(short_help="Stop a loop after its iteration.")
@click.argument("loop")
@click.option(
    "--now", is_flag=True, help="Do not wait for the iteration: stop the agent and keep a checkpoint."
)
def command(loop: str, now: bool) -> int:
    """Stop LOOP after the iteration it is in; `ralph resume` goes on from there.

    \b
    Example:
      ralph pause fix-auth
    """
    from ralph.core.model.events import PauseAsked
    from ralph.shell.journal.record import find_loop, load
    from ralph.ui.ask.place import journal_here

    with journal_here() as reader:
        name = find_loop(reader, loop)
        found = load(reader, name).loop
    if found.phase in ("paused", "ended"):
        raise NothingToDo(
            f"loop '{name}' is {found.outcome or found.phase} already",
            code="E-LOOP-STOPPED",
            next=f"ralph status {name}",
        )
    after = send_and_wait(
        name,
        dict(os.environ),
        PauseAsked(reason="paused by the user", now=now),
        until="paused" if now else "",
    )
    word = after.outcome or after.phase if now else "stops after this iteration"
    print(f"{name} {word}: ralph resume {name} goes on")
    return 0
