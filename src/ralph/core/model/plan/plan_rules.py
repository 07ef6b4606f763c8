"""What must hold of a plan as a whole before anybody works by it.

Its ids are unique, what it waits for exists and does not wait in a circle, every criterion of the specs is
served by an item or listed as missing. Lines come from `file`. Nothing here looks at how well a plan
was thought out, and nothing raises: the findings are for the screen and for the next planning call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralph.core.model.gate import Severity
from ralph.core.model.plan.items import NAME, Plan, order_of
from ralph.core.model.verdict import Finding

MAX_SHOWN = 12  # items named in one sentence


def is_valid(findings: Iterable[Finding]) -> bool:
    return all(one.severity == "P2" for one in findings)


def check_plan(
    plan: Plan, criteria: Iterable[str] | None, lines: Mapping[str, int] | None = None, path: str = NAME
) -> tuple[Finding, ...]:
    found: list[Finding] = []

    def complain(key: str, message: str, item: str = "", severity: Severity = "P1") -> None:
        line = (lines or {}).get(item, 1)
        found.append(Finding(key=key, message=message, path=path, line=line, severity=severity))

    if not plan.items:
        complain("plan-empty", "the plan has no items, expected at least one line like '- [ ] what to do'")
    known: set[str] = set()
    for item in plan.items:
        if item.id in known:
            complain(f"plan-duplicate:{item.id}", f"there are two items '{item.id}'", item.id)
        known.add(item.id)
    for item in plan.items:
        for other in item.after:
            if other not in known:
                complain(
                    f"plan-unknown:{item.id}:{other}",
                    f"item '{item.id}' waits for '{other}', which is not in the plan",
                    item.id,
                )
        if item.no_proof and item.serves:
            message = f"item '{item.id}' serves criteria and declares that nothing proves it: choose one"
            complain(f"plan-proof:{item.id}", message, item.id)
    circle = order_of(plan.items)[1]
    if circle:
        shown = [*circle, circle[0]]
        text = " -> ".join(shown if len(shown) <= MAX_SHOWN else [*shown[: MAX_SHOWN - 2], "…", shown[-1]])
        complain(f"plan-circle:{circle[0]}", f"dependency cycle: {text}", circle[0])
    if criteria is not None:
        _check_criteria(plan, set(criteria), complain)
    return tuple(found)


def _check_criteria(plan: Plan, criteria: set[str], complain: object) -> None:
    assert callable(complain)
    missing = {one.name for one in plan.missing}
    served: set[str] = set()
    for item in plan.items:
        if item.state != "cancelled":
            served.update(item.serves)
        for one in item.serves:
            if one not in criteria and one not in missing:
                message = f"item '{item.id}' serves '{one}', which no spec has"
                complain(f"plan-criterion:{item.id}:{one}", message, item.id)
        if not item.serves and not item.chore and not item.no_proof and item.state == "open":
            message = f"item '{item.id}' serves no criterion, expected 'serves ID' or 'chore'"
            complain(f"plan-serves:{item.id}", message, item.id, "P2")
    for one in sorted(criteria - served - missing):
        complain(
            f"plan-uncovered:{one}", f"no item serves criterion '{one}', and it is not listed as missing"
        )
