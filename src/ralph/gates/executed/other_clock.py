"""A clock some weeks ahead, in Python and Node processes: what is right for some days only shows.

No other program follows. In Python, files written meanwhile are told by the same clock, or an honest test of
their age would fail. Its own types are changed in place, so nothing becomes an instance of another class.
"""

from __future__ import annotations

from ralph.gates.executed.py_start import start_module
from ralph.gates.programs import program_text

DAYS = 45
NODE_MODULE = "clock.cjs"


def python_clock() -> str:
    return start_module(program_text("other_clock.py"), f"_set_clock({DAYS * 86400})")


def node_clock() -> str:
    return program_text("other_clock.js").replace("SECONDS", str(DAYS * 86400))
