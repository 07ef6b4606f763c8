"""Readers: one file each, found by name in a plain table and imported only when used.

A reader is `read(obs: Observation, gate: Gate) -> Reading`. To add one, write its file and add a row.
Every reader fails closed: it says pass only for what it has seen evidence of.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ralph.core.model import Gate, Reading
from ralph.errors import Bug
from ralph.gates.readers.observation import MAX_REPORT, Observation

__all__ = ["LOCATED", "MAX_REPORT", "READERS", "Observation", "reader"]

READERS: dict[str, str] = {
    "exit": "by_exit",
    "pytest": "pytest_report",
    "unittest": "unittest_text",
    "node": "node_report",
    "junit": "junit_report",
    "ruff": "ruff_json",
    "mypy": "mypy_text",
    "sarif": "sarif_json",
    "coverage": "coverage_report",
    "jest": "jest_json",
    "vitest": "jest_json",
    "go": "go_json",
    "cargo": "cargo_text",
    "maven": "junit_report",
    "gradle": "junit_report",
    "eslint": "eslint_json",
    "tsc": "tsc_text",
    "clippy": "cargo_json",
    "golangci": "golangci_text",
}

# Readers that locate findings instead of tests: green is known finding by finding, not by exit code alone.
LOCATED: frozenset[str] = frozenset({"ruff", "mypy", "sarif", "eslint", "tsc", "clippy", "golangci"})


def reader(name: str) -> Callable[[Observation, Gate], Reading]:
    module = READERS.get(name)
    if module is None:
        raise Bug(f'no reader is called "{name}"')
    read: Callable[[Observation, Gate], Reading] = import_module(f"{__name__}.{module}").read
    return read
