"""`ralph checkpoints`: the states that a loop went through, to look at, branch from or go back to."""

from __future__ import annotations

import os

import click


@click.command(short_help="List, compare, restore or branch checkpoints.")
@click.argument("loop", required=False)
@click.argument(
    "action", required=False, default="list", type=click.Choice(("list", "show", "diff", "restore", "branch"))
)
@click.argument("number", required=False, type=click.IntRange(0))
@click.argument("branch", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; see docs/json.md.")
def command(loop: str | None, action: str, number: int | None, branch: str, as_json: bool) -> int:
    """List the checkpoints of LOOP, one per iteration; or look at NUMBER of them. 0 is the base.

    \b
    show NUMBER          what this iteration changed
    diff NUMBER          everything from the base to it
    restore NUMBER       continue the loop from it, in the background
    branch NUMBER NAME   make a git branch of it in your repository

    \b
    Examples:
      ralph checkpoints fix-auth
      ralph checkpoints fix-auth diff 2
      ralph checkpoints fix-auth branch 2 try-two
    """
    from ralph.app.records import read_loop
    from ralph.app.resume import ResumeRequest, checkpoint_of, prepare_resume
    from ralph.app.views.checkpoints import branch_at, checkpoint_rows, json_rows, rows_lines, show_text
    from ralph.ui.cli.pick_loop import loop_to_show

    env = dict(os.environ)
    record = read_loop(loop_to_show(loop), env)
    if action == "list":
        rows = checkpoint_rows(record)
        for line in [json_rows(record.name, rows)] if as_json else rows_lines(rows):
            print(line)
        return 0
    if number is None:
        raise click.UsageError(f"'{action}' needs the number of a checkpoint.")
    if action in ("show", "diff"):
        print(show_text(record, number, whole=action == "diff"), end="")
        return 0
    if action == "branch":
        if not branch:
            raise click.UsageError("'branch' needs the name of the new branch.")
        branch_at(record, checkpoint_of(record.name, number, env).commit, branch)
        print(f"branch '{branch}' is checkpoint {number} of {record.name}")
        return 0
    from ralph.ui.ask.detach import detach_and_show

    room = prepare_resume(ResumeRequest(loop=record.name, checkpoint=number, author=env.get("USER", "")), env)
    return detach_and_show(record.name, env, room, room.first, as_json=as_json)
