"""A repository of 10,000 files: what an iteration costs beside the agent and the check themselves."""

from measuring import Line, interleaved, median
from sample import floor_iterations, make_project, place, ralph_iterations, ralph_loop

PART = "large"
AIM = 1.5  # seconds


def measure(quick: bool) -> list[Line]:
    files, turns, rounds = (10_000, 5, 1) if quick else (10_000, 8, 3)
    numbers = iter(range(rounds))
    with place() as here:
        make_project(here, files, turns)
        floors, ralphs = interleaved(
            rounds,
            lambda: median(floor_iterations(here, turns)),
            lambda: median(ralph_iterations(ralph_loop(here, f"l{next(numbers)}", turns))),
        )
    floor, ralph = median(floors), median(ralphs)
    own = median(a - b for a, b in zip(ralphs, floors, strict=True))
    return [
        Line(
            part=PART,
            what=f"own cost of an iteration, {files:,} files",
            floor=floor * 1000,
            ralph=ralph * 1000,
            unit="ms",
            value=own,
            value_unit="s",
            aim=AIM,
        )
    ]
