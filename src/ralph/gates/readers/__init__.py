"""Readers: one file each, found by name in a plain table and imported only when used.

A reader is `read(obs: Observation, gate: Gate) -> Reading`. To add one, write its file and add a row.
Every reader fails closed: it says pass only for what it has seen evidence of.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.errors import Bug
from ralph.gates.readers._kit.observation import MAX_REPORT, Observation

__all__ = ["LOCATED", "MAX_REPORT", "READERS", "Observation", "reader"]

READERS: dict[str, str] = {
    "exit": "by_exit",
    "pytest": "tests.pytest_report",
    "unittest": "tests.unittest_text",
    "node": "tests.node_report",
    "junit": "tests.junit_report",
    "ruff": "findings.ruff_json",
    "mypy": "findings.mypy_text",
    "sarif": "findings.sarif_json",
    "coverage": "findings.coverage_report",
    "jest": "tests.jest_json",
    "vitest": "tests.jest_json",
    "go": "tests.go_json",
    "cargo": "tests.cargo_text",
    "maven": "tests.junit_report",
    "gradle": "tests.junit_report",
    "mocha": "tests.mocha_json",
    "ava": "tests.tap_text",
    "tape": "tests.tap_text",
    "tap": "tests.tap_text",
    "uvu": "tests.uvu_text",
    "doctest": "tests.doctest_text",
    "eslint": "findings.eslint_json",
    "tsc": "findings.tsc_text",
    "clippy": "findings.cargo_json",
    "golangci": "findings.golangci_text",
}

# Readers that locate findings instead of tests: green is known finding by finding, not by exit code alone.
LOCATED: frozenset[str] = frozenset({"ruff", "mypy", "sarif", "eslint", "tsc", "clippy", "golangci"})


def reader(name: str) -> Callable[[Observation, Gate], Reading]:
    module = READERS.get(name)
    if module is None:
        raise Bug(f'no reader is called "{name}"')
    read: Callable[[Observation, Gate], Reading] = import_module(f"{__name__}.{module}").read
    return read
