"""What a report says of time, calls and money."""

from __future__ import annotations

import msgspec

from ralph.app.report.loop_report import ReportSpend
from ralph.app.words.format import safe
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.views.costs import ModelCost, costs_by_model


def _model_cost(row: ModelCost) -> ModelCost:
    return msgspec.structs.replace(row, agent=safe(row.agent), model=safe(row.model))


def report_spend(loop: Loop, events: tuple[e.AnyEvent, ...]) -> ReportSpend:
    spend = loop.spend
    return ReportSpend(
        seconds=spend.seconds,
        waited=spend.waited,
        iterations=loop.iteration,
        calls=spend.calls,
        cost=spend.cost,
        tokens=spend.tokens,
        calls_of_unknown_cost=spend.blind,
        cost_estimated=spend.estimated,
        by_model=tuple(map(_model_cost, costs_by_model(events))),
        limits=loop.limits,
    )
