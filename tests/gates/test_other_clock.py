"""A clock some weeks ahead: every way to ask for the time agrees, and nothing else is another."""

import os
import subprocess
import sys

from ralph.gates.executed.other_clock import DAYS, NODE_MODULE, node_clock, python_clock
from ralph.gates.executed.py_start import MODULE

ASKED = """
import datetime, time, pickle
now = time.time()
class Own(datetime.datetime): pass
days = lambda value: round((value - REAL) / 86400)
print(days(now), days(time.time_ns() / 1e9), days(time.mktime(time.localtime())), days(time.clock_gettime(0)),
      days(datetime.datetime.now().timestamp()), days(Own.today().timestamp()),
      days(datetime.datetime.now(datetime.timezone.utc).timestamp()),
      (datetime.date.today() - datetime.date.fromtimestamp(REAL)).days, type(Own.now()).__name__,
      time.gmtime(0).tm_year, pickle.loads(pickle.dumps(datetime.datetime.now())).year >= 2026)
"""
SCRIPT = """
const days = (value) => Math.round((value - REAL) / 86400000);
console.log(days(Date.now()), days(new Date()), days(Date.parse(Date())), new Date(0).getTime(),
  new Date() instanceof Date, new (class extends Date {})().getTime() > REAL,
  new Date().constructor === Date);
const began = process.hrtime(), old = (seconds) => Math.floor(seconds / 86400);
const [passed, rest] = process.hrtime(began);
console.log(old(process.uptime()), old(performance.now() / 1000), passed, rest >= 0);
"""


def test_python(tmp_path):
    """Seconds, dates, classes of one's own; a time that is given stays as it is."""
    import time

    (tmp_path / MODULE).write_text(python_clock())
    text = ASKED.replace("REAL", repr(time.time()))
    env = {"PYTHONPATH": str(tmp_path), "TZ": "UTC"}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*[str(DAYS)] * 8, "Own", "1970", "True"]


def test_node(tmp_path):
    """The same for Node."""
    import time

    (tmp_path / NODE_MODULE).write_text(node_clock())
    env = {"NODE_OPTIONS": f"--require={tmp_path / NODE_MODULE}", "PATH": os.environ["PATH"]}
    text = SCRIPT.replace("REAL", str(int(time.time() * 1000)))
    done = subprocess.run(["node", "-e", text], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        str(DAYS),
        str(DAYS),
        str(DAYS),
        "0",
        "true",
        "true",
        "true",
        *[str(DAYS)] * 2,
        "0",
        "true",
    ]
