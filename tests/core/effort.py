"""How much a test tries: few examples and parts in `make check`, all that there is in `make soak`."""

import hashlib
from collections.abc import Sequence
from typing import Any

from hypothesis import settings


def examples(number: int) -> int:
    """So many in `make test`; in the proportion of the profile fewer in `make check`, more in `make soak`."""
    return max(2, number * settings().max_examples // 100)


def part_of(things: Sequence[Any], number: int) -> list[Any]:
    """All of them in `make soak`, else so many, in their order; their names decide which."""
    if settings().max_examples > 100:
        return list(things)
    chosen = sorted(things, key=lambda thing: hashlib.sha256(repr(thing).encode()).digest())[:number]
    return [thing for thing in things if thing in chosen]
