"""Who reads what in Python processes: a `sitecustomize` of Ralph's own, at the base only.

An audit hook sees every file that is opened; the innermost frame of the tree's own code is who asked for it.
Imports are seen by `__import__`, because a module that is loaded already is opened by nobody. Each row is
noted at once, in one file for all processes, so that nothing is lost however they end.
"""

from __future__ import annotations

from ralph.gates.executed.py_start import start_module
from ralph.gates.programs import program_text


def hook_text(root: str, out: str) -> str:
    """The module. `root`: where the tree stands for the gate; `out`: where its notes go."""
    return start_module(program_text("py_reads.py"), f"_watch({out!r}, {root.rstrip('/') + '/'!r})")
