"""What is asked of the agent when the work goes nowhere: four rungs for each kind of trouble, in order.

A rung is a sentence for the next prompt (`strategies.toml`). Which one is due follows from how often the
trouble came up on the same item, so that no demand is made twice before the ladder ends. Recognising trouble
is `signs`'s matter.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, get_args

from msgspec import Struct

from ralph.core.model.breaker_state import Demand, Trouble


class Rung(Struct, frozen=True):
    strategy: str  # its name: in the record, in reports, among what was tried
    text: str  # what the agent reads


_TABLE: dict[str, Any] = tomllib.loads(files(__package__).joinpath("strategies.toml").read_text("utf-8"))
ESCALATE = Rung("escalate", _TABLE["escalate"])
RUNGS: dict[Trouble, tuple[Rung, ...]] = {
    trouble: (*(Rung(strategy, text) for strategy, text in _TABLE[trouble].items()), ESCALATE)
    for trouble in get_args(Trouble)
}


def next_rung(demands: tuple[Demand, ...], trouble: Trouble, item: str = "") -> Rung:
    """The first rung that was not asked for yet; the last one stays the last."""
    rungs = RUNGS[trouble]
    return rungs[min(len(already_asked(demands, trouble, item)), len(rungs) - 1)]


def already_asked(demands: tuple[Demand, ...], trouble: Trouble, item: str = "") -> tuple[str, ...]:
    """Strategies that were asked for in this trouble, oldest first."""
    return tuple(one.strategy for one in demands if (one.trouble, one.item) == (trouble, item))


def demand_text(why: str, rung: Rung, before: tuple[str, ...]) -> str:
    """The demand as the next prompt has it, without a full stop: the prompt goes on after it."""
    tried = f". Already tried without success: {', '.join(dict.fromkeys(before))}" if before else ""
    return f"{why}. {rung.strategy.capitalize()}: {rung.text}{tried}"
