"""What a call has cost: a profile's price first, then the CLI's own figure, then its model's list price."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.spend import Price, Usage

MILLION = 1_000_000
_DATED = re.compile(r"-(?:latest|\d{4}-\d\d-\d\d|\d{8})$")


class PriceList(Struct, frozen=True):
    """`prices.toml`, and the day on which it was looked up."""

    as_of: str
    models: dict[str, tuple[float, float, float]]


@cache
def price_list() -> PriceList:
    from importlib.resources import files

    import msgspec

    return msgspec.toml.decode((files("ralph.shell.agent_call") / "prices.toml").read_bytes(), type=PriceList)


def listed_price(model: str) -> Price | None:
    """By the model's name alone, whoever sells it and whatever date it bears."""
    found = price_list().models.get(_DATED.sub("", model.lower().rpartition("/")[2])) if model else None
    return Price(found[0], found[2], found[1]) if found else None


def add_cost(usage: Usage, price: Price | None, model: str = "") -> Usage:
    """The usage with a cost, if it can be known. `price` is a profile's: CLIs count by their own maker's."""
    if price is None and usage.cost is None:
        price = listed_price(model)
    if price is None or usage.fresh is None or usage.written is None:
        return usage
    cached = price.fresh if price.cached is None else price.cached
    parts = (usage.fresh * price.fresh, (usage.cached or 0) * cached, usage.written * price.written)
    return replace(usage, cost=sum(parts) / MILLION, estimated=True)
