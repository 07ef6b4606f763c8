"""`ralph steer`: a human note that joins the next prompt."""

from __future__ import annotations

import os

import click

from ralph.app.tell import send_and_wait
from ralph.errors import NothingToDo, UserError

MAX_CHARS = 8000


@click.command(short_help="Leave a note for the next iteration.")
@click.argument("loop")
@click.argument("text")
def command(loop: str, text: str) -> int:
    """Leave TEXT for LOOP: it joins the next prompt, once, and stays in the record.

    \b
    Example:
      ralph steer fix-auth "the clock is in UTC"
    """
    from ralph.core.model.events import Steered
    from ralph.core.model.outcome import FINAL
    from ralph.shell.journal.record import find_loop, load
    from ralph.ui.ask.place import journal_here

    if not text.strip() or len(text) > MAX_CHARS:
        raise UserError(
            f"the note has {len(text)} characters, expected 1 to {MAX_CHARS}",
            code="E-STEER",
            next="ralph steer --help",
        )
    with journal_here() as reader:
        name = find_loop(reader, loop)
        found = load(reader, name).loop
    if found.outcome in FINAL:
        raise NothingToDo(
            f"loop '{name}' is {found.outcome}, which is final",
            code="E-LOOP-FINAL",
            next=f"ralph status {name}",
        )
    send_and_wait(
        name, dict(os.environ), Steered(text=text, author=os.environ.get("USER", "")), until="", drive=False
    )
    print(f"{name} will read it in its next prompt")
    return 0
