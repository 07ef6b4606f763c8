"""`ralph prd`: requirement documents of the backlog, and the stories in them."""

from __future__ import annotations

import sys
from collections import Counter

import click

from ralph.ui.cli.backlog.group import JSON, desk_of, print_json


@click.group(short_help="Create and list PRDs, and find their stories.")
def command() -> None:
    """Create, list and convert requirement documents (PRDs), which items of the backlog refer to."""


@command.command("template", short_help="Print a PRD to fill in.")
def template() -> int:
    """Print a PRD to fill in, as Markdown.

    \b
    Example:
      ralph prd template > PRD.md
    """
    from ralph.app.backlog.prds import prd_template

    print(prd_template(), end="")
    return 0


@command.command("create", short_help="Write a new PRD from the template.")
@click.argument("name", metavar="ID")
@click.argument("title")
def create(name: str, title: str) -> int:
    """Write a new PRD where the backlog looks for them (.ralph/prd). Never replaces a file.

    \b
    Example:
      ralph prd create FEAT-001 "Log in with a token"
    """
    from ralph.app.backlog.prds import create_prd

    print(f"wrote {create_prd(desk_of(''), name, title)}")
    print("  fill it in, then add an item for it:  ralph backlog init")
    return 0


def _add_view(verb: str, short: str, text: str, *params: click.Parameter) -> None:
    @command.command(verb, short_help=short, help=f"{text}\n\n\b\nExample:\n  ralph prd {verb} --json")
    @JSON
    def view(as_json: bool, name: str = "") -> int:
        from ralph.app.backlog.prds import show_prds
        from ralph.app.words.format import safe, table

        prds = show_prds(desk_of(""), name)
        if as_json:
            print_json({"v": 1, "prds": prds})
            return 0
        cells = []
        for prd in prds:
            counts = Counter(one["status"] for one in prd["items"])
            items = ", ".join(f"{count} {one}" for one, count in counts.items()) or "no item"
            told = f"stories: {len(prd['stories'])}", f"problems: {len(prd['problems'])}", items
            cells.append((safe(prd["id"] or prd["file"], 60), *told, safe(prd["title"], 70)))
        for line, prd in zip(table(cells), prds, strict=True):
            print(line)
            more = [f"story {one['status']}: {one['title']}" for one in prd["stories"]]
            more += [f"item {one['id']} {one['status']}: {one['title']}" for one in prd["items"]]
            for one in (*more, *prd["problems"]) if params else ():
                print(f"  {safe(one, 300)}")
        if not prds:
            print('there are no PRDs; start one with  ralph prd create FEAT-001 "TITLE"')
        return 0

    view.params += params


_add_view("list", "List PRDs.", "List PRDs, with how many stories they have and the state of their items.")
_add_view(
    "status",
    "Show PRDs with stories and items.",
    "Show each PRD, or the one called ID, with its stories, its items and what is wrong with it. A story has "
    "the status that the document gives it; an item's is Ralph's.",
    click.Argument(["name"], metavar="[ID]", default=""),
)


@command.command("convert", short_help="Print the user stories of a file as JSON.")
@click.argument("file")
def convert(file: str) -> int:
    """Print the user stories of FILE as JSON: "As a P, I want A, so that B" in Markdown, or `userStories`
    in a prd.json. What should be a story and is not understood is named. Exit code 6: no story.

    \b
    Example:
      ralph prd convert PRD.md > stories.json
    """
    from msgspec import to_builtins

    from ralph.app.backlog.prds import convert_file
    from ralph.app.words.format import safe

    found = convert_file(file)
    for note in found.not_understood:
        print(f"note: {safe(note, 300)}", file=sys.stderr)
    print_json({"v": 1, **to_builtins(found)}, indent=2)
    return 0 if found.stories else 6
