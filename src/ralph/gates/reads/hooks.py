"""Who reads what in processes of Python and Node: files of ours that they load first, at the base only.

In Python an audit hook sees every file that is opened, and `__import__` every import, because a module that
is loaded already is opened by nobody. In Node it is `fs` and how modules are resolved. Who asks is the
innermost frame of the tree's own code; loaders of others (jest, vitest) read files under such a frame. Each
row is noted at once, in one file for all processes, so that nothing is lost however they end.
"""

from __future__ import annotations

import json

from ralph.gates.executed.py_start import start_module
from ralph.gates.programs import program_text

NODE_MODULE = "reads.cjs"


def python_hook(root: str, out: str) -> str:
    """A `sitecustomize`. `root`: where the tree stands for the gate; `out`: where its notes go."""
    return start_module(program_text("py_reads.py"), f"_watch({out!r}, {root.rstrip('/') + '/'!r})")


def node_hook(root: str, out: str) -> str:
    """The same for Node, which is told to require it."""
    return program_text("node_reads.js").replace("WATCHED", json.dumps([out, root.rstrip("/") + "/"]))
