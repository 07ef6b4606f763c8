"""The report in Markdown: S0's section names, with the proof and the story inside them.

Everything that is printed stands in `loop_report.LoopReport`; here it is only laid out. Values are escaped so
that a task or a test name cannot draw a table, a link or a heading of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.app.report.loop_report import Guard, LoopReport
from ralph.app.words.format import change_words, clock, cost_words, dollars, iso, plural, thousands
from ralph.app.words.lines import limit_words
from ralph.core.decide.stuck.attempts import escalation_lines
from ralph.core.model.outcome import DONE
from ralph.core.views.plan_view import words as plan_words

_MARKS = {"COMPLETED": "✔", "FAILED": "✘", "PARTIAL": "◐", "IN_PROGRESS": "▶"}
_SPECIAL = re.compile(r"([\\`*\[\]<>|#~]|(?<!\w)_|_(?!\w))")  # inside a word an underscore is only that


def report_md(report: LoopReport) -> str:
    parts = [
        f"# {_MARKS[report.status]} Ralph report: {report.loop}",
        f"Generated: {report.state.updated}\nStatus: {report.status}\nLoop: {report.id}",
        *_summary(report),
        *_details(report),
        *_git(report),
        *_results(report),
        *_reproduce(report),
        "## Next Steps",
        _list([code(command) for command in report.next]) or "Nothing is left to do.",
    ]
    return "\n\n".join(parts) + "\n"


def text(value: str) -> str:
    """Foreign words as words and nothing else."""
    return _SPECIAL.sub(r"\\\1", value)


def code(value: str) -> str:
    """A code span that its content cannot close; a bar would end a table cell, so it is escaped there."""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", value)), default=0) + 1)
    pad = " " if value.startswith("`") or value.endswith("`") else ""
    return f"{ticks}{pad}{value}{pad}{ticks}" if value else ""


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(value: str) -> str:
    return code(value).replace("|", "\\|") if value else ""


def _summary(report: LoopReport) -> list[str]:
    lines = ["## Summary", code(report.headline), f"Task: {text(report.task)}"]
    if report.state.outcome in DONE:
        lines.append(f"{text(report.state.reason)[:1].upper()}{text(report.state.reason)[1:]}.")
    else:
        why = text(report.state.reason) or f"it has not ended; it is in phase {report.state.phase}"
        lines.insert(1, f"Why it stopped: {why}\n\nBest checkpoint: {text(report.best)}")
    if report.written_by_newer:
        lines.append("Parts of this record were written by a newer Ralph and are not shown here.")
    return lines


def _details(report: LoopReport) -> list[str]:
    cost = cost_words(
        report.spend.cost,
        report.spend.calls_of_unknown_cost,
        report.spend.calls,
        estimated=report.spend.cost_estimated,
    )
    files = "unknown" if report.change is None else str(report.change["files"])
    tokens = "unknown" if report.spend.tokens is None else thousands(report.spend.tokens)
    sandbox = report.agent.sandbox or "unknown"
    if report.agent.sandbox_words:
        sandbox += f": {text('; '.join(report.agent.sandbox_words))}"
    items = [
        f"Duration: {clock(report.spend.seconds)}"
        + (f" and {clock(report.spend.waited)} waiting" if report.spend.waited else ""),
        f"Iterations: {report.spend.iterations} ({plural(report.spend.calls, 'agent call')})",
        f"Limits: {limit_words(report.spend.limits)}",
        f"Files Modified: {files}",
        f"Agent: {text(report.agent.name)}",
        f"Model: {text(report.agent.model) or 'not stated'}",
        f"Cost: {cost.removeprefix('cost ')}",
        f"Tokens: {tokens if report.spend.calls else '0'}",
        f"Sandbox: {sandbox}",
        f"Class: {report.task_class}",
        f"Started: {report.state.started}",
    ]
    return ["## Execution Details", _list(items)]


def _git(report: LoopReport) -> list[str]:
    if report.change is not None:
        changed = change_words(**report.change)
    else:
        changed = f"{plural(report.changed_lines, 'line')} changed" if report.changed_lines else "none"
    items = [
        f"Repository: {code(report.git.repo)}",
        f"Branch: {code(report.git.branch) or 'no result branch'}",
        f"Started on: {code(report.git.head_branch) or 'a detached HEAD'}",
        f"Base: {code(report.git.base_commit)}",
        f"Commit: {code(report.git.result_commit) or 'no result'}",
        f"Tree: {code(report.git.tree)}",
        f"Changed Files: {changed}",
    ]
    if report.git.landing:
        items.append(f"Landing: {report.git.landing}")
    return ["## Git State", _list(items)]


def _results(report: LoopReport) -> list[str]:
    parts = ["## Results", "### Proof", _proof(report)]
    if report.evidence.guards:
        parts += ["### Guards", _list([_guard_line(guard) for guard in report.evidence.guards])]
    parts += _plan(report)
    parts += _judge(report)
    parts += ["### Story", _list([text(told.line) for told in report.told]) or "The agent was never called."]
    parts += ["### What the agent claimed, and what the checks showed", _claims(report)]
    parts += ["### Breaker", _breaker(report)]
    for found in report.breaker.escalations:
        of = f": {text(found.item)}" if found.item else ""
        parts += [f"### What you are asked{of}", _list([text(line) for line in escalation_lines(found)])]
    parts += ["### Not done, not proven", _open_points(report)]
    if report.notes.learned:
        parts += ["### What the agents noted for later", _list([text(line) for line in report.notes.learned])]
    if report.notes.errors:
        parts += ["### Errors", _list([text(line) for line in report.notes.errors])]
    if report.notes.interventions:
        rows = [
            f"{done.at}  {text(done.what)}" + (f" ({text(done.author)})" if done.author else "")
            for done in report.notes.interventions
        ]
        parts += ["### Human interventions", _list(rows)]
    return [*parts, "### Spend", _spend(report)]


def _plan(report: LoopReport) -> list[str]:
    """Items with their commits, both halves of the exit condition, and the criteria with their tests."""
    line = report.plan.line
    if line is None:
        return []
    facts = [text(plan_words(line))]
    if line.discarded:
        facts.append(f"{plural(line.discarded, 'file')} changed by calls that must not, thrown away")
    if line.words is not None:
        open_ones = [name for name, holds in line.conditions.items() if not holds]
        facts.append(f"completion indicators: {line.words} of {line.words_needed}")
        told = f"not: {', '.join(open_ones)}" if open_ones else "all four conditions hold"
        facts.append(f"EXIT_SIGNAL: {'true' if line.signal else 'false'}; {told}")
    facts += [f"missing spec: {text(name)}" for name in line.missing_specs]
    parts = ["### Plan", _list(facts)]
    rows = [
        (
            _cell(item.item),
            text(item.title),
            item.state,
            "" if item.iteration is None else str(item.iteration) if item.iteration else "before",
            _cell(item.commit[:12]),
            text(item.note),
        )
        for item in report.plan.items
    ]
    if rows:
        parts.append(_table(("item", "what", "state", "verified in", "commit", "note"), rows))
        if line.total > len(rows):
            parts.append(f"… and {line.total - len(rows)} more; `ralph plan --show {report.loop}` has all.")
    if report.plan.ties:
        ties = [
            (_cell(one.spec), _cell(one.criterion), _cell(one.test) or "-", one.status)
            for one in report.plan.ties
        ]
        parts += ["### Criteria", _table(("Spec", "Criterion", "Test", "Status"), ties)]
    return parts


def _proof(report: LoopReport) -> str:
    rows = []
    for line in report.evidence.proof:
        kind = "proof" if line.proof else "keep green" if line.required else "advisory"
        evidence = _cell(line.evidence[:16]) or "none"
        if line.kept is False:
            evidence += " (no longer kept)"
        said = f"{line.verdict}: {text(line.summary)}" if line.summary else line.verdict
        rows.append(
            (_cell(line.gate), kind, line.before, said, _cell(line.command), evidence, _cell(line.tree[:7]))
        )
    head = ("gate", "kind", "before", "verdict", "command", "evidence", "tree")
    return _table(head, rows) if rows else "No gate was sealed, so nothing can be proven."


def _guard_line(guard: Guard) -> str:
    if guard.findings:
        return f"{text(guard.guard)}: {text('; '.join(guard.findings))}"
    state = "nothing found" if guard.applied else "not applied"
    return f"{text(guard.guard)}: {state}" + (f" ({text(guard.summary)})" if guard.summary else "")


def _judge(report: LoopReport) -> list[str]:
    judge = report.evidence.judge
    if judge is None:
        return []
    role = "required" if judge.required else "advisory"
    model = f"/{judge.model}" if judge.model else ""
    score = "no score" if judge.weighted is None else f"{judge.weighted:.2f} of 10"
    items = [f"Verdict: {judge.status} ({role}), {score}, {judge.threshold:.2f} asked for"]
    items.append(
        f"Judge: {text(judge.agent + model)}"
        + (", the agent that did the work (weaker than another one)" if judge.same_agent else "")
    )
    if judge.claimed is not None:
        items.append(f"Its own sum was {judge.claimed:g}; the one above is computed from its scores")
    items += [f"Why: {text(judge.why)}"] if judge.why else []
    items += [f"Summary: {text(judge.summary)}"] if judge.summary else []
    items += [f"Suggestion: {text(words)}" for words in judge.suggestions]
    if judge.tree:
        items.append(
            f"Tree: {code(judge.tree)}"
            + (f", evidence {code(judge.evidence[:16])}" if judge.evidence else "")
        )
    rows = [
        (
            text(one.dimension),
            f"{one.weight:g}",
            "none" if one.score is None else f"{one.score:g}",
            text(one.reasoning),
        )
        for one in judge.scores
    ]
    calls = [
        text(f"it {call.iteration}  call {call.call}  {call.line}") for call in report.evidence.judge_calls
    ]
    table = _table(("dimension", "weight", "score", "reasoning"), rows)
    return ["### Judge", _list(items), table, *([_list(calls)] if calls else [])]


def _claims(report: LoopReport) -> str:
    rows = []
    for told in report.told:
        verdict = {True: "yes", False: "**no**", None: "cannot be said"}[told.agrees]
        claim = told.claim or "none"
        work = f": {text(told.claimed_work)}" if told.claimed_work else ""
        rows.append((str(told.iteration), f"{claim}{work}", text(told.showed), verdict))
    head = ("iteration", "the agent claimed", "the checks showed", "do they agree")
    return _table(head, rows) if rows else "The agent was never called."


def _breaker(report: LoopReport) -> str:
    found = report.breaker
    score = "" if found.score is None else f", last score {found.score:+d}"
    why = f" since iteration {found.since} ({text(found.why)})" if found.state != "CLOSED" else ""
    opened = f", opened {found.opens} time{'s' if found.opens > 1 else ''}" if found.opens else ""
    lines = [f"{found.state}{why}: risk {found.risk}{score}{opened}"]
    lines += [f"alert: {text(line)}" for line in found.alerts]
    lines += [
        f"{iso(turn.at)}, iteration {turn.iteration}: {turn.was} to {turn.to}, {text(turn.why)}"
        for turn in found.trail
    ]
    return _list(lines)


def _open_points(report: LoopReport) -> str:
    items = [f"not yet: {text(line)}" for line in report.notes.not_yet]
    items += [f"not proven: {text(line)}" for line in report.notes.unproven]
    items += [f"found but not run: {text(line)}" for line in report.notes.not_run]
    items += [f"red before and still red: {text(gate)}" for gate in report.notes.old_red]
    items += [f"waived: {text(key)} ({text(why)})" for key, why in report.notes.waivers.items()]
    items += [f"said at the start: {text(line)}" for line in report.notes.warnings]
    return _list(items) or "Nothing."


def _spend(report: LoopReport) -> str:
    rows = []
    for told in report.told:
        cost = "unknown" if told.cost is None else dollars(told.cost)
        tokens = "unknown" if told.tokens is None else thousands(told.tokens)
        rows.append((str(told.iteration), str(told.call), clock(told.seconds), tokens, cost))
    for call in report.evidence.judge_calls:
        cost = "unknown" if call.cost is None else dollars(call.cost)
        tokens = "unknown" if call.tokens is None else thousands(call.tokens)
        rows.append((str(call.iteration), f"{call.call} (judge)", clock(call.seconds), tokens, cost))
    return (
        _table(("iteration", "call", "time", "tokens", "cost"), rows)
        if rows
        else "Nothing was spent on an agent."
    )


def _reproduce(report: LoopReport) -> list[str]:
    if not report.reproduce:
        return []
    ticks = "`" * max(3, max(len(run) for run in [*re.findall(r"`+", "".join(report.reproduce)), ""]) + 1)
    return ["## Reproduce", "\n".join((f"{ticks}sh", *report.reproduce, ticks))]
