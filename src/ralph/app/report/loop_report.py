"""The report of a loop: its nouns. They are filled by `report_data`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Struct

from ralph.app.report.breaker_part import Course
from ralph.app.report.judge_part import JudgeCall, Judgement
from ralph.core.model.outcome import Outcome
from ralph.core.model.parts import InPlace, flat_fields
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.spend import Limits
from ralph.core.views.costs import ModelCost
from ralph.core.views.plan_view import ItemLine, PlanLine
from ralph.core.views.team_view import TeamLine

Status = Literal["COMPLETED", "FAILED", "PARTIAL", "IN_PROGRESS"]


class GateProof(Struct, frozen=True):
    """One gate: what it said of the base and of this tree, and where the evidence is."""

    gate: str
    verdict: str
    before: str
    summary: str
    command: str
    cwd: str
    evidence: str
    kept: bool | None  # are the evidence's bytes still there; None when nobody looked
    tree: str
    proof: bool
    required: bool


class Guard(Struct, frozen=True):
    guard: str
    applied: bool
    summary: str
    findings: tuple[str, ...]
    counted: dict[str, int] = {}


class Told(Struct, frozen=True):
    """One call of the agent: what it came to, and its word against what the checks showed."""

    iteration: int
    call: int
    line: str
    seconds: float
    cost: float | None
    tokens: int | None
    claim: str  # "" when it made none
    claimed_work: str
    showed: str
    agrees: bool | None  # None: nothing was claimed, or nothing was judged
    commit: str


class Intervention(Struct, frozen=True):
    at: str
    what: str
    author: str = ""


class ReportState(Struct, frozen=True, kw_only=True):
    phase: str
    outcome: Outcome | None
    grade: str | None
    reason: str
    started: str
    updated: str


class ReportAgent(Struct, frozen=True, kw_only=True):
    name: str
    model: str
    sandbox: str
    sandbox_words: tuple[str, ...]


class ReportGit(Struct, frozen=True, kw_only=True):
    repo: str
    base_commit: str
    head_branch: str
    branch: str
    result_commit: str
    tree: str
    landing: str
    dropped: bool


class ReportSpend(Struct, frozen=True, kw_only=True):
    seconds: float
    waited: float
    iterations: int
    calls: int
    cost: float | None
    tokens: int | None
    calls_of_unknown_cost: int
    cost_estimated: bool  # part of it was computed from tokens and prices
    by_model: tuple[ModelCost, ...]
    limits: Limits


class ReportEvidence(Struct, frozen=True, kw_only=True):
    proof: tuple[GateProof, ...]
    guards: tuple[Guard, ...]
    judge: Judgement | None  # None: the loop has no judge
    judge_calls: tuple[JudgeCall, ...]
    team: TeamLine | None = None  # None: one agent does it all


class ReportPlan(Struct, frozen=True, kw_only=True):
    line: PlanLine | None  # None: one task, without a plan
    items: tuple[ItemLine, ...]  # of the plan, the first ones
    ties: tuple[CriterionTest, ...]  # criteria of the specs and the tests that name them


class ReportNotes(Struct, frozen=True, kw_only=True):
    """What is open, and what was said along the way."""

    not_yet: tuple[str, ...]
    unproven: tuple[str, ...]
    not_run: tuple[str, ...]  # kinds of check that the project has and that no gate was
    learned: tuple[str, ...]  # what agents noted for later calls
    old_red: tuple[str, ...]
    waivers: dict[str, str]
    warnings: tuple[str, ...]
    errors: tuple[str, ...]
    recommendations: tuple[str, ...]  # computed, each with what it rests on
    interventions: tuple[Intervention, ...]


class LoopReport(Struct, frozen=True, kw_only=True):
    """Its JSON is flat (`parts`): the names of the parts do not appear there."""

    v: int = 1
    loop: str
    id: str
    status: Status
    headline: str
    task: str
    task_class: str
    state: Annotated[ReportState, InPlace()]
    agent: Annotated[ReportAgent, InPlace({"name": "agent"})]
    git: Annotated[ReportGit, InPlace()]
    spend: Annotated[ReportSpend, InPlace()]
    change: dict[str, int] | None
    changed_lines: int
    best: str
    evidence: Annotated[ReportEvidence, InPlace()]
    plan: Annotated[ReportPlan, InPlace({"line": "plan"})]
    told: tuple[Told, ...]
    breaker: Course
    notes: Annotated[ReportNotes, InPlace()]
    reproduce: tuple[str, ...]
    next: tuple[str, ...]
    written_by_newer: bool


def report_json(report: LoopReport) -> bytes:
    """Every limit is there, also one that was left at its default."""
    fields = flat_fields(report) | {"limits": msgspec.structs.asdict(report.spend.limits)}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"
