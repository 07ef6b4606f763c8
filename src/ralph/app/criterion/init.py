"""The checks of a project written to its ralph.toml: plan, agreement, trial, file."""

from __future__ import annotations

import os
import secrets
import tomllib
from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.app.criterion.adopt import needs_approval
from ralph.app.settings import approve, is_approved, remember, settings_at_top
from ralph.clock import SystemClock
from ralph.core.criterion.gates_for_project import Planned
from ralph.core.criterion.proposal import Trial
from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Verdict
from ralph.core.toolchains.kinds import Level
from ralph.errors import NothingToDo, UserError
from ralph.shell.criterion import adopt as rules
from ralph.shell.criterion import write_toml
from ralph.shell.criterion.gates_here import run_gates_here
from ralph.shell.criterion.init_plan import InitPlan, make_plan
from ralph.shell.files.write_whole import write_whole
from ralph.shell.git.project import find_project
from ralph.shell.start.request import StartRequest

NAME = write_toml.NAME
__all__ = ["NAME", "InitPlan"]


class InitFile(Struct, frozen=True):
    """The file as it is and as it would be; equal when there is nothing to add."""

    path: str
    old: str
    new: str


def plan_init(cwd: str, env: Mapping[str, str], level: Level) -> InitPlan:
    """What is found by manifests, CI files and documents of the last commit; nothing is executed."""
    project = find_project(cwd)
    made = make_plan(project, env, level)
    if not made.gates:
        raise NothingToDo(
            "no check was found in this project",
            code="E-INIT-NONE",
            at=project.top,
            why="looked for manifests, CI files and commands in documents of the last commit",
            next="ralph help checks",
        )
    return made


def drop_known_gates(cwd: str, plan: InitPlan) -> InitPlan:
    """What the file that is there does not have yet."""
    return write_toml.without_known(plan, write_toml.read_old(find_project(cwd).top))


def is_held(plan: InitPlan, cwd: str, env: Mapping[str, str], *, execute: bool) -> bool:
    """May a flag speak for these commands: is there a box? If not, whoever approved their hash did."""
    if rules.is_held(settings_at_top(env, cwd), env):
        return True
    checks = [one.as_check() for one in plan.gates]
    if is_approved(rules.approval_for(checks, "").hash, env):
        return True
    if execute and checks:
        raise needs_approval(checks, cwd, env)
    return False


def try_gates(
    plan: InitPlan,
    cwd: str,
    env: Mapping[str, str],
    tell: Callable[[Gate, Verdict], None] = lambda _gate, _verdict: None,
) -> dict[str, Trial]:
    """Each gate that resolves and needs no network, once, in the gate box over the last commit."""
    wanted = [one for one in plan.gates if one.resolved and not one.network]
    if not wanted:
        return {}
    _, verdicts = run_gates_here(
        StartRequest(task="", cwd=cwd, inferred=tuple(one.as_check() for one in wanted)),
        env,
        tuple(one.name for one in wanted),
        head=True,
        token=secrets.token_hex(4),
        now=SystemClock().now(),
        attend=lambda _: False,
        told=tell,
    )
    return {one.gate: Trial(one.gate, one.status, one.summary, one.cause) for one in verdicts}


def is_usable(gate: Planned, trials: Mapping[str, Trial]) -> bool:
    """Would this gate stand in the file as one that works?"""
    return write_toml.usable(gate, trials.get(gate.name))


def render_init(cwd: str, plan: InitPlan, trials: Mapping[str, Trial]) -> InitFile:
    """The file with what is new in it; refused where another file holds the same settings."""
    top = find_project(cwd).top
    old = write_toml.read_old(top)
    _refuse_second(top)
    return InitFile(os.path.join(top, NAME), old, write_toml.render(plan, trials, old))


def write_init(file: InitFile, env: Mapping[str, str], *, held: bool) -> None:
    """Write it. Who has just seen these lines and said yes need not approve them again."""
    top = os.path.dirname(file.path)
    # Were all commands of the old file approved? If not, ours must not bring them in.
    trusted = held and (not file.old or bool(settings_at_top(env, top).project.admitted))
    write_whole(os.path.join(top, write_toml.NAME), file.new.encode())
    approval = settings_at_top(env, top).project.approval if trusted else None
    if approval is not None:
        remember(approval, env)
        approve(approval.hash, env)


def _refuse_second(top: str) -> None:
    path = os.path.join(top, "pyproject.toml")
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
