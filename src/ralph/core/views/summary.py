"""A loop in one row: what lists, screens and `--json` show of it.

The journal keeps it beside the events as a cache; it can be made again from them at any time and no
decision reads it.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field
from msgspec import json as json_
from msgspec.structs import replace

from ralph.core.decide.grants import ASKING, OpenWaiver, accusations, left_to_do, open_waivers
from ralph.core.decide.stints.approval import pending
from ralph.core.decide.stuck.health import Health, health
from ralph.core.model.gate import Grade
from ralph.core.model.loop import HostState, Loop
from ralph.core.model.order import ApprovalPoint
from ralph.core.model.outcome import Outcome, Phase, Stopper
from ralph.core.model.parts import InPlace, flat_fields
from ralph.core.model.rubric import opinion_line
from ralph.core.model.spend import Limits, Spend
from ralph.core.model.verdict import Checkpoint
from ralph.core.views.plan_view import PlanLine, plan_line
from ralph.core.views.team_view import TeamLine, team_line

# S2's words for the same states, kept in --json for scripts written against them.
FAMILIAR = {
    "new": "running",
    "queued": "pending",
    "baseline": "running",
    "working": "running",
    "judging": "completing",
    "waiting": "paused",
    "paused": "paused",
    "verified": "completed",
    "satisfied": "completed",
    "unproven": "failed",  # a human decides: whoever waits for "completed" may merge without looking
    "aborted": "aborted",
    "exhausted": "failed",
    "stalled": "failed",
    "blocked": "failed",
    "broken": "failed",
}


class GateLine(Struct, frozen=True, omit_defaults=True):
    gate: str
    verdict: str
    red: int = 0
    summary: str = ""
    required: bool = True
    proof: bool = False


class JudgeLine(Struct, frozen=True, omit_defaults=True):
    """The judge's opinion of the newest tree that it saw."""

    agent: str
    verdict: str = "unknown"
    weighted: float | None = None
    threshold: float = 7.0
    required: bool = False
    words: str = ""


class SummaryState(Struct, frozen=True, kw_only=True):
    phase: Phase
    outcome: Outcome | None
    familiar: str = field(name="state")
    reason: str
    grade: Grade | None
    approval: ApprovalPoint | None = None  # what waits for a user's yes


class SummaryGit(Struct, frozen=True, kw_only=True):
    tree: str
    changed: bool  # is there anything that the base does not have?
    base: str
    branch: str
    result: str
    landing: str
    dropped: bool
    workspace: str


class Summary(Struct, frozen=True, kw_only=True):
    """The row is flat (`parts`): the names of the parts do not appear in it."""

    loop: str
    task: str
    repo: str
    state: Annotated[SummaryState, InPlace()]
    agent: str
    iteration: int
    limits: Limits
    spend: Spend
    git: Annotated[SummaryGit, InPlace()]
    protection: str
    verdicts: tuple[GateLine, ...]
    judge: JudgeLine | None
    plan: PlanLine | None
    team: TeamLine | None = None
    not_yet: tuple[str, ...]
    asked: tuple[OpenWaiver, ...] = ()  # what a user's word would settle
    unproven: tuple[str, ...]
    best: int | None
    breaker: Health
    wait_until: float | None
    wait_why: str
    host: HostState
    stopped_by: Stopper
    started: float
    updated: float


def best_checkpoint(loop: Loop) -> Checkpoint | None:
    """The best work so far: the newest tree once all that is required passed on it, whatever came after
    (a result was made, or the judge crashed); else what iterations were measured by."""
    required = [gate.name for gate in loop.sealed.criterion.gates if gate.required]
    newest = [loop.newest_verdicts.get(name) for name in required]
    green = all(one is not None and one.status == "pass" and one.tree == loop.work.tree for one in newest)
    accused = any(result.findings for result in loop.proof.guards) and not loop.landing.result
    if not (loop.iteration and required and loop.work.commit and green) or accused or loop.has_plan:
        return loop.progress.best
    return Checkpoint(
        loop.iteration, loop.work.tree, loop.work.commit, len(required), 0, loop.work.changed_lines
    )


def best_iteration(loop: Loop) -> int | None:
    best = best_checkpoint(loop)
    return None if best is None else best.iteration


def gate_lines(loop: Loop) -> tuple[GateLine, ...]:
    """Newest verdict of each sealed gate; "unknown" where it has not been judged."""
    newest = loop.proof.baseline if loop.progress.best is None else loop.newest_verdicts
    lines = []
    for gate in loop.sealed.criterion.gates:
        verdict = newest.get(gate.name)
        lines.append(
            GateLine(
                gate=gate.name,
                verdict=verdict.status if verdict else "unknown",
                red=verdict.red - verdict.unseen if verdict else 0,
                summary=verdict.summary if verdict else "",
                required=gate.required,
                proof=gate.proof,
            )
        )
    return tuple(lines)


def judge_line(loop: Loop) -> JudgeLine | None:
    """None where the loop has no judge; "unknown" until it was asked."""
    rubric, judge, opinion = loop.sealed.rubric, loop.sealed.judge, loop.jury.opinion
    if rubric is None or judge is None:
        return None
    line = JudgeLine(agent=judge.name, threshold=rubric.threshold, required=rubric.required)
    if opinion is None:
        return line
    return replace(line, verdict=opinion.status, weighted=opinion.weighted, words=opinion_line(opinion))


def summarise(loop: Loop, started: float = 0.0) -> Summary:
    order = loop.sealed
    return Summary(
        loop=order.loop,
        task=order.task,
        repo=order.repo,
        state=SummaryState(
            phase=loop.phase,
            outcome=loop.outcome,
            familiar=FAMILIAR[loop.outcome or loop.phase],
            reason=loop.reason,
            grade=loop.grade,
            approval=pending(loop),
        ),
        agent=order.agent.name,
        iteration=loop.iteration,
        limits=loop.limits,
        spend=loop.spend,
        git=SummaryGit(
            tree=loop.work.tree,
            changed=loop.work.tree != order.base.tree,
            base=order.base.commit,
            branch=loop.landing.branch,
            result=loop.landing.result,
            landing=loop.landing.state,
            dropped=loop.landing.was_dropped,
            workspace=loop.work.workspace,
        ),
        protection=loop.judged_in,
        verdicts=gate_lines(loop),
        judge=judge_line(loop),
        team=team_line(loop),
        plan=plan_line(loop),
        not_yet=left_to_do(loop),
        asked=(*open_waivers(loop), *accusations(loop)) if loop.outcome in ASKING else (),
        unproven=loop.proof.unproven,
        best=best_iteration(loop),
        breaker=health(loop),
        wait_until=loop.control.wait_until,
        wait_why=loop.control.wait_reason,
        host=replace(loop.host, env={}),  # a runner reads that from the record
        stopped_by=loop.control.stopped_by,
        started=started,
        updated=loop.now,
    )


def summary_json(summary: Summary) -> bytes:
    return json_.encode(flat_fields(summary))
