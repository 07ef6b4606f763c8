"""`ralph steer`: a human note that joins the next prompt."""

from __future__ import annotations

import os

import click

from ralph.app.tell import check_note, steer_loop


@click.command(short_help="Leave a note for the next iteration.")
@click.argument("loop")
@click.argument("text")
def command(loop: str, text: str) -> int:
    """Add TEXT to the next prompt of LOOP, once. It stays in the journal.

    \b
    Example:
      ralph steer fix-auth "the clock is in UTC"
    """
    from ralph.app.place import find_loop

    env = dict(os.environ)
    check_note(text)  # before its loop is looked for
    name = find_loop(loop, env)
    steer_loop(name, text, env, author=env.get("USER", ""))
    print(f"{name} will read it in its next prompt")
    return 0
