"""`ralph plan`: a gap analysis of specs against code, written as a plan, and nothing else."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from ralph.ui.cli.loop_options import READER_AGENT, READER_MODEL, READERS, pick_options, setting_options


@click.command(short_help="Make a plan from the specs, and change nothing else.")
@click.argument("task", required=False, default="")
@READERS
@READER_AGENT
@READER_MODEL
@click.option("--refresh", is_flag=True, help="Make the plan anew, and show what changed.")
@click.option("--force", is_flag=True, help="Replace a plan that has changes which are not committed.")
@click.option(
    "--import",
    "imported",
    default="",
    metavar="FILE",
    help="Take a PRD (Markdown, JSON stories) or a task list as the plan; no agent is called.",
)
@click.option(
    "--show", is_flag=True, help="Print the plan of the loop named by TASK (else the newest) as it stands."
)
@pick_options("--agent-cmd", "--base", "--loop-id", "--steer")
@setting_options
@pick_options("--display", "--json", "--dry-run", "--yes")
def command(**given: Any) -> int:
    """Compare specs/ (and TASK) with the code and write IMPLEMENTATION_PLAN.md.

    The agent works on a copy and may change the plan only; whatever else it changes is thrown away and
    counted. The plan is taken when it can be worked by: no circle, every criterion of the specs served by an
    item or listed as missing.

    \b
    Examples:
      ralph plan
      ralph plan --refresh --readers 4
      ralph plan --import PRD.md
    """
    if given["show"]:
        return _show(given["task"])
    from ralph.shell.git.project import find_project
    from ralph.shell.plan.user_file import find_plan_file, refuse_edited

    project = find_project(os.getcwd())
    found = find_plan_file(project)
    if given["imported"]:
        refuse_edited(project, found, force=given["force"])
        return _import(project, found, given["imported"], refresh=given["refresh"] or given["force"])
    refuse_edited(project, found, force=given["force"])
    return _plan(project, found, given)


def _plan(project: Any, found: Any, given: dict[str, Any]) -> int:
    from ralph.core.model.plan.board import plan_with_states
    from ralph.shell.plan.brief import staleness
    from ralph.shell.plan.request import PlanAsk
    from ralph.shell.plan.user_file import refuse_current, render_file, replace_file
    from ralph.ui.ask.start_loop import start_named

    refresh = given["refresh"] or given["force"]
    stale, specs = staleness(project, given["base"] or project.head)
    refuse_current(found, stale=stale, refresh=refresh)
    ask = PlanAsk(
        mode="plan",
        refresh=refresh,
        readers=given["readers"],
        reader_agent=given["reader_agent"],
        reader_model=given["reader_model"],
    )
    code, name = start_named({**given, **_NO_CHECKS}, ask)
    if code or given["dry_run"]:
        return code
    build = _loop(name).build
    plan = build.plan if build.board is None else plan_with_states(build.plan, build.board)
    replace_file(found, render_file(plan, project, specs=specs), instead=f"ralph plan --show {name}")
    _print_plan(found, plan)
    return 0


_NO_CHECKS: dict[str, Any] = {
    "checks": (),
    "hidden_checks": (),
    "task_class": "",
    "until": "",
    "branch": "",
    "with_changes": False,
    "allow_write": (),
    "no_infer": True,
    "auto_criteria": False,
}


def _import(project: Any, found: Any, path: str, *, refresh: bool) -> int:
    from ralph.app.words.format import safe
    from ralph.core.model.plan.items import Plan
    from ralph.core.model.plan.plan_rules import check_plan
    from ralph.core.plan.diff import carry_states
    from ralph.core.plan.import_markdown import import_plan
    from ralph.errors import UserError
    from ralph.shell.plan.brief import staleness
    from ralph.shell.plan.user_file import refuse_current, render_file, replace_file

    refuse_current(found, stale="", refresh=refresh)
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(8 << 20)
    except (OSError, UnicodeDecodeError) as trouble:
        why = getattr(trouble, "strerror", None) or "it is not valid UTF-8"
        raise UserError(
            f"'{safe(path, 200)}' cannot be read",
            code="E-PLAN-IMPORT",
            why=why.lower(),
            next="ralph plan --help",
        ) from None
    taken = import_plan(text, path)
    plan = carry_states(Plan(), taken.plan)  # a tick in somebody's list is not a verified item
    wrong = check_plan(plan, None)
    if wrong:
        raise UserError(
            f"'{safe(path, 200)}' makes no plan: {wrong[0].message}",
            code="E-PLAN-IMPORT",
            next="ralph plan --help",
        )
    _, specs = staleness(project, project.head)
    replace_file(found, render_file(plan, project, specs=specs), instead="ralph plan --help")
    for one in taken.unread:
        print(f"note: {safe(f'{one.path}:{one.line}: {one.message}', 300)}", file=sys.stderr)
    _print_plan(found, plan)
    return 0


def _print_plan(found: Any, plan: Any) -> None:
    """What the plan holds, or what is new in it."""
    from shlex import quote

    from ralph.app.words.format import safe
    from ralph.core.model.plan.items import NAME
    from ralph.core.plan.diff import diff_lines, diff_plans

    open_items = sum(item.state == "open" for item in plan.items)
    print(f"{NAME}: {len(plan.items)} items, {open_items} open, {len(plan.missing)} missing specs")
    if found.data is not None:
        lines = diff_lines(diff_plans(found.plan, plan)) or ("nothing changed",)
        for line in lines[:200]:
            print(safe(line, 300))
    for one in plan.missing:
        print(safe(f"missing spec: {one.name}: {one.why}", 300))
    print(f"next: git add {quote(os.path.relpath(found.path))} && git commit -m 'plan', then: ralph build")


def _show(wanted: str) -> int:
    from ralph.app.words.format import safe
    from ralph.core.model.plan.board import plan_with_states
    from ralph.core.plan.layout import render_plan
    from ralph.errors import NothingToDo

    build = _loop(wanted).build
    if build is None:
        raise NothingToDo(f"loop '{safe(wanted, 80)}' has no plan", code="E-PLAN-NONE", next="ralph status")
    plan = build.plan if build.board is None else plan_with_states(build.plan, build.board)
    for line in render_plan(plan).split("\n")[:-1]:
        print(safe(line, 2000))
    return 0


def _loop(wanted: str) -> Any:
    from ralph.shell.journal.record import choose_loop, find_loop, load
    from ralph.ui.ask.place import journal_here, project_here

    with journal_here() as reader:
        name = find_loop(reader, wanted) if wanted else choose_loop(reader, None, project_here())
        return load(reader, name).loop
