"""Readers "jest" and "vitest": the JSON report of both. Ids are "file > suite > name"."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading, TestState
from ralph.core.proof.compare import COLLECT
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    count,
    decode_report,
    message,
    repo_path,
    settle_tests,
    worst,
)

_STATES: dict[str, TestState] = {"passed": "pass", "failed": "fail"}  # everything else was not executed


class _JestPlace(Struct):
    line: int | None = None


class _Test(Struct):
    title: str
    status: str
    ancestorTitles: list[str] = []  # noqa: N815 (the report's own name)
    failureMessages: list[str] | None = None  # noqa: N815
    location: _JestPlace | None = None


class _TestFile(Struct):
    name: str
    status: str = ""
    message: str = ""
    assertionResults: list[_Test] = []  # noqa: N815


class _Report(Struct):
    testResults: list[_TestFile]  # noqa: N815
    success: bool = False
    numFailedTests: int = 0  # noqa: N815
    numTotalTests: int = 0  # noqa: N815


def read(obs: Observation, gate: Gate) -> Reading:
    report = decode_report(obs, _Report)
    if isinstance(report, Reading):
        return report
    tests: dict[str, TestState] = {}
    files: dict[str, str] = {}
    findings: list[Finding] = []
    for file in report.testResults:
        path = repo_path(file.name, obs, gate)
        findings += _read_file(file, path, tests, files)
    red = "" if report.success or findings else "the report says that it was no success"
    if sum(len(file.assertionResults) for file in report.testResults) != report.numTotalTests:
        red = red or "the report counts other tests than it shows"
    return settle_tests(obs, count(tests), tests, files, findings, red=red)


def _read_file(
    file: _TestFile, path: str, tests: dict[str, TestState], files: dict[str, str]
) -> list[Finding]:
    found = []
    seen: dict[str, int] = {}
    for test in file.assertionResults:
        name = " > ".join(clean(part) for part in (path, *test.ancestorTitles, test.title))
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        state = _STATES.get(test.status, "skipped")
        worst(tests, name, state)
        files[name] = path
        if state == "fail":
            line = (test.location.line if test.location else None) or 0
            text = message("\n".join(test.failureMessages or ())) or "failed"
            found.append(Finding(name, text, path=path, line=line))
    if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
        text = message(f"{path} failed as a whole\n{file.message}")
        found.append(Finding(f"{COLLECT}{path}", text, path=path))
    return found
