"""How the work went, for the report: the breaker with its history, the scores, and what is asked of a human.

Data only, made safe: reasons quote providers and agents, attempts name files of the agent's.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ralph.app.words.format import safe
from ralph.core.decide.stuck.attempts import Escalation
from ralph.core.decide.stuck.health import Health, escalations, health
from ralph.core.decide.stuck.thresholds import MAX_SCORES_SHOWN
from ralph.core.model.breaker_state import State
from ralph.core.model.loop import Loop


class IterationScore(msgspec.Struct, frozen=True):
    """One judged iteration, as far as people are told of it."""

    iteration: int
    at: float
    state: State
    item: str
    score: int
    items: int
    files: int
    passed: int | None
    failed: int | None
    skipped: int | None
    red: int
    written: int | None
    calls_left: int | None
    testing: bool
    progress: bool


class Course(Health, frozen=True):
    scores: tuple[IterationScore, ...] = ()  # of the newest judged iterations
    escalations: tuple[Escalation, ...] = ()  # for a loop that ended stalled or blocked


def breaker_course(loop: Loop) -> Course:
    found = health(loop)
    found = replace(
        found,
        why=safe(found.why, 500),
        alerts=tuple(safe(line, 300) for line in found.alerts),
        ask=safe(found.ask, 1000),
        trail=tuple(replace(turn, why=safe(turn.why, 500)) for turn in found.trail),
    )
    asked = tuple(_escalation(one) for one in escalations(loop))
    newest = msgspec.convert(
        loop.progress.history[-MAX_SCORES_SHOWN:], tuple[IterationScore, ...], from_attributes=True
    )
    scores = tuple(replace(one, item=safe(one.item, 80)) for one in newest)
    return Course(**msgspec.structs.asdict(found), scores=scores, escalations=asked)


def _escalation(found: Escalation) -> Escalation:
    return Escalation(
        item=safe(found.item, 80),
        approaches=tuple(safe(line, 1000) for line in found.approaches),
        cause=safe(found.cause, 500),
        options=tuple(safe(line, 300) for line in found.options),
        ask=safe(found.ask, 500),
    )
