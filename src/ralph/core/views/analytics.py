"""What a loop's iterations came to, what they cost, and how many are left: a fold over its facts.

Unknown stays unknown: what nobody told is None, never zero. The forecast is scored afterwards against loops
that have ended (`score_forecasts`), so that its interval can be believed, or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.views.summary import best_iteration

FLAT = 2.0  # points of quality that are no change
SMALL = 5.0  # twice in a row: returns diminish
MOSTLY = 0.67


class IterationLine(Struct, frozen=True):
    iteration: int
    agent: str = ""
    red: int | None = None  # findings and failing tests of required checks; None = not judged
    red_before: int | None = None
    quality: float | None = None  # 0 to 100: how much of what was red at the base is green
    tokens: int | None = None
    read: int | None = None  # of the tokens: by the model, from its cache too
    written: int | None = None
    cost: float | None = None
    at: float = 0.0  # when the call ended
    agent_seconds: float = 0.0
    gate_seconds: float = 0.0
    lines: int = 0  # added and removed
    claimed: str = ""
    fault: str = ""
    learned: tuple[str, ...] = ()

    @property
    def delta(self) -> float | None:
        if self.red is None or self.red_before is None:
            return None
        return float(self.red_before - self.red)


class Forecast(Struct, frozen=True):
    """How much is left. The interval is meant to hold the truth four times out of five."""

    iterations: int
    low: int
    high: int
    cost: float | None = None
    cost_low: float | None = None
    cost_high: float | None = None


class LoopAnalytics(Struct, frozen=True):
    loop: str
    agent: str
    model: str
    phase: str
    outcome: str | None
    reason: str
    lines: tuple[IterationLine, ...]
    best: int | None
    trajectory: str
    diminishing: bool
    lies: int  # "done" that the checks refused
    forecast: Forecast | None


def analyse(loop: Loop, events: Iterable[e.AnyEvent]) -> LoopAnalytics:
    order = loop.sealed
    lines = iteration_lines(events)
    alive = loop.phase not in ("ended", "new")
    limit = loop.limits.iterations
    left = None if limit is None else max(0, limit - loop.iteration)
    claims = sum(one.claimed == "COMPLETE" for one in lines)
    return LoopAnalytics(
        loop=order.loop,
        agent=order.agent.name,
        model=order.agent.model,
        phase=loop.phase,
        outcome=loop.outcome,
        reason=loop.reason,
        lines=lines,
        best=best_iteration(loop),
        trajectory=trajectory(lines),
        diminishing=diminishing(lines),
        lies=claims
        - (loop.outcome in ("verified", "unproven") and bool(lines) and lines[-1].claimed == "COMPLETE"),
        forecast=forecast(lines, left) if alive else None,
    )


def iteration_lines(events: Iterable[e.AnyEvent]) -> tuple[IterationLine, ...]:
    """One line a call of the agent; what was judged belongs to the call before it."""
    lines: list[IterationLine] = []
    base: dict[str, int] = {}
    now: dict[str, int] = {}
    advisory: set[str] = set()
    for event in events:
        if isinstance(event, e.LoopStarted):
            advisory = {gate.name for gate in event.order.criterion.gates if not gate.required}
        elif isinstance(event, e.AgentStarted):
            before = sum(now.values()) if now else sum(base.values()) if base else None
            lines.append(IterationLine(event.iteration, event.agent, red_before=before))
            now = {}
        elif isinstance(event, e.GateEnded):
            verdict = event.verdict
            count = 0 if verdict.gate in advisory else verdict.red or (verdict.status != "pass")
            if verdict.stage == "baseline":
                base[verdict.gate] = count
            elif lines:
                now[verdict.gate] = count
                red = sum(now.values())
                lines[-1] = replace(
                    lines[-1],
                    red=red,
                    quality=_quality(red, sum(base.values())),
                    gate_seconds=lines[-1].gate_seconds + verdict.seconds,
                )
        elif isinstance(event, e.AgentEnded) and lines:
            lines[-1] = replace(
                lines[-1],
                tokens=event.usage.tokens,
                read=_sum_known(event.usage.fresh, event.usage.cached),
                written=event.usage.written,
                cost=event.usage.cost,
                at=event.at,
                learned=event.learned,
                agent_seconds=event.seconds,
                claimed=event.claim.status if event.claim else "",
                fault=event.fault.kind if event.fault else "",
            )
        elif isinstance(event, e.CheckpointMade) and lines:
            lines[-1] = replace(lines[-1], lines=event.added + event.removed)
    return tuple(lines)


def _sum_known(*numbers: int | None) -> int | None:
    known = [one for one in numbers if one is not None]
    return sum(known) if known else None


def _quality(red: int, base: int) -> float:
    return 100.0 if red == 0 else max(0.0, 100.0 * (1 - red / max(base, red)))


def _deltas(lines: Sequence[IterationLine]) -> list[float]:
    known = [one.quality for one in lines if one.quality is not None]
    return [after - before for before, after in pairwise(known if len(known) > 1 else [0.0, *known])]


def trajectory(lines: Sequence[IterationLine]) -> str:
    """improving, declining or stable when two thirds of the steps are so; else fluctuating."""
    deltas = _deltas(lines)
    if not deltas:
        return "unknown"
    for word, fits in (
        ("improving", [one > FLAT for one in deltas]),
        ("declining", [one < -FLAT for one in deltas]),
        ("stable", [abs(one) <= FLAT for one in deltas]),
    ):
        if sum(fits) >= MOSTLY * len(deltas):
            return word
    return "fluctuating"


def diminishing(lines: Sequence[IterationLine]) -> bool:
    deltas = _deltas(lines)
    return len(deltas) > 1 and all(abs(one) < SMALL for one in deltas[-2:])


def forecast(lines: Sequence[IterationLine], left: int | None) -> Forecast | None:
    """By how fast red has gone away so far; None while nothing is known of that.

    `left` iterations are allowed: no more can come.
    """
    judged = [one for one in lines if one.red is not None and one.red_before is not None]
    if not judged or judged[-1].red is None:
        return None
    red, steps = judged[-1].red, [one.delta or 0.0 for one in judged]
    most = left if left is not None else 10 * len(judged)
    if most <= 0:
        return None
    if red == 0:  # only a claim or the final proof is missing
        return _with_cost(Forecast(0, 0, 1), lines)
    mean, best = sum(steps) / len(steps), max(steps)
    likely = most if mean <= 0 else min(most, max(1, ceil(red / mean)))
    low = most if best <= 0 else min(most, max(1, ceil(red / best)))
    high = most if mean <= 0 else min(most, max(likely + 1, ceil(2.5 * red / mean)))
    return _with_cost(Forecast(likely, min(low, likely), high), lines)


def _with_cost(found: Forecast, lines: Sequence[IterationLine]) -> Forecast:
    """Each iteration as dear as those before, where the cost of all of them is known."""
    costs = [one.cost for one in lines if one.cost is not None]
    if not costs or len(costs) < len(lines):
        return found
    each = sum(costs) / len(costs)
    return replace(
        found, cost=each * found.iterations, cost_low=each * found.low, cost_high=each * found.high
    )


class Calibration(Struct, frozen=True):
    forecasts: int
    inside: int  # how many held the truth in their interval
    error: float | None  # mean distance in iterations


def score_forecasts(loops: Iterable[tuple[Sequence[IterationLine], int | None]]) -> Calibration:
    """Of loops that ended verified: what would have been said after each iteration, and what came."""
    count = inside = 0
    distance = 0.0
    for lines, limit in loops:
        for at in range(1, len(lines)):
            made = forecast(lines[:at], None if limit is None else max(0, limit - at))
            if made is None:
                continue
            truth = len(lines) - at
            count += 1
            inside += made.low <= truth <= made.high
            distance += abs(made.iterations - truth)
    return Calibration(count, inside, distance / count if count else None)
