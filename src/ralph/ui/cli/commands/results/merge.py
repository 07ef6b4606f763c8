"""`ralph merge`: bring a loop's result into your branch."""

from __future__ import annotations

import os

import click


@click.command(short_help="Bring a verified result into your branch.")
@click.argument("loop")
@click.option(
    "--rejudge",
    is_flag=True,
    help="Your branch has moved: merge, judge the merged tree, and land it if it passes.",
)
@click.option(
    "--checkpoint",
    type=int,
    default=None,
    metavar="N",
    help="Land an unverified checkpoint instead of a result.",
)
def command(loop: str, rejudge: bool, checkpoint: int | None) -> int:
    """Land the result of LOOP on the branch that is checked out in its repository.

    A fast-forward by your own git. Refused, with nothing changed, where it would touch a file that you
    edited. After a crash in the middle the same command finishes it.

    \b
    Example:
      ralph merge fix-auth
    """
    from ralph.app.place import find_loop
    from ralph.app.records import read_loop
    from ralph.app.results.land import MergeRequest, merge

    env = dict(os.environ)
    name = find_loop(loop, env)
    learned = read_loop(name, env).loop.agents.learnings
    landed = merge(MergeRequest(loop=name, checkpoint=checkpoint, rejudge=rejudge), env)
    word = "verified" if landed.verified else "NOT verified"
    print(f"landed {name} on {landed.branch}: {landed.old[:12]} -> {landed.new[:12]} ({word})")
    if landed.note:
        print(f"  {landed.note}")
    print(f"  take it back: ralph undo {name}")
    if learned:
        from ralph.ui.cli.commands.views.learnings import offer_lines

        print("  learned on the way, and in no file yet:")
        print("\n".join(f"    {line}".rstrip() for line in offer_lines(name, learned)))
    return 0
