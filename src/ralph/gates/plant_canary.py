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
from ralph.core.model.verdict import Canary, Reading
from ralph.core.proof.flaky import count_states
from ralph.core.toolchains.rows import CanaryRow
from ralph.gates import canary_text
from ralph.gates.judging_paths import is_test
from ralph.gates.narrow import JS, module_file, select_tests_too
from ralph.gates.readers._kit.observation import SUCCESS, in_words

_MAX_HOSTS = 40  # files looked at before giving up


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
    known: str = "",
) -> Planted | None:
    """None where no canary can be put: an unknown runner, no test that passes, no file that is known.

    `prefer` names files that are as they were at the base; `known` is the one that held canaries there, so
    what they do in it is known.
    """
    if canary_text.canary_of(gate.read) is None or not reading.tests or "pass" not in reading.tests.values():
        return None
    hosts = _hosts(gate, reading, paths)
    found: list[tuple[bool, str, bytes]] = []
    for path in sorted(hosts, key=lambda path: (path not in prefer, path != known))[:_MAX_HOSTS]:
        content = read(path)
        if content is not None and _collects(gate.read, reading, path, content):
            found.append((_holds_titles(gate.read, reading, content), path, content))
            if found[-1][0]:
                break
    for _, path, content in sorted(found, key=lambda row: not row[0])[:1]:
        like = _neighbour(gate.read, reading, path)
        added = canary_text.canary_source(gate.read, like, nonce, path, content)
        changed = select_tests_too(gate, path, canary_text.canary_names(gate.read, like, nonce))
        return Planted(changed, path, content.rstrip(b"\n") + b"\n" + added.encode(), nonce)
    return None


def _canary(read: str) -> CanaryRow:
    return canary_text.canary_of(read) or CanaryRow()


def _in_javascript(read: str) -> bool:
    return bool(_canary(read).ways)


def _collects(read: str, reading: Reading, path: str, content: bytes) -> bool:
    """Would the runner find a new test here? It names inherited tests by where they are written."""
    if read == "doctest":
        return b">>>" in content
    if holds := _canary(read).holds:
        text = content.decode("utf-8", "replace")
        names = {_function(name) for name in _green(reading)}
        return any(re.search(holds.format(name=re.escape(name)), text) for name in names if name)
    if _in_javascript(read):
        return re.search(_canary(read).mark.encode(), content) is not None
    if re.search(rb"^def load_tests\b", content, re.MULTILINE):
        return False  # it chooses its tests itself
    if read == "unittest":
        owners = {name.split(".")[-2].encode() for name in _green(reading) if name.count(".")}
        return any(re.search(rb"^\s*class %s\b" % re.escape(one), content, re.MULTILINE) for one in owners)
    for name in _green(reading):
        if reading.files.get(name) == path:
            *classes, function = name.partition("[")[0].split("::")[1:] or [""]
            words = (*(rb"class %s" % one.encode() for one in classes), rb"def %s" % function.encode())
            if all(re.search(rb"^\s*(?:async )?%s\b" % word, content, re.MULTILINE) for word in words):
                return True
    return False


def _holds_titles(read: str, reading: Reading, content: bytes) -> bool:
    """Where a runner tells no files, the one with a title in it; a fixture may look like a test as well."""
    if not _canary(read).no_files or reading.files or _canary(read).holds:
        return True
    return any(name.rsplit(" > ", 1)[-1].encode() in content for name in _green(reading))


def _function(name: str) -> str:
    """The function of a test of Go (`package::TestA/sub`) or Rust (`target > module::test_a`), or ""."""
    last = name.rsplit("::", 1)[-1].rsplit(" > ", 1)[-1].partition("/")[0]
    return last if last.isidentifier() and not last.startswith(("Example", "Fuzz", "Benchmark")) else ""


def _green(reading: Reading) -> list[str]:
    return [name for name, state in (reading.tests or {}).items() if state == "pass"]


def _hosts(gate: Gate, reading: Reading, paths: Callable[[], Collection[str]]) -> list[str]:
    """Files with passing tests, the fullest first; by their names where the runner tells no files."""
    green = _green(reading)
    lead = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
    if gate.read == "unittest":
        known = tuple(paths())
        modules = Counter(name.rpartition(".")[0] for name in green).most_common(3 * _MAX_HOSTS)
        folders: Counter[str] = Counter()
        for owner, count in modules:  # the class of some tests; looking for its file costs a walk over all
            folders[module_file(f"{owner}.x", gate.cwd, known)] += count
        del folders[""]
    elif gate.read == "doctest" or (_canary(gate.read).no_files and not reading.files):
        ends = (".py",) if gate.read == "doctest" else _canary(gate.read).endings or JS
        words = (word for part in (*gate.argv, *gate.reporter) for word in part.split())
        named = {lead + word.removeprefix("./") for word in words if word.endswith(ends)}
        inside = [path for path in paths() if path.endswith(ends) and "node_modules/" not in path]
        chosen = [path for path in inside if path in named]
        below = [path for path in inside if path.startswith(lead)]
        tests = [path for path in below if is_test(path)]
        if _canary(gate.read).holds:  # tests may stand beside the code
            return [*tests, *(path for path in below if path not in tests)]
        folders = Counter(chosen or tests)
    else:
        folders = Counter(reading.files[name] for name in green if name in reading.files)
    return [path for path, _ in sorted(folders.items(), key=lambda item: (-item[1], item[0]))]


def _neighbour(read: str, reading: Reading, path: str) -> str:
    """A test of that file that passes: canaries are named after it."""
    tests = reading.tests or {}
    inside = [name for name, state in tests.items() if state == "pass" and reading.files.get(name) == path]
    name = inside[0] if inside else next(name for name, state in tests.items() if state == "pass")
    if _canary(read).holds:
        return next(filter(None, map(_function, _green(reading))))
    if _in_javascript(read):
        return name.rsplit(" > ", 1)[-1]
    last = re.split(r"::|\.(?=\w+\Z)", name.partition("[")[0])[-1]
    return last if last.isidentifier() else "test"


def take_out_canaries(reading: Reading, planted: Planted) -> Reading:
    """The reading without the canaries, and what became of them beside it."""
    nonce, tests = planted.nonce, reading.tests or {}
    seen = {name: state for name, state in tests.items() if nonce in name}
    kinds = canary_text.canary_means(planted.gate.read)
    states = {kind: [state for name, state in seen.items() if f"{nonce}_{kind}" in name] for kind in kinds}
    if any(state == "fail" for state in seen.values()):  # then the runner itself has to end in red
        states["exit"] = ["pass" if SUCCESS in reading.summary else "fail"]
    told = next((f.message for f in reading.findings if nonce in f.key and nonce in f.message), "")
    probed = next((f.message for f in reading.findings if f"{nonce}|" in f.message), "")
    canary = Canary(
        red=tuple(kind for kind, found in states.items() if found and set(found) == {"fail"}),
        silent=tuple(kind for kind, found in states.items() if set(found) - {"fail"}),
        unseen=tuple(kind for kind, found in states.items() if not found),
        host=planted.path,
        runner=canary_text.runner_digests(planted.gate.read, probed or told, nonce),
    )
    return replace(_without(reading, nonce), canary=canary)


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
    if any(finding.key != "exit" for finding in findings):
        return plain
    return replace(plain, status="pass", summary=in_words(counts))
