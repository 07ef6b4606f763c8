"""One item, as a person wants to see it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ralph.app.backlog.desk import Desk, items_without_criterion, prd_of
from ralph.app.backlog.helpers import item_json
from ralph.core.backlog.prd import link_problem
from ralph.core.backlog.select import why_not


class ShownItem(Struct, frozen=True):
    body: dict[str, Any]
    lines: tuple[str, ...]


def show_item(desk: Desk, name: str) -> ShownItem:
    opened = desk.read()
    item = opened.item(name)
    prd = prd_of(desk, item)
    why = why_not(item, opened.found.by_id, items_without_criterion(desk, opened.found))
    body = item_json(item) | {
        "v": 1,
        "status": item.status,
        "why_not_next": why,
        "attempts": list(item.attempts),
        "override_reason": item.override or None,
    }
    lines = [
        f"{item.id}  {item.title}",
        f"status: {item.status}, {item.iteration} of {item.max_attempts} attempts used",
    ]
    lines += [f"not next: {why}"] if why and item.status == "FAILING" else []
    if item.override:
        kind = "blocked" if item.status == "BLOCKED" else "PASSING by a person, not by evidence"
        lines.append(f"{kind}: {item.override}")
    lines += [f"priority: {item.priority}"] if item.priority is not None else []
    lines += [f"after: {', '.join(item.dependencies)}"] if item.dependencies else []
    lines += [item.description] if item.description else []
    lines += [f"accept: {one}" for one in (prd.acceptance if prd else item.acceptance)]
    lines += [f"verify: {one}" for one in item.verification]
    lines += [f"criterion: {one}" for one in item.criteria]
    if item.prd:
        stale = link_problem(prd, item.prd.version, item.prd.last_updated) if prd else "it is missing"
        lines.append(f"PRD: {item.prd.file}{f' ({stale})' if stale else ''}")
    if item.no_proof:
        lines.append(f"proof: none, because {item.no_proof}")
    for one in item.attempts:
        lines += _attempt_lines(one)
    return ShownItem(body, tuple(lines))


def _attempt_lines(one: dict[str, Any]) -> list[str]:
    evidence = one.get("evidence")
    evidence = evidence if isinstance(evidence, dict) else {}
    counted = "" if one.get("counted", True) else " (not counted)"
    lines = [f"attempt {one.get('run_id')} {one.get('timestamp')}: {one.get('result')}{counted}"]
    lines += [f"  {evidence['results_summary']}"] if evidence.get("results_summary") else []
    if one.get("result") == "PASSED" and not evidence.get("checks"):
        lines.append("  typed by somebody, not seen by Ralph")
    for key in ("failure_reason", "investigation", "commit", "rejected", "loop", "notes"):
        lines += [f"  {key.replace('_', ' ')}: {one[key]}"] if one.get(key) else []
    return lines
