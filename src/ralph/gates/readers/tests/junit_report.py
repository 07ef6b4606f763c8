"""Reader "junit": any JUnit XML. Ids are "classname::name"; also the ground of other readers.

What a <testcase> says is read by junitparser; the walk over suites is ours, because runners also put
cases directly under <testsuites>, which it skips.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading, TestState
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, lost_report, repo_path, report_problem
from ralph.gates.readers._kit.safe_xml import BadXml, parse, walk
from ralph.gates.readers._kit.test_log import TestLog


class JUnitCase(Struct, frozen=True):
    name: str
    classname: str
    suites: tuple[str, ...]
    file: str
    line: int
    state: TestState
    text: str  # what the failure says
    note: str  # its message attribute
    todo: bool  # skipped and failed at once, as node reports a failing `todo`


class JUnitReport(Struct, frozen=True):
    cases: tuple[JUnitCase, ...]
    red: str  # failures the suites count but no case shows


def load(report: bytes) -> JUnitReport:
    """All cases of a report. Raises BadXml."""
    root = parse(report)
    tag = root.tag.rsplit("}", 1)[-1]
    if tag not in ("testsuites", "testsuite"):
        raise BadXml(f"the report is not JUnit XML: it begins with <{clean(tag)[:40]}>")
    cases = tuple(_cases(root))
    counted = 0
    for element in root.iter():
        if element.tag.rsplit("}", 1)[-1] == "testsuite":
            counted += sum(_int(element.get(name)) for name in ("failures", "errors"))
    shown = any(case.state == "fail" or case.todo for case in cases)
    return JUnitReport(cases, "" if shown or not counted else "the suites count failures that no test shows")


def _cases(root: object) -> Iterator[JUnitCase]:
    from junitparser import Error, Failure, Skipped, TestCase

    for element, suites in walk(root):  # type: ignore[arg-type]
        results = TestCase.fromelem(element).result  # type: ignore[no-untyped-call]
        bad = [result for result in results if isinstance(result, (Failure, Error))]
        skipped = any(isinstance(result, Skipped) for result in results)
        state: TestState = "fail" if bad else "skipped" if skipped else "pass"
        told = bad or results
        yield JUnitCase(
            name=clean(element.get("name", "")),
            classname=clean(element.get("classname", "")),
            suites=suites,
            file=clean(element.get("file", "")),
            line=_int(element.get("line")),
            state=state,
            text="\n".join(_failure_text(result.message, result.text) for result in told),
            note=clean(told[0].message or "") if told else "",
            todo=bool(bad) and skipped,
        )


def _failure_text(note: str | None, text: str | None) -> str:
    note, text = note or "", text or ""
    return text if note and note in text else f"{note}\n{text}".strip()


def _int(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0


def open_report(obs: Observation) -> JUnitReport | Reading:
    """The report, or the reading that says why there is none."""
    problem = report_problem(obs)
    if problem or obs.report is None:
        return lost_report(obs, problem)
    try:
        return load(obs.report)
    except BadXml as error:
        return lost_report(obs, clean(str(error)))


def read(obs: Observation, gate: Gate) -> Reading:
    report = open_report(obs)
    if isinstance(report, Reading):
        return report
    log = TestLog(obs, gate)
    for case in report.cases:
        owner = case.classname or " > ".join(name for name in case.suites if name)
        name = f"{owner}::{case.name}" if owner else case.name
        log.add(name, case.state, case.text, path=repo_path(case.file, obs, gate), line=case.line)
    return log.settle(red=report.red)
