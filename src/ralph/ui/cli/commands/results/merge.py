"""`ralph merge`: bring a loop's result into your branch."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ralph.ui.cli.streams import on_terminal

if TYPE_CHECKING:
    from ralph.core.model.loop import Loop


@click.command(short_help="Merge a verified result into your branch.")
@click.argument("loop", required=False)
@click.option(
    "--rejudge",
    is_flag=True,
    help="When your branch has moved: merge, check the merged tree, and keep it only if it passes.",
)
@click.option(
    "--unproven",
    is_flag=True,
    help="Merge a result that passes its checks but is not proven (DONE_UNPROVEN).",
)
@click.option(
    "--checkpoint",
    type=int,
    default=None,
    metavar="N",
    help="Merge an unverified checkpoint instead of a result.",
)
def command(loop: str | None, rejudge: bool, unproven: bool, checkpoint: int | None) -> int:
    """Merge the result of LOOP into the branch that is checked out in its repository.

    Fast-forwards with your own git. Refuses, and changes nothing, if it would touch a file that you edited.
    After a crash halfway, run the same command again to finish. Asks before merging a result that passes its
    checks but is not proven.

    \b
    Example:
      ralph merge fix-auth
    """
    from ralph.app.records import read_loop
    from ralph.app.results.land import MergeRequest, merge
    from ralph.ui.cli.pick_loop import loop_for

    env = dict(os.environ)
    name = loop_for("merge", loop)
    found = read_loop(name, env).loop
    learned = found.agents.learnings
    unproven = unproven or (found.outcome == "unproven" and checkpoint is None and _asks_to_merge(found))
    _ask_to_land(found, checkpoint, env)
    landed = merge(MergeRequest(loop=name, checkpoint=checkpoint, rejudge=rejudge, unproven=unproven), env)
    word = "verified" if landed.verified else "NOT verified"
    print(f"merged {name} into {landed.branch}: {landed.old[:12]} -> {landed.new[:12]} ({word})")
    if landed.note:
        print(f"  {landed.note}")
    print(f"  undo it: ralph undo {name}")
    if learned:
        from ralph.ui.cli.commands.views.learnings import offer_lines

        print("  learned on the way, and in no file yet:")
        print("\n".join(f"    {line}".rstrip() for line in offer_lines(name, learned)))
    return 0


def _ask_to_land(loop: Loop, checkpoint: int | None, env: dict[str, str]) -> None:
    """Where the configuration wants a yes, a person at the terminal can give it here."""
    from ralph.app.people.approve import approve_loop
    from ralph.core.decide.stints.approval import pending

    if checkpoint is not None or pending(loop) != "land" or not on_terminal():
        return
    print(f"{loop.outcome}: {loop.landing.result[:12]} on {loop.landing.branch}", file=sys.stderr)
    if click.confirm("let it land?", default=False, err=True):
        approve_loop(loop.sealed.loop, env, author=env.get("USER", ""))


def _asks_to_merge(loop: Loop) -> bool:
    """A person at the terminal sees what is not proven, and decides."""
    if not on_terminal():
        return False
    from ralph.app.words.format import safe

    print(safe(loop.reason, 300), file=sys.stderr)
    for sentence in loop.proof.unproven:
        print(f"  not proven: {safe(sentence, 300)}", file=sys.stderr)
    return click.confirm("merge it anyway?", default=False, err=True)
