"""From what a user typed to a sealed order, and from an order to the first row of a loop.

Everything that can refuse a loop refuses it here, before an agent is called or a file is written:
nesting, repository, configuration, approvals, agent, limits, gates, sandbox, branch, room. Config and
gate definitions are read once, now; nothing later looks at the user's files for them again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import msgspec

from ralph.core.model.order import BoxTerms, Order, PeopleTerms, StartPoint
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.dependencies.shared import NODE_FOLDERS, PYTHON_FOLDERS
from ralph.shell.git.project import (
    Project,
    committed_file,
    find_object,
    name_some,
    start_warnings,
    uncommitted_paths,
    user_call,
)
from ralph.shell.git.snapshot import resolve_commit
from ralph.shell.plan.request import FROM_SPECS, SPECS, Briefed
from ralph.shell.prompts.templates import own_templates
from ralph.shell.sandbox.hidden_files import unhidden
from ralph.shell.sandbox.probe import Protection, find_protection, for_order
from ralph.shell.start.agents import choose_agents, choose_judge, choose_reader, refuse_unboxed, with_effort
from ralph.shell.start.gates import seal_criterion
from ralph.shell.start.request import StartRequest, read_settings, refuse_inside, refuse_request
from ralph.shell.start.team import choose_team, effort_in, with_team
from ralph.shell.state.directory import config_dir, open_state, safe_name, state_dir

_WHOLE = re.compile(r"[a-z0-9-]+-[0-9a-f]{8}")
HEADS = "refs/heads/"


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A loop that may start: its order without the commits, which exist only once it has begun."""

    order: Order
    settings: config.Settings
    project: Project
    protection: Protection
    base_rev: str | None
    warnings: tuple[str, ...]
    specs: dict[str, str] = {}  # by path; they are stored when the loop begins
    rendered: tuple[str, ...] = ()  # globs of what Ralph writes in the user's work tree while loops run


def prepare(request: StartRequest, *, env: Mapping[str, str], token: str, now: float) -> Prepared:
    """The order for this request, or the first reason against it. `token` makes the name unique."""
    refuse_request(request, env)
    project, settings = read_settings(request, env, now)
    refuse_inside(project, state_dir(env))
    settings = with_team(settings, command=bool(request.agent_cmd))
    typed = {**({} if request.agent_cmd else effort_in(settings, "coder")), **request.agent_settings}
    named = choose_agents(settings, project, env, command=request.agent_cmd, typed=typed)
    chosen_agent, *spares = named
    seated = choose_judge(settings, project, env, chosen_agent)
    group = choose_team(settings, project, env, chosen_agent, request.task)
    callers = (*named, *seated.choices, *group.choices)
    config.check_limits(settings, config.explicit_limits(settings), all(one.reports_cost for one in callers))
    base = resolve_commit(project, request.base) if request.base else project.head
    briefed = _make_brief(request, project, base)
    criterion, expired = seal_criterion(request, settings, project, base, env, now)
    state = open_state(state_dir(env), create=True)
    _, shield = find_protection(settings.box.sandbox, settings.net == "on", state.root, env)
    for one in callers:
        refuse_unboxed(one, shield.level, settings.box.sandbox)
    heard = (*request.notes, *briefed.warnings, *settings.warnings, *chosen_agent.notes, *seated.notes)
    shown = unhidden(criterion.gates, project.top, env, boxed=shield.boxed)
    heard = (*heard, *group.notes, *expired, *shown, *_project_notes(request, settings, project, base))
    order = Order(
        loop=(name := loop_name(request, token)),
        task=request.task,
        repo=project.top,
        criterion=criterion,
        limits=settings.limits,
        agent=msgspec.structs.replace(chosen_agent.agent, model=settings.model),
        spares=tuple(one.agent for one in spares),
        keep_session=settings.keep_session,
        base=StartPoint(head_commit=project.head, head_branch=(project.branch or "").removeprefix(HEADS)),
        branch=result_branch(request, settings, project, name),
        on_fail=settings.on_fail,
        box=_box(request, settings),
        # Plan and specs stand at the top: whoever is told of them by name must begin there.
        prefix=project.prefix.rstrip("/") if request.plan is None else "",
        with_changes=request.with_changes,
        protect=_protected_paths(request, settings),
        item=request.item,
        config_digest=config.digest(settings),
        warnings=heard,
        people=people_terms(request, settings, project, env),
        brief=briefed.with_reader(choose_reader(request.plan, settings, project, env, chosen_agent)),
        templates=own_templates(project, base, config_dir(env), now),
        rubric=seated.rubric,
        judge=seated.judge and with_effort(seated.judge, env, **effort_in(settings, "judge")),
        team=group.team,
    )
    return Prepared(
        order=order,
        settings=settings,
        project=project,
        protection=for_order(shield, order, project.object_dirs, state.root, env),
        base_rev=base if request.base else None,
        warnings=heard,
        specs=briefed.texts,
        rendered=request.protect if request.item and not request.with_changes else (),
    )


def _protected_paths(request: StartRequest, settings: config.Settings) -> tuple[str, ...]:
    specs = () if request.plan is None else (SPECS,)
    return (*settings.paths.protect_paths, *specs, *request.protect)


def people_terms(
    request: StartRequest, settings: config.Settings, project: Project, env: Mapping[str, str]
) -> PeopleTerms:
    log, issue = settings.people.activity_log, ""
    if request.issue:
        from ralph.shell.notify.issue import check_issue

        issue = check_issue(request.issue, project, env)
    return PeopleTerms(
        report_copy_to=settings.paths.report_copy_to,
        approve=settings.people.approve,
        issue=issue,
        activity_log=os.path.join(project.top, os.path.expanduser(log)) if log else "",
    )


def _box(request: StartRequest, settings: config.Settings) -> BoxTerms:
    write = tuple(os.path.realpath(os.path.join(request.cwd, path)) for path in request.allow_write)
    return msgspec.structs.replace(settings.box, network=settings.net == "on", allow_write=write)


def _make_brief(request: StartRequest, project: Project, base: str) -> Briefed:
    if request.plan is None:
        return Briefed()
    from ralph.shell.plan.brief import brief_of

    return brief_of(request.plan, project, base, request.task, with_changes=request.with_changes)


def _project_notes(
    request: StartRequest, settings: config.Settings, project: Project, base: str
) -> tuple[str, ...]:
    told = (*_uncommitted_note(request, settings, project), *start_warnings(project))
    return (*told, *_config_note(settings, project, base))


def _uncommitted_note(request: StartRequest, settings: config.Settings, project: Project) -> tuple[str, ...]:
    """What of the user's work the loop does not see, and how it would; the project file counts anyway."""
    if request.with_changes:
        return ()
    own = settings.project.file.path if settings.project.file is not None else ""
    installed = {*PYTHON_FOLDERS, *NODE_FOLDERS}  # shared with the loop, ignored or not
    paths = [
        path for path in uncommitted_paths(project) if path != own and installed.isdisjoint(path.split("/"))
    ]
    if not paths:
        return ()
    have, start = "has" if len(paths) == 1 else "have", request.base or "HEAD"
    hint = "" if request.base else ": --with-changes includes them"
    return (
        f"{name_some(paths)} {have} uncommitted changes; the loop starts from {start} without them{hint}",
    )


def _config_note(settings: config.Settings, project: Project, base: str) -> tuple[str, ...]:
    if settings.project.file is None:
        return ()
    note = config.project_note(settings, committed_file(project, base, settings.project.file.path))
    return (note,) if note else ()


def loop_name(request: StartRequest, token: str) -> str:
    if request.loop_id:
        return _asked_name(request.loop_id, token)
    about = request.plan.mode if request.plan is not None and request.task == FROM_SPECS else request.task
    return safe_name(f"{slug_of(about) or 'loop'}-{token}")


def slug_of(text: str) -> str:
    """At most 30 characters of it, cut between words where it has any."""
    whole = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    cut = whole[:31]
    return cut.rpartition("-")[0] if len(whole) > 30 and "-" in cut[1:] else whole[:30]


def _asked_name(asked: str, token: str) -> str:
    """A whole id or name, which ends in 8 hex digits, as it is; a bare name with such digits at its end."""
    name = asked.removeprefix("ralph-")
    return safe_name(name if _WHOLE.fullmatch(name) else f"{safe_name(name)}-{token}")


def result_branch(request: StartRequest, settings: config.Settings, project: Project, name: str) -> str:
    """The result branch; refused now if it could not be made at the end."""
    branch = request.branch or f"{settings.paths.branch_prefix}/{name}"
    if user_call(project, ["check-ref-format", f"refs/heads/{branch}"], ok=None).code:
        raise UserError(f"'{branch}' is not a branch name", code="E-BRANCH-NAME", next="git branch --list")
    parts = branch.split("/")
    for count in range(1, len(parts) + 1):
        above = "/".join(parts[:count])
        if find_object(project, f"refs/heads/{above}"):
            raise UserError(
                f"branch '{above}' is in the way of the result branch '{branch}'",
                code="E-BRANCH-TAKEN",
                why="Ralph never moves a branch that it did not create; choose one with --branch",
                next=f"git log --oneline -3 {above}",
            )
    return branch
