"""One iteration on a 100-file repository: agent call, snapshot, checkpoint, judgement in a clean checkout.

Compared with the same agent and the same check in a bash loop, side by side: a round is one of each.
"""

from measuring import Line, interleaved, median, ratio_line, typical_ratio
from sample import floor_iterations, make_project, place, ralph_iterations, ralph_loop

PART = "iteration"
FILES = 100
AIM = 3.0


def measure(quick: bool) -> list[Line]:
    turns, rounds = (10, 3) if quick else (25, 7)
    numbers = iter(range(1000))
    with place() as here:
        make_project(here, FILES, turns)
        ralph_loop(here, "warm-up", 2)
        floors, ralphs = interleaved(
            rounds,
            lambda: median(floor_iterations(here, turns)),
            lambda: median(ralph_iterations(ralph_loop(here, f"l{next(numbers)}", turns))),
        )
    floor = median(floors)
    ralph = floor * typical_ratio(ralphs, floors)
    return [ratio_line(PART, f"one iteration, {FILES} files", floor, ralph, AIM)]
