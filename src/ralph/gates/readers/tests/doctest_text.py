"""Reader "doctest": the text of `python -m doctest -v`. Ids are the names doctest gives: "module.function".

Each file ends with a summary of its own, and doctest stops after the first file with a failure. What an
example prints is caught by doctest; what a module prints when it is loaded is not, so the sums must agree.
"""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading, TestState
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, lost_report, message, repo_path
from ralph.gates.readers._kit.test_log import TestLog

# Up to Python 3.12, and since 3.13 ("1 item passed all tests", "2 tests in 1 item.", "2 passed.").
_PASSED = re.compile(r"^\d+ items? passed all tests:\n((?: +\d+ tests? in [^\n]+\n)+)", re.MULTILINE)
_FAILED = re.compile(r"^\d+ items? had failures:\n((?: +\d+ of +\d+ in [^\n]+\n)+)", re.MULTILINE)
_STATES: tuple[tuple[re.Pattern[str], TestState], ...] = ((_PASSED, "pass"), (_FAILED, "fail"))
_ITEM = re.compile(r"^ +(?:\d+ of +)?(\d+) (?:tests? )?in ([^\n]+)$", re.MULTILINE)
_SUMS = re.compile(
    r"^(\d+) tests? in \d+ items?\.\n(?:(\d+) passed(?: and (\d+) failed)?|(\d+) failed)\.$", re.MULTILINE
)
_BLOCK = re.compile(
    r"^\*{70}\nFile \"([^\"\n]+)\", line (\d+|\?), in ([^\n]+)\n(.*?)(?=^\*{70}$|^Trying:$|^\d+ items? |\Z)",
    re.MULTILINE | re.DOTALL,
)


def read(obs: Observation, gate: Gate) -> Reading:
    text = clean(obs.output)
    sums = list(_SUMS.finditer(text))
    if not sums:
        return lost_report(obs, "doctest printed no summary")
    log, examples = TestLog(obs, gate), 0
    for pattern, state in _STATES:
        for block in pattern.finditer(text):
            for number, name in _ITEM.findall(block[1]):
                log.enter(name, state)
                examples += int(number)
    said: dict[str, list[tuple[str, str, str]]] = {}
    for path, line, name, body in _BLOCK.findall(text):
        said.setdefault(name, []).append((path, line, body))
    for name, parts in said.items():
        path = repo_path(parts[0][0], obs, gate)
        line = int(parts[0][1]) if parts[0][1].isdigit() else 0
        text = message("\n".join(part[2] for part in parts))
        log.findings.append(Finding(name, text, path=path, line=line))
        log.files |= {name: path} if name in log.tests else {}
    known = examples == sum(int(hit[1]) for hit in sums)
    failed = sum(int(hit[3] or hit[4] or 0) for hit in sums)
    red = f"{failed} examples failed" if failed and not log.findings else ""
    return log.settle(red=red, known=known or bool(failed))
