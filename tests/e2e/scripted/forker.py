#!/usr/bin/env python3
"""forker [setsid|double|respawner|all] [MARK]: leaves processes behind, repairs everything, ends well.

setsid: a child in its own session. double: a daemon by double fork. respawner: a child that starts another
whenever that dies. MARK stands in their command lines, so that a test can look for survivors. They end by
themselves after ten minutes.
"""

import subprocess
import sys

from _lib import argument, done, fix

SLEEP = "import time; time.sleep(600)"
RESPAWN = """
import subprocess, sys, time
end = time.time() + 600
while time.time() < end:
    again = [sys.executable, "-c", "import time; time.sleep(600)", sys.argv[1]]
    subprocess.run(again, start_new_session=True)
"""
DOUBLE = """
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
time.sleep(600)
"""
kind, mark = argument(1, "all"), argument(2, "forker-mark")
for name, code in (("setsid", SLEEP), ("double", DOUBLE), ("respawner", RESPAWN)):
    if kind in (name, "all"):
        subprocess.Popen(
            [sys.executable, "-c", code, mark],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
fix()
done()
