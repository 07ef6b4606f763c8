"""Which loop a command means: LOOP as it was typed, or what leaving it out stands for."""

from __future__ import annotations

import os
import sys

import click


def loop_to_show(loop: str | None) -> str:
    """For commands that only look: the newest loop here when none is named, and then it is named."""
    from ralph.app.place import find_loop, newest_loop

    env, cwd = os.environ, os.getcwd()
    if loop is not None:
        return find_loop(loop, env, cwd)
    name = newest_loop(env, cwd)
    print(f"newest loop here: {name}", file=sys.stderr)
    return name


def loop_for(verb: str, loop: str | None) -> str:
    """For commands that act: without a name the only loop here that fits, else they are listed."""
    from ralph.app.views.fitting_loops import loop_to_act_on

    return loop_to_act_on(loop, verb, os.environ, os.getcwd())


def loop_and_text(words: tuple[str, ...]) -> tuple[str | None, str]:
    """`[LOOP] TEXT`: of two the first is the loop."""
    if len(words) not in (1, 2):
        raise click.UsageError("expected a loop and a text, or only a text; quote the text")
    return (words[0] if len(words) == 2 else None), words[-1]
