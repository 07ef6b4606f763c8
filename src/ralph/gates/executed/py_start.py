"""A `sitecustomize` of Ralph's own: what Python executes first in the processes of one call.

It does its part, whatever becomes of that, and then makes room for the module of this name that would have
been found without it.
"""

from __future__ import annotations

MODULE = "sitecustomize.py"
_AROUND = '''import sys


{own}


def _other():
    """The module of this name that would have been found without us."""
    import os
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    begin = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [part for part in sys.path if part != begin]
    found = PathFinder.find_spec("sitecustomize", sys.path)
    if found is not None and found.loader is not None:
        found.loader.exec_module(module_from_spec(found))


try:
    {call}
except Exception:
    pass
_other()
'''


def start_module(own: str, call: str) -> str:
    """The module's text: `own` defines what `call` then calls."""
    return _AROUND.replace("{own}", own.strip()).replace("{call}", call)
