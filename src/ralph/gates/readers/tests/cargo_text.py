"""Reader "cargo": libtest's text of `cargo test`. Ids are "target > path::of::test".

The lines of each test binary are held against its own summary; a binary whose lines do not add up is not
believed. What a test prints comes after its line or in a block of its own, so lines that only look like a
result are told apart by the sums. An example in a comment goes by the item that it documents: its line is
another one after each edit above it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Counts, Reading, TestState
from ralph.core.proof.flaky import count_states
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import Observation, lost_report
from ralph.gates.readers._kit.test_log import TestLog

_TARGET = re.compile(r"^\s+(?:Running (?:unittests )?(\S+) \([^)\n]*\)|Doc-tests (\S+))$")
# With --verbose: how each binary was built, and the binary by its path.
_BUILT = re.compile(r"^\s+Running `[^`\n]* (\S+\.rs) [^`\n]*-C extra-filename=-([0-9a-f]{16})\b")
_BINARY = re.compile(r"^\s+Running `(?:\w+=\S* )*\S*/deps/[^\s/`]+-([0-9a-f]{16})(?:\.exe)?(?: [^`\n]*)?`$")
_TEST = re.compile(r"^test (\S[^\n]{0,300}?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:, [^\n]*)?$")
_LINE = re.compile(r" \(line (\d{1,7})\)")
_SUM = re.compile(r"^test result: (ok|FAILED)\. (\d{1,7}) passed; (\d{1,7}) failed; (\d{1,7}) ignored;")
_BEGIN = re.compile(r"^running (\d{1,7}) tests?$")
_BLOCK = re.compile(r"^---- (\S[^\n]{0,300}?) (?:stdout|stderr) ----$")
_BUILD = re.compile(r"^error(?:\[E\d+\])?: (?!test failed|\d+ target)([^\n]*)", re.MULTILINE)
_PLACE = re.compile(r"^\s*--> ([\w./-]+\.rs):\d+", re.MULTILINE)
_COMPILE = re.compile(
    r"^error: could not compile `([^`\n]+)`(?: \((?:(lib test)|test \"([^\"\n]+)\"))?[^\n]*", re.MULTILINE
)
_STATES: dict[str, TestState] = {"ok": "pass", "FAILED": "fail", "ignored": "skipped"}


class _Binary(Struct):
    """One test binary as its text tells of it."""

    target: str
    tests: dict[str, TestState]
    said: dict[str, str]
    sums: Counts | None = None
    ended: str = ""


def read(obs: Observation, gate: Gate) -> Reading:
    text = clean(obs.output)
    binaries = _binaries(text)
    built = _COMPILE.search(text)
    if not binaries and not built:
        return lost_report(obs, "cargo printed no test results")
    log, red = TestLog(obs, gate), ""
    for binary in binaries:
        for name, own in _without_lines(binary.tests).items():
            log.add(f"{binary.target} > {own}", binary.tests[name], binary.said.get(name, ""))
        if (
            binary.sums is None
            or count_states(binary.tests) != binary.sums
            or (binary.ended == "FAILED") != bool(binary.sums.failed)
        ):
            red = f"the results of {binary.target} do not add up"
    if built:
        error = _BUILD.search(text)
        log.add_broken(_unbuilt(built, text, error), f"{built[0]}\n{error[0] if error else built[0]}")
    return log.settle(red=red)


def _unbuilt(built: re.Match[str], text: str, error: re.Match[str] | None) -> str:
    """The file of the target that could not be built. Cargo before 1.66 names none: where the error is."""
    if built[2] or built[3]:
        return "src/lib.rs" if built[2] else f"tests/{built[3]}.rs"
    place = _PLACE.search(text, error.end()) if error else None
    return place[1] if place else built[1].split()[0]


def _without_lines(tests: Collection[str]) -> dict[str, str]:
    """Names as libtest has them -> their own ones; further examples of one item are counted down the file."""
    lines = {name: int(hit[1]) for name in tests if (hit := _LINE.search(name))}
    found: dict[str, str] = {}
    times: dict[str, int] = {}
    for name in sorted(tests, key=lambda name: lines.get(name, 0)):
        own = _LINE.sub("", name) if name in lines else name
        times[own] = times.get(own, 0) + 1
        found[name] = own if times[own] == 1 else f"{own} ({times[own]})"
    return found


def _binaries(text: str) -> list[_Binary]:
    found: list[_Binary] = []
    target, block = "", ""
    current: _Binary | None = None
    built: dict[str, str] = {}
    for line in text.split("\n"):
        if made := _BUILT.match(line):
            built[made[2]] = made[1]
        hit = _TARGET.match(line)
        if plain := _BINARY.match(line):
            target, current, block = built.get(plain[1], "tests"), None, ""
        elif hit:
            target, current, block = hit.group(1) or f"doc {hit.group(2)}", None, ""
        elif _BEGIN.match(line) and target and current is None:
            current = _Binary(target, {}, {})
            found.append(current)
        elif current is not None and current.sums is None:
            block = _inside(line, current, block)
    return found


def _inside(line: str, binary: _Binary, block: str) -> str:
    """One line of a running binary; the name of the failure whose output is being read."""
    total = _SUM.match(line)
    if total:
        binary.sums = Counts(int(total.group(2)), int(total.group(3)), int(total.group(4)))
        binary.ended = total.group(1)
        return ""
    head = _BLOCK.match(line)
    if head:
        return head.group(1)
    if block:
        if line.startswith("failures:"):
            return ""
        if len(binary.said.get(block, "")) < 4000:
            binary.said[block] = f"{binary.said.get(block, '')}{line}\n"
        return block
    test = _TEST.match(line)
    if test and test.group(1) not in binary.tests:
        binary.tests[test.group(1)] = _STATES[test.group(2)]
    return ""
