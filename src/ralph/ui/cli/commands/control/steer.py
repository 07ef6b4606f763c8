"""`ralph steer`: a human note that joins the next prompt."""

from __future__ import annotations

import os

import click

from ralph.app.tell import check_note, steer_loop


@click.command(short_help="Leave a note for the next iteration.")
@click.argument("words", nargs=-1, metavar="[LOOP] TEXT")
def command(words: tuple[str, ...]) -> int:
    """Add TEXT to the next prompt of LOOP, once. It stays in the journal.

    \b
    Example:
      ralph steer fix-auth "the clock is in UTC"
    """
    from ralph.ui.cli.pick_loop import loop_and_text, loop_for

    env = dict(os.environ)
    loop, text = loop_and_text(words)
    check_note(text)  # before its loop is looked for
    name = loop_for("steer", loop)
    steer_loop(name, text, env, author=env.get("USER", ""))
    print(f"{name} will read it in its next prompt")
    return 0
