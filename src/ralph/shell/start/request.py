"""What was typed to start a loop, and what can be said of it before anything is looked up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import get_args

import msgspec

from ralph.agents._kit.environ import enclosing_loop
from ralph.core.criterion.named_tools import named_class
from ralph.core.criterion.proposal import Check
from ralph.core.model.gate import TaskClass
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.config import approvals
from ralph.shell.git.project import Project, find_project
from ralph.shell.plan.request import PlanAsk
from ralph.shell.state.directory import config_dir

MAX_TASK_BYTES = 24_000


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed, with nothing looked up yet."""

    task: str
    cwd: str
    checks: tuple[str, ...] = ()
    hidden_checks: tuple[str, ...] = ()
    agent_cmd: str = ""
    task_class: str = ""
    until: str = ""
    base: str = ""
    branch: str = ""
    with_changes: bool = False
    allow_write: tuple[str, ...] = ()
    loop_id: str = ""
    flags: dict[str, object] = {}
    agent_settings: dict[str, str] = {}
    inferred: tuple[Check, ...] = ()  # checks that were found, shown and agreed to
    notes: tuple[str, ...] = ()  # how they were found
    plan: PlanAsk | None = None  # None: one task, without a plan
    item: str = ""  # of the backlog; its gates are the checks
    issue: str = ""  # gets a comment when the loop ends
    protect: tuple[str, ...] = ()  # globs besides those of the settings


def refuse_request(request: StartRequest, env: Mapping[str, str]) -> None:
    """What can be refused by itself: a loop inside a loop, a task that is none."""
    _refuse_nested(env)
    for what, text in (("the task", request.task), ("the path of this folder", request.cwd)):
        _refuse_bytes(what, text)
    _check_task(request.task)


def _refuse_nested(env: Mapping[str, str]) -> None:
    outer = enclosing_loop(env)
    if outer:
        raise UserError(
            f"this is inside the loop '{outer}', and loops do not nest",
            code="E-LOOP-NESTED",
            why="the variable RALPH_LOOP_ID says so; an agent's own loop would escape its limits",
            next="ralph status",
        )


def _refuse_bytes(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as odd:
        raise UserError(
            f"{what} is not UTF-8",
            code="E-NOT-UTF8",
            at=ascii(text[max(0, odd.start - 40) : odd.end + 40]),
            why="what is recorded must be readable for every program",
            next="ralph loop --help",
        ) from None


def refuse_inside(project: Project, state_root: str) -> None:
    """State in the repository would be judged, committed and cleaned together with the work."""
    real = os.path.realpath(state_root)
    for place in (project.top, project.common_dir):
        if real == place or real.startswith(place + os.sep):
            raise UserError(
                f"the state directory '{state_root}' lies inside the repository",
                code="E-STATE-INSIDE",
                at=place,
                why="it would become part of the work that it records",
                next='export RALPH_STATE_DIR="$HOME/ralph-state"',
            )


def _check_task(task: str) -> None:
    if not task.strip():
        raise UserError("the task is empty", code="E-TASK", next="ralph loop --help")
    if len(task.encode()) > MAX_TASK_BYTES:
        raise UserError(
            f"the task has {len(task.encode())} bytes, at most {MAX_TASK_BYTES} are allowed",
            code="E-TASK",
            why='every prompt repeats it; write it into a committed file, and say "do what SPEC.md says"',
            next="ralph loop --help",
        )


def class_of(request: StartRequest) -> TaskClass:
    if not request.task_class:
        return named_class(request.task)
    try:
        return msgspec.convert(request.task_class, TaskClass)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        raise UserError(
            f'unknown class "{request.task_class}"',
            code="E-CLASS",
            why=f"expected one of {', '.join(get_args(TaskClass))}",
            next="ralph loop --help",
        ) from None


def read_settings(
    request: StartRequest, env: Mapping[str, str], now: float
) -> tuple[Project, config.Settings]:
    """Repository and settings; what the repository asks for must have been approved."""
    project = find_project(request.cwd)
    user_dir = config_dir(env)
    settings = config.load(
        cwd=request.cwd,
        top=project.top,
        env=env,
        flags=request.flags,
        user_dir=user_dir,
        trust=approvals.trust_check(user_dir),
    )
    needed = approvals.approval_needed(settings)
    if needed is not None:
        raise approvals.needs_approval_error(user_dir, needed, now)
    return project, settings
