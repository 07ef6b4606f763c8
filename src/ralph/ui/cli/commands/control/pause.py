"""`ralph pause`: stop a loop after its iteration, to be resumed later."""

from __future__ import annotations

import os

import click

from ralph.app.tell import pause_loop


@click.command(short_help="Pause a loop after its current iteration.")
@click.argument("loop", required=False)
@click.option("--now", is_flag=True, help="Stop the agent now and keep a checkpoint.")
def command(loop: str | None, now: bool) -> int:
    """Pause LOOP after its current iteration; `ralph resume` continues it.

    \b
    Example:
      ralph pause fix-auth
    """
    from ralph.ui.cli.pick_loop import loop_for

    env = dict(os.environ)
    name = loop_for("pause", loop)
    after = pause_loop(name, env, now=now)
    begun = "before its first iteration" if after.phase in ("queued", "baseline") else "after this iteration"
    word = after.outcome or after.phase if now else f"will pause {begun}"
    print(f"{name} {word}: continue with ralph resume {name}")
    return 0
