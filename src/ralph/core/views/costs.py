"""What a loop's calls cost, by agent and model: a fold over its facts. Unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.order import Order
from ralph.core.model.spend import Usage


class ModelCost(Struct, frozen=True):
    agent: str
    model: str  # "" = the agent's own default
    role: str  # work, readers, judge; in a team its roles, the work is the coder's
    calls: int = 0
    tokens: int | None = None  # None: no call told
    cost: float | None = None
    unknown: int = 0  # calls whose cost nobody told
    estimated: bool = False  # part of it was computed from tokens and prices


def costs_by_model(events: Iterable[e.AnyEvent]) -> tuple[ModelCost, ...]:
    """A row for each agent, model and role, in the order of their first call."""
    rows: dict[tuple[str, str, str], ModelCost] = {}
    agents: list[SealedAgent] = []
    seats: dict[str, SealedAgent] = {}
    team = False
    now = ("", "", "work")
    for event in events:
        match event:
            case e.LoopStarted(order=order):
                agents = [order.agent, *order.spares]
                team, seats = order.team is not None, _seats(order)
            case e.ResumeAsked(agent=SealedAgent() as other):
                agents = [other]
            case e.AgentStarted(agent=name, using=using, purpose=purpose):
                plans = team and purpose == "plan"
                spoken = [seats["planner"]] if plans and not using and "planner" in seats else agents
                known = spoken[using] if using < len(spoken) and spoken[using].name == name else None
                role = "planner" if plans else "coder" if team else "work"
                now = (name, known.model if known else "", role)
                _begin(rows, now, 1)
            case e.AgentEnded(usage=usage):
                _add(rows, now, usage)
            case e.ReadersStarted(count=count):
                _begin(rows, _key(seats, "readers"), count)
            case e.ReadersEnded(usages=usages):
                for usage in usages:
                    _add(rows, _key(seats, "readers"), usage)
            case e.JudgeStarted(role=role, beside=beside):
                _begin(rows, _key(seats, role), 1)
                if beside:
                    _begin(rows, _key(seats, "judge"), 1)
            case e.JudgeEnded(role=role, usage=usage, beside=second):
                _add(rows, _key(seats, role), usage)
                if second is not None:
                    _add(rows, _key(seats, "judge"), second.usage)
            case e.RoleStarted(role=role):
                _begin(rows, _key(seats, role), 1)
            case e.RoleEnded(role=role, usage=usage):
                _add(rows, _key(seats, role), usage)
            case _:
                pass
    return tuple(rows.values())


def _seats(order: Order) -> dict[str, SealedAgent]:
    """Who is called beside the work, by role."""
    roles = order.team.roles if order.team is not None else {}
    return {
        **{role: terms.agent for role, terms in roles.items()},
        "readers": (order.brief and order.brief.reader) or order.agent,
        "judge": order.judge or order.agent,
    }


def _key(seats: dict[str, SealedAgent], role: str) -> tuple[str, str, str]:
    agent = seats.get(role, SealedAgent(""))
    return (agent.name, agent.model, role)


def add_rows(rows: Iterable[ModelCost]) -> tuple[ModelCost, ...]:
    """Rows of several loops, those of the same agent, model and role together; the dearest first."""
    sums: dict[tuple[str, str, str], ModelCost] = {}
    for row in rows:
        key = (row.agent, row.model, row.role)
        was = sums.get(key, replace(row, calls=0, tokens=None, cost=None, unknown=0, estimated=False))
        sums[key] = replace(
            was,
            calls=was.calls + row.calls,
            tokens=_sum(was.tokens, row.tokens),
            cost=_sum(was.cost, row.cost),
            unknown=was.unknown + row.unknown,
            estimated=was.estimated or row.estimated,
        )
    return tuple(sorted(sums.values(), key=lambda row: (-(row.cost or 0.0), row.agent, row.model, row.role)))


def _begin(rows: dict[tuple[str, str, str], ModelCost], key: tuple[str, str, str], calls: int) -> None:
    was = rows.get(key) or ModelCost(*key)
    rows[key] = replace(was, calls=was.calls + calls, unknown=was.unknown + calls)


def _add(rows: dict[tuple[str, str, str], ModelCost], key: tuple[str, str, str], usage: Usage) -> None:
    was = rows.get(key)
    if was is None:
        return  # a call that began before what this record holds
    rows[key] = replace(
        was,
        tokens=_sum(was.tokens, usage.tokens),
        cost=_sum(was.cost, usage.cost),
        unknown=was.unknown - (usage.cost is not None),
        estimated=was.estimated or usage.estimated,
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else one + other
