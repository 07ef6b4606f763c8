"""From what a user typed to a sealed order, and from an order to the first row of a loop.

Everything that can refuse a loop refuses it here, before an agent is called or a file is written:
nesting, repository, configuration, approvals, agent, limits, gates, sandbox, branch, room. Config and
gate definitions are read once, now; nothing later looks at the user's files for them again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import get_args

import msgspec

from ralph.agents._kit.environ import enclosing_loop
from ralph.core.criterion.named_tools import fitting_gates, named_class
from ralph.core.criterion.proposal import Check
from ralph.core.model.gate import NEEDS_WITNESS, Criterion, Gate, Grade, TaskClass
from ralph.core.model.order import Order
from ralph.core.prompt.facts import HIDDEN
from ralph.core.proof.grade import OWN_WITNESS
from ralph.core.toolchains.kinds import proof_kinds
from ralph.errors import SetupError, UserError
from ralph.gates.seal import seal
from ralph.shell import config
from ralph.shell.config import approvals
from ralph.shell.config.values import current_quarantine
from ralph.shell.git.project import Project, find_project, start_warnings, user_call
from ralph.shell.git.snapshot import resolve_commit
from ralph.shell.plan.request import FROM_SPECS, SPECS, Briefed, PlanAsk
from ralph.shell.prompts.templates import own_templates
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.hidden_files import unhidden, unseen
from ralph.shell.sandbox.probe import Protection, cached_protection
from ralph.shell.start.agents import choose_agents, choose_judge, choose_reader, refuse_unboxed, spare_agent
from ralph.shell.state.directory import config_dir, open_state, safe_name, state_dir

BOXED = ("S2", "S3")
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


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A loop that may start: its order without the commits, which exist only once it has begun."""

    order: Order
    settings: config.Settings
    project: Project
    protection: Protection
    base_rev: str | None
    warnings: tuple[str, ...]
    specs: dict[str, str] = {}  # by path; they are stored when the loop begins


def prepare(request: StartRequest, *, env: Mapping[str, str], token: str, now: float) -> Prepared:
    """The order for this request, or the first reason against it. `token` makes the name unique."""
    _refuse_nested(env)
    _check_task(request.task)
    project, settings = read_settings(request, env, now)
    named = choose_agents(settings, project, env, command=request.agent_cmd, typed=request.agent_settings)
    chosen_agent = named[0]
    seated = choose_judge(settings, project, env, chosen_agent)
    reports_cost = all(one.reports_cost for one in (*named, *seated.choices))
    config.check_limits(settings, config.explicit_limits(settings), reports_cost)
    base = resolve_commit(project, request.base) if request.base else project.head
    ask = request.plan
    briefed = _make_brief(request, project, base)
    chosen = class_of(request)
    alone, aims = chosen != "regression", proof_kinds(chosen)
    gates: tuple[Gate, ...] = ()
    if ask is None or ask.mode != "plan":  # a plan is held to its own rules
        gates = seal_gates(request, settings, project, base, env, alone_is_proof=alone, aims=aims)
    state = open_state(state_dir(env), create=True)
    _, shield = find_protection(settings.sandbox, settings.net == "on", state.root, env)
    for one in (*named, *seated.choices):
        refuse_unboxed(one, shield.level, settings.sandbox)
    held, expired = current_quarantine(settings.guards_quarantine, now)
    heard = (*request.notes, *briefed.warnings, *settings.warnings, *chosen_agent.notes)
    heard = (*heard, *seated.notes, *expired, *unhidden(gates, project.top, env, boxed=shield.level in BOXED))
    warnings = (*heard, *start_warnings(project), *_config_note(settings, project, base))
    order = msgspec.structs.replace(
        _order(request, settings, project, name=_name(request, token)),
        criterion=Criterion(
            task_class=chosen,
            gates=gates,
            min_grade=_least(settings, chosen, bare=ask is not None and not briefed.texts),
            waivers=settings.guards_allow,
            allow_asked=tuple(filter(None, settings.guards_allow_asked.split(","))),
            until=request.until,
            confirm=int(settings.confirm),
            quarantine=held,
        ),
        agent=chosen_agent.agent,
        agent_argv=chosen_agent.argv,
        agent_settings=chosen_agent.settings,
        agent_env=chosen_agent.env,
        key=chosen_agent.key,
        price=chosen_agent.price,
        spares=tuple(spare_agent(one) for one in named[1:]),
        rubric=seated.rubric,
        judge=seated.judge,
        warnings=warnings,
        brief=briefed.with_reader(choose_reader(ask, settings, project, env, chosen_agent)),
        templates=own_templates(project, base, config_dir(env), now),
    )
    return Prepared(
        order=order,
        settings=settings,
        project=project,
        protection=shield,
        base_rev=base if request.base else None,
        warnings=warnings,
        specs=briefed.texts,
    )


def _make_brief(request: StartRequest, project: Project, base: str) -> Briefed:
    if request.plan is None:
        return Briefed()
    from ralph.shell.plan.brief import brief_of

    return brief_of(request.plan, project, base, request.task, with_changes=request.with_changes)


def _refuse_nested(env: Mapping[str, str]) -> None:
    outer = enclosing_loop(env)
    if outer:
        raise UserError(
            f"this is inside the loop '{outer}', and loops do not nest",
            code="E-LOOP-NESTED",
            why="the variable RALPH_LOOP_ID says so; an agent's own loop would escape its limits",
            next="ralph status",
        )


def _least(settings: config.Settings, chosen: TaskClass, *, bare: bool) -> Grade:
    """The weakest proof that is enough: a feature or fix needs a witness, unless the user says otherwise.

    The items of a plan are held to the criteria that they serve; without specs (`bare`) there are none.
    """
    said = settings.origins["min_grade"].layer not in ("defaults", "project")
    if said or bare or chosen not in NEEDS_WITNESS:
        return settings.min_grade
    return min(settings.min_grade, OWN_WITNESS)  # "A" sorts before "B"


def _order(request: StartRequest, settings: config.Settings, project: Project, *, name: str) -> Order:
    """What request, settings and repository say by themselves; criterion and agent are filled in after."""
    return Order(
        loop=name,
        task=request.task,
        repo=project.top,
        criterion=Criterion(task_class="custom", gates=()),
        limits=settings.limits,
        agent="",
        model=settings.model,
        keep_session=settings.keep_session,
        head_commit=project.head,
        head_branch=(project.branch or "").removeprefix("refs/heads/"),
        branch=_branch(request, settings, project, name),
        on_fail=settings.on_fail,
        sandbox=settings.sandbox,
        network=settings.net == "on",
        allow_write=tuple(os.path.abspath(os.path.join(request.cwd, path)) for path in request.allow_write),
        share=settings.share,
        setup=settings.setup,
        setup_cwd=os.path.dirname(settings.project.path) or "." if settings.project else ".",
        # Plan and specs stand at the top: whoever is told of them by name must begin there.
        prefix=project.prefix.rstrip("/") if request.plan is None else "",
        with_changes=request.with_changes,
        history=settings.history,
        protect=settings.protect_paths if request.plan is None else (*settings.protect_paths, SPECS),
        config_digest=config.digest(settings),
        report_copy_to=settings.report_copy_to,
    )


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


def _check_task(task: str) -> None:
    if not task.strip():
        raise UserError(
            "the task is empty", code="E-TASK", next='ralph loop "make the tests pass" --check "pytest -q"'
        )
    if len(task.encode()) > MAX_TASK_BYTES:
        raise UserError(
            f"the task has {len(task.encode())} bytes, at most {MAX_TASK_BYTES} are allowed",
            code="E-TASK",
            why="it is repeated in every prompt",
            next='ralph loop "do what SPEC.md says" --check "pytest -q"',
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


def seal_gates(
    request: StartRequest,
    settings: config.Settings,
    project: Project,
    base: str,
    env: Mapping[str, str],
    *,
    alone_is_proof: bool,
    aims: frozenset[str] = frozenset(),
) -> tuple[Gate, ...]:
    """`--check` is the proof; configured gates stay green, or are the proof where nothing else is.

    Of those, the ones that check what the task is about (`aims`), when there are such.
    """
    listed = user_call(project, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", base]).out
    paths = frozenset(os.fsdecode(path) for path in listed.split(b"\0")[:-1])
    gates: list[Gate] = []
    for text in request.checks:
        name, run = _name_check(text, [gate.name for gate in gates])
        gates.append(seal(name, run, cwd=project.prefix.rstrip("/") or ".", tree_paths=paths, proof=True))
    for text in request.hidden_checks:
        name, run = _name_check(text, [gate.name for gate in gates], "hidden")
        cwd = project.prefix.rstrip("/") or "."
        gate = seal(name, run, cwd=cwd, tree_paths=paths, proof=True, origin=HIDDEN)
        gates.append(unseen(gate, project.top, paths))
    gates += [_inferred_gate(check, paths) for check in request.inferred]
    alone = not gates and not any(spec.proof for spec in settings.gates.values())
    fitting = fitting_gates(request.until, request.task, {n: s.run for n, s in settings.gates.items()}, aims)
    for name, spec in settings.gates.items():
        if any(gate.name == name for gate in gates):
            continue
        table = msgspec.structs.asdict(spec)
        origin = HIDDEN if table.pop("hidden") else "config"
        table["proof"] = spec.required and (
            spec.proof or (alone and alone_is_proof and (not fitting or name in fitting))
        )
        gate = seal(name, table.pop("run"), tree_paths=paths, origin=origin, **table)
        gates.append(unseen(gate, project.top, paths) if origin == HIDDEN else gate)
    if not any(gate.required for gate in gates):
        raise UserError(
            "there is no check that could prove this task",
            code="E-CHECK-NONE",
            why="expected --check CMD or [gates.NAME] in ralph.toml; without one nothing could be verified",
            next=f'ralph loop "{_short(request.task)}" --check "pytest -q"',
        )
    return tuple(_with_tool(gate, project, env) for gate in gates)


def _inferred_gate(check: Check, paths: frozenset[str]) -> Gate:
    return seal(
        check.name,
        check.run,
        cwd=check.cwd,
        tree_paths=paths,
        proof=check.proof,
        read=check.read,
        minimum=check.minimum,
        maximum=check.maximum,
        fail_on="P2" if check.counted == "findings" else "P1",
        origin="inferred",
    )


def _name_check(text: str, taken: list[str], kind: str = "check") -> tuple[str, str]:
    """NAME=CMD, or a command that is given a name."""
    match = re.match(r"([a-z][a-z0-9_-]{0,30})=(.*\S.*)", text, re.DOTALL)
    if match and match.group(1) in taken:
        raise UserError(
            f'two checks are called "{match.group(1)}"', code="E-CHECK-NAME", next="ralph loop --help"
        )
    if match:
        return match.group(1), match.group(2)
    if not text.strip():
        raise UserError(
            "a check is empty, expected a command", code="E-CHECK-EMPTY", next="ralph loop --help"
        )
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    return name, text


def _with_tool(gate: Gate, project: Project, env: Mapping[str, str]) -> Gate:
    """Pin the file that the command's first word means now."""
    own = [os.path.join(project.top, part) for part in gate.path]
    path = os.pathsep.join((*own, env.get("PATH", os.defpath)))
    cwd = os.path.normpath(os.path.join(project.top, gate.cwd))
    found = tools.resolve(gate.argv[0], path=path, cwd=cwd, repo=project.top, home=env.get("HOME", "/"))
    if isinstance(found, tools.MissingTool) or found.in_repo:
        return gate
    return msgspec.structs.replace(gate, tool=found.path, tool_sha=found.sha256)


def find_protection(
    wanted: str, network: bool, root: str, env: Mapping[str, str]
) -> tuple[str | None, Protection]:
    """The bubblewrap to use, if its box was seen to hold, and what was seen; never a silent downgrade."""
    bwrap = None if wanted == "none" else shutil.which("bwrap", path=env.get("PATH"))
    shield = cached_protection(root, home=env.get("HOME") or "/", bwrap=bwrap, network=network)
    if wanted == "require" and shield.level not in BOXED:
        raise SetupError(
            f"a sandbox is required and only level {shield.level} holds here",
            code="E-SANDBOX",
            why="; ".join(shield.reasons) or "see ralph doctor",
            next="ralph doctor",
        )
    return (bwrap if shield.level in BOXED else None), shield


def _name(request: StartRequest, token: str) -> str:
    if request.loop_id:
        return safe_name(request.loop_id.removeprefix("ralph-"))
    about = request.plan.mode if request.plan is not None and request.task == FROM_SPECS else request.task
    slug = re.sub(r"[^a-z0-9]+", "-", about.lower()).strip("-")[:30].strip("-")
    return safe_name(f"{slug or 'loop'}-{token}")


def _branch(request: StartRequest, settings: config.Settings, project: Project, name: str) -> str:
    """The result branch; refused now if it could not be made at the end."""
    branch = request.branch or f"{settings.branch_prefix}/{name}"
    if user_call(project, ["check-ref-format", f"refs/heads/{branch}"], ok=None).code:
        raise UserError(f"'{branch}' is not a branch name", code="E-BRANCH-NAME", next="git branch --list")
    parts = branch.split("/")
    for count in range(1, len(parts) + 1):
        above = "/".join(parts[:count])
        if user_call(project, ["rev-parse", "-q", "--verify", f"refs/heads/{above}"], ok=None).code == 0:
            raise UserError(
                f"branch '{above}' is in the way of the result branch '{branch}'",
                code="E-BRANCH-TAKEN",
                why="Ralph never moves a branch that it did not make",
                next='ralph loop TASK --check CMD --branch "results/one"',
            )
    return branch


def _config_note(settings: config.Settings, project: Project, base: str) -> tuple[str, ...]:
    if settings.project is None:
        return ()
    done = user_call(project, ["cat-file", "blob", f"{base}:{settings.project.path}"], ok=None)
    note = config.project_note(settings, done.out if done.code == 0 else None)
    return (note,) if note else ()


def _short(task: str) -> str:
    return re.sub(r"[^\w .,:-]", "", task)[:40]
