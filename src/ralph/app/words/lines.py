"""One event in one line, for `ralph logs` and the plain display: the same words in both.

Only the words; stamps, numbers and colours are added by who prints them. Foreign text is made safe here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from ralph.app.words.format import (
    DOT,
    LANDING_WORDS,
    brief_seconds,
    change_words,
    clock,
    cost_words,
    dollars,
    landed_words,
    plural,
    safe,
    short,
    stamp,
    thousands,
)
from ralph.core.model import events as e
from ralph.core.model.plan.test_link import status_by_criterion
from ralph.core.model.rubric import opinion_line as opinion_words
from ralph.core.model.spend import Limits
from ralph.core.model.team.terms import member
from ralph.shell.journal.entries import RecordEntry


def group(kind: str) -> str:
    """As `ralph logs --kind` has it."""
    from ralph.core.decide.machine import EVENTS

    return next((row.group for event, row in EVENTS.items() if event.__name__ == kind), "loop")


def entry_line(entry: RecordEntry) -> str:
    """412  10:31:02  GateEnded        it 3  tests  fail  …"""
    row = entry.row
    words = f"v{row.v}, written by a newer Ralph" if entry.event is None else event_words(entry.event)
    return f"{row.seq:>4}  {stamp(row.at / 1000)}  {safe(row.kind, 40):<17}  {words}".rstrip()


def event_words(event: e.AnyEvent) -> str:
    return _WORDS.get(type(event), _field_words)(event)


def _field_words(event: e.AnyEvent) -> str:
    """For a kind that has no words of its own."""
    told = ((name, value) for name, value in asdict(event).items() if name not in ("at", "took") and value)
    return "  ".join(f"{name} {safe(str(value), 100)}" for name, value in told)


def _loop_started(event: e.LoopStarted) -> str:
    order = event.order
    gates = ", ".join(
        safe(gate.name, 30) + ("" if gate.proof else " (keep green)") for gate in order.criterion.gates
    )
    parts = (
        f'task "{safe(order.task, 120)}"',
        order.criterion.task_class,
        f"agent {safe(order.agent.name)}" + (f"/{safe(order.agent.model)}" if order.agent.model else ""),
        f"gates {gates or 'none'}",
        limit_words(order.limits),
        f"base {short(order.base.commit)}",
    )
    return "  ".join(parts)


def limit_words(limits: Limits) -> str:
    """Every bound that is set."""
    words = []
    if limits.iterations is not None:
        words.append(plural(limits.iterations, "iteration"))
    if limits.time is not None:
        words.append(clock(limits.time))
    if limits.cost is not None:
        words.append(dollars(limits.cost))
    if limits.tokens is not None:
        words.append(f"{thousands(limits.tokens)} tokens")
    if limits.iteration_cost is not None:
        words.append(f"{dollars(limits.iteration_cost)} a call")
    if limits.calls_per_hour is not None:
        words.append(f"{limits.calls_per_hour} calls an hour")
    return "at most " + DOT.join(words)


def _stint(event: e.StintStarted) -> str:
    where = f"runner pid {event.pid} on {safe(event.host, 60)}  ralph {safe(event.version, 30)}"
    hosted = "  in the background" if event.hosted else ""
    return f"{where}  sandbox {event.protection or 'unknown'}{hosted}"


def _workspace(event: e.WorkspaceMade) -> str:
    shares = f"  shares {', '.join(safe(share, 60) for share in event.shares)}" if event.shares else ""
    notes = "".join(f"  {safe(note)}" for note in event.notes)
    return f"{safe(event.path)}{shares}{notes}"


def _agent_started(event: e.AgentStarted) -> str:
    words = f"it {event.iteration}  call {event.call}  agent {safe(event.agent)}  prompt {event.prompt[:8]}"
    if event.purpose:
        words += f"  {event.purpose}" + (f" {safe(event.item, 60)}" if event.item else "")
    return f"{words}  because {safe(event.why, 200)}" if event.why else words


def _agent_ended(event: e.AgentEnded) -> str:
    usage = event.usage
    how = event.ended if event.exit_code is None else f"{event.ended} {event.exit_code}"
    parts = [
        f"it {event.iteration}",
        how,
        clock(event.seconds),
        "tokens unknown" if usage.tokens is None else f"{thousands(usage.tokens)} tokens",
        cost_words(usage.cost, 0, 1, estimated=usage.estimated),
        f"claim {event.claim.status}" if event.claim else "no claim",
    ]
    if event.fault:
        parts.append(f"fault {event.fault.kind}: {safe(event.fault.message, 120)}")
    if event.denials:
        parts.append(f"denied {', '.join(safe(what, 60) for what in event.denials)}")
    if event.dropped:
        parts.append(f"{thousands(event.dropped)} bytes of output not kept")
    if event.said:
        parts.append(f"“{safe(event.said, 100)}”")
    return "  ".join(parts)


def _checkpoint(event: e.CheckpointMade) -> str:
    changed = change_words(event.files, event.added, event.removed) if event.files else "no change"
    notes = "".join(f"  {safe(note)}" for note in event.warnings)
    return f"it {event.iteration}  tree {short(event.tree)}  commit {short(event.commit)}  {changed}{notes}"


def _gate(event: e.GateEnded) -> str:
    verdict = event.verdict
    parts = [
        f"it {event.iteration}" if verdict.stage != "baseline" else "baseline",
        safe(verdict.gate, 40),
        verdict.status,
        safe(verdict.summary, 120),
        f"tree {short(verdict.tree)}",
        brief_seconds(verdict.seconds),
    ]
    if verdict.stage == "final":
        parts.append("fresh checkout")
    if event.shares:
        parts.append(
            f"with {', '.join(safe(path, 60) for path in event.shares)} of your checkout, ignored by git"
        )
    if verdict.evidence:
        parts.append(f"evidence {verdict.evidence[:8]}")
    return "  ".join(part for part in parts if part)


def _no_verdict(event: e.NoVerdict) -> str:
    parts = [
        f"it {event.iteration}" if event.stage != "baseline" else "baseline",
        safe(event.gate, 40),
        "no answer",
        safe(event.why or event.cause, 160),
        f"tree {short(event.tree)}",
        f"evidence {event.evidence[:8]}" if event.evidence else "",
    ]
    return "  ".join(part for part in parts if part)


def _guards(event: e.GuardsEnded) -> str:
    words = []
    for result in event.results:
        if result.findings:
            words.append(f"{safe(result.guard, 30)} found: {safe(result.findings[0].message, 100)}")
        elif not result.applied:
            words.append(f"{safe(result.guard, 30)} not applied")
    if fine := sum(one.applied and not one.findings for one in event.results):
        words.append(f"{fine} ok")
    odd = f"  {safe(event.disagreement)}" if event.disagreement else ""
    return f"it {event.iteration}  " + "  ".join(words) + odd


def _judge_started(event: e.JudgeStarted) -> str:
    words = f"it {event.iteration}  call {event.call}  agent {safe(event.agent)}  prompt {event.prompt[:8]}"
    seat = "" if event.role == "judge" else f"  {event.role}"
    return f"{words}  tree {short(event.tree)}{seat}"


def _judge_ended(event: e.JudgeEnded) -> str:
    usage, opinion = event.usage, event.opinion
    parts = [f"it {event.iteration}", "" if event.role == "judge" else event.role]
    if opinion is not None:
        role = "" if opinion.required else " (advisory)"
        parts += [f"{opinion.status}{role}", safe(opinion_words(opinion), 200), safe(opinion.summary, 120)]
    if event.fault is not None:
        parts.append(f"fault {event.fault.kind}: {safe(event.fault.message, 120)}")
    parts += [
        f"tree {short(event.tree)}",
        clock(event.seconds),
        "tokens unknown" if usage.tokens is None else f"{thousands(usage.tokens)} tokens",
        cost_words(usage.cost, 0, 1, estimated=usage.estimated),
    ]
    return "  ".join(part for part in parts if part)


def _role_started(event: e.RoleStarted) -> str:
    words = f"{member(event.role)}  call {event.call}  agent {safe(event.agent)}  prompt {event.prompt[:8]}"
    return f"{words}  tree {short(event.tree)}"


def _role_ended(event: e.RoleEnded) -> str:
    usage, tests = event.usage, event.tests
    parts = [member(event.role)]
    if event.fault is not None:
        parts.append(f"fault {event.fault.kind}: {safe(event.fault.message, 120)}")
    if tests is not None:
        parts.append(f"{plural(len(tests.paths), 'test file')}  tree {short(tests.tree)}")
        parts += [f"not taken: {safe(', '.join(tests.left_out), 120)}"] if tests.left_out else []
    parts += [
        clock(event.seconds),
        "tokens unknown" if usage.tokens is None else f"{thousands(usage.tokens)} tokens",
        cost_words(usage.cost, 0, 1, estimated=usage.estimated),
    ]
    return "  ".join(parts)


def _readers_started(event: e.ReadersStarted) -> str:
    return f"{plural(event.count, 'reader')}  call {event.call}  agent {safe(event.agent)}"


def _readers_ended(event: e.ReadersEnded) -> str:
    failed = [note.fault for note in event.notes if note.fault]
    words = plural(len(event.notes) - len(failed), "note")
    return f"{words}  {len(failed)} failed: {safe(failed[0], 120)}" if failed else words


def _tests_linked(event: e.TestsTied) -> str:
    turned = [f"{safe(name, 40)} {status}" for name, status in status_by_criterion(event.ties).items()]
    more = f" and {len(turned) - 5} more" if len(turned) > 5 else ""
    return f"tree {short(event.tree)}  {', '.join(turned[:5]) or 'as before'}{more}"


def _item_published(event: e.ItemPublished) -> str:
    return f"item {safe(event.item, 60)} verified  branch {safe(event.branch)}  commit {short(event.commit)}"


def _workspace_restored(event: e.WorkspaceRestored) -> str:
    kept = f"  rejected work kept as {short(event.rejected)}" if event.rejected else ""
    return f"it {event.iteration}  reverted to tree {short(event.tree)}{kept}"


def _steered(event: e.Steered) -> str:
    return f"“{safe(event.text)}”" + (f"  by {safe(event.author, 60)}" if event.author else "")


def _queued(event: e.LoopQueued) -> str:
    return f"in the background  priority {event.priority}"


def _pause(event: e.PauseAsked) -> str:
    when = "now" if event.now else "after this iteration"
    by = "" if event.by == "person" else f"  by {event.by}"
    return f"{when}: {safe(event.reason or 'asked by the user')}{by}"


def _resume(event: e.ResumeAsked) -> str:
    more = (
        (event.more_iterations, plural(event.more_iterations, "more iteration")),
        (event.more_time, f"{clock(event.more_time)} more time"),
        (event.more_cost, f"{dollars(event.more_cost)} more"),
        (event.more_tokens, f"{thousands(event.more_tokens)} more tokens"),
    )
    words = [text for amount, text in more if amount]
    words += [f"agent {safe(event.agent.name, 40)}"] if event.agent else []
    words += [f"from checkpoint {event.to.iteration}"] if event.to else []
    words += [f"done: {safe(name, 60)}" for name in event.done]
    words += [f"check {safe(gate.name, 40)}: {safe(gate.run, 120)}" for gate in event.gates]
    words += [f"allowed {safe(key, 120)}: {safe(why, 120)}" for key, why in event.allow.items()]
    by = f"by {safe(event.author, 60)}" if event.author else "asked by the user"
    return "  ".join([by, *words])


def _approval(event: e.Approved) -> str:
    what = f"{event.point} of {short(event.commit)}" if event.commit else event.point
    return what + (f"  by {safe(event.author, 60)}" if event.author else "")


def _abort(event: e.AbortAsked) -> str:
    return safe(event.reason or "asked by the user")


def _published(event: e.ResultPublished) -> str:
    return f"branch {safe(event.branch)}  commit {short(event.commit)}  tree {short(event.tree)}"


def _loop_ended(event: e.LoopEnded) -> str:
    grade = f" ({event.grade})" if event.grade else ""
    return f"{event.outcome}{grade}: {safe(event.reason, 300)}"


def _landing(event: e.LandingStarted) -> str:
    return f"{LANDING_WORDS[event.direction]}  {safe(event.branch)}  {short(event.old)} to {short(event.new)}"


def _landed(event: e.LandingEnded) -> str:
    return landed_words(event.direction, event.note, done=event.done)


_WORDS: dict[type[e.Event], Callable[[Any], str]] = {
    e.LoopStarted: _loop_started,
    e.StintStarted: _stint,
    e.LoopQueued: _queued,
    e.PriorityAsked: lambda event: event.priority,
    e.Approved: _approval,
    e.LearningsCleared: lambda event: f"{plural(len(event.notes), 'note')} will be offered to no other loop",
    e.WorkspaceMade: _workspace,
    e.AgentStarted: _agent_started,
    e.AgentEnded: _agent_ended,
    e.CheckpointMade: _checkpoint,
    e.GateEnded: _gate,
    e.NoVerdict: _no_verdict,
    e.GuardsEnded: _guards,
    e.JudgeStarted: _judge_started,
    e.JudgeEnded: _judge_ended,
    e.RoleStarted: _role_started,
    e.RoleEnded: _role_ended,
    e.ReadersStarted: _readers_started,
    e.ReadersEnded: _readers_ended,
    e.TestsTied: _tests_linked,
    e.ItemPublished: _item_published,
    e.WorkspaceRestored: _workspace_restored,
    e.WaitOver: lambda event: safe(event.note) or "continuing",
    e.Steered: _steered,
    e.PauseAsked: _pause,
    e.ResumeAsked: _resume,
    e.AbortAsked: _abort,
    e.ResultPublished: _published,
    e.LoopEnded: _loop_ended,
    e.LandingStarted: _landing,
    e.LandingEnded: _landed,
    e.LoopDropped: lambda event: safe(event.note) or "its refs, workspace and evidence are gone",
}
