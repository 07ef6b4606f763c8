"""`--dry-run`: the order as it would be sealed, and nothing spent or written."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ralph.app.start import Prepared
from ralph.app.words.format import clock, safe, short, table
from ralph.core.model.gate import Gate
from ralph.core.model.order import Order
from ralph.core.model.parts import flat_struct
from ralph.ui.display.stint_words import judge_words


def show_order(prepared: Prepared, *, as_json: bool) -> None:
    order = prepared.order
    if as_json:
        body: dict[str, Any] = {
            "v": 1,
            "dry_run": True,
            "order": msgspec.to_builtins(flat_struct(order)),
            "sandbox": {"level": prepared.protection.level, "words": prepared.protection.words},
            "warnings": list(prepared.warnings),
        }
        print(json.dumps(body, ensure_ascii=False))
        return
    print(*order_lines(prepared), sep="\n")


def order_lines(prepared: Prepared) -> list[str]:
    """What would be agreed, one fact a line."""
    order, limits = prepared.order, prepared.order.limits
    base = prepared.base_rev or order.base.head_commit
    agent = " ".join(order.agent.argv) or order.agent.name
    facts = [
        ("task", safe(order.task, 300)),
        *_mode(order),
        ("class", order.criterion.task_class),
        ("base", f"{short(base)}{' with your uncommitted changes' if order.with_changes else ''}"),
        ("result", f"branch {order.branch}, grade {order.criterion.min_grade} or better"),
        ("agent", safe(agent, 200)),
        ("limits", _limits(limits)),
        ("sandbox", f"{prepared.protection.level}: {'; '.join(prepared.protection.words)}"),
    ]
    lines = [f"would start {order.loop}; nothing has been written", *table(facts, "  ")]
    lines += [f"  gate       {_gate(gate)}" for gate in order.criterion.gates]
    if order.rubric is not None:
        lines.append(f"  judge      {judge_words(order)}")
    lines += [f"  waived     {key}: {reason}" for key, reason in sorted(order.criterion.waivers.items())]
    return lines + [f"  note       {safe(warning, 300)}" for warning in prepared.warnings]


def _mode(order: Order) -> list[tuple[str, str]]:
    """With a plan: what would come first, and why."""
    brief = order.brief
    if brief is None:
        return []
    if brief.planning or brief.plan is None:
        return [("mode", f"planning: {safe(brief.planning, 200)}")]
    open_items = sum(item.state == "open" for item in brief.plan.items)
    return [("mode", f"building, {open_items} of {len(brief.plan.items)} items open")]


def _limits(limits: Any) -> str:
    parts = [f"{limits.iterations} iterations" if limits.iterations is not None else "no limit on iterations"]
    parts.append(f"{clock(limits.iteration_time)} an iteration")
    if limits.time is not None:
        parts.append(f"{clock(limits.time)} in all")
    if limits.cost is not None:
        parts.append(f"{limits.cost:g} USD")
    if limits.iteration_cost is not None:
        parts.append(f"{limits.iteration_cost:g} USD a call")
    if limits.tokens is not None:
        parts.append(f"{limits.tokens} tokens")
    return ", ".join(parts)


def _gate(gate: Gate) -> str:
    kind = "proof" if gate.proof else "stays green" if gate.required else "advisory"
    where = "" if gate.cwd == "." else f" in {gate.cwd}"
    return f"{gate.name}  {kind}  {safe(gate.run, 200)}{where}  (read: {gate.read})"
