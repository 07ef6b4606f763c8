"""`ralph abort`: end loops for good; what they reached stays on their refs."""

from __future__ import annotations

import os

import click

from ralph.app.tell import send_and_wait
from ralph.errors import NothingToDo


@click.command(short_help="End loops for good.")
@click.argument("loops", nargs=-1, required=True, metavar="LOOP…")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the record.")
def command(loops: tuple[str, ...], reason: str) -> int:
    """End each LOOP now. A running agent is stopped and what it left is kept as a checkpoint.

    \b
    Example:
      ralph abort fix-auth docs-91ab --reason "wrong approach"
    """
    from ralph.core.model.events import AbortAsked
    from ralph.shell.journal.record import find_loop, load
    from ralph.ui.ask.place import journal_here

    with journal_here() as reader:
        names = [find_loop(reader, text) for text in loops]
        ended = [name for name in names if load(reader, name).loop.phase == "ended"]
    if ended:
        raise NothingToDo(
            f"loop '{ended[0]}' has ended already", code="E-LOOP-ENDED", next=f"ralph status {ended[0]}"
        )
    for name in names:
        loop = send_and_wait(name, dict(os.environ), AbortAsked(reason=reason), until="ended")
        print(f"{name} {loop.outcome or loop.phase}: ralph diff {name} shows what it left")
    return 0
