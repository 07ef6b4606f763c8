"""What calls used, added up. A call is counted when it begins, as one of unknown cost, until it says more."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model import Spend, Usage


def begun(spend: Spend, calls: int = 1) -> Spend:
    return replace(spend, calls=spend.calls + calls, blind=spend.blind + calls)


def told(spend: Spend, usage: Usage) -> Spend:
    """A call that has begun says what it used; what it does not say stays unknown, and is not zero."""
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
