"""What a loop's calls cost, by agent and model: a fold over its facts. Unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.spend import Usage


class ModelCost(Struct, frozen=True):
    agent: str
    model: str  # "" = the agent's own default
    role: str  # work, readers, judge
    calls: int = 0
    tokens: int | None = None  # None: no call told
    cost: float | None = None
    unknown: int = 0  # calls whose cost nobody told
    estimated: bool = False  # part of it was computed from tokens and prices


def costs_by_model(events: Iterable[e.AnyEvent]) -> tuple[ModelCost, ...]:
    """A row for each agent, model and role, in the order of their first call."""
    rows: dict[tuple[str, str, str], ModelCost] = {}
    agents: list[SealedAgent] = []
    reader = judge = SealedAgent("")
    now = ("", "", "work")
    for event in events:
        match event:
            case e.LoopStarted(order=order):
                agents = [order.agent, *order.spares]
                reader = (order.brief and order.brief.reader) or order.agent
                judge = order.judge or order.agent
            case e.ResumeAsked(agent=SealedAgent() as other):
                agents = [other]
            case e.AgentStarted(agent=name, using=using):
                known = agents[using] if using < len(agents) and agents[using].name == name else None
                now = (name, known.model if known else "", "work")
                _begin(rows, now, 1)
            case e.AgentEnded(usage=usage):
                _add(rows, now, usage)
            case e.ReadersStarted(count=count):
                _begin(rows, (reader.name, reader.model, "readers"), count)
            case e.ReadersEnded(usages=usages):
                for usage in usages:
                    _add(rows, (reader.name, reader.model, "readers"), usage)
            case e.JudgeStarted():
                _begin(rows, (judge.name, judge.model, "judge"), 1)
            case e.JudgeEnded(usage=usage):
                _add(rows, (judge.name, judge.model, "judge"), usage)
            case _:
                pass
    return tuple(rows.values())


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
