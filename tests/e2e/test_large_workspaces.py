"""Large work: 100,000 files, a file of two gigabytes. Bounded, named, and left soon after a stop."""

from __future__ import annotations

import os
import signal
import time

import pytest
from kit import CHECK, TASK, agent

pytestmark = pytest.mark.soak
FOLDERS, FILES = 100, 1000
STOP_SECONDS = 2.0
HUGE = "truncate -s 2G data.bin"
MANY = f"for d in $(seq {FOLDERS}); do mkdir -p made/$d && (cd made/$d && seq {FILES} | xargs touch); done"


def ask(place, *words, after=0.0):
    """`ralph …`; with `after`, SIGTERM so many seconds later. What it said, and how long a stop took."""
    running = place.start(*words, "--display", "plain")
    took = 0.0
    deadline = time.monotonic() + after
    while after and running.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    if after and running.process.poll() is None:
        asked = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        running.wait(60)
        took = time.monotonic() - asked
    running.wait(900)
    return running, took


@pytest.mark.parametrize(("line", "named"), [(HUGE, "data.bin"), (MANY, "made")])
def test_what_an_agent_makes_too_much_of_is_named_and_costs_little(place, line, named):
    """It is left out before git hashes it; the loop says so and is not done, and a checkpoint stays cheap."""
    done = place.ralph(
        *("loop", TASK, "--check", CHECK, "--agent-cmd", f"{line}; {agent('honest_steps', 1)}"),
        *("--max-iterations", "1", "--display", "plain"),
        limit=300,
    )
    record = place.newest()
    assert record.loop.outcome == "exhausted", done.out + done.err
    assert named in done.out + done.err
    times = {type(entry.event).__name__: entry.row.at / 1000 for entry in record.entries}
    assert times["CheckpointMade"] - times["AgentEnded"] < 30
    place.same_user()


def test_a_repository_of_a_hundred_thousand_files_can_be_left_at_any_moment(place):
    """Whenever it is stopped it is gone within two seconds and goes on later; in the end it is verified."""
    for folder in range(FOLDERS):
        (place.repo / "data" / str(folder)).mkdir(parents=True)
        for number in range(FILES):
            (place.repo / "data" / str(folder) / f"{number}.txt").touch()
    place.git("add", "data")
    place.git("commit", "-qm", "data")
    words = ("loop", TASK, "--check", CHECK, "--agent-cmd", agent("honest_steps", 1))
    slow = []
    for after in (4.0, 8.0, 12.0, 18.0, 25.0, 35.0, 50.0):
        _, took = ask(place, *words, after=after)
        slow += [(after, took)] if took > STOP_SECONDS else []
        record = place.newest()
        if record is not None:
            if record.loop.phase == "ended":
                break
            words = ("resume", record.name)
    assert not slow
    if place.newest().loop.phase != "ended":
        ask(place, *words)
    assert place.newest().loop.outcome == "verified"
    place.no_process_left()
    assert os.path.exists(place.repo / "data" / "0" / "0.txt")
