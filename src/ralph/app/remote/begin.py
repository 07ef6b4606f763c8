"""A loop that a program starts: always in the background, always on the user's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ralph.app.criterion.adopt import Consent, Nobody, adopt_checks, needs_approval
from ralph.app.remote.arguments import StartLoop
from ralph.app.remote.scope import ServedProjects
from ralph.app.start import StartRequest, prepare_start, start
from ralph.app.words.format import safe
from ralph.clock import SystemClock
from ralph.core.criterion.proposal import Check
from ralph.core.model.spend import Limits
from ralph.errors import UserError
from ralph.shell.config import Settings, approvals
from ralph.shell.criterion import adopt as rules
from ralph.shell.start.request import read_settings
from ralph.shell.state.directory import config_dir


def start_loop(asked: StartLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    from ralph.app.background.hand_over import hand_over, handed_json

    request = StartRequest(
        task=asked.task,
        cwd=scope.folder(asked.project),
        checks=tuple(asked.checks),
        until=asked.until,
        task_class=asked.task_class,
        notes=("an MCP client asked for this loop and wrote its task and checks",),
    )
    _, settings = read_settings(request, env, SystemClock().now())
    request = replace(request, flags=_limit_flags(asked, settings.limits))
    prepared = prepare_start(_with_checks(request, settings, env), env)
    started = start(prepared, env, queue=asked.queue)
    handed = hand_over(
        started.name,
        env,
        priority="medium",
        most=started.max_loops,
        machine=started.max_loops_machine,
        stint=started.stint,
        queue=asked.queue,
    )
    gates = {gate.name: safe(gate.run, 500) for gate in prepared.order.criterion.gates if not gate.hidden}
    return handed_json(handed) | {"checks": gates, "warnings": list(prepared.warnings)}


def _with_checks(request: StartRequest, settings: Settings, env: Mapping[str, str]) -> StartRequest:
    """The request with its checks. Outside a box every command of a program needs the user's approval."""
    if not request.checks:
        return adopt_checks(request, env, Consent(typed=False), Nobody())
    given = [Check(name="check", run=one, kind="custom", layer="task") for one in request.checks]
    digest = rules.approval_for(given, request.cwd).hash
    if rules.is_held(settings, env) or approvals.is_approved(config_dir(env), digest):
        return request
    raise needs_approval(given, request.cwd, env)


def _limit_flags(asked: StartLoop, limits: Limits) -> dict[str, object]:
    """What was asked for as flags; a limit above the user's own is refused, not cut in silence."""
    seconds = None if asked.max_minutes is None else asked.max_minutes * 60
    rows = (
        ("--max-iterations", "max_iterations", asked.max_iterations, limits.iterations, ""),
        ("--max-time", "max_minutes", seconds, limits.time, "s"),
        ("--max-cost", "max_cost", asked.max_cost, limits.cost, ""),
    )
    flags: dict[str, object] = {}
    for flag, field, value, most, unit in rows:
        if value is None:
            continue
        if not 0 < value < 1e9 or (most is not None and value > most):
            raise UserError(
                f"`{field}` may only lower the user's limit",
                code="E-MCP-LIMIT",
                why=f"seen {value:g}{unit}, expected more than 0"
                + (f" and at most {most:g}{unit}" if most is not None else ""),
                next="ralph config show --origin",
            )
        flags[flag] = f"{value:.6f}".rstrip("0").rstrip(".") + unit
    return flags
