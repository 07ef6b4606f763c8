"""`ralph init` and `ralph gates infer` on screen: plan, agreement, trial, difference, file."""

from __future__ import annotations

import difflib
import os
import secrets
import sys
from collections.abc import Mapping
from typing import Any

import click

from ralph.app.words.format import brief_seconds, safe, safe_lines
from ralph.clock import SystemClock
from ralph.core.criterion.gates_for_project import Planned
from ralph.core.criterion.proposal import Trial, why_missing
from ralph.core.toolchains.usual_checks import Level
from ralph.errors import NothingToDo, UserError
from ralph.shell.criterion.init_plan import InitPlan, make_plan
from ralph.shell.criterion.write_toml import NAME, read_old, render, usable, without_known, write
from ralph.shell.git.project import Project, find_project


def plan_here(level: Level, env: Mapping[str, str]) -> tuple[Project, InitPlan]:
    project = find_project(os.getcwd())
    made = make_plan(project, env, level)
    if not made.gates:
        raise NothingToDo(
            "no check was found in this project",
            code="E-INIT-NONE",
            at=project.top,
            why="looked for manifests, CI files and commands in documents of the last commit",
            next='ralph gates run --check "your command"',
        )
    return project, made


def plan_lines(plan: InitPlan) -> list[str]:
    """Everything that would be executed, in full, with its reason."""
    rows = [f"languages    {', '.join(plan.languages) or 'none known'}"]
    for one in plan.gates:
        where = "" if one.cwd == "." else f" in {one.cwd}"
        rows.append(f"  {one.name:12} {one.level:9} {safe(one.run, 400)}{where}")
        rows.append(f"  {'':12} {'':9} because of {safe(one.why, 200)}")
        if one.executes:
            rows.append(f"  {'':12} {'':9} its script: {safe(one.executes, 400)}")
        if not one.resolved:
            rows.append(f"  {'':12} {'':9} {safe(why_missing(one.run, one.hint), 300)}")
        elif one.network:
            rows.append(f"  {'':12} {'':9} needs the network, so it is not tried now; without it, no verdict")
    if plan.setup:
        rows.append(f"  setup        {safe(plan.setup)}  ({plan.setup_why}; not tried)")
    if plan.share:
        rows.append(f"  share        {', '.join(plan.share)}")
    return rows + [f"  dropped      {safe(text, 200)}" for text in plan.dropped]


def drop_known_gates(project: Project, plan: InitPlan) -> InitPlan:
    """What the file that is there does not have yet."""
    return without_known(plan, read_old(project.top))


def is_held(plan: InitPlan, env: Mapping[str, str], *, no_try: bool) -> bool:
    """May `-y` speak for these commands: is there a box? If not, whoever approved their hash did."""
    from ralph.shell.config import approvals
    from ralph.shell.criterion import adopt
    from ralph.shell.state.directory import config_dir
    from ralph.ui.ask.criterion import unheld

    if adopt.is_held(settings_here(find_project(os.getcwd()), env), env):
        return True
    checks = [one.as_check() for one in plan.gates]
    if approvals.is_approved(config_dir(env), adopt.approval_for(checks, "").hash):
        return True
    if not no_try and checks:
        raise unheld(checks, os.getcwd(), env)
    return False


def try_plan(plan: InitPlan, env: Mapping[str, str], *, quiet: bool) -> dict[str, Trial]:
    """Each gate that resolves and needs no network, once, in the gate box over the last commit."""
    from ralph.shell.criterion.gates_here import run_gates_here
    from ralph.shell.start.request import StartRequest

    wanted = [one for one in plan.gates if one.resolved and not one.network]
    if not wanted:
        return {}
    request = StartRequest(task="", cwd=os.getcwd(), inferred=tuple(one.as_check() for one in wanted))
    found: dict[str, Trial] = {}

    def told(gate: Any, verdict: Any) -> None:
        found[gate.name] = Trial(gate.name, verdict.status, verdict.summary, verdict.cause)
        if not quiet:
            took = brief_seconds(verdict.seconds)
            words = f"{gate.name:.<24} {verdict.status}  {safe(verdict.summary, 100)}  {took}"
            print(words, file=sys.stderr)

    run_gates_here(
        request,
        env,
        tuple(one.name for one in wanted),
        head=True,
        token=secrets.token_hex(4),
        now=SystemClock().now(),
        attend=lambda _: False,
        told=told,
    )
    return found


def write_plan(
    project: Project,
    plan: InitPlan,
    trials: Mapping[str, Trial],
    env: Mapping[str, str],
    *,
    yes: bool,
    held: bool = True,
    quiet: bool = False,
) -> bool:
    """Show the difference, and write it when somebody says yes. True when something was written."""
    old = read_old(project.top)
    _refuse_second(project)
    new = render(plan, trials, old)
    if new == old:
        if not quiet:
            print(f"{NAME} has all of this already")
        return False
    rows = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"a/{NAME}" if old else "/dev/null", f"b/{NAME}", lineterm=""
    )
    for row in rows:
        print(safe_lines(row), file=sys.stderr if quiet else sys.stdout)
    if not yes and not click.confirm(f"write this to {NAME}?", default=True, err=True):
        return False
    trusted = held and (not old or _was_trusted(project, env))
    write(project.top, new)
    if trusted:
        _trust(project, env)
    if not quiet:
        print(f"wrote {os.path.join(project.top, NAME)}")
    return True


def settings_here(project: Project, env: Mapping[str, str]) -> Any:
    from ralph.shell import config
    from ralph.shell.config import approvals
    from ralph.shell.state.directory import config_dir

    folder = config_dir(env)
    return config.load(
        cwd=project.top,
        top=project.top,
        env=env,
        flags={},
        user_dir=folder,
        trust=approvals.trust_check(folder),
    )


def _was_trusted(project: Project, env: Mapping[str, str]) -> bool:
    """Were all commands of the old file approved? If not, ours must not bring them in."""
    settings = settings_here(project, env)
    return bool(settings.project.admitted)


def _trust(project: Project, env: Mapping[str, str]) -> None:
    """Who has just seen these lines and said yes need not approve them again."""
    from ralph.shell.config import approvals
    from ralph.shell.state.directory import config_dir

    approval = settings_here(project, env).project.approval
    if approval is not None:
        approvals.remember(config_dir(env), approval, SystemClock().now())
        approvals.approve(config_dir(env), approval.hash, SystemClock().now())


def _refuse_second(project: Project) -> None:
    import tomllib

    path = os.path.join(project.top, "pyproject.toml")
    try:
        with open(path, "rb") as file:
            data = file.read(1_000_000)
        table = tomllib.loads(data.decode()).get("tool", {})
    except (OSError, ValueError):
        return
    if isinstance(table, dict) and "ralph" in table:
        raise UserError(
            f"[tool.ralph] stands in pyproject.toml, and a {NAME} beside it would be a second truth",
            code="E-INIT-TWO",
            at=path,
            why="expected only one of the two",
            next="ralph gates infer",
        )


def missing_lines(plan: InitPlan, trials: Mapping[str, Trial]) -> list[str]:
    """What would be there if its tool were."""
    rows = []
    for one in plan.gates:
        if not usable(one, trials.get(one.name)):
            hint = f"install it with: {one.hint}" if one.hint else "see ralph gates explain"
            rows.append(f"  missing      {one.name}: {safe(_why(one, trials), 160)}; {hint}")
    return rows


def _why(one: Planned, trials: Mapping[str, Trial]) -> str:
    trial = trials.get(one.name)
    return trial.summary if trial else f'"{one.run.split()[0]}" was not found'
