"""Reader "unittest": the verbose text of `python -m unittest -v`. Ids are dotted.

unittest has no machine format, so the text is held against itself: the summary must be there, agree
with the exit code and with the number of tests seen; otherwise only the counts are known, or nothing.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Counts, Finding, Reading, TestState
from ralph.core.proof.compare import COLLECT
from ralph.core.proof.flaky import count_states
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, in_words, lost_report, message
from ralph.gates.readers._kit.test_log import TestLog

_SUMMARY = re.compile(
    r"^Ran (\d{1,9}) tests? in [^\n]*\n+(OK|FAILED|NO TESTS RAN)(?: \(([^\n)]*)\))?[ \t]*$", re.MULTILINE
)
# Before Python 3.11 a failed sub-test leaves the line open, and the next test begins on it.
_HEAD = re.compile(r"(?:^[ \t]*|(?<= \.\.\. ))([\w.<>-]+) \(([\w.<>-]+)\)", re.MULTILINE)
_BLOCK = re.compile(
    r"^={70}\n(ERROR|FAIL|UNEXPECTED SUCCESS): ([\w.<>-]+)(?: \(([\w.<>-]+)\))?([^\n]*)\n"
    r"(.*?)(?=^={70}\n|^-{70}\nRan |\Z)",
    re.MULTILINE | re.DOTALL,
)
_FILE = re.compile(r"File \"([^\"\n]+)\", line (\d+)")
_LOADER = "unittest.loader._FailedTest"


class UnittestSummary(Struct, frozen=True):
    ran: int
    word: str
    parts: dict[str, int]


def read(obs: Observation, gate: Gate) -> Reading:
    text = clean(obs.output)
    summary = _summary(text)
    if summary is None:
        return lost_report(obs, "unittest printed no summary")
    log = TestLog(obs, gate)
    for kind, name, owner, detail, body in _BLOCK.findall(text):
        key = _key(name, owner)
        log.findings.append(_finding(key, f"{kind}: {key}{detail}\n{body}", body, obs))
    failed = {finding.key for finding in log.findings if not finding.key.startswith(COLLECT)}
    _enter_states(log, text, failed)
    for key in failed:
        log.enter(key, "fail")
    known = _agrees(summary, log)
    counts = count_states(log.tests) if known else _counts(summary)
    red = "" if summary.word != "FAILED" else f"unittest says FAILED ({in_words(counts)})"
    if not red and (log.findings or "\nFAILED (" in text):
        red = "the summary says OK, but the output also tells of failures"
    return log.settle(red=red, counts=counts, known=known)


def _summary(text: str) -> UnittestSummary | None:
    found = list(_SUMMARY.finditer(text))
    if not found:
        return None
    last = found[-1]
    parts: dict[str, int] = {}
    for part in (last.group(3) or "").split(","):
        name, _, number = part.strip().partition("=")
        if number.isdigit():
            parts[name] = int(number)
    return UnittestSummary(int(last.group(1)), last.group(2), parts)


def _key(name: str, owner: str) -> str:
    if owner.startswith(_LOADER):
        return f"{COLLECT}{name}"
    if name in ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule"):
        return f"{COLLECT}{owner}"
    # Python 3.11 writes the whole id in the brackets, older ones only the class.
    return owner if not owner or owner.endswith(f".{name}") else f"{owner}.{name}"


def _enter_states(log: TestLog, text: str, failed: set[str]) -> None:
    """State of every test with a line of its own; its word may stand behind whatever the test printed."""
    body = re.split(r"^(?:={70}|-{70})$", text, maxsplit=1, flags=re.MULTILINE)[0]
    heads = list(_HEAD.finditer(body))
    for index, head in enumerate(heads):
        key = _key(head.group(1), head.group(2))
        if key.startswith(COLLECT):
            continue
        end = heads[index + 1].start() if index + 1 < len(heads) else len(body)
        words = [word for line in body[head.end() : end].split("\n") if (word := _word(line))]
        if key not in failed:  # every failure has a block of its own, so this word belongs to something else
            words = [word for word in words if word not in ("FAIL", "ERROR")]
        if words:
            log.enter(key, _STATES[words[-1]])


def _word(line: str) -> str:
    """The state a line ends with. Plain string work: a pattern takes quadratic time on hostile lines."""
    if line.endswith(("'", '"')) and ("skipped '" in line or 'skipped "' in line):
        return "skipped"
    return next((word for word in _STATES if line.endswith(word)), "")


_STATES: dict[str, TestState] = {
    "ok": "pass",
    "FAIL": "fail",
    "ERROR": "fail",
    "expected failure": "skipped",
    "unexpected success": "fail",
    "skipped": "skipped",
}


def _finding(key: str, text: str, body: str, obs: Observation) -> Finding:
    places = []
    for path, line in _FILE.findall(body):
        root = obs.root.rstrip("/") + "/"
        if obs.root and path.startswith(root) and "/site-packages/" not in path:
            places.append((path[len(root) :], int(line)))
    where, line = places[-1] if places else ("", 0)
    return Finding(key, message(text), path=where, line=line)


def _counts(summary: UnittestSummary) -> Counts:
    parts = summary.parts
    failed = sum(parts.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    skipped = parts.get("skipped", 0) + parts.get("expected failures", 0)
    # Class-level errors and skips are counted as parts without having been "run" in some versions.
    return Counts(max(0, summary.ran - failed - skipped), failed, skipped)


def _agrees(summary: UnittestSummary, log: TestLog) -> bool:
    """Do the lines seen account for every test that ran? Otherwise ids are not known."""
    states = list(log.tests.values())
    unloaded = sum(finding.key.startswith(COLLECT) for finding in log.findings)
    skipped = summary.parts.get("skipped", 0)
    if bool(states.count("fail") or unloaded) != (summary.word == "FAILED"):
        return False
    if skipped + summary.parts.get("expected failures", 0) and "skipped" not in states:
        return False
    # 3.12 no longer counts tests skipped by their class as run; failed loads are counted everywhere.
    return summary.ran - unloaded <= len(states) <= summary.ran + skipped
