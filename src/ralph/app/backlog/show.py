"""One item, as a person wants to see it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ralph.app.backlog.desk import Desk, iso_time, lacks_criterion, prd_of
from ralph.app.backlog.helpers import item_json
from ralph.core.backlog.prd import link_problem
from ralph.core.backlog.select import NO_CRITERION, why_not
from ralph.core.backlog.task_text import CLAIM
from ralph.shell.backlog.store import facts_of


class ShownItem(Struct, frozen=True):
    body: dict[str, Any]
    lines: tuple[str, ...]


def show_item(desk: Desk, name: str) -> ShownItem:
    opened = desk.read()
    item = opened.item(name)
    prd = prd_of(desk, item)
    why = why_not(item, opened.found.by_id) or (NO_CRITERION if lacks_criterion(desk, item) else "")
    said = [
        {"at": iso_time(fact.at), "deed": fact.deed, "status": fact.status, "reason": fact.reason}
        for fact in facts_of(desk.place, desk.env)
        if fact.item == name and fact.by == "user" and fact.reason
    ]
    body = item_json(item) | {
        "v": 1,
        "status": item.status,
        "why_not_next": why,
        "question": item.question or None,
        "attempts": list(item.attempts),
        "override_reason": item.override or None,
        "decisions": said,
    }
    kind = "blocked" if item.status == "BLOCKED" else "PASSING by a person, not by evidence"
    stale = "" if item.prd is None else link_problem(prd, item.prd) if prd else "it is missing"
    constraints = prd.constraints if prd else ()
    lines = [
        f"{item.id}  {item.title}",
        f"status: {item.status}, {item.iteration} of {item.max_attempts} attempts used",
        f"not next: {why}" if why and item.status == "FAILING" else "",
        f"{kind}: {item.override}" if item.override else "",
        f"priority: {item.priority}" if item.priority is not None else "",
        f"after: {', '.join(item.dependencies)}" if item.dependencies else "",
        item.description,
        *(f"accept: {one}" for one in (prd.acceptance if prd else item.acceptance)),
        *(f"non-functional: {one}" for one in (*item.nonfunctional, *(prd.nonfunctional if prd else ()))),
        *(f"verify: {one}" for one in item.verification),
        *(f"criterion: {one}" for one in item.criteria),
        *(
            f"constraint, {'checked' if prd and one in prd.guards else 'told to the agent'}: {one}"
            for one in constraints
        ),
        f"PRD: {item.prd.file}{f' ({stale})' if stale else ''}" if item.prd else "",
        f"proof: none, because {item.no_proof}" if item.no_proof else "",
        *(f"decided {one['at']}: {one['status'] or one['deed']}: {one['reason']}" for one in said),
        *(line for one in item.attempts for line in _attempt_lines(one)),
    ]
    return ShownItem(body, tuple(line for line in lines if line))


def _attempt_lines(one: dict[str, Any]) -> list[str]:
    evidence = one.get("evidence")
    evidence = evidence if isinstance(evidence, dict) else {}
    counted = "" if one.get("counted", True) else " (not counted)"
    lines = [f"attempt {one.get('run_id')} {one.get('timestamp')}: {one.get('result')}{counted}"]
    lines += [f"  {evidence['results_summary']}"] if evidence.get("results_summary") else []
    if one.get("result") == "PASSED" and not evidence.get("checks"):
        lines.append("  typed by somebody, not seen by Ralph")
    if one.get("investigation"):
        lines.append(f"  {CLAIM}{str(one['investigation']).removeprefix(CLAIM)}")
    for key in ("failure_reason", "commit", "rejected", "loop", "notes"):
        lines += [f"  {key.replace('_', ' ')}: {one[key]}"] if one.get(key) else []
    return lines
