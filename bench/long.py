"""One loop of 1,500 iterations: its last ones cost what its first ones did, in time, memory and descriptors.

The floor runs before and after it: what the machine itself became slower or faster by is taken out.
"""

from functools import partial

from measuring import MEGABYTE, Line, median
from memory import AIM, calls_made, folder_size, open_files, peak_of
from sample import facts, floor_iterations, loop_command, make_project, place, ralph_iterations

PART = "long"
FILES = 100
EARLY = 10
FLAT_TIME = 1.25  # below that, two medians of fifty differ by chance on a machine that does other work
FLAT_MEMORY = 1.1
FLAT_FILES = 1.2
MAX_DISK = 150.0  # kB: evidence, prompt, output and checkpoint of an iteration


def measure(quick: bool) -> list[Line]:
    turns, window = (60, 15) if quick else (1500, 50)
    with place() as here:
        make_project(here, FILES, turns)
        floor_iterations(here, 5)
        before = median(floor_iterations(here, window))
        files: list[int] = []
        peak, early = peak_of(
            loop_command(here, "long", turns),
            here,
            when=lambda: calls_made(here, "long") > EARLY,
            look=lambda pid: files.append(open_files(pid)),
        )
        disk = folder_size(here.state)
        after = median(floor_iterations(here, window))
        events = facts(here, "long")
    seconds = ralph_iterations(events)
    if len(seconds) != turns - 1:
        raise SystemExit(f"the loop made {len(seconds) + 1} calls, expected {turns}")
    first, last = median(seconds[:window]), median(seconds[-window:])
    line = partial(Line, part=PART)
    return [
        line(
            what=f"last {window} of {turns} iterations against the first",
            floor=first * 1000,
            ralph=last * 1000,
            unit="ms",
            value=last / first / (after / before),
            value_unit="x",
            aim=FLAT_TIME,
        ),
        line(
            what=f"peak memory, {turns} iterations",
            ralph=peak / MEGABYTE,
            unit="MB",
            value=peak / MEGABYTE,
            value_unit="MB",
            aim=AIM,
        ),
        line(
            what=f"the same against {EARLY} iterations",
            floor=early / MEGABYTE,
            ralph=peak / MEGABYTE,
            unit="MB",
            value=peak / early,
            value_unit="x",
            aim=FLAT_MEMORY,
        ),
        line(
            what="open files of the runner, last fifth against the first",
            floor=max(files[: len(files) // 5]),
            ralph=max(files[-len(files) // 5 :]),
            unit="",
            value=max(files[-len(files) // 5 :]) / max(files[: len(files) // 5]),
            value_unit="x",
            aim=FLAT_FILES,
        ),
        line(
            what="disk an iteration",
            ralph=disk / turns / 1000,
            unit="kB",
            value=disk / turns / 1000,
            value_unit="kB",
            aim=MAX_DISK,
        ),
    ]
