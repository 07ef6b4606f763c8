"""Reader "go": the event lines of `go test -json`. Ids are "package::Test/sub".

A package that does not build is a finding `collect:<package>`. Output that was cut in the middle has lost
events, so nothing is green in it.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading, TestState
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, error_reading, lost_report, message
from ralph.gates.readers._kit.test_log import TestLog

_STATES: dict[str, TestState] = {"pass": "pass", "fail": "fail", "skip": "skipped"}
_BUILD = re.compile(r"^FAIL\s+(\S+) \[(?:build|setup) failed\]", re.MULTILINE)
_BROKEN = re.compile(r"^# (\S+)(?: \[[^\]\n]*\])?\n((?:(?!# |FAIL|\{).*\n?)+)", re.MULTILINE)
_PLACE = re.compile(r"^\s*([\w./-]+_test\.go):(\d{1,7}):", re.MULTILINE)
_CUT = re.compile(rb"\n\[\.\.\. \d+ bytes left out \.\.\.\]\n")


class _Event(Struct, rename="pascal"):
    action: str
    package: str = ""
    test: str = ""
    output: str = ""


def read(obs: Observation, gate: Gate) -> Reading:
    if _CUT.search(obs.output):
        return error_reading("torn-report", "the output is too long: events were lost", obs)
    log = TestLog(obs, gate)
    said: dict[str, str] = {}
    packages: dict[str, str] = {}
    plain: list[str] = []
    decode = msgspec.json.Decoder(_Event).decode
    for line in obs.output.splitlines():
        try:
            event = decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            plain.append(line.decode("utf-8", "replace"))
            continue
        name = clean(f"{event.package}::{event.test}") if event.test else clean(event.package)
        if event.action in ("output", "build-output"):
            said[name] = (said.get(name, "") + event.output)[-4000:]
        elif event.action in _STATES and event.test:
            log.enter(name, _STATES[event.action])
        elif event.action in _STATES:
            packages[name] = event.action
    for name in [name for name, state in log.tests.items() if state == "fail"]:
        place = _PLACE.search(said.get(name, ""))
        path, at = (place.group(1), int(place.group(2))) if place else ("", 0)
        text = message(said.get(name, "")) or "failed"
        log.findings.append(Finding(name, text, path=path, line=at))  # events tell no file of a test
    _add_broken(log, "\n".join(plain), packages, said)
    if not log.tests and not packages and not log.findings:
        return lost_report(obs, "no test events were written")
    outside = not log.findings and "fail" in packages.values()
    return log.settle(red="a package failed outside of its tests" if outside else "")


def _add_broken(log: TestLog, text: str, packages: dict[str, str], said: dict[str, str]) -> None:
    """Packages whose tests could not be built, by what go prints beside its events."""
    text = clean(text)
    whys = {hit.group(1): hit.group(2) for hit in _BROKEN.finditer(text)}
    broken = dict.fromkeys(hit.group(1) for hit in _BUILD.finditer(text))
    owners = {name.partition("::")[0] for name in log.tests}
    broken |= dict.fromkeys(
        name for name, action in packages.items() if action == "fail" and name not in owners
    )
    for name in broken:
        log.add_broken(name, whys.get(name) or said.get(name, "") or "does not build")
