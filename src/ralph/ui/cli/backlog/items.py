"""Looking at items, and changing them as a person does."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import click

from ralph.ui.cli.backlog.group import HARNESS, JSON, REASON, backlog, desk_of, print_json, print_notes
from ralph.ui.cli.option_groups import Number, with_options
from ralph.ui.cli.streams import on_terminal


@backlog.command("list", short_help="List items.")
@click.option("--status", default="", metavar="STATUS", help="Only items with this status.")
@JSON
@HARNESS
def list_(status: str, as_json: bool, harness_dir: str) -> int:
    """List items in the order in which they would be worked on.

    \b
    Example:
      ralph backlog list --status FAILING
    """
    from ralph.app.words.format import safe, table

    desk = desk_of(harness_dir)
    opened = desk.read()
    print_notes(opened)
    items = sorted(opened.found.items, key=lambda one: one.order)
    items = [one for one in items if not status or one.status == status.upper()]
    if as_json:
        from ralph.app.backlog.helpers import item_json

        rows = [{**item_json(one), "status": one.status, "attempts": len(one.attempts)} for one in items]
        print_json({"v": 1, "items": rows})
        return 0
    marks = {"PASSING": "✓", "FAILING": "·", "BLOCKED": "!", "CANCELLED": "-"}
    cells = [
        (
            f"{marks[one.status]} {one.id}",
            one.status,
            "" if one.priority is None else str(one.priority),
            f"{one.iteration}/{one.max_attempts}",
            safe(one.title, 70) + _remark(one),
        )
        for one in items
    ]
    counts: Counter[str] = Counter(one.status for one in opened.found.items)
    lines = table(cells)
    lines.append(
        ", ".join(f"{counts[name]} {name}" for name in marks if counts[name]) or "the backlog is empty"
    )
    pid = desk.pid_at_work()
    lines += [f"a run is at work, pid {pid}; stop it with  ralph backlog stop"] if pid else []
    print("\n".join(lines))
    return 0


def _remark(item: Any) -> str:
    if item.status == "PASSING" and item.override:
        return "  (by a person, not by evidence)"
    if item.status != "FAILING":
        return ""
    if item.question:
        return f"  (asks you: ralph backlog show {item.id})"
    return "" if item.enabled else "  (not enabled)"


@backlog.command("show", short_help="Show an item with its attempts.")
@click.argument("item")
@JSON
@HARNESS
def show(item: str, as_json: bool, harness_dir: str) -> int:
    """Show an item: what proves it, why it is not next, every attempt with its evidence.

    \b
    Example:
      ralph backlog show FEAT-001
    """
    from ralph.app.backlog.show import show_item
    from ralph.app.words.format import safe

    shown = show_item(desk_of(harness_dir), item)
    if as_json:
        print_json(shown.body, indent=2)
        return 0
    for line in shown.lines:
        print(f"{'  ' if line.startswith('  ') else ''}{safe(line, 400)}")
    return 0


@backlog.command("next", short_help="Show the next item.")
@click.option("--explain", is_flag=True, help="Also say why each other item is passed over.")
@JSON
@HARNESS
def next_(explain: bool, as_json: bool, harness_dir: str) -> int:
    """Show the item that `ralph backlog run` would work on. Exit code 6: none.

    \b
    Example:
      ralph backlog next --explain
    """
    from ralph.app.backlog.desk import choose
    from ralph.app.words.format import safe
    from ralph.core.backlog.select import nothing_words

    desk = desk_of(harness_dir)
    opened = desk.read()
    print_notes(opened)
    selection = choose(desk, opened, 0 if explain else 1)
    item = selection.first
    message = "" if item else nothing_words(opened.found)
    later = [one.id for one in selection.eligible[1:]] if explain else []
    if as_json:
        from ralph.app.backlog.helpers import item_json

        body = {"v": 1, "next": item and item_json(item), "message": message}
        rows = [{"id": name, "reason": why} for name, why in selection.passed_over.items()]
        rows += [{"id": name, "reason": f"after {item.id}"} for name in later if item]
        print_json({**body, **({"passed_over": rows} if explain else {})})
        return 0 if item else 6
    lines = [f"{item.id}  {safe(item.title, 100)}" if item else message]
    if explain:
        lines += [f"  {name}: {safe(why, 200)}" for name, why in selection.passed_over.items()]
        lines += [f"  {name}: eligible, comes later" for name in later]
    print("\n".join(lines))
    return 0 if item else 6


_fields = with_options(
    click.option("--title", default=None, help="What it is, in one line."),
    click.option("--description", default=None, help="More about it."),
    click.option(
        "--accept", "acceptance", multiple=True, metavar="TEXT", help="Acceptance criterion. Repeatable."
    ),
    click.option(
        "--verify", multiple=True, metavar="CMD", help="Command that fails now and must pass. Repeatable."
    ),
    click.option("--after", multiple=True, metavar="ID", help="Item that must pass first. Repeatable."),
    click.option("--priority", type=int, default=None, help="Lower comes first."),
    click.option("--prd", default=None, metavar="FILE", help="PRD in the folder of PRDs."),
    click.option(
        "--part",
        multiple=True,
        type=click.Choice(("tdd", "architecture", "subagents")),
        help="Add a section to the prompt. Repeatable.",
    ),
    click.option(
        "--max-attempts", type=Number(1), metavar="N", help="Block the item after N attempts (default 5)."
    ),
    click.option("--enable/--disable", "enabled", default=None, help="Whether `run` may work on it."),
)


_KEYS = {
    **{name: name for name in ("title", "description", "priority")},
    "acceptance": "acceptance_criteria",
    "verify": "verification",
    "after": "dependencies",
    "part": "prompt_parts",
    "max_attempts": "ralph_loop/max_iterations",
    "enabled": "ralph_loop/enabled",
}


def _typed_fields(given: dict[str, Any]) -> dict[str, Any]:
    """Fields of the file, as paths, that were typed."""
    typed = {key: given[name] for name, key in _KEYS.items() if given.get(name) not in (None, ())}
    typed = {key: list(value) if isinstance(value, tuple) else value for key, value in typed.items()}
    return typed | ({"prd_reference": {"file": given["prd"]}} if given["prd"] else {})


@backlog.command("add", short_help="Add an item.")
@click.argument("title_", metavar="TITLE")
@click.option("--id", "name", default="", metavar="ID", help="Its id (default: the next free FEAT-NNN).")
@click.option("--type", "kind", default="FEAT", metavar="TYPE", help="First part of a new id.")
@_fields
@HARNESS
def add(title_: str, name: str, kind: str, harness_dir: str, **given: Any) -> int:
    """Add an item at the end of the list. It is enabled if it has something that verifies it.

    \b
    Examples:
      ralph backlog add "Log in with a token" --verify "npm test -- login" --priority 1
      ralph backlog add "Log out" --after FEAT-001 --verify "npm test -- logout"
    """
    from ralph.app.backlog.change import add_typed

    made = {"title": title_} | _typed_fields({**given, "title": None})
    name = add_typed(desk_of(harness_dir), name, kind, made)
    print(f"added {name}")
    print("  see what comes next: ralph backlog next --explain")
    return 0


@backlog.command("edit", short_help="Change the definition of an item.")
@click.argument("item")
@_fields
@HARNESS
def edit(item: str, harness_dir: str, **given: Any) -> int:
    """Change fields of an item; lists are replaced. Its id, attempts and status cannot be edited.

    \b
    Example:
      ralph backlog edit FEAT-001 --priority 0 --enable
    """
    from ralph.app.backlog.change import edit_typed

    made = _typed_fields(given)
    if not made:
        raise click.UsageError("nothing to change was given")
    edit_typed(desk_of(harness_dir), item, made)
    print(f"changed {item}: {', '.join(made)}")
    return 0


_DECISIONS: dict[str, tuple[str, str, str, str]] = {  # what a person decides, each with a reason
    "block": (
        "BLOCKED",
        "Set an item aside until a person has looked.",
        "Mark an item BLOCKED: it is not worked on until `unblock` or `reset`.",
        "{item} is BLOCKED",
    ),
    "unblock": (
        "FAILING",
        "Let an item be worked on again.",
        "Return a BLOCKED item to FAILING. Its attempts still count; see `reset`.",
        "{item} is FAILING",
    ),
    "cancel": (
        "CANCELLED",
        "Give an item up for good.",
        "Mark an item CANCELLED. Items are never deleted, and nothing follows CANCELLED.",
        "{item} is CANCELLED",
    ),
    "override": (
        "PASSING",
        "Mark an item PASSING without evidence.",
        "Mark an item PASSING without any check. The reason is shown with the item from then on.",
        "{item} is PASSING without evidence: {reason}",
    ),
    "reset": (
        "",
        "Give an item new attempts.",
        "Give an item new attempts, answer its question, or record what you set back in the file by hand.",
        "{item} is FAILING with 0 attempts used",
    ),
}


def _add_decision(name: str, status: Any, short: str, text: str, done: str) -> None:
    example = f'\b\nExample:\n  ralph backlog {name} FEAT-001 --reason "…"'

    @backlog.command(name, short_help=short, help=f"{text}\n\n{example}")
    @click.argument("item")
    @REASON
    @HARNESS
    def command(item: str, reason: str, harness_dir: str) -> int:
        from ralph.app.backlog.change import reset_item, set_status
        from ralph.app.words.format import safe

        if status:
            deed: Any = "override" if name == "override" else "status"
            set_status(desk_of(harness_dir), item, status, reason, deed)
        else:
            reset_item(desk_of(harness_dir), item, reason)
        print(done.format(item=item, reason=safe(reason, 300)))
        return 0


for _name, _row in _DECISIONS.items():
    _add_decision(_name, *_row)


@backlog.command("init", short_help="Start a backlog.")
@click.option("-y", "--yes", is_flag=True, help="Add the proposed items without asking.")
@HARNESS
def init(yes: bool, harness_dir: str) -> int:
    """Create the backlog, and propose an item for each PRD and spec that has none yet.

    \b
    Example:
      ralph backlog init
    """
    from ralph.app.backlog.change import add_proposed, propose_items
    from ralph.app.words.format import safe

    desk = desk_of(harness_dir)
    proposed = propose_items(desk)
    shown = os.path.relpath(desk.place.file)
    if not proposed.items:
        add_proposed(desk, [])
        print(f"{shown}: nothing to propose; add items with  ralph backlog add TITLE --verify CMD")
    for one in proposed.items:
        print(f"  {one['id']}  {safe(one['title'], 80)}  (from {safe(one['notes'], 120)})")
    if proposed.items:
        if not yes and not (
            on_terminal() and click.confirm(f"add {len(proposed.items)} items?", default=False, err=True)
        ):
            print("nothing was written; add them with  ralph backlog init --yes")
            return 3
        add_proposed(desk, proposed.items)
        print(f"{shown}: {len(proposed.items)} items added")
        print("  for each: ralph backlog edit ID --verify CMD --enable")
    for note in proposed.notes:
        print(f"note: {safe(note, 300)}")
    return 0
