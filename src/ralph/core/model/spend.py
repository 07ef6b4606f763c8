"""What a loop may use, and what it used."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True, omit_defaults=True):
    """Bounds on a loop. None = not bounded by this; one of them always is set."""

    iterations: int | None = 15
    time: float | None = None
    iteration_time: float = 1800.0
    idle: float | None = None
    cost: float | None = None
    tokens: int | None = None
    calls_per_hour: int | None = None


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
