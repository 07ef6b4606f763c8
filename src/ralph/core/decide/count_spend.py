"""What calls used, added up: the one place that counts calls, tokens and money.

A call is counted when it begins. Its cost is unknown until it says more, and unknown is not zero. While the
agent itself is at work the screens say so, and its cost is unknown only when it has ended; calls beside
it (readers, the judge) are so from their beginning.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.spend import Spend, Usage


def begun(spend: Spend) -> Spend:
    """A call of the agent begins."""
    return replace(spend, calls=spend.calls + 1)


def begun_aside(spend: Spend, calls: int = 1) -> Spend:
    """Calls beside the work begin, each of unknown cost until it tells."""
    return replace(spend, calls=spend.calls + calls, blind=spend.blind + calls)


def ended(spend: Spend, usage: Usage) -> Spend:
    """The call of the agent has ended and says what it used."""
    return told(replace(spend, blind=spend.blind + 1), usage)


def told(spend: Spend, usage: Usage) -> Spend:
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
