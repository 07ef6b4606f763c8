"""Reader "pytest": JUnit XML of the xunit1 family, which knows file and line of every test.

Ids are pytest's own: "tests/test_x.py::TestA::test_b[param]". A module that cannot be collected is a
finding "collect:<file>", not a test: it has no tests yet, and none may be missed later.
"""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, error_reading, repo_path
from ralph.gates.readers._kit.test_log import TestLog
from ralph.gates.readers.tests.junit_report import JUnitCase, open_report

_NOT_THERE = re.compile(
    r"^ERROR: (?:file or directory not found|not found|found no collectors for):? .*$", re.MULTILINE
)
_UNKNOWN_OPTION = re.compile(r"^\S+: error: unrecognized arguments: .*$", re.MULTILINE)
# The last line that pytest itself prints; what the report says must not be milder.
_SUMMED = re.compile(
    r"^[= ]*(?=[^\n]*\d (?:passed|failed|error))([^\n]*) in \d[\d.:]*s?[^\n]*$", re.MULTILINE
)
_BAD = re.compile(r"(\d+) (?:failed|errors?)\b")
_GOOD = re.compile(r"(\d+) (?:x|subtests )?passed\b")
_PLACE = re.compile(r"^(?:E\s+File \"([^\"\n]+)\", line (\d+)|([^\s:\n][^:\n]*\.py):(\d+):)", re.MULTILINE)


def read(obs: Observation, gate: Gate) -> Reading:
    report = open_report(obs)
    if obs.exit_code == 4 and (isinstance(report, Reading) or not report.cases):
        missing = _NOT_THERE.search(clean(obs.output))
        if missing:
            return error_reading(
                "no-tests", f"no tests were found ({missing.group(0).removeprefix('ERROR: ')})", obs
            )
        # An option of the command: its plugin is not there. Of one in the tree's settings the task may speak.
        unknown = _UNKNOWN_OPTION.search(clean(obs.output))
        if unknown and {*unknown.group(0).split()} & {*gate.argv}:
            why = f"a plugin of pytest is not installed ({unknown.group(0)})"
            return error_reading("missing", why, obs)
    if isinstance(report, Reading):
        return report
    log = TestLog(obs, gate)
    for case in report.cases:
        path = repo_path(case.file, obs, gate)
        if not case.classname and case.note == "collection failure":
            _add_uncollected(log, case, path)
            continue
        name = case.file if not case.classname and case.note == "collection skipped" else _id(case)
        log.add(name, case.state, case.text, path=path, line=_line(log, case, path))
    return log.settle(red="" if log.findings else report.red or _contradicting_output(log))


def _id(case: JUnitCase) -> str:
    """file::Class::name; the class part is what `classname` holds beyond the dotted module."""
    if not case.file:
        return f"{case.classname}::{case.name}" if case.classname else case.name
    module = case.file.removesuffix(".py").replace("/", ".").lstrip(".")
    classes = ""
    if case.classname.startswith(module + "."):
        classes = case.classname[len(module) + 1 :]
    elif case.classname != module:
        # Outside the root directory the two are written differently; the module's own name is in both.
        _, found, after = case.classname.rpartition(module.rsplit(".", 1)[-1])
        classes = after.lstrip(".") if found else case.classname
    return "::".join([case.file, *classes.split("."), case.name] if classes else [case.file, case.name])


def _places(log: TestLog, case: JUnitCase) -> list[tuple[str, int]]:
    """Path and line of every place that a failure names."""
    hits = _PLACE.findall(case.text)
    return [(repo_path(hit[0] or hit[2], log.obs, log.gate), int(hit[1] or hit[3])) for hit in hits]


def _line(log: TestLog, case: JUnitCase, path: str) -> int:
    """Where it failed inside the test's own file, else where the test begins."""
    if case.state != "fail":
        return 0
    lines = [line for where, line in _places(log, case) if where == path]
    return lines[-1] if lines else case.line + 1


def _add_uncollected(log: TestLog, case: JUnitCase, path: str) -> None:
    inside = [place for place in _places(log, case) if not place[0].startswith(("/", "../"))]
    where, line = inside[-1] if inside else (path, 0)
    name = path or case.name
    log.add_broken(name, f"{name} could not be collected\n{case.text}", path=where or path, line=line)


def _contradicting_output(log: TestLog) -> str:
    """Judged code could write the report anew; what pytest itself counted is then worse, or less."""
    lines = _SUMMED.findall(clean(log.obs.output[-16_000:]))
    bad, good = (sum(map(int, found.findall(lines[-1]))) if lines else 0 for found in (_BAD, _GOOD))
    if bad:
        return f"the output tells of {bad} failures that the report does not show"
    shown = list(log.tests.values()).count("pass")
    return f"the report shows {shown} passed tests, and the output {good}" if lines and shown > good else ""
