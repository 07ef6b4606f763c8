"""`ralph pause`: stop a loop after its iteration, to be resumed later."""

from __future__ import annotations

import os

import click

from ralph.app.tell import pause_loop


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
    from ralph.app.place import find_loop

    env = dict(os.environ)
    name = find_loop(loop, env)
    after = pause_loop(name, env, now=now)
    word = after.outcome or after.phase if now else "stops after this iteration"
    print(f"{name} {word}: ralph resume {name} goes on")
    return 0
