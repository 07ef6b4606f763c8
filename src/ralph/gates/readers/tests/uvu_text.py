"""Reader "uvu": the text that uvu prints. Ids are "file" or "file > suite": it names no test that passes.

The tests that fail are named in what is said about their suite. The numbers of each suite are held against
the summary; where they do not add up, only the summary is known.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Counts, Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.load_failure import first_place, unloaded_reading
from ralph.gates.readers._kit.observation import Observation, message
from ralph.gates.readers._kit.test_log import TestLog, add_number

_SUITE = re.compile(r"^(?P<suite>.*?)(?:[•✘] )*[ \t]*\((?P<passed>\d{1,7}) / (?P<total>\d{1,7})\)[ \t]*$")
_FILE = re.compile(r"^\S[^\n]*\.[cm]?[jt]sx?$")
_SUMS = re.compile(
    r"^[ \t]*Total:[ \t]+(\d{1,7})\s*\n[ \t]*Passed:[ \t]+(\d{1,7})\s*\n[ \t]*Skipped:[ \t]+(\d{1,7})",
    re.MULTILINE,
)
_MAX_TEXT = 4000


class _Suite(Struct):
    name: str
    passed: int
    total: int
    said: str = ""


def read(obs: Observation, gate: Gate) -> Reading:
    text = clean(obs.output)
    sums = list(_SUMS.finditer(text))
    if not sums:
        return unloaded_reading(obs, gate, "uvu printed no summary")
    total, passed, skipped = (int(number) for number in sums[-1].groups())
    suites = _suites(text[: sums[-1].start()])
    log = TestLog(obs, gate)
    for suite in suites:
        log.enter(suite.name, "pass" if suite.passed == suite.total else "fail")
        if suite.passed != suite.total:
            path, line = first_place(suite.said, obs, gate)
            text = message(suite.said) or f"{suite.total - suite.passed} of {suite.total} tests failed"
            log.findings.append(Finding(suite.name, text, path=path, line=line))
    known = (sum(one.total for one in suites), sum(one.passed for one in suites)) == (total, passed)
    red = "" if passed == total or log.findings else f"{total - passed} of {total} tests failed"
    return log.settle(red=red, counts=Counts(passed, total - passed, skipped), known=known)


def _suites(text: str) -> list[_Suite]:
    """In order. A suite's line may have begun on one that its own tests printed to."""
    found: list[_Suite] = []
    seen: dict[str, int] = {}
    file = ""
    for line in text.split("\n"):
        hit = _SUITE.match(line)
        if hit:
            suite = hit["suite"].strip(" \t•✘")
            name = " > ".join(part for part in (file, suite) if part) or "tests"
            found.append(_Suite(add_number(name, seen), int(hit["passed"]), int(hit["total"])))
        elif _FILE.match(line):
            file = line.strip()
        elif found and len(found[-1].said) < _MAX_TEXT:
            found[-1].said += line + "\n"
    return found
