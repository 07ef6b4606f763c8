"""`ralph memory`: what ended loops learned, and what later ones are told."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from ralph.ui.cli.streams import on_terminal

SINCE = click.option("--since", default="", metavar="7d", help="Only what was noted since then.")
EVERY = click.option("--all", "every", is_flag=True, help="Of all repositories.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object; see docs/memory.md.")


@click.group(short_help="Show what loops of this repository learned.")
def command() -> None:
    """Show, search and clear what ended loops of this repository left for later ones.

    New loops are told a few of these notes, as data; `--memory off` or `memory = "off"` ends that. A note is
    written by an agent: it may be wrong.

    \b
    Examples:
      ralph memory list
      ralph memory query "flaky database"
      ralph memory clear --since 7d
    """


@command.command("list", short_help="List what was learned, newest first.")
@EVERY
@SINCE
@AS_JSON
def list_(every: bool, since: str, as_json: bool) -> int:
    """List what ended loops of this repository learned, newest first.

    \b
    Example:
      ralph memory list --since 2w
    """
    return _show(_found("", every, since), as_json)


@command.command("query", short_help="Find notes that hold these words.")
@click.argument("text")
@EVERY
@SINCE
@AS_JSON
def query(text: str, every: bool, since: str, as_json: bool) -> int:
    """Find notes that hold every word of TEXT.

    \b
    Example:
      ralph memory query "migrations postgres"
    """
    return _show(_found(text, every, since), as_json)


@command.command("clear", short_help="Stop offering notes to new loops.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@EVERY
@SINCE
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def clear(ids: tuple[str, ...], every: bool, since: str, yes: bool) -> int:
    """Forget the notes with these IDs, or all of this repository. The loops' own records keep them.

    \b
    Examples:
      ralph memory clear fix-auth-7f3a91c2/2.1
      ralph memory clear --yes
    """
    from ralph.app.people.memory import forget
    from ralph.app.words.format import plural
    from ralph.errors import NeedsHuman, NothingToDo, UserError

    found = _found("", every, since)
    unknown = set(ids) - {entry.id for entry in found}
    if unknown:
        raise UserError(f"no note '{min(unknown)}'", code="E-MEMORY-ID", next="ralph memory list")
    found = [entry for entry in found if not ids or entry.id in ids]
    if not found:
        raise NothingToDo("there are no notes", code="E-MEMORY-NONE", next="ralph memory list --all")
    if not yes:
        if not on_terminal():
            what = f"clearing {plural(len(found), 'note')} needs a yes"
            raise NeedsHuman(what, code="E-MEMORY-YES", next="ralph memory clear --yes")
        if not click.confirm(f"forget {plural(len(found), 'note')}?", default=False, err=True):
            return 1
    loops = forget(found, os.environ, _repo(every))
    print(f"forgot {plural(len(found), 'note')} of {plural(loops, 'loop')}")
    return 0


def _repo(every: bool) -> str | None:
    from ralph.app.place import project_of

    return None if every else project_of(os.getcwd())


def _found(text: str, every: bool, since: str) -> list[Any]:
    from ralph.app.people.memory import list_memory
    from ralph.app.views.rows import moment_ago
    from ralph.core.views.memory import matches

    entries = list_memory(os.environ, _repo(every), moment_ago(since))
    return [entry for entry in entries if matches(entry, text)]


def _show(entries: list[Any], as_json: bool) -> int:
    from ralph.app.words.format import ago, iso, safe, table
    from ralph.clock import SystemClock

    if as_json:
        rows = [
            {
                "id": entry.id,
                "loopId": f"ralph-{entry.loop}",
                "iteration": entry.iteration,
                "createdAt": iso(entry.created),
                "type": entry.type,
                "lesson": safe(entry.lesson, 300),
                "context": safe(entry.context, 300),
                "tags": list(entry.tags),
                "confidence": entry.confidence,
                "offered": entry.offered,
            }
            for entry in entries
        ]
        print(json.dumps({"v": 1, "entries": rows}, ensure_ascii=False))
        return 0
    now = SystemClock().now()
    for line in table(
        [(entry.id, entry.type, ago(now - entry.created), safe(entry.lesson, 200)) for entry in entries]
    ):
        print(line)
    if not entries:
        print("nothing is remembered here")
    return 0
