"""`ralph learnings`: what agents found out in a loop, and how to keep it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

import click


@click.command(short_help="Show a loop's learnings, or add them to AGENTS.md.")
@click.argument("loop", required=False)
@click.option("--append", "append_", is_flag=True, help="Append it to AGENTS.md in your work tree.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(loop: str | None, append_: bool, as_json: bool) -> int:
    """Show what the agents of LOOP noted for later calls (default: the newest loop of this project).

    The notes are written by an agent: read them before you keep them. --append adds those not yet there as a
    section of AGENTS.md (or of CLAUDE.md, if that is the only one).

    \b
    Examples:
      ralph learnings fix-auth
      ralph learnings fix-auth --append
    """
    from ralph.app.records import read_loop
    from ralph.app.views.learned import append_learned
    from ralph.app.words.format import plural, safe
    from ralph.errors import NothingToDo
    from ralph.ui.cli.pick_loop import loop_to_show

    record = read_loop(loop_to_show(loop), os.environ)
    notes = tuple(safe(line, 300) for line in record.loop.agents.learnings)
    written, new = "", 0
    if append_ and notes:
        written, new = append_learned(record, notes)
    if as_json:
        print(
            json.dumps({"v": 1, "loop": record.name, "learned": notes, "file": written}, ensure_ascii=False)
        )
        return 0
    if not notes:
        raise NothingToDo(
            f"no agent of loop '{record.name}' noted anything",
            code="E-LEARNED-NONE",
            next=f"ralph report {record.name}",
        )
    if written:
        print(f"appended {plural(new, 'note')} to {written}; commit it when you agree")
        return 0
    print("\n".join(offer_lines(record.name, notes)))
    return 0


def offer_lines(name: str, notes: Sequence[str]) -> list[str]:
    """The section as it would be appended, and the command that does it."""
    from ralph.app.words.format import safe
    from ralph.core.prompt.learnings import section

    lines = section([safe(note, 300) for note in notes]).rstrip("\n").split("\n")
    return [*lines, "", f"keep it in AGENTS.md: ralph learnings {name} --append"]
