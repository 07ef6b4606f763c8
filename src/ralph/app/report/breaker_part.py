"""How the work went, for the report: the breaker with its history, the scores, and what is asked of a human.

Data only, made safe: reasons quote providers and agents, attempts name files of the agent's.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ralph.app.words.format import safe
from ralph.core.decide.stuck.attempts import Escalation
from ralph.core.decide.stuck.health import Health, escalations, health
from ralph.core.model.breaker_state import Pulse
from ralph.core.model.loop import Loop


class Course(Health, frozen=True):
    scores: tuple[Pulse, ...] = ()  # of the newest judged iterations
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
    scores = tuple(replace(pulse, item=safe(pulse.item, 80)) for pulse in loop.progress.breaker.pulses)
    return Course(**msgspec.structs.asdict(found), scores=scores, escalations=asked)


def _escalation(found: Escalation) -> Escalation:
    return Escalation(
        item=safe(found.item, 80),
        approaches=tuple(safe(line, 1000) for line in found.approaches),
        cause=safe(found.cause, 500),
        options=tuple(safe(line, 300) for line in found.options),
        ask=safe(found.ask, 500),
    )
