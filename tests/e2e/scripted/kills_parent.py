#!/usr/bin/env python3
"""Kills its siblings, pid 1 and its parent with SIGKILL as far as it is let, then repairs everything."""

import contextlib
import os
import signal
import time

from _lib import done, fix


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def kill(pid):
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


above = os.getppid()
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) not in (os.getpid(), above) and parent_of(name) == above:
        kill(int(name))
kill(1)
kill(above)
time.sleep(0.2)
fix()
done()
