"""`ralph report`: a loop's report made anew from its journal, or the list of all loops by report status."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from ralph.app.place import project_of
from ralph.app.views.rows import ListRow, list_rows
from ralph.app.words.format import GOOD, ago, safe, table, use_colour
from ralph.clock import SystemClock
from ralph.errors import SetupError


@click.command(short_help="Show the report of a loop.")
@click.argument("loop", required=False)
@click.option("--format", "face", type=click.Choice(["md", "json", "html"]), default="md", show_default=True)
@click.option(
    "--html", "as_page", is_flag=True, help="Write one self-contained HTML page and print its path."
)
@click.option("--open", "opens", is_flag=True, help="Write the HTML page and open it in a browser.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of the screen.")
@click.option("--list", "listing", is_flag=True, help="List the loops of this project with their status.")
@click.option("--failed", is_flag=True, help="List loops that ended without being verified.")
@click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
def command(
    loop: str | None,
    face: str,
    output: str | None,
    *,
    as_page: bool,
    opens: bool,
    listing: bool,
    failed: bool,
    as_json: bool,
) -> int:
    """Show the report of LOOP, by default the newest of this project.

    In a terminal it is rendered, and a pager shows it when it is longer than the screen.

    \b
    Examples:
      ralph report fix-auth
      ralph report --open
      ralph report --failed
      ralph report fix-auth --format json -o report.json
    """
    env, cwd = dict(os.environ), os.getcwd()
    face = "json" if as_json else "html" if as_page or opens else face
    if loop is None and (listing or failed):
        from ralph.app.session.actions import list_actions

        actions = list_actions(env, project_of(cwd), failed=failed)
        rows = list_rows(env, project_of(cwd))
        data = _report_list(rows, actions, failed=failed, as_json=face == "json")
    elif face == "html":
        return _page(loop, env, cwd, output, opens=opens)
    else:
        data = _render_report(loop, env, cwd, face)
        if output is None and face == "md" and sys.stdout.isatty():
            return _show_rendered(data)
    if output is None:
        sys.stdout.write(data)
    else:
        _save(output, data)
    return 0


def _render_report(loop: str | None, env: dict[str, str], cwd: str, face: str) -> str:
    from ralph.app.records import read_newest
    from ralph.app.report.report_files import report_json, report_md, report_of
    from ralph.ui.cli.pick_loop import loop_to_show

    report = report_of(read_newest(loop_to_show(loop), env, cwd), env)
    return report_json(report).decode() if face == "json" else report_md(report)


def _show_rendered(markdown: str) -> int:
    """As a person reads it; what does not fit on the screen goes through the user's pager."""
    import io
    import shutil

    from rich.console import Console
    from rich.markdown import Markdown

    size = shutil.get_terminal_size()
    colour = use_colour(sys.stdout, os.environ)
    page = io.StringIO()
    console = Console(
        file=page, width=min(size.columns, 110), force_terminal=colour, no_color=not colour, highlight=False
    )
    console.print(Markdown(markdown, hyperlinks=False))
    text = page.getvalue()
    if text.count("\n") < size.lines:
        sys.stdout.write(text)
    else:
        os.environ.setdefault("LESS", "FRX")  # as git does: colours stay, and the text stays when it ends
        click.echo_via_pager(text, color=colour)
    return 0


def _page(loop: str | None, env: dict[str, str], cwd: str, output: str | None, *, opens: bool) -> int:
    from ralph.app.records import read_newest
    from ralph.app.report.report_files import write_page
    from ralph.ui.cli.pick_loop import loop_to_show

    record = read_newest(loop_to_show(loop), env, cwd)
    try:
        path = write_page(record, env, output)
    except OSError as exc:
        raise _unwritable(output or "", exc) from exc
    if opens and not click.launch(f"file://{path}") == 0:
        raise SetupError(
            f"no browser could be started for '{path}'",
            code="E-REPORT-OPEN",
            why="--open uses the program that this desktop opens web pages with",
            next=f"ralph report {record.name} --html -o report.html",
        )
    print(path)
    return 0


def _save(path: str, data: str) -> None:
    from ralph.app.report.report_files import write_whole

    try:
        write_whole(path, data.encode())
    except OSError as exc:
        raise _unwritable(path, exc) from exc


def _unwritable(path: str, exc: OSError) -> SetupError:
    return SetupError(f"cannot write '{path}': {exc.strerror}", code="E-REPORT-WRITE", next="ralph report")


def _report_list(rows: list[ListRow], actions: list[dict[str, Any]], *, failed: bool, as_json: bool) -> str:
    chosen = [row for row in rows if not failed or _status(row) in ("FAILED", "PARTIAL")]
    if as_json:
        loops = [{"loop": row.name, "status": _status(row), "word": row.word} for row in chosen]
        return json.dumps({"v": 1, "reports": loops, "actions": actions}) + "\n"
    if not chosen and not actions:
        return "no loop ended without being verified\n" if failed else "no loops\n"
    now = SystemClock().now()
    cells = [
        (
            _status(row),
            row.name,
            row.word,
            ago(now - row.updated),
            safe(row.body.get("task", row.trouble), 60),
        )
        for row in chosen
    ]
    lines = [*table(cells), f"  read one: ralph report {chosen[0].name}"] if chosen else []
    told = [
        (str(one["status"]).upper(), "action", safe(one["skill_name"], 64), safe(one["summary"], 60))
        for one in actions
    ]
    return "\n".join([*lines, *table(told)]) + "\n"


def _status(row: ListRow) -> str:
    """As `report_data.status_of`, from the summary."""
    if row.word == "damaged":
        return "UNKNOWN"
    if row.body["phase"] != "ended":
        return "IN_PROGRESS"
    if row.word in GOOD:
        return "COMPLETED"
    return "PARTIAL" if row.body.get("best") or row.word == "unproven" else "FAILED"
