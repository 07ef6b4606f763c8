"""`ralph plan`: a gap analysis of specs against code, written as a plan, and nothing else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ralph.ui.cli.loop_options import READER_AGENT, READER_MODEL, READERS, pick_options, setting_options
from ralph.ui.cli.task_text import TaskCommand, task_argument

if TYPE_CHECKING:
    from ralph.app.plan import PlanPlace
    from ralph.core.model.plan.items import Plan
    from ralph.ui.ask.loop_flags import LoopFlags


@click.command(cls=TaskCommand, short_help="Plan from the specs without changing any code.")
@task_argument
@READERS
@READER_AGENT
@READER_MODEL
@click.option("--refresh", is_flag=True, help="Re-plan, and show what changed.")
@click.option("--force", is_flag=True, help="Replace a plan that has uncommitted changes.")
@click.option(
    "--import",
    "imported",
    default="",
    metavar="FILE",
    help="Use a PRD (Markdown, JSON stories) or a task list as the plan, without calling an agent.",
)
@click.option(
    "--show", is_flag=True, help="Print the current plan of the loop named TASK (default: the newest)."
)
@pick_options("--agent-cmd", "--base", "--loop-id", "--steer")
@setting_options
@pick_options("--display", "--json", "--dry-run", "--yes")
def command(**given: Any) -> int:
    """Compare specs/ (and TASK) with the code and write IMPLEMENTATION_PLAN.md.

    The agent works on a copy and may change only the plan; other changes are discarded and reported. Ralph
    accepts a plan that is executable: no dependency cycle, and every criterion of the specs is covered by an
    item or listed as missing.

    \b
    Examples:
      ralph plan
      ralph plan --refresh --readers 4
      ralph plan --import PRD.md
    """
    if given["show"]:
        return _show(given["task"])
    from ralph.app.plan import find_plan

    place = find_plan(os.getcwd(), force=given["force"])
    refresh = given["refresh"] or given["force"]
    if given["imported"]:
        return _import(place, given["imported"], refresh=refresh)
    from ralph.ui.ask.loop_flags import read_flags

    return _plan(place, read_flags({**given, "no_infer": True}), refresh=refresh)


def _plan(place: PlanPlace, flags: LoopFlags, *, refresh: bool) -> int:
    import msgspec

    from ralph.app.plan import plan_of_loop, specs_for_plan, write_plan
    from ralph.ui.ask.start_loop import start_named

    specs = specs_for_plan(place, flags.base, refresh=refresh)
    ask = msgspec.structs.replace(flags.planning, mode="plan", refresh=refresh)
    code, name = start_named(flags, ask)
    if code or flags.dry_run:
        return code
    plan = plan_of_loop(name, dict(os.environ))
    write_plan(place, plan, specs=specs, instead=f"ralph plan --show {name}")
    _print_plan(place, plan)
    return 0


def _import(place: PlanPlace, path: str, *, refresh: bool) -> int:
    from ralph.app.plan import import_file
    from ralph.app.words.format import safe

    taken = import_file(place, path, refresh=refresh)
    for one in taken.unread:
        print(f"note: {safe(f'{one.path}:{one.line}: {one.message}', 300)}", file=sys.stderr)
    _print_plan(place, taken.plan)
    return 0


def _print_plan(place: PlanPlace, plan: Plan) -> None:
    """What the plan holds, or what is new in it."""
    from shlex import quote

    from ralph.app.words.format import safe
    from ralph.core.model.plan.items import NAME
    from ralph.core.plan.diff import diff_lines, diff_plans

    open_items = sum(item.state == "open" for item in plan.items)
    print(f"{NAME}: {len(plan.items)} items, {open_items} open, {len(plan.missing)} missing specs")
    if place.file.data is not None:
        lines = diff_lines(diff_plans(place.file.plan, plan)) or ("nothing changed",)
        for line in lines[:200]:
            print(safe(line, 300))
    for one in plan.missing:
        print(safe(f"missing spec: {one.name}: {one.why}", 300))
    path = quote(os.path.relpath(place.file.path))
    print(f"next: git add {path} && git commit -m 'plan', then: ralph build")


def _show(wanted: str) -> int:
    from ralph.app.plan import plan_of_loop
    from ralph.app.words.format import safe
    from ralph.core.plan.layout import render_plan
    from ralph.ui.cli.pick_loop import loop_to_show

    env = dict(os.environ)
    name = loop_to_show(wanted or None)
    for line in render_plan(plan_of_loop(name, env)).split("\n")[:-1]:
        print(safe(line, 2000))
    return 0
