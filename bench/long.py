"""One loop of 1,500 iterations: its last ones cost what its first ones did, in time, memory and descriptors.

The floor runs before and after it: what the machine itself became slower or faster by is taken out. Processor
time is that of the runner and its git: whatever grows with a loop grows there.
"""

import time
from functools import partial

from measuring import MEGABYTE, Line, median
from memory import AIM, cpu_seconds, folder_size, open_files, peak_of
from sample import facts, floor_iterations, loop_command, make_project, place, ralph_iterations

from ralph.core.model.events import AgentStarted

PART = "long"
FILES = 100
FLAT_TIME = 1.25  # below that, two medians of fifty differ by chance on a machine that does other work
FLAT = 1.1  # memory, and open files
MAX_DISK = 150.0  # kB: evidence, prompt, output and checkpoint of an iteration


def measure(quick: bool) -> list[Line]:
    turns, window = (60, 15) if quick else (1500, 50)
    with place() as here:
        make_project(here, FILES, turns)
        floor_iterations(here, 5)
        before = median(floor_iterations(here, window))
        looks: list[tuple[float, int, int, float]] = []
        peak = peak_of(
            loop_command(here, "long", turns),
            here,
            look=lambda pid, size: looks.append((time.time(), size, open_files(pid), cpu_seconds(pid))),
        )
        disk = folder_size(here.state)
        after = median(floor_iterations(here, window))
        events = facts(here, "long")
    seconds = ralph_iterations(events)
    if len(seconds) != turns - 1:
        raise SystemExit(f"the loop made {len(seconds) + 1} calls, expected {turns}")
    calls = [event.at for event in events if isinstance(event, AgentStarted)]
    # The final judgement runs experiments side by side: it is measured by the peak of the whole alone.
    early = [look for look in looks if calls[0] <= look[0] < calls[window]]
    middle = [look for look in looks if calls[turns // 2] <= look[0] < calls[turns // 2 + window]]
    late = [look for look in looks if calls[-window - 1] <= look[0] < calls[-1]]
    cpu_early, cpu_middle, cpu_late = ((part[-1][3] - part[0][3]) / window for part in (early, middle, late))
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
            what=f"CPU an iteration (middle {cpu_middle * 1000:.1f} ms), last {window} against the first",
            floor=cpu_early * 1000,
            ralph=cpu_late * 1000,
            unit="ms",
            value=max(cpu_middle, cpu_late) / cpu_early,
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
        *(
            line(
                what=f"{what}, last {window} iterations against the first",
                floor=max(look[at] for look in early) / scale,
                ralph=max(look[at] for look in late) / scale,
                unit=unit,
                value=max(look[at] for look in late) / max(look[at] for look in early),
                value_unit="x",
                aim=FLAT,
            )
            for what, at, unit, scale in (("memory", 1, "MB", MEGABYTE), ("open files", 2, "", 1))
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
