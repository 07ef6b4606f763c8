"""How a loop is doing, for people: score, risk, and warnings that end nothing.

A fold over the breaker's pulses and the hour's calls. What ends or redirects a loop is in `signs`.
"""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from ralph.core.decide.stuck.attempts import Escalation, escalation
from ralph.core.decide.stuck.breaker import Risk
from ralph.core.model.breaker_state import Breaker, Pulse, State, Turn
from ralph.core.model.loop import Loop

HOUR = 3600.0
WINDOW = 3  # iterations that a trend needs
ON_ONE_ITEM = 20
MAX_ESCALATIONS = 5  # that are shown
CALLS_USED = 80  # percent
DECLINE = 70  # percent
TESTING_WINDOW, TESTING_SHARE = 5, 0.8


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
    warned = () if loop.phase == "ended" else alerts(breaker, loop)
    return Health(
        state=breaker.state,
        why=breaker.why,
        since=breaker.since,
        opens=breaker.opens,
        watch=breaker.watch,
        score=breaker.pulses[-1].score if breaker.pulses else None,
        risk=risk(breaker, warned),
        alerts=warned,
        ask=" ".join(found.ask for found in escalations(loop)),
        trail=breaker.trail,
    )


def escalations(loop: Loop) -> tuple[Escalation, ...]:
    """For a loop that ended for want of a human: one for each blocked item, else one for the task."""
    if loop.outcome not in ("stalled", "blocked") or not loop.progress.attempts:
        return ()
    items = tuple(loop.build.blocked_items)[:MAX_ESCALATIONS] or (loop.progress.attempts[-1].item,)
    return tuple(escalation(loop.progress.attempts, item, loop.sealed.loop) for item in items)


def calls_used(loop: Loop) -> int:
    """Calls of the last hour, as far as they are remembered."""
    return sum(at > loop.now - HOUR for at in loop.call.times)


def calls_left(loop: Loop) -> int | None:
    cap = loop.limits.calls_per_hour
    return None if cap is None else max(0, cap - calls_used(loop))


def is_getting_worse(pulses: tuple[Pulse, ...]) -> bool:
    """Are the last three iterations worth less than nothing, together?"""
    return len(pulses) >= WINDOW and worth(pulses) < 0


def worth(pulses: tuple[Pulse, ...]) -> int:
    return sum(pulse.score for pulse in pulses[-WINDOW:])


def only_testing(pulses: tuple[Pulse, ...]) -> bool:
    """More than four fifths of the newest work saw to tests, and nothing came of it."""
    newest = pulses[-TESTING_WINDOW:]
    if len(newest) < TESTING_WINDOW or any(pulse.progress for pulse in newest):
        return False
    return sum(pulse.testing for pulse in newest) > TESTING_SHARE * len(newest)


def alerts(breaker: Breaker, loop: Loop) -> tuple[str, ...]:
    """One sentence for each warning."""
    pulses = breaker.pulses
    last = pulses[-WINDOW:]
    full = len(last) == WINDOW
    found = []
    if breaker.on_item > ON_ONE_ITEM:
        what = f"item {breaker.item}" if breaker.item else "one task"
        found.append(f"{breaker.on_item} iterations on {what}")
    if full and not any(pulse.files for pulse in last):
        found.append(f"no file changed in {WINDOW} iterations")
    if full and all(pulse.item for pulse in last) and not any(pulse.items for pulse in last):
        found.append(f"no item completed in {WINDOW} iterations")
    if _trend([_rate(pulse) for pulse in pulses], -1):
        found.append(f"the share of passing tests has fallen {WINDOW} times in a row")
    if _trend([float(pulse.red) for pulse in pulses], 1):
        found.append(f"errors have risen {WINDOW} times in a row")
    if is_getting_worse(pulses):
        found.append(f"the last {WINDOW} iterations are worth {worth(pulses)} together")
    if only_testing(pulses):
        found.append(f"{TESTING_WINDOW} iterations changed only tests")
    if _falls_silent([pulse.written for pulse in last]):
        found.append("the agent says much less than two iterations ago (only a warning)")
    return (*found, *_calls(loop))


def _calls(loop: Loop) -> tuple[str, ...]:
    cap = loop.limits.calls_per_hour
    used = calls_used(loop)
    if cap is None or 100 * used < CALLS_USED * cap:
        return ()
    return (f"{used} of {cap} calls of this hour are used",)


def risk(breaker: Breaker, warned: tuple[str, ...]) -> Risk:
    if breaker.state != "CLOSED" or is_getting_worse(breaker.pulses):
        return "HIGH"
    bad = bool(breaker.pulses) and breaker.pulses[-1].score < 0
    return "MEDIUM" if bad or warned or breaker.watch else "LOW"


def _rate(pulse: Pulse) -> float | None:
    if pulse.passed is None or pulse.failed is None or pulse.passed + pulse.failed == 0:
        return None
    return pulse.passed / (pulse.passed + pulse.failed)


def _trend(values: list[float | None] | list[float], sign: int) -> bool:
    """Did each of the last three go further the wrong way than the one before it?"""
    known = values[-WINDOW - 1 :]
    if len(known) <= WINDOW:
        return False
    pairs = pairwise(known)
    return all(one is not None and two is not None and sign * (two - one) > 0 for one, two in pairs)


def _falls_silent(written: list[int | None]) -> bool:
    known = [count for count in written if count is not None]
    if len(known) < WINDOW:
        return False
    return known[0] > known[1] > known[2] and 100 * known[2] <= (100 - DECLINE) * known[0]
