"""Readers "tap", "tape" and "ava": the Test Anything Protocol (13 and 14) as runners really write it.

The stream is what the command printed to its standard output, kept apart from its standard error. Ids are
"file > test > subtest" of nested streams, the comment above the assertions in tape's flat one, the title in
ava's. Judged code may write into the same stream, so it is held against itself: points are numbered without
a gap, each plan is kept, and the exit code agrees; else the ids are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading, TestState
from ralph.core.proof.flaky import count_states
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.load_failure import error_about, first_place, unloaded_reading
from ralph.gates.readers._kit.observation import MAX_REPORT, Observation, error_reading, last_lines, message
from ralph.gates.readers._kit.tap_stream import TapPoint, TapStream, parse_tap
from ralph.gates.readers._kit.test_log import TestLog, add_number

_FILE = re.compile(r"[\w@.+/-]+\.(?:[cm]?[jt]sx?|t|sh|py|pl)\Z")
# Ava's own points: what became of a whole file, and the error behind it.
_AVA_FILE = re.compile(
    r"(?:No tests found in (?=\S+\Z))?(\S+\.[cm]?[jt]sx?)(?: exited (?:with|due to) .*)?\Z"
)
_AVA_ERROR = re.compile(r"(?:Uncaught |Unhandled )?\w*(?:Error|Exception|rejection)\b")
_APART = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


def read(obs: Observation, gate: Gate) -> Reading:
    if obs.report is not None and len(obs.report) > MAX_REPORT:
        return error_reading("torn-report", "the stream of results is too long", obs)
    stream = parse_tap(clean(obs.report if obs.report is not None else obs.output))
    if stream.bail:
        text = f"it gave up: {stream.bail}\n{last_lines(obs)}"
        return Reading("fail", f"it gave up: {stream.bail}", tests={}, findings=(Finding("exit", text),))
    log = TestLog(obs, gate)
    broken = _add_unloaded(log, stream)
    states: dict[str, list[TapPoint]] = {}
    for name, point in _results(stream, gate.read):
        if id(point) not in broken:
            states.setdefault(name, []).append(point)
    for name, points in states.items():
        _add_test(log, name, points)
    if stream.plan is None or not stream.points:
        reading = unloaded_reading(obs, gate, "no whole stream of results was printed")
        findings = (*reading.findings, *log.findings)
        return replace(reading, tests=log.tests, counts=count_states(log.tests), findings=findings)
    # With something else in the stream, which tests passed is not known; what is red stays red.
    return log.settle(known=stream.adds_up(loose=gate.read == "ava") or bool(log.findings))


def _results(stream: TapStream, read: str) -> Iterator[tuple[str, TapPoint]]:
    """(id, point) for every point that is an assertion or a test of its own."""
    if read == "ava":
        yield from _ava_titles(stream.points)
        return
    seen: dict[str, int] = {}
    for point in stream.points:
        yield from _leaves(point, "", seen, grouped=stream.grouped or read == "tape")


def _leaves(
    point: TapPoint, lead: str, seen: dict[str, int], *, grouped: bool
) -> Iterator[tuple[str, TapPoint]]:
    own = f"{lead} > {point.name}" if lead else point.name
    if point.group and grouped:  # tape: the comment above it is the test
        yield (point.group if point.group_turn == 1 else f"{point.group} ({point.group_turn})"), point
    elif point.children:
        own = add_number(own, seen)
        for child in point.children:
            yield from _leaves(child, own, seen, grouped=grouped)
        if not point.ok and all(child.is_good for child in point.children):
            yield own, point  # red as a whole: a plan that was not kept, a crash at its end
    elif lead and not point.is_test and not point.directive:
        yield lead, point  # an assertion of the test around it
    else:
        yield add_number(own, seen), point


def _ava_titles(points: list[TapPoint]) -> Iterator[tuple[str, TapPoint]]:
    """Ava puts the file before the title when there are several files. A second one must not rename tests."""
    split = [(point, *point.name.partition(_APART)) for point in points if not _AVA_FILE.match(point.name)]
    split = [row for row in split if not (_AVA_ERROR.match(row[0].name) and not row[0].ok and not row[2])]
    if not split or not all(sep for _, _, sep, _ in split):
        yield from ((point.name, point) for point in points)
        return
    taken: dict[str, str] = {}
    for point, file, _, title in sorted(split, key=lambda row: row[1]):
        if taken.setdefault(title, file) != file:
            yield f"{title} ({file})", point
        else:
            yield title, point
    own = {id(row[0]) for row in split}
    yield from ((point.name, point) for point in points if id(point) not in own)


def _state(points: list[TapPoint]) -> TestState:
    if any(not point.is_good for point in points):
        return "fail"
    return "pass" if any(point.ok and not point.directive for point in points) else "skipped"


def _add_unloaded(log: TestLog, stream: TapStream) -> set[int]:
    """Files that failed as a whole; the points that only say so."""
    broken: set[int] = set()
    errors = [point for point in stream.points if not point.ok and _AVA_ERROR.match(point.name)]
    for point in stream.points:
        if point.is_good:
            continue
        if log.gate.read == "ava" and (hit := _AVA_FILE.match(point.name)):
            path, said = hit[1], "\n".join(f"{one.name}\n{one.text}" for one in errors) or point.name
            broken |= {id(point), *(id(one) for one in errors)}
        elif not point.children and not point.group and _FILE.match(point.name):
            path, said = point.name, error_about(point.name, log.obs) or last_lines(log.obs)
            broken.add(id(point))
        else:
            continue
        log.add_broken(path, f"{path} could not be loaded\n{said}", path=path)
    return broken


def _add_test(log: TestLog, name: str, points: list[TapPoint]) -> None:
    log.enter(name, _state(points))
    file = name.split(" > ", 1)[0]
    if _FILE.match(file):
        log.files[name] = file
    bad = [point for point in points if not point.is_good]
    if bad:
        text = "\n".join(f"{point.name}\n{point.text}" if point.name != name else point.text for point in bad)
        path, line = first_place(text, log.obs, log.gate)
        log.findings.append(Finding(name, message(text) or "failed", path=path, line=line))
