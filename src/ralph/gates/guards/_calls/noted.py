"""Tests that note their own ends: what is asked for, and what it tells.

They ride on the repeat that carries canaries, so they cost no call. Who forges results in the runner's own
process is contradicted by the tests; who does it only while they are as they were lets them turn red.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import COLLECT, compare
from ralph.gates.guards._base.facts import GuardFacts, NotedSeen
from ralph.gates.guards._base.test_files import first_functions, places_of_tests
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._tests.note_ends import Ends, name_of, note_ends
from ralph.gates.judging_paths import is_test

MAX_FUNCTIONS = 200  # of tests
MAX_BESIDE = 50
MAX_LISTED = 20


class NoteRequest(Struct, frozen=True):
    """Files to write over the result, and the tests that then note their ends: `path::function` -> ids."""

    files: dict[str, bytes]
    tests: dict[str, tuple[str, ...]]


def noted_request(
    facts: GuardFacts, gate: Gate, marks: str, read: Callable[[str], bytes | None]
) -> NoteRequest:
    """Tests of this gate that turned green and were there at the base."""
    files: dict[str, bytes] = {}
    tests: dict[str, tuple[str, ...]] = {}
    base, final = facts.base.get(gate.name), facts.final[gate.name]
    names = compare(base, final, fail_on=gate.fail_on).witness if base is not None and final.tests else ()
    turned = [name for name in names if name in (final.tests or {}) and _is_function(gate, name)]
    places, left = first_functions(places_of_tests(facts, gate, turned), MAX_FUNCTIONS)
    if left:
        facts.tried.leave_out("repeat", f"letting {left} more test functions record their ends")
    for path, functions in places.items():
        if path.endswith(".py") and not is_test(path):
            continue  # a doctest is called as the function that it stands in
        try:
            beside = [decode(read(one)) for one in _beside(facts, path)]
            made, noted = note_ends(path, (read(path) or b"").decode(), functions, marks, beside)
        except (SyntaxError, ValueError, RecursionError):
            continue
        files |= made
        for function, ids in functions.items():
            name = name_of(path, function)
            if len({one.partition("[")[0] for one in ids}) <= noted.get(name, 0):
                tests[name] = tuple(ids)
    return NoteRequest(files, tests)


def _beside(facts: GuardFacts, path: str) -> list[str]:
    """Files in a test's folder: its helpers, or what else may ask for a variable, or set it, in its place."""
    there = [one for one in facts.base_paths if posixpath.dirname(one) == posixpath.dirname(path)]
    return sorted(one for one in there if is_test(one) and one != path)[:MAX_BESIDE]


def _is_function(gate: Gate, name: str) -> bool:
    """Subtests of Go end inside a function that notes one end; doctests are called by dotted names."""
    inner = name.partition("[")[0].rpartition("::")
    return "/" not in name.partition("::")[2] if gate.read == "go" else not inner[1] or "." not in inner[2]


def compare_ends(request: NoteRequest, reading: Reading, ends: Ends) -> NotedSeen:
    """Tests that the report calls passed more often than they came to their end."""
    told = reading.tests or {}
    unended: set[str] = set()
    for name in request.tests.keys() - ends.untold:
        passed = [one for one in request.tests[name] if told.get(one) == "pass"]
        unended.update(passed if len(passed) > ends.passed.get(name, 0) else ())
    foreign = {function for test, function in ends.foreign if test in request.tests}
    return NotedSeen(unended=frozenset(unended), foreign=frozenset(foreign))


def without_base(seen: NotedSeen, request: NoteRequest, ends: Ends, edited: frozenset[str]) -> NotedSeen:
    """Without what is so at the base too: tests that cannot note anything, functions that were replaced."""
    works = {one for name, ids in request.tests.items() if name in ends.seen for one in ids}
    replaced = {function for _, function in ends.foreign}
    # "os.error = OSError": whether a library has it by nature only the same file can tell at the base.
    foreign = [one for one in seen.foreign - replaced if " = " not in one or edited.isdisjoint(request.files)]
    loads = works and edited.isdisjoint(request.files)  # the same files did load there with their notes
    return replace(
        seen,
        red=frozenset(one for one in seen.red if one in works or (loads and one.startswith(COLLECT))),
        unended=seen.unended & works,
        foreign=frozenset(foreign if works else ()),
    )


def find_noted(facts: GuardFacts, gate: Gate) -> list[Finding]:
    seen = facts.tried.noted.get(gate.name, NotedSeen())
    text = f"{gate.name}: %s is reported as passed, but never reached its end"
    found = [Finding(f"repeat.unended:{name}", text.replace("%s", name)) for name in sorted(seen.unended)]
    if seen.foreign:
        text = f"{gate.name}: the change replaces parts of the language, of libraries or of tests: "
        found.append(Finding(f"repeat.language:{gate.name}", text + ", ".join(sorted(seen.foreign)[:3])))
    found += [
        Finding(f"repeat.noted:{name}", f"{gate.name}: {name} passes, and fails when it records its own end")
        for name in sorted(seen.red)
    ]
    return found[:MAX_LISTED]
