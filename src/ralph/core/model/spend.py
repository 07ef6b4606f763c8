"""What a loop may use, and what it used: the one place that counts calls, tokens and money.

A call is counted when it begins. Its cost is unknown until it says more, and unknown is not zero. While the
agent itself is at work the screens say so, and its cost is unknown only when it has ended; calls beside
it (readers, the judge) are so from their beginning.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace


class Limits(Struct, frozen=True, omit_defaults=True):
    """Bounds on a loop. None = not bounded by this; one of them always is set."""

    iterations: int | None = 15
    time: float | None = None
    iteration_time: float = 1800.0
    idle: float | None = None
    cost: float | None = None
    tokens: int | None = None
    calls_per_hour: int | None = None
    iteration_cost: float | None = None  # of one agent call


class Spend(Struct, frozen=True, omit_defaults=True):
    """What was used. `blind` counts calls whose cost nobody told us: unknown is not zero."""

    calls: int = 0
    seconds: float = 0.0  # active time: agent and gates, without waits
    waited: float = 0.0
    tokens: int | None = None
    cost: float | None = None
    blind: int = 0
    estimated: bool = False  # part of the cost was computed from tokens and prices


class Usage(Struct, frozen=True, omit_defaults=True):
    """What one agent call reported of itself; None = it did not say."""

    tokens: int | None = None
    cost: float | None = None
    fresh: int | None = None  # of the tokens: read by the model for the first time
    cached: int | None = None  # read from its cache
    written: int | None = None  # by the model
    estimated: bool = False  # the cost was computed from tokens and prices


class Price(Struct, frozen=True, omit_defaults=True):
    """US dollars for a million tokens, as the user gave them."""

    fresh: float
    written: float
    cached: float | None = None  # None = as fresh ones


def add_started_call(spend: Spend) -> Spend:
    """A call of the agent begins."""
    return replace(spend, calls=spend.calls + 1)


def add_side_calls(spend: Spend, calls: int = 1) -> Spend:
    """Calls beside the work begin, each of unknown cost until it tells."""
    return replace(spend, calls=spend.calls + calls, blind=spend.blind + calls)


def add_call_usage(spend: Spend, usage: Usage) -> Spend:
    """The call of the agent has ended and says what it used."""
    return add_usage(replace(spend, blind=spend.blind + 1), usage)


def add_usage(spend: Spend, usage: Usage) -> Spend:
    """A call of unknown cost says what it used; what it does not say stays unknown."""
    tokens = spend.tokens if usage.tokens is None else (spend.tokens or 0) + usage.tokens
    if usage.cost is None:
        return replace(spend, tokens=tokens)
    return replace(
        spend,
        tokens=tokens,
        cost=(spend.cost or 0.0) + usage.cost,
        blind=spend.blind - 1,
        estimated=spend.estimated or usage.estimated,
    )


def raise_limits(limits: Limits, *, iterations: int, time: float, cost: float, tokens: int) -> Limits:
    """With what a human adds when a loop is taken up again; what is not bounded stays so."""
    return replace(
        limits,
        iterations=None if limits.iterations is None else limits.iterations + iterations,
        time=None if limits.time is None else limits.time + time,
        cost=None if limits.cost is None else limits.cost + cost,
        tokens=None if limits.tokens is None else limits.tokens + tokens,
    )
