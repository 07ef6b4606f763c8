"""A team as lists, screens and reports show it: what each role cost, and the tasks that it shares."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.loop import Loop
from ralph.core.model.spend import Spend
from ralph.core.model.team.roles import TeamTask
from ralph.core.model.team.terms import LEADER, ROLES, member


class RoleLine(Struct, frozen=True, kw_only=True):
    role: str
    name: str
    agent: str
    model: str
    spend: Spend


class TeamLine(Struct, frozen=True, kw_only=True):
    name: str
    leader: str
    roles: tuple[RoleLine, ...]
    tasks: tuple[TeamTask, ...]
    done: int  # of the tasks
    tests: tuple[str, ...]  # of the tester, that the work is judged by
    without: dict[str, str]  # role -> why the loop went on without it
    review: str  # what the reviewer said last, in a word; "" = it was not asked


def team_line(loop: Loop) -> TeamLine | None:
    """None where one agent does it all."""
    team, state = loop.sealed.team, loop.team
    if team is None:
        return None
    agents = {role: terms.agent for role, terms in team.roles.items()}
    if loop.sealed.judge is not None:
        agents["judge"] = loop.sealed.judge
    roles = [role for role in ROLES if role in agents]
    return TeamLine(
        name=team.name,
        leader=LEADER,
        roles=tuple(
            RoleLine(
                role=role,
                name=member(role),
                agent=agents[role].name,
                model=agents[role].model,
                spend=state.spend.get(role, Spend()),
            )
            for role in roles
        ),
        tasks=state.tasks,
        done=sum(task.status == "completed" for task in state.tasks),
        tests=state.tests.paths if state.tests is not None and state.sealed else (),
        without=state.without,
        review=state.review.opinion.status if state.review.opinion is not None else "",
    )
