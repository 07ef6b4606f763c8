"""What both displays for people say: the header of a stint, the agent's facts, what goes on now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ralph.agents import Claimed, Denied, FaultSeen, LimitHit, Raw, Said, ToolUsed
from ralph.app.words.format import (
    DOT,
    clock,
    cost_words,
    cut_words,
    first_paragraph,
    plural,
    plus_minus,
    safe,
    short_name,
)
from ralph.app.words.lines import limit_words
from ralph.core.decide.stuck.health import health
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.proof.grade import BOXED
from ralph.core.views.plan_view import plan_line
from ralph.core.views.plan_view import words as words_of_plan

if TYPE_CHECKING:
    from ralph.app.drive import Activity

QUIET_SECONDS = 60.0  # without output before it is worth a colour
_MAX_CHARS = 400
_STAGES = {  # what a call of the final proof is for; how its stage begins
    "final": "once more from scratch",
    "canary": "planted failures must be noticed",
    "overlay": "the old tests on the new code",
    "attributed": "the old code with the new tests",
    "witness": "the new tests on the old code",
    "sabotage": "the change broken on purpose",
    "broken": "the change broken on purpose",
    "altered": "changed expected values must fail",
    "scope": "planted findings must be noticed",
    "like": "as if in your own clone",
    "alone": "each test that turned green, alone",
    "flaky": "the base again: flaky tests",
}


def header(loop: Loop, words: tuple[str, ...], number: int = 0, width: int = 0) -> list[str]:
    """Four lines at most: which loop, by whom, behind what, until when. A resumed one has one line."""
    order, level = loop.sealed, loop.work.protection
    name = _name_words(order.loop, order.task, number)
    if loop.spend.calls:
        lines = [f"{name}  {resumed_words(loop)}", *_probe_lines(loop), *_open_lines(loop, words)]
        return [cut_words(line, width or _MAX_CHARS) for line in lines]
    agent = safe(order.agent.name, 40) + (f"/{safe(order.agent.model, 40)}" if order.agent.model else "")
    facts = [
        agent,
        plural(len(order.criterion.gates), "check"),
        *([f"sandboxed ({level})" if level in BOXED else "no sandbox"] if level else []),
        f"max {limit_words(loop.limits).removeprefix('at most ')}",
    ]
    if order.rubric is not None:
        facts.append(f"judge {judge_words(order)}")
    lines = [
        f"{name}  {safe(first_paragraph(order.task), 300)}",
        DOT.join(facts),
        *_mode_lines(loop),
        *_open_lines(loop, words),
    ]
    return [cut_words(line, width or _MAX_CHARS) for line in lines]


def _name_words(loop: str, task: str, number: int) -> str:
    """#7 fix-auth; a name that only repeats the beginning of the task beside it is left out."""
    if not number:
        return loop
    name = short_name(loop)
    return (
        f"#{number}"
        if "-".join(re.findall(r"[^\W_]+", task.lower())).startswith(name)
        else f"#{number} {name}"
    )


def _open_lines(loop: Loop, words: tuple[str, ...]) -> list[str]:
    """What a missing sandbox means and what mends it, in one line; nothing where one holds."""
    if loop.work.protection in ("", *BOXED):
        return []
    says = safe(next(iter(words), "what the agent can reach is unknown"), 120).removeprefix("no sandbox: ")
    broken = "bubblewrap" in says or loop.sealed.box.sandbox == "none"
    cure = "" if broken else "; apt install bubblewrap"
    return [f"no sandbox: {says}{cure} (ralph help sandbox)"]


def _probe_lines(loop: Loop) -> list[str]:
    breaker = loop.progress.breaker
    if not breaker.probing:
        return []
    return [f"probe: one iteration, and on if that helps ({safe(breaker.diagnosis, 200)})"]


def _mode_lines(loop: Loop) -> list[str]:
    """With a plan: where it begins, and why; with a plan that is too long for its limits, that."""
    line = plan_line(loop)
    if line is None:
        return []
    why = f": {safe(line.why, 200)}" if line.mode == "planning" and line.why else ""
    brief, most = loop.sealed.plan_brief, loop.limits.iterations
    parts = [f"{words_of_plan(line)}{why}"]
    if brief.criteria:
        parts.append(f"{plural(len(brief.texts), 'spec')} with {len(brief.criteria)} criteria")
    if most is not None and line.total - line.done > most - loop.iteration:
        parts.append(
            f"{line.total - line.done} items for {most - loop.iteration} iterations (--max-iterations)"
        )
    return [DOT.join(parts)]


def judge_words(order: Order) -> str:
    """Who judges by what, and whether that counts."""
    rubric, judge = order.rubric, order.judge
    if rubric is None or judge is None:
        return "none"
    names = ", ".join(f"{safe(one.name, 30)} {one.weight:g}" for one in rubric.dimensions)
    agent = safe(judge.name, 40) + (f"/{safe(judge.model, 40)}" if judge.model else "")
    role = "required" if rubric.required else "advisory"
    return f"{agent} ({role}), {rubric.threshold:g} of 10 asked for: {names}"


def resumed_words(loop: Loop) -> str:
    spend = loop.spend
    return DOT.join(
        (
            f"resumed at iteration {loop.iteration}",
            f"after {plural(spend.calls, 'call')}",
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


def doing_words(loop: Loop, activity: Activity) -> str:
    """Such as: agent working 1:48 (last output 2s ago); checking tests 0:12; final proof 0:05: …"""
    if activity.what == "wait":
        left = (
            f"{clock(activity.left_seconds)} left"
            if activity.left_seconds is not None
            else clock(activity.seconds)
        )
        return f"waiting, {left}: {safe(loop.control.wait_reason, 120)}"
    if activity.what == "agent":
        quiet = activity.quiet_seconds
        age = clock(quiet) if quiet >= QUIET_SECONDS else f"{quiet:.0f}s"
        return f"agent working {clock(activity.seconds)} (last output {age} ago)"
    if activity.what == "gate":
        return _checking_words(activity, "final proof" if loop.iteration else "trying the checks")
    doing = {"guard": "looking at how it came about", "judge": "the judge reads", "workspace": "preparing"}
    return f"{doing.get(activity.what, activity.what)} {clock(activity.seconds)}"


def _checking_words(activity: Activity, proof: str) -> str:
    names = ", ".join(safe(name, 30) for name in activity.names)
    parts = [words for stage in activity.stages for key, words in _STAGES.items() if stage.startswith(key)]
    if not parts:
        return f"checking {names} {clock(activity.seconds)}".replace("  ", " ")
    waiting = f"{DOT}{activity.waiting} to go" if activity.waiting else ""
    return f"{proof} {clock(activity.seconds)}: {', '.join(dict.fromkeys(parts))}{waiting}"
