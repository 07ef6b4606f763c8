"""Reader "node": JUnit XML of `node --test`. Ids are "file > suite > name" as far as node tells.

Node 20 names no file, so equal names of different files get a number each: a missing one is noticed.
A failing `todo` counts as skipped, for node calls it green.
"""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.readers._kit.observation import Observation, repo_path
from ralph.gates.readers._kit.test_log import TestLog, add_number
from ralph.gates.readers.tests.junit_report import open_report

_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")


def read(obs: Observation, gate: Gate) -> Reading:
    report = open_report(obs)
    if isinstance(report, Reading):
        return report
    log = TestLog(obs, gate)
    seen: dict[str, int] = {}
    for case in report.cases:
        whole_file = case.name.startswith("/") and case.name.endswith(_SUFFIXES)
        path = repo_path(case.file or (case.name if whole_file else ""), obs, gate)
        if whole_file and case.state == "fail":
            log.add_broken(path, f"{path} failed as a whole\n{case.text}", path=path)
            continue
        parts = (path,) if whole_file else (path, *case.suites, case.name)
        name = add_number(" > ".join(filter(None, parts)), seen)
        log.add(name, "skipped" if case.todo else case.state, case.text, path=path, line=case.line)
    return log.settle(red=report.red if not log.findings else "")
