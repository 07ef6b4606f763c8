"""What both displays for people say: the header of a stint, the agent's facts, what goes on now."""

from __future__ import annotations

from ralph.agents import Claimed, Denied, FaultSeen, LimitHit, Raw, Said, ToolUsed
from ralph.app.words.format import DOT, clock, cost_words, plural, plus_minus, safe
from ralph.app.words.lines import limit_words
from ralph.core.decide.stuck.health import health
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.views.plan_view import plan_line
from ralph.core.views.plan_view import words as words_of_plan
from ralph.ui.display import Doing


def header(loop: Loop, words: tuple[str, ...]) -> list[str]:
    """Who works where, behind what, on what, until when; and where a resumed loop stands."""
    order = loop.sealed
    agent = safe(order.agent.name, 40) + (f"/{safe(order.agent.model, 40)}" if order.agent.model else "")
    parts = ["ralph", order.loop, agent]
    if loop.work.workspace:
        parts.append(f"workspace {safe(loop.work.workspace, 120)}")
    gates = [
        f"{safe(gate.name, 30)}{'' if gate.proof else ' (keep green)'}: {safe(gate.run, 80)}"
        for gate in order.criterion.gates
    ]
    lines = [
        DOT.join(parts),
        f"  task     {safe(order.task, 300)}",
        *_mode_lines(loop),
        f"  class    {order.criterion.task_class}",
        f"  checks   {DOT.join(gates) or 'none'}",
        *sandbox_lines(loop.work.protection, words),
        f"  limits   {limit_words(loop.limits)}",
    ]
    if order.rubric is not None:
        lines.append(f"  judge    {judge_words(order)}")
    lines += [f"  note     {safe(warning, 300)}" for warning in order.warnings]
    if loop.spend.calls:
        lines.append(f"  resumed  {resumed_words(loop)}")
    if loop.progress.breaker.probing:
        diagnosis = safe(loop.progress.breaker.diagnosis, 200)
        lines.append(f"  probe    one iteration: continues if that helps ({diagnosis})")
    lines.append(
        f"  watch: ralph logs {order.loop} -f     "
        f"stop: ctrl-c (after this iteration), or ralph abort {order.loop}"
    )
    return lines


def _mode_lines(loop: Loop) -> list[str]:
    """With a plan: where it begins, and why."""
    line = plan_line(loop)
    if line is None:
        return []
    why = f": {safe(line.why, 200)}" if line.mode == "planning" and line.why else ""
    lines = [f"  mode     {words_of_plan(line)}{why}"]
    most = loop.limits.iterations
    if most is not None and line.total - line.done > most - loop.iteration:
        lines.append(
            f"  note     {line.total - line.done} items are open and {most - loop.iteration} iterations left:"
            " --max-iterations raises that"
        )
    brief = loop.sealed.plan_brief
    if brief.criteria:
        lines.append(f"  specs    {plural(len(brief.texts), 'file')}, {len(brief.criteria)} criteria")
    return lines


def judge_words(order: Order) -> str:
    """Who judges by what, and whether that counts."""
    rubric, judge = order.rubric, order.judge
    if rubric is None or judge is None:
        return "none"
    names = ", ".join(f"{safe(one.name, 30)} {one.weight:g}" for one in rubric.dimensions)
    agent = safe(judge.name, 40) + (f"/{safe(judge.model, 40)}" if judge.model else "")
    role = "required" if rubric.required else "advisory"
    return f"{agent} ({role}), {rubric.threshold:g} of 10 asked for: {names}"


def sandbox_lines(level: str, words: tuple[str, ...]) -> list[str]:
    """What the box really blocks, a sentence a line: this is read by somebody who wants to know."""
    first, *rest = [safe(word, 200) for word in words] or ["what it blocks is unknown"]
    return [f"  sandbox  {level or 'unknown'}: {first}", *(f"           {word}" for word in rest)]


def resumed_words(loop: Loop) -> str:
    spend = loop.spend
    return DOT.join(
        (
            f"after {plural(spend.calls, 'call')}",
            f"iteration {loop.iteration}",
            loop.phase,
            f"{clock(loop.elapsed_seconds)} used",
            cost_words(spend.cost, spend.blind, spend.calls, estimated=spend.estimated),
        )
    )


def alert_words(loop: Loop) -> str:
    """What people are warned of now, in one line; empty when there is nothing."""
    return safe(DOT.join(health(loop).alerts), 400)


def fact_words(fact: object) -> str:
    """One line for what the agent just did; empty for what is only counted."""
    match fact:
        case Said():
            text = safe(fact.text, 160)
            return f"“{text}”" if text else ""
        case ToolUsed():
            lines = plus_minus(fact.added or 0, fact.removed or 0) if fact.added or fact.removed else ""
            parts = (safe(fact.tool, 30), safe(fact.path, 80), safe(fact.detail, 80), lines)
            return "  ".join(part for part in parts if part)
        case LimitHit():
            return f"usage limit: {safe(fact.message, 120)}"
        case FaultSeen():
            return f"fault {fact.kind}: {safe(fact.message, 120)}"
        case Claimed():
            return f"claims {fact.claim.status}"
        case Denied():
            return f"denied {safe(fact.what, 120)}"
        case Raw():
            return safe(fact.line, 120)
        case _:
            return ""


def purpose_words(loop: Loop) -> str:
    """What this call is about, in a loop with a plan: the item at hand, planning, closing; "" in others."""
    build = loop.build
    if not (loop.iteration or build.planning.readers_running):
        return ""
    if build.planning.readers_running:
        return "readers"
    if build.item is not None:
        return safe(f"{build.item.id}: {build.item.title}", 60)
    return {"planning": "planning", "closing": "closing call"}.get(build.mode, "")


def doing_words(loop: Loop, activity: Doing) -> str:
    """Such as: working 1:48 · gate tests, lint 0:12 · wait 3:00 left: limit …"""
    if activity.what == "wait":
        left = (
            f"{clock(activity.left_seconds)} left"
            if activity.left_seconds is not None
            else clock(activity.seconds)
        )
        return f"waiting, {left}: {safe(loop.control.wait_reason, 120)}"
    doing = {"agent": "working", "gate": "judging", "guard": "checking how it came about"}
    doing["judge"] = "the judge reads"
    names = (
        f" {', '.join(safe(name, 30) for name in activity.names)}"
        if activity.what == "gate" and activity.names
        else ""
    )
    return f"{doing.get(activity.what, activity.what)}{names} {clock(activity.seconds)}"
