"""`ralph attach`: look on at a loop from any terminal, and steer it by keys."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack

import click


@click.command(short_help="Watch a running loop from any terminal.")
@click.argument("loop", required=False)
@click.option("--display", default="auto", type=click.Choice(("auto", "live", "plain")))
def command(loop: str | None, display: str) -> int:
    """Show LOOP live, by default the newest one at work in this project, with its agent's output.

    Keys: p pauses after this iteration, s leaves a note for the next one, d shows the diff, l the log; q and
    Ctrl-C only leave this view. The loop does not notice who looks on.

    \b
    Example:
      ralph attach fix-auth
    """
    from ralph.app.background.attach import look_on
    from ralph.app.place import active_loop, loop_number
    from ralph.clock import SystemClock
    from ralph.ui.display import make_watcher
    from ralph.ui.display.keyboard import Keyboard
    from ralph.ui.display.live import Live

    env = dict(os.environ)
    name = active_loop(loop, env, os.getcwd())
    number = loop_number(name, env, os.getcwd())
    with ExitStack() as stack:
        view = make_watcher(
            display, as_json=False, stdout=sys.stdout, stderr=sys.stderr, env=env, number=number
        )
        stack.enter_context(view)
        keys = Keyboard(name, env, view, attached=True) if isinstance(view, Live) else None
        leave = stack.enter_context(keys).poll if keys is not None else _never
        try:
            found = look_on(name, env, view, SystemClock(), leave)
        except KeyboardInterrupt:
            found = None
    if found is None or found.phase not in ("ended", "paused"):
        print(f"left {name}; it keeps running; to come back: ralph attach {number or name}", file=sys.stderr)
    return 0


def _never() -> bool:
    return False
