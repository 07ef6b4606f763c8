"""What calls used, added up: the one place that counts calls, tokens and money.

A call is counted when it begins. Its cost is unknown until it says more, and unknown is not zero. While the
agent itself is at work the screens say so, and its cost is unknown only when it has ended; calls beside
it (readers, the judge) are so from their beginning.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.events import ResumeAsked
from ralph.core.model.spend import Limits, Spend, Usage


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


def raise_limits(limits: Limits, event: ResumeAsked) -> Limits:
    """With what a human adds when a loop is taken up again; what is not bounded stays so."""
    return replace(
        limits,
        iterations=None if limits.iterations is None else limits.iterations + event.more_iterations,
        time=None if limits.time is None else limits.time + event.more_time,
        cost=None if limits.cost is None else limits.cost + event.more_cost,
        tokens=None if limits.tokens is None else limits.tokens + event.more_tokens,
    )
