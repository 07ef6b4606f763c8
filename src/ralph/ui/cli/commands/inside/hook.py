"""`ralph hook EVENT`: what an agent's host calls at its events, and the switch that turns all of it off."""

from __future__ import annotations

import os

import click


@click.command(short_help="Answer a hook of an agent's host.")
@click.argument("event")
@click.option(
    "--host", default="", metavar="NAME", help="Program that calls (default: found by its variables)."
)
def command(event: str, host: str) -> int:
    """Answer EVENT of an agent's host: Stop, SubagentStop, TaskCompleted, TeammateIdle, SubagentStart,
    PreToolUse, PostToolUse or SessionStart.

    `ralph skills install` writes these calls into the host's settings. The event's JSON comes on stdin. Exit
    code 0 allows, with nothing on stdout; 2 refuses, with the reason on stderr. Trouble inside Ralph always
    allows.

    `ralph hook off` turns all hooks of Ralph off for this user, `ralph hook on` turns them on again;
    RALPH_HOOKS=off does the same for one process.

    \b
    Example:
      ralph hook off
    """
    from ralph.app.hooks.entry import run_hook, switch_hooks

    if event in ("on", "off"):
        print(switch_hooks(dict(os.environ), off=event == "off"))
        return 0
    return run_hook(event, host, os.environ)
