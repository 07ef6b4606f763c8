"""`ralph abort`: end loops for good; what they reached stays on their refs."""

from __future__ import annotations

import os

import click

from ralph.app.tell import abort_loop, refuse_ended


@click.command(short_help="End loops for good.")
@click.argument("loops", nargs=-1, required=True, metavar="LOOP…")
@click.option("--reason", default="", metavar="TEXT", help="Reason to record.")
def command(loops: tuple[str, ...], reason: str) -> int:
    """End each LOOP now. Stops a running agent and keeps its work as a checkpoint.

    \b
    Example:
      ralph abort fix-auth docs-91ab --reason "wrong approach"
    """
    from ralph.app.place import find_loop

    env = dict(os.environ)
    names = [find_loop(text, env) for text in loops]
    refuse_ended(names, env)
    for name in names:
        loop = abort_loop(name, env, reason=reason)
        print(f"{name} {loop.outcome or loop.phase}: ralph diff {name} shows what it left")
    return 0
