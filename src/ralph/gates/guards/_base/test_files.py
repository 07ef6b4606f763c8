"""In which file a test stands, also where its runner does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph.core.model.gate import Gate
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._parts.script_language import heads_of, language
from ralph.gates.judging_paths import is_test
from ralph.gates.narrow import module_file


def files_of_tests(facts: GuardFacts, gate: Gate, *, at_base: bool = False) -> dict[str, str]:
    """By id. Node before 22 and ava of one file tell none: then it is the one whose text has the name."""
    reading = (facts.base if at_base else facts.final).get(gate.name)
    if reading is None:
        return {}
    found = dict(reading.files)
    lost = [name for name in reading.tests or () if name not in found]
    if not lost or gate.read not in ("node", "ava"):
        return found
    read = facts.read_base if at_base else facts.read_result
    paths = {*facts.base_paths, *(change.path for change in facts.changes)}
    texts = {path: decode(read(path)) for path in sorted(paths) if language(path) and is_test(path)}
    for name in lost:
        last = re.sub(r" \(\d+\)\Z", "", name.rsplit(" > ", 1)[-1])
        written = re.compile(rf"([\"'`]){re.escape(last)}\1")
        stands = [path for path, text in texts.items() if written.search(text)]
        stands = stands or [path for path, text in texts.items() if heads_of(text, last)]
        if len(stands) == 1:
            found[name] = stands[0]
    return found


def places_of_tests(facts: GuardFacts, gate: Gate, names: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Path -> function, or title -> ids."""
    files = files_of_tests(facts, gate)
    places: dict[str, dict[str, list[str]]] = {}
    for name in names:
        path = files.get(name) or _file_of(facts, gate, name)
        if gate.read == "go":
            function = name.partition("::")[2].partition("/")[0]
        else:
            apart = r" > " if language(path) else r"::|\.|/| > "
            function = re.split(apart, name if language(path) else name.partition("[")[0])[-1]
        places.setdefault(path, {}).setdefault(function, []).append(name)
    return places


def first_functions(
    places: dict[str, dict[str, list[str]]], count: int
) -> tuple[dict[str, dict[str, list[str]]], int]:
    """Of as many functions all cases, and how many are left."""
    every = [(path, function) for path, functions in places.items() for function in functions]
    kept = set(every[:count])
    found = {
        path: {name: ids for name, ids in functions.items() if (path, name) in kept}
        for path, functions in places.items()
    }
    return {path: functions for path, functions in found.items() if functions}, len(every) - len(kept)


def _file_of(facts: GuardFacts, gate: Gate, name: str) -> str:
    """Where a test stands; of Rust its target is known, and a module beside it by its path."""
    if gate.read == "go":
        return _go_file(facts, name)
    target, rust, inner = name.partition(" > ")
    if not rust or not target.endswith(".rs"):
        return module_file(name, gate.cwd, {*facts.base_paths, *facts.sealed})
    *modules, _ = inner.split("::")
    folder = target.rpartition("/")[0]
    beside = "/".join([folder, *(part for part in modules if part not in ("tests", "test"))]) + ".rs"
    return beside if facts.read_result(beside) is not None else target


def _go_file(facts: GuardFacts, name: str) -> str:
    """The one file of the package that has this function; a package is called as its folder ends."""
    package, _, test = name.partition("::")
    head = re.compile(rf"^func {re.escape(test.partition('/')[0])}\(", re.MULTILINE)
    paths = {*facts.base_paths, *(change.path for change in facts.changes)}
    found = [
        path
        for path in sorted(paths)
        if path.endswith("_test.go")
        and f"/{package}".endswith(f"/{path.rpartition('/')[0]}".rstrip("/"))
        and head.search(decode(facts.read_result(path)))
    ]
    return max(found, key=lambda path: path.count("/"), default="")
