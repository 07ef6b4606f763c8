"""Which team a loop gets: its roles, the agent of each, and what is to be said of them.

Off by default. The coder is the agent that does the work, so its table only says which that is; the judge is
the one of [judge]. Looked up once, before the loop starts; nothing is started here.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ralph.core.model.agent import SealedAgent
from ralph.core.model.order import RoleTerms, Team
from ralph.core.model.team.terms import ROLES, member, team_name
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.git.project import Project
from ralph.shell.start.agents import AgentChoice, choose_agents, with_effort

SAME_REVIEWER = (
    "the reviewer is the agent that does the work, which is weaker than another one: "
    "[team.reviewer] agent, model or profile names another"
)


class TeamChoice(msgspec.Struct, frozen=True):
    team: Team | None = None
    choices: tuple[AgentChoice, ...] = ()  # of the roles that have an agent of their own
    notes: tuple[str, ...] = ()


def roles_of(settings: config.Settings) -> tuple[str, ...]:
    """The roles besides the coder; none when no team was asked for."""
    team = settings.team
    if not team.use and settings.origins["team.roles"].layer != "flag":
        return ()
    named = {part.strip() for part in team.roles.split(",") if part.strip()}
    unknown = sorted(named.difference(ROLES))
    if unknown:
        raise UserError(
            f"'{unknown[0]}' is not a role of a team",
            code="E-TEAM",
            at=settings.origins["team.roles"].where,
            why=f"expected some of {', '.join(ROLES)}",
            next="ralph loop --help",
        )
    own = {role for role in ROLES if team.of(role) != config.RoleSpec()}
    return tuple(role for role in ROLES if role in named | own and role != "coder")


def with_team(settings: config.Settings, *, command: bool) -> config.Settings:
    """The settings with what [team.coder] and [team.judge] say of the worker and the judge."""
    roles, team, origins = roles_of(settings), settings.team, settings.origins
    if not roles:
        return settings
    typed = command or origins["agent"].layer == "flag"
    coder, own = team.of("coder"), team.of("judge")
    if coder.agent and not typed:
        settings = replace(settings, agent=coder.agent, profile=coder.profile, model="")
    if coder.model and origins["model"].layer != "flag":
        settings = replace(settings, model=coder.model)
    if "judge" not in roles:
        return settings
    judge = settings.judge
    if own.agent or own.profile:
        judge = replace(judge, agent=own.agent, profile=own.profile, model="")
    if judge.rubric == "auto" and not judge.dimensions:
        judge = replace(judge, rubric="default")
    return replace(settings, judge=replace(judge, model=own.model or judge.model))


def effort_in(settings: config.Settings, role: str) -> dict[str, str]:
    """What the table of the coder or the judge adds to the settings of its agent."""
    level = settings.team.of(role).effort if roles_of(settings) else ""
    return {"effort": level} if level else {}


def choose_team(
    settings: config.Settings, project: Project, env: Mapping[str, str], worker: AgentChoice, task: str
) -> TeamChoice:
    """The team that these settings ask for. `worker` is the agent that does the work."""
    roles = roles_of(settings)
    if not roles:
        return TeamChoice()
    team, coder = settings.team, replace(worker.agent, model=settings.model)
    terms = {"coder": RoleTerms(coder, team.of("coder").prompt)}
    choices: list[AgentChoice] = []
    notes: list[str] = []
    for role in roles:
        choice, agent = agent_of_role(role, settings, project, env, worker)
        terms[role] = RoleTerms(agent, team.of(role).prompt)
        if choice is not worker:
            choices.append(choice)
            notes += [f"{member(role)}: {note}" for note in choice.notes]
    if "reviewer" in terms and _same(terms["reviewer"].agent, coder):
        notes.append(SAME_REVIEWER)
    who = ", ".join(map(member, terms))
    notes.append(
        f"team {team_name(task)}: {who}; each role makes calls of its own, which multiplies the cost"
    )
    return TeamChoice(Team(team_name(task), terms, team.parallel), tuple(choices), tuple(notes))


def agent_of_role(
    role: str, settings: config.Settings, project: Project, env: Mapping[str, str], worker: AgentChoice | None
) -> tuple[AgentChoice, SealedAgent]:
    """Another agent than the worker's has its own model, key and price, never the worker's.

    Without a worker the role must have an agent or a profile of its own.
    """
    table = settings.team.of(role)
    name, profile, model = table.agent, table.profile, table.model
    if profile and profile not in settings.profiles:
        raise UserError(
            f'[team.{role}] names the profile "{profile}", which is not defined',
            code="E-TEAM",
            at=settings.origins[f"team.{role}.profile"].where,
            why=f"expected one of {', '.join(sorted(settings.profiles))}",
            next="ralph config show --origin",
        )
    spec = settings.profiles.get(profile, config.ProfileSpec())
    name = name or spec.agent.partition(",")[0]
    if not name and worker is not None:
        choice, model = worker, model or settings.model
    else:
        choice = choose_agents(replace(settings, agent=name, profile=profile), project, env)[0]
        model = model or spec.model
    return choice, with_effort(replace(choice.agent, model=model), env, table.effort)


def _same(one: SealedAgent, other: SealedAgent) -> bool:
    return (one.name, one.argv, one.model) == (other.name, other.argv, other.model)
