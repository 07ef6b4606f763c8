"""Analytics over the journal: one loop, or many by agent and model; see `core.views.analytics`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ralph.app.place import journal_of, project_of
from ralph.app.records import Record, read_newest
from ralph.app.report.recommend import SharedAdvice, recommend_across
from ralph.app.report.report_data import make_report
from ralph.app.views.rows import moment_ago
from ralph.core.views.analytics import Calibration, LoopAnalytics, analyse, score_forecasts
from ralph.core.views.costs import ModelCost, add_rows, costs_by_model
from ralph.errors import JournalError
from ralph.shell.journal.record import load


class AgentLine(Struct, frozen=True):
    agent: str
    model: str
    loops: int
    verified: int
    cost_per_verified: float | None  # None: a call's cost is unknown, or nothing was verified
    lies: int


class OneLoop(Struct, frozen=True):
    analytics: LoopAnalytics
    recommendations: tuple[str, ...]


def analyse_loop(text: str | None, env: Mapping[str, str], cwd: str) -> OneLoop:
    record = read_newest(text, env, cwd)
    return OneLoop(_analyse(record), _advice(record))


def _advice(record: Record) -> tuple[str, ...]:
    return make_report(record).notes.recommendations


def _analyse(record: Record) -> LoopAnalytics:
    return analyse(record.loop, record.events)


class ManyLoops(Struct, frozen=True):
    """Loops of a project, or all: each, their costs by model, and how forecasts did on the verified ones."""

    loops: list[LoopAnalytics]
    costs: tuple[ModelCost, ...]
    calibration: Calibration
    recommendations: tuple[SharedAdvice, ...] = ()


def analyse_many(
    env: Mapping[str, str], cwd: str, *, every: bool, since: str, recommend: bool = False
) -> ManyLoops:
    after = moment_ago(since) * 1000
    found, ended, said = [], [], []
    costs: list[ModelCost] = []
    with journal_of(env) as reader:
        for row in reader.summaries(None if every else project_of(cwd)):
            if row.updated < after:
                continue
            try:
                record = load(reader, row.loop)
            except JournalError:
                continue  # `ralph doctor` tells of it
            one = _analyse(record)
            found.append(one)
            costs += costs_by_model(record.events)
            said += [(record.name, _advice(record))] if recommend else []
            if one.outcome == "verified":
                ended.append((one.lines, record.loop.limits.iterations))
    return ManyLoops(found, add_rows(costs), score_forecasts(ended), recommend_across(said))


def by_agent(loops: list[LoopAnalytics]) -> list[AgentLine]:
    groups: dict[tuple[str, str], list[LoopAnalytics]] = {}
    for one in loops:
        groups.setdefault((one.agent, one.model), []).append(one)
    lines = []
    for (agent, model), group in sorted(groups.items()):
        verified = sum(one.outcome == "verified" for one in group)
        costs = [line.cost for one in group for line in one.lines]
        known = [cost for cost in costs if cost is not None]
        whole = len(known) == len(costs) and verified > 0
        lines.append(
            AgentLine(
                agent=agent,
                model=model,
                loops=len(group),
                verified=verified,
                cost_per_verified=sum(known) / verified if whole else None,
                lies=sum(one.lies for one in group),
            )
        )
    return lines
