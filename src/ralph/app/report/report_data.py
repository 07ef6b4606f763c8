"""The report of a loop as data, built from its journal alone; Markdown (`markdown`) and JSON are its faces.

Every number here was recorded, or is None. Foreign text is made safe on the way in, so that neither face
can forget it.
"""

from __future__ import annotations

import os

import msgspec

from ralph.app.report.breaker_part import breaker_course
from ralph.app.report.judge_part import judge_calls, judgement, team_part
from ralph.app.report.loop_report import (
    GateProof,
    Guard,
    Intervention,
    LoopReport,
    ReportAgent,
    ReportEvidence,
    ReportGit,
    ReportNotes,
    ReportSpend,
    ReportState,
    Status,
    Told,
)
from ralph.app.report.plan_part import report_plan
from ralph.app.report.recommend import recommend
from ralph.app.words.change import ChangeSize
from ralph.app.words.ending import (
    best_words,
    checks_not_run,
    headline,
    newest_verdicts,
    not_yet_lines,
    standing,
)
from ralph.app.words.format import GOOD, clock, dollars, iso, landed_words, plural, safe, thousands
from ralph.app.words.next_steps import next_steps
from ralph.app.words.story import StoryCall, call_line, calls_of, gate_marks
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.views.costs import ModelCost, costs_by_model
from ralph.shell.journal.entries import Record
from ralph.shell.state import blobs as blobs_


def status_of(loop: Loop) -> Status:
    """S0's word: partial means that it stopped short of the task but with something better than the base."""
    if loop.phase != "ended":
        return "IN_PROGRESS"
    if loop.outcome in GOOD:
        return "COMPLETED"
    better = loop.progress.best is not None and loop.progress.best.iteration > 0
    return "PARTIAL" if better or loop.outcome == "unproven" else "FAILED"


def make_report(record: Record, blobs: str | None = None, change: ChangeSize | None = None) -> LoopReport:
    """`blobs`: where to look whether evidence is still there. `change`: base against result, if measured."""
    loop, order, events = record.loop, record.loop.sealed, record.events
    calls = calls_of(events)
    proof = _proof(loop, blobs)
    told = tuple(_report_call(call) for call in calls)
    old_red = tuple(line.gate for line in proof if _old_red(line))
    not_run = tuple(safe(text, 300) for text in checks_not_run(loop))
    return LoopReport(
        loop=record.name,
        id=f"ralph-{record.name}",
        status=status_of(loop),
        headline=headline(loop, change),
        task=safe(order.task, 2000),
        task_class=order.criterion.task_class,
        state=ReportState(
            phase=loop.phase,
            outcome=loop.outcome,
            grade=loop.grade,
            reason=safe(loop.reason, 1000),
            started=iso(record.started),
            updated=iso(loop.now),
        ),
        agent=_agent(loop, events),
        git=_git(loop),
        spend=_spend(loop, events),
        change=None if change is None else change._asdict(),
        changed_lines=loop.work.changed_lines,
        best=best_words(loop),
        evidence=_evidence(loop, proof, events),
        plan=report_plan(loop),
        told=told,
        breaker=breaker_course(loop),
        notes=ReportNotes(
            not_yet=tuple(safe(text, 1000) for text in not_yet_lines(loop))
            if loop.outcome not in GOOD
            else (),
            unproven=tuple(safe(text, 1000) for text in loop.proof.unproven),
            not_run=not_run,
            learned=tuple(safe(text, 300) for text in loop.agents.learnings),
            old_red=old_red,
            waivers={safe(key): safe(why, 1000) for key, why in order.criterion.exceptions.items()},
            warnings=tuple(safe(text, 500) for text in order.warnings),
            errors=_errors(calls, events),
            recommendations=recommend(loop, events, told, old_red, not_run),
            interventions=tuple(_interventions(events)),
        ),
        reproduce=_reproduce(loop),
        next=tuple(one.command for one in next_steps(standing(loop)) if "ralph report" not in one.command),
        written_by_newer=record.newer,
    )


def _agent(loop: Loop, events: tuple[e.AnyEvent, ...]) -> ReportAgent:
    stints = [event for event in events if isinstance(event, e.StintStarted)]
    return ReportAgent(
        name=safe(loop.sealed.agent.name),
        model=safe(loop.sealed.agent.model),
        sandbox=loop.judged_in,
        sandbox_words=tuple(safe(word) for word in (stints[-1].words if stints else ())),
    )


def _model_cost(row: ModelCost) -> ModelCost:
    return msgspec.structs.replace(row, agent=safe(row.agent), model=safe(row.model))


def _spend(loop: Loop, events: tuple[e.AnyEvent, ...]) -> ReportSpend:
    spend = loop.spend
    return ReportSpend(
        seconds=spend.seconds,
        waited=spend.waited,
        iterations=loop.iteration,
        calls=spend.calls,
        cost=spend.cost,
        tokens=spend.tokens,
        calls_of_unknown_cost=spend.blind,
        cost_estimated=spend.estimated,
        by_model=tuple(map(_model_cost, costs_by_model(events))),
        limits=loop.limits,
    )


def _git(loop: Loop) -> ReportGit:
    order = loop.sealed
    return ReportGit(
        repo=safe(order.repo, 1000),
        base_commit=order.base.commit,
        head_branch=safe(order.base.head_branch),
        branch=safe(loop.landing.branch) if loop.landing.result else "",
        result_commit=loop.landing.result,
        tree=loop.work.tree,
        landing=loop.landing.state,
        dropped=loop.landing.was_dropped,
    )


def _proof(loop: Loop, blobs: str | None) -> tuple[GateProof, ...]:
    lines = []
    for gate, verdict in newest_verdicts(loop):
        before = loop.proof.baseline.get(gate.name)
        evidence = verdict.evidence if verdict is not None else ""
        lines.append(
            GateProof(
                gate=safe(gate.name, 60),
                verdict=verdict.status if verdict is not None else "unknown",
                before=before.status if before is not None else "unknown",
                summary=safe(verdict.summary if verdict is not None else "not judged on this tree"),
                command=safe(gate.run, 500),
                cwd=safe(gate.cwd),
                evidence=evidence,
                kept=_is_kept(blobs, evidence),
                tree=verdict.tree if verdict is not None else "",
                proof=gate.proof,
                required=gate.required,
            )
        )
    return tuple(lines)


def _is_kept(blobs: str | None, digest: str) -> bool | None:
    if blobs is None or not digest:
        return None
    return os.path.exists(blobs_.path(blobs, digest))


def _old_red(line: GateProof) -> bool:
    red = {"fail", "error", "flaky", "skipped"}
    return not line.proof and line.before in red and line.verdict in red


def _evidence(loop: Loop, proof: tuple[GateProof, ...], events: tuple[e.AnyEvent, ...]) -> ReportEvidence:
    return ReportEvidence(
        proof=proof,
        guards=_guards(loop),
        judge=judgement(loop),
        judge_calls=judge_calls(events),
        team=team_part(loop),
    )


def _guards(loop: Loop) -> tuple[Guard, ...]:
    return tuple(
        Guard(
            guard=safe(result.guard, 60),
            applied=result.applied,
            summary=safe(result.summary, 500),
            findings=tuple(safe(finding.message, 500) for finding in result.findings),
            counted=result.counted,
        )
        for result in loop.proof.guards
    )


def _report_call(call: StoryCall) -> Told:
    claim = call.claim
    green = bool(call.verdicts) and all(verdict.status == "pass" for verdict in call.verdicts.values())
    agrees = None
    if claim is not None and (call.verdicts or call.published):
        done = claim.status == "COMPLETE" or (call.purpose == "item" and claim.tasks > 0)
        agrees = done == (call.published or (green and not _found(call)))
    return Told(
        iteration=call.iteration,
        call=call.call,
        line=call_line(call),
        seconds=call.seconds,
        cost=call.usage.cost,
        tokens=call.usage.tokens,
        claim=claim.status if claim is not None else "",
        claimed_work=safe(claim.work or claim.recommendation) if claim is not None else "",
        showed="verified"
        if call.published
        else gate_marks(call.verdicts.values()) or "not judged: no new tree",
        agrees=agrees,
        commit=call.commit,
    )


def _found(call: StoryCall) -> bool:
    return any(result.findings for result in call.guards)


def _errors(calls: list[StoryCall], events: tuple[e.AnyEvent, ...]) -> tuple[str, ...]:
    faults = [
        f"iteration {call.iteration}, call {call.call}: {call.fault.kind}: {safe(call.fault.message, 500)}"
        for call in calls
        if call.fault is not None
    ]
    missing = [
        f"iteration {event.iteration}, gate {safe(event.gate, 40)}: no answer: {safe(event.why, 500)}"
        for event in events
        if isinstance(event, e.NoVerdict)
    ]
    return (*faults, *missing)


def _interventions(events: tuple[e.AnyEvent, ...]) -> list[Intervention]:
    found = []
    for event in events:
        match event:
            case e.Steered():
                found.append(
                    Intervention(iso(event.at), f"steer: {safe(event.text, 500)}", safe(event.author))
                )
            case e.ResumeAsked():
                found.append(
                    Intervention(
                        iso(event.at),
                        f"resume{_raised_limits(event)}{_joined_gates(event)}",
                        safe(event.author),
                    )
                )
            case e.PauseAsked(reason=why) | e.AbortAsked(reason=why):
                word = "pause" if isinstance(event, e.PauseAsked) else "abort"
                found.append(Intervention(iso(event.at), f"{word}: {safe(why, 500) or 'no reason given'}"))
            case e.LandingEnded(direction=way, done=done, note=note):
                found.append(Intervention(iso(event.at), landed_words(way, note, done=done)))
            case e.LoopDropped():
                found.append(Intervention(iso(event.at), "drop"))
            case _:
                pass
    return found


def _raised_limits(event: e.ResumeAsked) -> str:
    more = (
        (event.more_iterations, plural(event.more_iterations, "iteration")),
        (event.more_time, clock(event.more_time)),
        (event.more_cost, dollars(event.more_cost)),
        (event.more_tokens, f"{thousands(event.more_tokens)} tokens"),
    )
    words = [text for amount, text in more if amount]
    return f", limits raised by {', '.join(words)}" if words else ""


def _joined_gates(event: e.ResumeAsked) -> str:
    return "".join(f", check added: {safe(gate.name, 40)} ({safe(gate.run, 200)})" for gate in event.gates)


def _reproduce(loop: Loop) -> tuple[str, ...]:
    """The same commands on the same tree, by hand."""
    commit = loop.landing.result or loop.work.commit
    if not commit or loop.landing.was_dropped:
        return ()
    order = loop.sealed
    place = f"/tmp/ralph-{order.loop}"  # noqa: S108 (a line for a person to paste, not a path that we open)
    lines = [f"git worktree add --detach {place} {commit}"]
    for gate in order.criterion.gates:
        where = place if gate.cwd in (".", "") else f"{place}/{safe(gate.cwd)}"
        lines.append(f"(cd '{where}' && {safe(gate.run, 500)})")
    return (*lines, f"git worktree remove --force {place}")
