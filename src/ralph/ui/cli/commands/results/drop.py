"""`ralph drop`: remove everything of a loop, after showing it."""

from __future__ import annotations

import os
import sys

import click

from ralph.errors import NeedsHuman, NothingToDo


@click.command(short_help="Remove everything of a loop.")
@click.argument("loop")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(loop: str, yes: bool) -> int:
    """Remove the workspace, refs, result branch, logs and reports of LOOP. Its record of events stays.

    What has landed stays landed. A loop that has not ended is aborted first.

    \b
    Example:
      ralph drop fix-auth
    """
    from ralph.app.tell import Quiet, send_and_wait
    from ralph.app.words.format import safe
    from ralph.core.model.events import AbortAsked
    from ralph.shell.journal.record import find_loop, load
    from ralph.shell.landing.commands import belongings, drop, open_loop
    from ralph.ui.ask.place import journal_here

    env = dict(os.environ)
    with journal_here() as reader:
        name = find_loop(reader, loop)
        found = load(reader, name).loop
    if found.landing.was_dropped:
        raise NothingToDo(
            f"loop '{name}' was dropped already", code="E-LOOP-DROPPED", next=f"ralph report {name}"
        )
    with open_loop(name, env, Quiet()) as held:
        owned = belongings(held)
    for line in (*owned.folders, *owned.refs, *([f"branch {owned.branch}"] if owned.branch else [])):
        print(f"  {safe(line, 200)}")
    if not yes:
        if not sys.stdin.isatty():
            raise NeedsHuman("dropping needs a yes", code="E-DROP-ASK", next=f"ralph drop {name} --yes")
        if not click.confirm("remove all of this?", default=False):
            return 1
    if found.phase != "ended":
        send_and_wait(name, env, AbortAsked(reason="dropped by the user"), until="ended")
    with open_loop(name, env, Quiet()) as held:
        drop(held)
    print(f"dropped {name}; its record stays: ralph logs {name}")
    return 0
