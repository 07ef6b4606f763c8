"""Canaries: tests that must fail, put beside the project's own for one gate call.

A runner that calls everything green, an assertion that no longer asserts, a report written by the judged
code: each shows by a canary that does not fail. They stand at the end of a test file that the base runs,
are named like their neighbours, and the first of them also tells which functions the runner is made of.
Here: the text, where it goes, and what became of it. Which call carries them is the shell's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Finding, Reading
from ralph.core.proof.flaky import count_states
from ralph.gates import canary_text
from ralph.gates.judging_paths import is_test
from ralph.gates.narrow import JS, module_file, select_tests_too
from ralph.gates.readers._kit.observation import SUCCESS, in_words
from ralph.gates.runners import recognise

READS = frozenset({"pytest", "unittest", "node"})
_MAX_HOSTS = 3  # files looked at before giving up


class Planted(Struct, frozen=True):
    """A gate and the one file that differ in a call with canaries."""

    gate: Gate
    path: str
    content: bytes
    nonce: str


def plant(
    gate: Gate,
    reading: Reading,
    paths: Callable[[], Collection[str]],
    read: Callable[[str], bytes | None],
    nonce: str,
    prefer: Collection[str] = (),
) -> Planted | None:
    """None where no canary can be put: an unknown runner, no test that passes, no file that is known.

    `prefer` names files that are as they were at the base: what a canary does there is known.
    """
    runner = recognise(gate.argv) if gate.read in READS else None
    if runner is None or not reading.tests or "pass" not in reading.tests.values():
        return None
    for path in sorted(_hosts(gate, reading, paths), key=lambda path: path not in prefer)[:_MAX_HOSTS]:
        content = read(path)
        if content is None:
            continue
        like = _neighbour(gate.read, reading, path)
        added = canary_text.canary_source(gate.read, like, nonce)
        changed = select_tests_too(gate, runner, path, canary_text.canary_names(gate.read, like, nonce))
        return Planted(changed, path, content.rstrip(b"\n") + b"\n" + added.encode(), nonce)
    return None


def _hosts(gate: Gate, reading: Reading, paths: Callable[[], Collection[str]]) -> list[str]:
    """Files with passing tests, the fullest first; by their names where the runner tells no files."""
    green = [name for name, state in (reading.tests or {}).items() if state == "pass"]
    if gate.read == "unittest":
        known = tuple(paths())
        modules = Counter(name.rpartition(".")[0] for name in green).most_common(3 * _MAX_HOSTS)
        folders: Counter[str] = Counter()
        for owner, count in modules:  # the class of some tests; looking for its file costs a walk over all
            folders[module_file(f"{owner}.x", gate.cwd, known)] += count
        del folders[""]
    elif gate.read == "node" and not reading.files:
        named = [word.removeprefix("./") for word in gate.argv if word.endswith(JS)]
        inside = [path for path in paths() if path.endswith(JS) and "node_modules/" not in path]
        lead = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
        chosen = [path for path in inside if path in {lead + name for name in named}]
        folders = Counter(chosen or [path for path in inside if is_test(path) and path.startswith(lead)])
    else:
        folders = Counter(reading.files[name] for name in green if name in reading.files)
    return [path for path, _ in sorted(folders.items(), key=lambda item: (-item[1], item[0]))]


def _neighbour(read: str, reading: Reading, path: str) -> str:
    """A test of that file that passes: canaries are named after it."""
    tests = reading.tests or {}
    inside = [name for name, state in tests.items() if state == "pass" and reading.files.get(name) == path]
    name = inside[0] if inside else next(name for name, state in tests.items() if state == "pass")
    if read == "node":
        return name.rsplit(" > ", 1)[-1]
    last = re.split(r"::|\.(?=\w+\Z)", name.partition("[")[0])[-1]
    return last if last.isidentifier() else "test"


def take_out_canaries(reading: Reading, planted: Planted) -> Reading:
    """The reading without the canaries, and what became of them beside it."""
    nonce, tests = planted.nonce, reading.tests or {}
    seen = {name: state for name, state in tests.items() if nonce in name}
    kinds = canary_text.KINDS[planted.gate.read]
    states = {kind: [state for name, state in seen.items() if f"{nonce}_{kind}" in name] for kind in kinds}
    if any(state == "fail" for state in seen.values()):  # then the runner itself has to end in red
        states["exit"] = ["pass" if SUCCESS in reading.summary else "fail"]
    told = next((f.message for f in reading.findings if nonce in f.key and nonce in f.message), "")
    canary = Canary(
        red=tuple(kind for kind, found in states.items() if found and set(found) == {"fail"}),
        silent=tuple(kind for kind, found in states.items() if set(found) - {"fail"}),
        unseen=tuple(kind for kind, found in states.items() if not found),
        runner=canary_text.runner_digests(planted.gate.read, _probed(reading, nonce) or told, nonce),
    )
    return replace(_without(reading, nonce), canary=canary)


def _probed(reading: Reading, nonce: str) -> str:
    return next((f.message for f in reading.findings if f"{nonce}|" in f.message), "")


def _without(reading: Reading, nonce: str) -> Reading:
    """As if the canaries had not been there: green when they were all that was red."""
    if reading.tests is None:
        return reading
    left = {name: state for name, state in reading.tests.items() if nonce not in name}
    findings = tuple(finding for finding in reading.findings if nonce not in finding.key)
    files = {name: path for name, path in reading.files.items() if nonce not in name}
    counts = count_states(left)
    plain = replace(reading, tests=left, findings=findings, files=files, counts=counts)
    own = len(left) < len(reading.tests)
    if reading.status != "fail" or not own or reading.cause or counts.failed or not counts.passed:
        return plain
    if any(_is_red(finding) for finding in findings):
        return plain
    return replace(plain, status="pass", summary=in_words(counts))


def _is_red(finding: Finding) -> bool:
    return finding.key != "exit"
