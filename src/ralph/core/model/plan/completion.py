"""The dual condition: completion indicators on one side, a signal with its four conditions on the other.

It stands beside the proof and never in its place (`exit_gate`). Which words count is in `indicators`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from ralph.core.text.clean import one_line

WINDOW = 3
NEEDED = 2
MAX_SHOWN_CHARS = 120


class Indication(Struct, frozen=True, omit_defaults=True):
    """What one iteration's final message says about being finished."""

    iteration: int
    complete: bool = False  # STATUS COMPLETE
    phrases: tuple[str, ...] = ()
    signal: bool = False  # EXIT_SIGNAL true

    @property
    def counts(self) -> bool:
        return self.complete or bool(self.phrases)


Name = Literal["no open item", "tests pass", "no unresolved error", "no meaningful work left"]
NAMES: tuple[Name, ...] = ("no open item", "tests pass", "no unresolved error", "no meaningful work left")


class Checked(Struct, frozen=True, omit_defaults=True):
    """What Ralph found itself about the four conditions of EXIT_SIGNAL; None = it was not looked at."""

    open_items: int | None = None
    failing: tuple[str, ...] | None = None  # tests of the whole suite that do not pass
    errors: tuple[str, ...] | None = None  # of this iteration: faults, gates that could not be judged
    remaining: tuple[str, ...] | None = None  # stubs, half features, an open review


class Condition(Struct, frozen=True):
    name: Name
    holds: bool | None  # None = unknown, which is not true
    why: str = ""


class Dual(Struct, frozen=True):
    """Both halves, each by itself, so that a screen can show which one is missing."""

    indicators: int
    needed: int
    signal: bool
    conditions: tuple[Condition, ...]

    @property
    def language(self) -> bool:
        return self.indicators >= self.needed

    @property
    def evidence_agrees(self) -> bool:
        return self.signal and all(one.holds for one in self.conditions)

    @property
    def holds(self) -> bool:
        return self.language and self.evidence_agrees


def dual_condition(said: Sequence[Indication], checked: Checked) -> Dual:
    """The rule over the last iterations, oldest first. The signal is that of the last one."""
    window = {one.iteration: one for one in said[-WINDOW:]}
    count = sum(one.counts for one in window.values())
    signal = bool(said) and said[-1].signal
    return Dual(count, NEEDED, signal, _conditions(checked))


def _conditions(checked: Checked) -> tuple[Condition, ...]:
    unknown = "it was not checked"
    open_items = checked.open_items
    found = [
        Condition(NAMES[0], None, unknown)
        if open_items is None
        else Condition(NAMES[0], open_items == 0, f"{open_items} open" if open_items else "")
    ]
    for name, some in zip(NAMES[1:], (checked.failing, checked.errors, checked.remaining), strict=True):
        if some is None:
            found.append(Condition(name, None, unknown))
        else:
            first = one_line(some[0], MAX_SHOWN_CHARS) if some else ""
            more = f" and {len(some) - 1} more" if len(some) > 1 else ""
            found.append(Condition(name, not some, first + more))
    return tuple(found)
