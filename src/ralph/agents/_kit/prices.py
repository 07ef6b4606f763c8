"""What tokens cost, where the CLI itself does not say: from prices that the user gave, and marked so."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.spend import Price, Usage

MILLION = 1_000_000


def add_cost(usage: Usage, price: Price | None) -> Usage:
    """The usage with a cost, if it can be computed; a CLI's own figure stands."""
    if usage.cost is not None or price is None or usage.fresh is None or usage.written is None:
        return usage
    cached = price.fresh if price.cached is None else price.cached
    parts = (usage.fresh * price.fresh, (usage.cached or 0) * cached, usage.written * price.written)
    return replace(usage, cost=sum(parts) / MILLION, estimated=True)
