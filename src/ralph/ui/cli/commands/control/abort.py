"""`ralph abort`: end loops for good; what they reached stays on their refs."""

from __future__ import annotations

import os

import click

from ralph.app.tell import abort_loop, refuse_ended


@click.command(short_help="End loops for good.")
@click.argument("loops", nargs=-1, metavar="[LOOP]...")
@click.option("--all", "every", is_flag=True, help="End every unfinished loop of this project.")
@click.option(
    "--discard", "--drop", "drop", is_flag=True, help="Discard what they left, too: refs and workspace."
)
@click.option("--reason", default="", metavar="TEXT", help="Reason to record.")
def command(loops: tuple[str, ...], every: bool, drop: bool, reason: str) -> int:
    """End each LOOP now, wherever it runs. Stops a running agent and keeps its work as a checkpoint.

    Returns when the loop has really ended and its agent is gone, and says when that was.

    \b
    Examples:
      ralph abort fix-auth docs-91ab --reason "wrong approach"
      ralph abort --all
    """
    from ralph.app.place import active_loops
    from ralph.app.words.format import stamp
    from ralph.ui.cli.pick_loop import loop_for

    env = dict(os.environ)
    if loops and every:
        raise click.UsageError("name the loops to end, or say --all")
    named = [loop_for("abort", text) for text in loops or (None,)] if not every else []
    names = active_loops(env, os.getcwd()) if every else named
    refuse_ended(names, env)
    for name in names:
        loop = abort_loop(name, env, reason=reason)
        left = f"ralph diff {name} shows what it left"
        if drop:
            from ralph.app.results.drop import drop as drop_loop

            drop_loop(name, env)
            left = "nothing of it is left but its record"
        print(f"{name} {loop.outcome or loop.phase} at {stamp(loop.now)}: {left}")
    if not names:
        print("no loop here is unfinished")
    return 0
