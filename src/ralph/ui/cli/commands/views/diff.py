"""`ralph diff`: what a loop changed, from the commits that its journal names. Nothing is written."""

from __future__ import annotations

import os
import re
import sys

import click

from ralph.app.words.format import paint, safe_lines, short, use_colour
from ralph.core.model.events import CheckpointMade
from ralph.errors import NothingToDo, UserError
from ralph.shell.git.project import find_project, user_call
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import Record, choose_loop, load
from ralph.ui.ask.place import project_here, state_here

_TONES = {"+": "green", "-": "red", "@": "blue"}
_HEAD = re.compile(r"(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename |old mode|new mode)")


@click.command(short_help="Show what a loop changed.")
@click.argument("loop", required=False)
@click.option(
    "--iteration", type=click.IntRange(min=1), metavar="N", help="Base against the checkpoint of iteration N."
)
@click.option("--stat", is_flag=True, help="Files and numbers of lines only.")
def command(loop: str | None, iteration: int | None, stat: bool) -> int:
    """Show what LOOP changed: its base against its result, or against the best checkpoint so far.

    \b
    Examples:
      ralph diff fix-auth
      ralph diff fix-auth --iteration 2 --stat
    """
    state = state_here()
    with read_journal(state.root) as reader:
        record = load(reader, choose_loop(reader, loop, project_here()))
    base, after = commits_to_compare(record, iteration)
    project = find_project(record.loop.sealed.repo)
    args = ["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color"]
    args += ["--stat=100"] if stat else ["-p", "--src-prefix=a/", "--dst-prefix=b/"]
    done = user_call(project, [*args, base, after], ok=None)
    if done.code:
        raise UserError(
            f"commit {short(after)} of loop '{record.name}' is gone",
            code="E-COMMIT-GONE",
            at=project.top,
            why="the loop was dropped, or git removed what no ref held",
            next=f"ralph status {record.name}",
        )
    colour = use_colour(sys.stdout, os.environ)
    for line in safe_lines(done.out.decode("utf-8", "replace")).split("\n"):
        print(_paint_line(line, colour=colour and not stat))
    return 0


def commits_to_compare(record: Record, iteration: int | None) -> tuple[str, str]:
    """The two commits to compare."""
    loop = record.loop
    base = loop.sealed.base.commit
    if iteration is not None:
        made = [event for event in record.events if isinstance(event, CheckpointMade)]
        found = [event.commit for event in made if event.iteration == iteration]
        if not found:
            known = ", ".join(sorted({str(event.iteration) for event in made}, key=int)) or "none"
            raise UserError(
                f"loop '{record.name}' has no checkpoint {iteration}",
                code="E-CHECKPOINT-UNKNOWN",
                why=f"expected one of: {known}",
                next=f"ralph logs {record.name}",
            )
        return base, found[-1]
    best = (
        loop.progress.best.commit if loop.progress.best is not None and loop.progress.best.iteration else ""
    )
    after = loop.landing.result or best or loop.work.commit
    if not after or after == base:
        raise NothingToDo(
            f"loop '{record.name}' has changed nothing",
            code="E-DIFF-EMPTY",
            next=f"ralph status {record.name}",
        )
    return base, after


def _paint_line(line: str, *, colour: bool) -> str:
    if not colour:
        return line
    if _HEAD.match(line):
        return paint(line, "bold", on=True)
    tone = _TONES.get(line[:1])
    return paint(line, tone, on=True) if tone else line
