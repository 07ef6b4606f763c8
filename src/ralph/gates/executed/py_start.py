"""A `sitecustomize` of Ralph's own: what Python executes first in the processes of one call.

It does its part, whatever becomes of that, and then makes room for the module of this name that would have
been found without it.
"""

from __future__ import annotations

from ralph.gates.programs import program_text

MODULE = "sitecustomize.py"


def start_module(own: str, call: str) -> str:
    """The module's text: `own` defines what `call` then calls."""
    return program_text("py_start.py").replace("{own}", own.strip()).replace("{call}", call)
