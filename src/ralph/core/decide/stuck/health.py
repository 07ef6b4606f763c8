"""How a loop is doing, for people: score, risk, and warnings that end nothing.

It reads the newest footprints and the hour's calls. What ends or redirects a loop is in `signs`.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from ralph.core.decide.grants import open_questions
from ralph.core.decide.stuck import thresholds as limit
from ralph.core.decide.stuck.attempts import Escalation, escalation
from ralph.core.decide.stuck.breaker import Risk
from ralph.core.decide.stuck.measure import calls_used
from ralph.core.decide.stuck.signs import is_getting_worse, only_testing, worth
from ralph.core.model.breaker_state import Footprint, State, Turn
from ralph.core.model.loop import Loop

MAX_ESCALATIONS = 5  # that are shown


class Health(Struct, frozen=True):
    """The breaker as screens and `--json` show it."""

    state: State = "CLOSED"
    why: str = ""
    since: int = 0
    opens: int = 0
    watch: int = 0
    score: int | None = None  # of the newest judged iteration
    risk: Risk = "LOW"
    alerts: tuple[str, ...] = ()
    ask: str = ""  # what a human is asked, when the loop ended for want of one
    trail: tuple[Turn, ...] = ()


def health(loop: Loop) -> Health:
    breaker = loop.progress.breaker
    warned = () if loop.phase == "ended" else alerts(loop)
    return Health(
        state=breaker.state,
        why=breaker.why,
        since=breaker.since,
        opens=breaker.opens,
        watch=breaker.watch,
        score=loop.progress.tries[-1].score if loop.progress.tries else None,
        risk=risk(loop, warned),
        alerts=warned,
        ask=" ".join(found.ask for found in escalations(loop)),
        trail=breaker.trail,
    )


def escalations(loop: Loop) -> tuple[Escalation, ...]:
    """For a loop that ended for want of a human: one for each blocked item, else one for the task."""
    if loop.outcome not in ("stalled", "blocked") or not loop.progress.attempts:
        return ()
    items = tuple(loop.build.blocked_items)[:MAX_ESCALATIONS]
    if not items and open_questions(loop):
        return ()  # it ended with questions of its own
    items = items or (loop.progress.attempts[-1].item,)
    return tuple(escalation(loop.progress.attempts, item, loop.sealed.loop) for item in items)


def alerts(loop: Loop) -> tuple[str, ...]:
    """One sentence for each warning."""
    breaker, history = loop.progress.breaker, loop.progress.tries
    last = history[-limit.TREND :]
    full = len(last) == limit.TREND
    found = []
    if breaker.on_item > limit.ON_ONE_ITEM:
        what = f"item {breaker.item}" if breaker.item else "one task"
        found.append(f"{breaker.on_item} iterations on {what}")
    if full and not any(footprint.files for footprint in last):
        found.append(f"no file changed in {limit.TREND} iterations")
    if full and all(footprint.item for footprint in last) and not any(footprint.items for footprint in last):
        found.append(f"no item completed in {limit.TREND} iterations")
    if _trend([_rate(footprint) for footprint in history], -1):
        found.append(f"the share of passing tests has fallen {limit.TREND} times in a row")
    if _trend([float(footprint.red) for footprint in history], 1):
        found.append(f"errors have risen {limit.TREND} times in a row")
    if is_getting_worse(history):
        found.append(f"the last {limit.TREND} iterations scored {worth(history)} points in total")
    if only_testing(history):
        found.append(f"{limit.TESTING_WINDOW} iterations changed only tests")
    if _falls_silent([footprint.written for footprint in last]):
        found.append("the agent says much less than two iterations ago (only a warning)")
    return (*found, *_calls(loop))


def _calls(loop: Loop) -> tuple[str, ...]:
    cap = loop.limits.calls_per_hour
    used = calls_used(loop)
    if cap is None or 100 * used < limit.CALLS_USED_PERCENT * cap:
        return ()
    return (f"{used} of {cap} calls of this hour are used",)


def risk(loop: Loop, warned: tuple[str, ...]) -> Risk:
    breaker, history = loop.progress.breaker, loop.progress.tries
    if breaker.state != "CLOSED" or is_getting_worse(history):
        return "HIGH"
    bad = bool(history) and history[-1].score < 0
    return "MEDIUM" if bad or warned or breaker.watch else "LOW"


def _rate(footprint: Footprint) -> float | None:
    if footprint.passed is None or footprint.failed is None or footprint.passed + footprint.failed == 0:
        return None
    return footprint.passed / (footprint.passed + footprint.failed)


def _trend(values: list[float | None] | list[float], sign: int) -> bool:
    """Did each of the last three go further the wrong way than the one before it?"""
    known = values[-limit.TREND - 1 :]
    if len(known) <= limit.TREND:
        return False
    pairs = pairwise(known)
    return all(one is not None and two is not None and sign * (two - one) > 0 for one, two in pairs)


def _falls_silent(written: list[int | None]) -> bool:
    known = [count for count in written if count is not None]
    if len(known) < limit.TREND:
        return False
    return known[0] > known[1] > known[2] and 100 * known[2] <= (100 - limit.SILENCE_PERCENT) * known[0]
