"""Files of other tools, pictures, reports, and the hook that looks before a push."""

from __future__ import annotations

import sys

import click

from ralph.ui.cli.backlog.group import HARNESS, JSON, backlog, desk_of, print_json


@backlog.command("import", short_help="Add items from a file of another tool.")
@click.argument("file")
@HARNESS
def import_(file: str, harness_dir: str) -> int:
    """Add items from FILE: a Markdown checklist, prd.json, issues of GitHub or GitLab as JSON, beads as JSON
    lines, Jira or Linear as CSV. They are not enabled. Closed issues are left out and named; what is ticked
    in a list is FAILING here, because its proof is not.

    \b
    Example:
      gh issue list --json number,title,body,labels,state > issues.json && ralph backlog import issues.json
    """
    from ralph.app.backlog.exchange import import_file
    from ralph.app.words.format import plural, safe

    taken = import_file(desk_of(harness_dir), file)
    for note in taken.notes:
        print(f"note: {safe(note, 300)}", file=sys.stderr)
    print(f"{plural(len(taken.items), 'item')} added")
    for raw in taken.items[:20]:
        print(f"  {raw['id']}  {safe(raw['title'], 100)}")
    if taken.items:
        print("  for each: ralph backlog edit ID --verify CMD --enable")
    return 0 if taken.items else 6


def _add_print(name: str, short: str, text: str, forms: tuple[str, ...]) -> None:
    """A command that prints the items in one of several forms; the first is the usual one."""

    @backlog.command(name, short_help=short, help=text)
    @click.option("--format", "form", default=forms[0], type=click.Choice(forms), help="Form.")
    @HARNESS
    def command(form: str, harness_dir: str) -> int:
        from ralph.app.backlog.exchange import export_text

        print(export_text(desk_of(harness_dir), form), end="")
        return 0


_add_print(
    "export",
    "Print the items for another tool.",
    "Print the items as a Markdown checklist, an implementation plan, a prd.json or a table."
    "\n\n\b\nExample:\n  ralph backlog export --format plan > IMPLEMENTATION_PLAN.md",
    ("markdown", "plan", "prd", "csv"),
)
_add_print(
    "graph",
    "Draw what waits for what.",
    "Print a picture of the items, their states and their dependencies.\n\n\b\nExample:\n"
    "  ralph backlog graph --format svg > backlog.svg",
    ("mermaid", "svg"),
)


@backlog.command("report", short_help="Show what happened: attempts, burndown, effort, lessons.")
@JSON
@HARNESS
def report(as_json: bool, harness_dir: str) -> int:
    """Print the log of all attempts, how many items were open after each, effort and cost of each item, and
    what failed again and again.

    \b
    Example:
      ralph backlog report > backlog-report.md
    """
    from ralph.app.backlog.report import make_report, report_markdown
    from ralph.app.words.format import safe

    made = make_report(desk_of(harness_dir))
    if as_json:
        print_json(made)
        return 0
    for line in report_markdown(made).split("\n"):
        print(safe(line, 1000))
    return 0


@backlog.command("schema", short_help="Print the JSON Schema of the backlog or of a PRD.")
@click.argument("what", type=click.Choice(("feature_list", "prd")), default="feature_list")
def schema(what: str) -> int:
    """Print the JSON Schema of feature_list.json, or of a PRD as JSON.

    \b
    Example:
      ralph backlog schema prd > .ralph/prd/schema.json
    """
    from ralph.core.backlog.prd import prd_schema
    from ralph.core.backlog.read_list import list_schema

    print_json(prd_schema() if what == "prd" else list_schema(), indent=2)
    return 0


@backlog.command("hook", short_help="Check a push: the list, PRDs, constraints, the build.")
@click.option("--install", is_flag=True, help="Install it as this repository's pre-push hook.")
@HARNESS
def hook(install: bool, harness_dir: str) -> int:
    """Check the commits that git names on stdin, as a pre-push hook. A list with errors, a missing PRD, a
    broken constraint or a failing build stops the push; PRDs that no item refers to are only named.

    \b
    Example:
      ralph backlog hook --install
    """
    from ralph.app.backlog.hook import check_push, install_hook
    from ralph.app.words.format import safe

    desk = desk_of(harness_dir)
    if install:
        print(f"installed {safe(install_hook(desk), 300)}")
        return 0
    found = check_push(desk, sys.stdin.read())
    for one in found:
        kind = "error" if one.severity == "CRITICAL" else "warning"
        print(f"{kind}: {safe(f'{one.pointer}: {one.message}', 400)}", file=sys.stderr)
    return 1 if any(one.severity == "CRITICAL" for one in found) else 0
