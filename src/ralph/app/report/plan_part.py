"""What a report says of a loop's plan."""

from __future__ import annotations

import msgspec

from ralph.app.report.loop_report import ReportPlan
from ralph.app.words.format import safe
from ralph.core.model.loop import Loop
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.views.plan_view import ItemLine, PlanLine, item_lines, plan_line


def report_plan(loop: Loop) -> ReportPlan:
    return ReportPlan(
        line=_plan(loop),
        items=tuple(map(_item, item_lines(loop))),
        ties=tuple(map(_criterion_test, loop.build.links.tests)),
    )


def _plan(loop: Loop) -> PlanLine | None:
    line = plan_line(loop)
    if line is None:
        return None
    missing = tuple(safe(name, 200) for name in line.missing_specs)
    return msgspec.structs.replace(
        line, item=safe(line.item, 80), why=safe(line.why, 500), missing_specs=missing
    )


def _item(line: ItemLine) -> ItemLine:
    return msgspec.structs.replace(
        line,
        item=safe(line.item, 80),
        title=safe(line.title, 300),
        serves=tuple(safe(name, 80) for name in line.serves),
        note=safe(line.note, 500),
    )


def _criterion_test(tie: CriterionTest) -> CriterionTest:
    return msgspec.structs.replace(
        tie, spec=safe(tie.spec, 200), criterion=safe(tie.criterion, 80), test=safe(tie.test, 300)
    )
