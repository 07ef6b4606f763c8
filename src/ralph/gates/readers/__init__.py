"""Readers: one file each, found by its name and imported only when used.

A reader is `read(obs: Observation, gate: Gate) -> Reading` in a module of `tests` (it tells tests) or of
`findings` (it locates problems), called NAME_FORMAT: `tap_text` is the reader "tap". To add one, write its
file; a runner that it reads is a row of the toolchains. Every reader fails closed: it says pass only for what
it has seen evidence of. It is asked only about calls that came to an end of their own, unless it says
`READS_ANY_END`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.core.toolchains.load import toolchains
from ralph.errors import Bug
from ralph.gates.readers import findings, tests
from ralph.gates.readers._kit.observation import MAX_REPORT, Observation, stopped_early

__all__ = ["MAX_REPORT", "Observation", "locates_findings", "read_choices", "reader", "readers"]

BY_ROWS = "lines"  # the format of all that print one finding a line: only their own names can be said


@cache
def _modules() -> dict[str, str]:
    """Name of a format -> the module that reads it."""
    found = {"exit": f"{__name__}.by_exit"}
    for folder in (tests, findings):
        for one in iter_modules(folder.__path__):
            found[one.name.rpartition("_")[0]] = f"{folder.__name__}.{one.name}"
    return found


@cache
def readers() -> dict[str, str]:
    """Every name that a gate's `read` can have -> the module that reads it."""
    known = _modules()
    found = known | {one.name: known[one.reader] for one in toolchains().runners.values()}
    return {name: module for name, module in found.items() if name != BY_ROWS}


def locates_findings(name: str) -> bool:
    """Instead of tests? Then green is known finding by finding, and not by the exit code alone."""
    return name != "coverage" and readers().get(name, "").startswith(f"{findings.__name__}.")


def read_choices() -> tuple[str, ...]:
    """What a user may say of a gate: formats that no known runner has for itself."""
    runners = toolchains().runners
    own = {one.name for one in runners.values() if not one.row.any_tool}
    return ("auto", *(name for name in _modules() if name not in (*own, BY_ROWS)))


def reader(name: str) -> Callable[[Observation, Gate], Reading]:
    module = readers().get(name)
    if module is None:
        raise Bug(f'no reader is called "{name}"')
    found = import_module(module)
    read: Callable[[Observation, Gate], Reading] = found.read
    if getattr(found, "READS_ANY_END", False):
        return read
    return lambda obs, gate: stopped_early(obs, gate) or read(obs, gate)
