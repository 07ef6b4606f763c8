"""Reader "mocha": its JSON report. Ids are "file > suite > name".

Written to a file of our own since mocha 9.2; older ones print it, and the last whole object in the output
counts. Mocha's exit code is the number of failures.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading, TestState
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.load_failure import places, unloaded_reading
from ralph.gates.readers._kit.observation import Observation, repo_path, stopped_early
from ralph.gates.readers._kit.test_log import TestLog, add_number

READS_ANY_END = True  # its exit code is the number of failures, which may look like a signal
_MAX_EXIT = 255
_BEGIN = b'{\n  "stats": {'


class _MochaError(Struct):
    message: str | None = None
    stack: str | None = None


class _MochaTest(Struct):
    title: str
    fullTitle: str  # noqa: N815 (the report's own name)
    file: str | None = None
    err: _MochaError = msgspec.field(default_factory=_MochaError)


class _MochaStats(Struct):
    tests: int
    passes: int
    pending: int
    failures: int


class _MochaReport(Struct):
    stats: _MochaStats
    tests: list[_MochaTest]
    passes: list[_MochaTest]
    pending: list[_MochaTest]
    failures: list[_MochaTest]


def read(obs: Observation, gate: Gate) -> Reading:
    report = _load(obs)
    if (
        report is not None
        and obs.ended == "exited"
        and obs.exit_code == min(report.stats.failures, _MAX_EXIT)
    ):
        obs = replace(obs, exit_code=min(obs.exit_code, 1))  # 130 failures are no signal
    early = stopped_early(obs, gate)
    if early:
        return early
    if report is None:
        return unloaded_reading(obs, gate, "mocha wrote no report")
    log, hooks = TestLog(obs, gate), 0
    seen: dict[str, int] = {}
    known = {(test.file, test.fullTitle) for test in report.tests}
    groups: dict[TestState, list[_MochaTest]]
    groups = {"pass": report.passes, "fail": report.failures, "skipped": report.pending}
    for state, group in groups.items():
        for test in group:
            path = repo_path(test.file or "", obs, gate)
            text, line = _failure(test, path, obs, gate)
            if state == "fail" and (test.file, test.fullTitle) not in known:
                hooks += 1
                whole = f"{clean(test.fullTitle)}\n{text}"
                log.add_broken(path or test.fullTitle, whole, path=path, line=line)
            else:
                log.add(add_number(_id(test, path), seen), state, text, path=path, line=line)
    stats = report.stats
    told = (stats.passes, stats.failures - hooks, stats.pending)
    shown = (len(report.passes), len(report.failures) - hooks, len(report.pending))
    red = "" if told == shown else "the report counts other tests than it shows"
    return log.settle(red=red)


def _load(obs: Observation) -> _MochaReport | None:
    decode = msgspec.json.Decoder(_MochaReport).decode
    source = obs.report
    if source is None:
        at = obs.output.rfind(_BEGIN)
        end = obs.output.find(b"\n}", at)
        source = obs.output[at : end + 2] if at >= 0 and end >= 0 else b""
    try:
        return decode(source)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _id(test: _MochaTest, path: str) -> str:
    """Its suites come as one text with its own title at the end."""
    title, whole = clean(test.title), clean(test.fullTitle)
    suites = whole.removesuffix(title).strip() if whole.endswith(title) else ""
    return " > ".join(part for part in (path, suites, title or "(no title)") if part)


def _failure(test: _MochaTest, path: str, obs: Observation, gate: Gate) -> tuple[str, int]:
    """What is said of it, and the line in its own file."""
    said, stack = test.err.message or "", test.err.stack or ""
    text = stack if said and said in stack else f"{said}\n{stack}"
    return text, next((line for where, line in places(clean(stack), obs, gate) if where == path), 0)
