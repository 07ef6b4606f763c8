"""Who attacks the specs of `ralph specs refine`, within which limits and in which box. Nothing is called."""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Criterion
from ralph.core.model.order import Order
from ralph.shell import config
from ralph.shell.agent_call.beside.side_calls import judge_order
from ralph.shell.git.project import Project
from ralph.shell.plan.spec_files import Files, read_specs
from ralph.shell.sandbox.probe import Protection, find_protection
from ralph.shell.start.agents import AgentChoice, choose_agents, with_effort
from ralph.shell.start.request import StartRequest, read_settings, refuse_inside, refuse_request
from ralph.shell.start.team import agent_of_role
from ralph.shell.state.directory import open_state, state_dir

SAME_AGENT = "no other agent is named: --agent or [team.reviewer] agent lets another one attack the specs"


class Refining(Struct, frozen=True, kw_only=True):
    """What would be asked, and of whom; nothing has been called."""

    order: Order
    project: Project
    files: Files
    asked: str  # the user's own words to the reviewer
    shield: Protection
    notes: tuple[str, ...]


def prepare_refining(
    request: StartRequest, paths: tuple[str, ...], env: Mapping[str, str], now: float
) -> Refining:
    """Everything that can be refused is refused here."""
    refuse_request(request, env)
    project, settings = read_settings(request, env, now)
    refuse_inside(project, state_dir(env))
    found = read_specs(request.cwd, paths)
    choice = _choose_agent(request, settings, project, env)
    config.check_limits(settings, config.explicit_limits(settings), choice.reports_cost)
    # A proposal is all that the agent may make: without a box nothing would see to that.
    sandbox = "none" if settings.box.sandbox == "none" else "require"
    box = replace(settings.box, network=settings.net == "on", sandbox=sandbox)
    state = open_state(state_dir(env), create=True)
    _, shield = find_protection(box.sandbox, box.network, state.root, env)
    unheld = () if sandbox == "require" else shield.words
    order = Order(
        loop=f"refine-{token_hex(4)}",
        task=request.task,
        repo=project.top,
        criterion=Criterion(task_class="custom", gates=()),
        limits=settings.limits,
        agent=choice.agent,
        box=box,
    )
    return Refining(
        order=judge_order(order, choice.agent),
        project=project,
        files=found,
        asked=settings.team.of("reviewer").prompt,
        shield=shield,
        notes=(*settings.warnings, *choice.notes, *found.skipped.values(), *unheld),
    )


def _choose_agent(
    request: StartRequest, settings: config.Settings, project: Project, env: Mapping[str, str]
) -> AgentChoice:
    """Who is named on the command line, else the team's reviewer, else the loop's own agent."""
    reviewer, origins = settings.team.of("reviewer"), settings.origins
    typed = request.agent_cmd or "flag" in (origins["agent"].layer, origins["profile"].layer)
    if not typed and (reviewer.agent or reviewer.profile):
        choice, agent = agent_of_role("reviewer", settings, project, env, None)
        return replace(choice, agent=agent)
    choice = choose_agents(settings, project, env, command=request.agent_cmd)[0]
    model = settings.model if typed else reviewer.model or settings.model
    notes = choice.notes if typed or reviewer.model else (*choice.notes, SAME_AGENT)
    agent = with_effort(replace(choice.agent, model=model), env, "" if typed else reviewer.effort)
    return replace(choice, agent=agent, notes=notes)
