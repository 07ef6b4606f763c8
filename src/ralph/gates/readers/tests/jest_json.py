"""Readers "jest" and "vitest": the JSON report of both. Ids are "file > suite > name"."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading, TestState
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, decode_report, repo_path
from ralph.gates.readers._kit.test_log import TestLog, add_number

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
    numTotalTests: int = 0  # noqa: N815


def read(obs: Observation, gate: Gate) -> Reading:
    report = decode_report(obs, _Report)
    if isinstance(report, Reading):
        return report
    log = TestLog(obs, gate)
    for file in report.testResults:
        _read_file(file, repo_path(file.name, obs, gate), log)
    red = "" if report.success or log.findings else "the report says that it was no success"
    if sum(len(file.assertionResults) for file in report.testResults) != report.numTotalTests:
        red = red or "the report counts other tests than it shows"
    return log.settle(red=red)


def _read_file(file: _TestFile, path: str, log: TestLog) -> None:
    seen: dict[str, int] = {}
    for test in file.assertionResults:
        name = add_number(" > ".join(map(clean, (path, *test.ancestorTitles, test.title))), seen)
        line = (test.location.line if test.location else None) or 0
        text = "\n".join(test.failureMessages or ())
        log.add(name, _STATES.get(test.status, "skipped"), text, path=path, line=line)
    if file.status == "failed" and not any(test.status == "failed" for test in file.assertionResults):
        log.add_broken(path, f"{path} failed as a whole\n{file.message}", path=path)
