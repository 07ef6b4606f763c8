"""What happened in a backlog, from its facts alone: the log of attempts, burndown, effort, lessons."""

from __future__ import annotations

import time
from typing import Any

from ralph.app.backlog.desk import Desk
from ralph.core.backlog.changes import State as States
from ralph.core.backlog.changes import apply_fact, fold, recurring_pattern
from ralph.shell.backlog.store import facts_of


def make_report(desk: Desk) -> dict[str, Any]:
    found = desk.read().found
    facts = facts_of(desk.place, desk.env)
    state: States = {}
    log: list[dict[str, Any]] = []
    for fact in facts:
        old = state.get(fact.item)
        apply_fact(state, fact)
        if fact.deed in ("adopted", "synced", "started") and not fact.status:
            continue
        log.append(
            {
                "number": len(log) + 1,
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(fact.at)),
                "by": fact.by,
                "deed": fact.deed,
                "item": fact.item or ", ".join(raw["id"] for raw in fact.added[:5]),
                "result": (fact.attempt or {}).get("result", ""),
                "run_id": (fact.attempt or {}).get("run_id", ""),
                "status": f"{old.status} -> {fact.status}" if old and fact.status else "",
                "words": fact.reason or (fact.attempt or {}).get("failure_reason", ""),
                "commit": (fact.attempt or {}).get("commit"),
                "open": sum(one.status in ("FAILING", "BLOCKED") for one in state.values()),
            }
        )
    now = fold(facts)
    effort = [_effort(item.id, now[item.id].attempts) for item in found.items if item.id in now]
    lessons = {item.id: text for item in found.items if (text := recurring_pattern(item.attempts))}
    questions = {name: one.question for name, one in now.items() if one.question}
    told = {name: one.attempts[-1].get("told_not_checked") for name, one in now.items() if one.attempts}
    told = {name: texts for name, texts in told.items() if texts}
    made = {"v": 1, "log": log, "effort": effort, "lessons": lessons, "questions": questions}
    return {**made, "told_not_checked": told}


def _effort(name: str, attempts: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """Unknown is not zero: a cost that one attempt did not tell makes the sum unknown."""
    spends = [one["spend"] for one in attempts if isinstance(one.get("spend"), dict)]
    costs = [one.get("cost") for one in spends]
    known = bool(costs) and all(isinstance(cost, int | float) for cost in costs)
    return {
        "item": name,
        "attempts": len(attempts),
        "calls": sum(one.get("calls") or 0 for one in spends),
        "seconds": round(sum(one.get("seconds") or 0 for one in spends), 1),
        "cost": round(sum(costs), 4) if known else None,
    }


def report_markdown(made: dict[str, Any]) -> str:
    lines = ["# Backlog report", "", "## Lessons", ""]
    lines += [f"- {name}: {text}" for name, text in made["lessons"].items()] or [
        "nothing failed more than once"
    ]
    if made["questions"]:
        lines += ["", "## Questions for a person", ""]
        lines += [f"- {name}: {text}" for name, text in made["questions"].items()]
    if made["told_not_checked"]:
        lines += ["", "## Constraints that only the agent was told", ""]
        lines += [f"- {name}: {'; '.join(texts)}" for name, texts in made["told_not_checked"].items()]
    lines += ["", "## Effort", "", "| item | attempts | calls | minutes | cost |", "|---|---|---|---|---|"]
    for one in made["effort"]:
        cost = "unknown" if one["cost"] is None else f"${one['cost']:.2f}"
        cells = (one["item"], one["attempts"], one["calls"], round(one["seconds"] / 60, 1), cost)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "## Burndown", ""]
    days: dict[str, int] = {}
    for one in made["log"]:
        days[one["at"][:10]] = one["open"]
    lines += [f"- {day}: {count} open" for day, count in days.items()]
    lines += ["", "## Log", ""]
    for one in made["log"]:
        head = f"### {one['number']:03d} {one['at']} {one['deed']} {one['item']}"
        lines += [head, "", f"by {one['by']}"]
        told = {
            "result": "result",
            "run_id": "run id",
            "status": "status",
            "words": "reason",
            "commit": "commit",
        }
        lines += [f"{name}: {one[key]}" for key, name in told.items() if one[key]]
        lines.append("")
    return "\n".join(lines)
