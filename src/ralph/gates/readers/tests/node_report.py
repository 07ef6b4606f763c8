"""Reader "node": JUnit XML of `node --test`. Ids are "file > suite > name" as far as node tells.

Node 20 names no file, so equal names of different files get a number each: a missing one is noticed.
A failing `todo` counts as skipped, for node calls it green.
"""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading, TestState
from ralph.core.proof.compare import COLLECT
from ralph.gates.readers._kit.observation import Observation, count, message, repo_path, settle_tests, worst
from ralph.gates.readers.tests.junit_report import JUnitCase, open_report

_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")


def read(obs: Observation, gate: Gate) -> Reading:
    report = open_report(obs)
    if isinstance(report, Reading):
        return report
    tests: dict[str, TestState] = {}
    files: dict[str, str] = {}
    findings: list[Finding] = []
    seen: dict[str, int] = {}
    for case in report.cases:
        whole_file = case.name.startswith("/") and case.name.endswith(_SUFFIXES)
        path = repo_path(case.file or (case.name if whole_file else ""), obs, gate)
        if whole_file and case.state == "fail":
            text = f"{path} failed as a whole\n{case.text}"
            findings.append(Finding(f"{COLLECT}{path}", message(text), path=path))
            continue
        name = path if whole_file else _id(case, path)
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        state: TestState = "skipped" if case.todo else case.state
        worst(tests, name, state)
        if path:
            files[name] = path
        if state == "fail":
            findings.append(Finding(name, message(case.text) or "failed", path=path, line=case.line))
    return settle_tests(obs, count(tests), tests, files, findings, red=report.red if not findings else "")


def _id(case: JUnitCase, path: str) -> str:
    return " > ".join(part for part in (path, *case.suites, case.name) if part)
