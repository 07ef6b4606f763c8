"""What the readings say of one test that is known by its file and name alone.

Runners write ids in their own ways (`a/test_x.py::TestA::test_b[1]`, `a.test_x.TestA.test_b`,
`a.test.js > suite > name`); here they are brought together. Of several states the worst counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards._base.facts import GuardFacts

_TESTS = re.compile(r"test|jest|mocha|tox|nox|spec|check|verify|make", re.IGNORECASE)
_ORDER = {"fail": 0, "skipped": 1, "pass": 2}


class States(Struct, frozen=True):
    """Worst state by (file, name); by name alone where the runner tells no files."""

    by_file: dict[tuple[str, str], str]
    by_name: dict[str, str]
    files: dict[str, str]
    whole: str  # of gates that tell no tests at all: "pass" or ""
    green: bool  # every required gate passed

    def of(self, path: str, name: str) -> str:
        """pass, fail, skipped, or "" when nobody knows."""
        found = self.by_file.get((path, name))
        if found is None and path not in self.files:
            found = self.by_name.get(name)
        return found or ("" if self.files or self.by_name else self.whole)

    def file(self, path: str) -> str:
        """The worst state in a file; of all tests when the runner tells no files."""
        if path in self.files:
            return self.files[path]
        if self.by_name:
            return min(self.by_name.values(), key=_ORDER.__getitem__)
        return "" if self.files else self.whole


class KnownStates(Struct, frozen=True):
    base: States
    over: States
    final: States

    def passes(self, path: str, name: str) -> bool:
        """The base's version of this test is green over the new source.

        A test that no gate knew at the base cannot turn one green; for it the gates as a whole speak.
        """
        state = self.over.of(path, name)
        return state == "pass" or (not state and not self.base.of(path, name) and self.over.green)

    def file_passes(self, path: str) -> bool:
        """As above for what is no test itself, but used by the tests of its file or of many."""
        state = self.over.file(path)
        return state == "pass" or (not state and self.over.green)

    def was_red(self, path: str, name: str) -> bool:
        """It failed at the base: whoever bends it bends what was to be made green."""
        return self.base.of(path, name) == "fail"

    def ran(self, path: str, name: str) -> bool:
        return self.final.of(path, name) == "pass"


def known_states(facts: GuardFacts) -> KnownStates:
    return KnownStates(
        _states(facts, facts.base), _states(facts, facts.tried.overlay or {}), _states(facts, facts.final)
    )


def _states(facts: GuardFacts, readings: dict[str, Reading]) -> States:
    by_file: dict[tuple[str, str], str] = {}
    by_name: dict[str, str] = {}
    files: dict[str, str] = {}
    whole = []
    for gate in facts.gates:
        reading = readings.get(gate.name)
        if reading is None:
            continue
        if reading.tests is None:
            if gate.required and _runs_tests(gate):
                whole.append(reading.status)
            continue
        for test, state in reading.tests.items():
            path = reading.files.get(test, "")
            if path:
                files[path] = _worse(state, files.get(path))
            for name in _names(test):
                if path:
                    by_file[path, name] = _worse(state, by_file.get((path, name)))
                else:
                    by_name[name] = _worse(state, by_name.get(name))
    required = [readings.get(gate.name) for gate in facts.gates if gate.required]
    green = bool(required) and all(reading is not None and reading.status == "pass" for reading in required)
    all_pass = bool(whole) and all(status == "pass" for status in whole)
    return States(by_file, by_name, files, "pass" if all_pass else "", green)


def _worse(one: str, two: str | None) -> str:
    return one if two is None or _ORDER[one] < _ORDER[two] else two


def _runs_tests(gate: Gate) -> bool:
    return bool(_TESTS.search(f"{gate.name} {gate.run}"))


def _names(test: str) -> Iterable[str]:
    """The name of a test as its source has it: with its class, without its file and parameters."""
    if "::" in test:
        return (".".join(test.partition("[")[0].split("::")[1:]),)
    if " > " in test:
        return (test.split(" > ", 1)[1], test)
    parts = test.split(".")
    return (".".join(parts[-2:]),) if len(parts) > 1 else (test,)
