"""The limit on loops at work: exact between processes, by repository, and blind to the dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from ralph.errors import Busy
from ralph.shell.state.stints import take_place

TAKE = """
import sys, time
from ralph.errors import Busy
from ralph.shell.state.stints import take_place
stints, name, most, start = sys.argv[1:5]
while time.time() < float(start): pass
try:
    place = take_place(stints, "/repo", name, int(most), time.time())
except Busy as busy:
    print(busy.code, flush=True)
    sys.exit()
print("in", flush=True)
time.sleep(60)
"""


def take(folder, name, most=2):
    return take_place(str(folder), "/repo", name, most, time.time())


def start(folder, name, most, at=0.0):
    argv = [sys.executable, "-c", TAKE, str(folder), name, str(most), str(at)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


def test_the_limit_is_of_one_repository(tmp_path):
    """Two may work, a third waits its turn; another repository has its own places."""
    one, two = take(tmp_path, "one"), take(tmp_path, "two")
    with pytest.raises(Busy) as full:
        take(tmp_path, "three")
    assert (full.value.code, full.value.exit_code) == ("E-LOOPS-MANY", 5)
    assert full.value.next == "ralph pause one"
    other = take_place(str(tmp_path), "/other", "three", 2, time.time())
    one.release()
    three = take(tmp_path, "three")
    for place in (two, other, three):
        place.release()


def test_one_loop_has_one_place(tmp_path):
    """A loop that is at work is not counted against itself, and does not get a second place."""
    one = take(tmp_path, "one", most=1)
    with pytest.raises(Busy) as held:
        take(tmp_path, "one", most=1)
    assert held.value.code == "E-LOOP-LOCKED"
    one.release()
    take(tmp_path, "one", most=1).release()


def test_the_limit_is_exact_across_processes(tmp_path):
    """Of six that start in the same instant with two places, two get in; killed ones free theirs at once."""
    at = time.time() + 0.5
    others = [start(tmp_path, f"loop-{number}", 2, at) for number in range(6)]
    try:
        said = [other.stdout.readline().strip() for other in others]
        assert sorted(said) == ["E-LOOPS-MANY"] * 4 + ["in"] * 2
        for other, word in zip(others, said, strict=True):
            if word == "in":
                os.kill(other.pid, signal.SIGKILL)
                other.wait()
        for name in ("late-1", "late-2"):
            take(tmp_path, name)
    finally:
        for other in others:
            other.kill()
            other.wait()
            other.stdout.close()


def test_what_the_dead_left_is_cleared_away(tmp_path):
    """Files of loops that are no longer at work do not pile up."""
    for number in range(5):
        take(tmp_path, f"loop-{number}").release()
    take(tmp_path, "last").release()
    (folder,) = tmp_path.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [".door", "last"]
