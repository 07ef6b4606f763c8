"""What every part shares: one line of the table, medians, and a look at a process's memory."""

import statistics
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

MEGABYTE = 1024 * 1024


class Line(Struct, frozen=True, kw_only=True):
    """One aim: what was measured beside what, and the number that must not be above the aim."""

    part: str
    what: str
    floor: float | None = None
    ralph: float
    unit: str
    value: float  # what is held against the aim, in `value_unit`
    value_unit: str
    aim: float

    @property
    def met(self) -> bool:
        return self.value <= self.aim


def ratio_line(part: str, what: str, floor: float, ralph: float, aim: float) -> Line:
    """Seconds beside seconds, as a ratio."""
    return Line(
        part=part,
        what=what,
        floor=floor * 1000,
        ralph=ralph * 1000,
        unit="ms",
        value=ralph / floor,
        value_unit="x",
        aim=aim,
    )


def interleaved(rounds: int, *measures: Callable[[], float]) -> list[list[float]]:
    """Each measure once a round, the order turned around every second one, so that drift hits all alike."""
    found: list[list[float]] = [[] for _ in measures]
    for number in range(rounds):
        order = list(enumerate(measures))
        for at, measure in order if number % 2 == 0 else reversed(order):
            found[at].append(measure())
    return found


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def quiet(values: Sequence[float]) -> float:
    """The lower quartile: for what happens once and quickly, to which a busy neighbour can only add."""
    return statistics.quantiles(values, n=4)[0]


def typical_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the rounds' own ratios: a neighbour who wakes up disturbs both sides of a round."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))
