"""The limit on loops at work: exact between processes, by repository, and blind to the dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from ralph.shell.state.stints import take_stint

TAKE = """
import sys, time
from ralph.errors import Busy
from ralph.shell.journal.open import open_journal
root, name, most, start = sys.argv[1:5]
journal = open_journal(root)
while time.time() < float(start): pass
try:
    stint = journal.admit(name, at=1, repo="/repo", most=int(most))
except Busy as busy:
    print(busy.code, flush=True)
    sys.exit()
print("in", flush=True)
time.sleep(60)
"""


def take(folder, name, most=2):
    return take_stint(str(folder), name, 1, "/repo", most)


def start(folder, name, most, at=0.0):
    argv = [sys.executable, "-c", TAKE, str(folder), name, str(most), str(at)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


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
    (folder,) = (path for path in (tmp_path / "stints").iterdir() if path.is_dir())
    assert sorted(path.name for path in folder.iterdir()) == ["last"]
