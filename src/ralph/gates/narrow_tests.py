"""A gate's command made to run single tests, by the ids that its reader gives them.

Where its runner cannot be told, or the command chooses tests itself, their files are used (`narrow`), and
where those are not known either, all of it: that costs time and changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.toolchains.load import toolchains
from ralph.gates.narrow import narrow_to_files, positional_indexes
from ralph.gates.runners import KnownRunner, recognise

MAX_TESTS = 200  # of more, their files are called


def narrow_to_tests(
    gate: Gate, ids: Collection[str], files: Mapping[str, str], exists: Callable[[str], bool]
) -> Gate:
    """The gate running these tests only, as far as its runner can be told so. `files`: where they stand."""
    wide = narrow_to_files(gate, {files[name] for name in ids if name in files}, exists)
    runner = recognise(gate.argv) if gate.reporter or gate.read == "unittest" else None
    if runner is None or not ids or len(ids) > MAX_TESTS:
        return wide
    chooses = toolchains().runners[runner.name].row.chooses
    names = sorted(ids)
    if chooses == "ids" and all(name in files for name in names):
        return _by_id(wide, names, files)
    if chooses == "classes":
        return _by_class(gate, runner, names) or wide
    if chooses == "packages":
        return _by_package(gate, runner, names) or wide
    if chooses == "exact":
        return _exactly(gate, runner, names) or wide
    if chooses == "names" and runner.name == "node" and not any(" > " in name for name in names):
        return _by_name(wide, runner, names)
    return wide


def _by_id(wide: Gate, names: list[str], files: Mapping[str, str]) -> Gate:
    """Each file that was chosen gives way to its tests."""
    argv: list[str] = []
    for word in wide.argv:
        inside = [name for name in names if files[name].endswith(f"/{word}") or files[name] == word]
        argv += [word + name[name.index("::") :] for name in inside if "::" in name] or [word]
    return replace(wide, argv=tuple(argv))


def _by_class(gate: Gate, runner: KnownRunner, names: list[str]) -> Gate | None:
    """Unittest takes dotted names, where it looks for modules from its own folder."""
    rest = [word for word in gate.argv[runner.at :] if word != "discover"]
    if positional_indexes(runner.name, rest) or not all(name.count(".") > 1 for name in names):
        return None
    if any(word.startswith(("-s", "-t", "-p", "-k", "--start", "--top", "--pattern")) for word in rest):
        return None
    return replace(gate, argv=(*gate.argv[: runner.at], *rest, *names))


def _by_package(gate: Gate, runner: KnownRunner, names: list[str]) -> Gate | None:
    """Go: packages by their import path, tests by a pattern."""
    rest = list(gate.argv[runner.at :])
    if any(re.match(r"--?(?:run|skip|args)\b", word) for word in rest) or "::" not in names[0]:
        return None
    places = positional_indexes(runner.name, rest)
    kept = [word for at, word in enumerate(rest) if at not in places]
    packages = sorted({name.partition("::")[0] for name in names})
    tests = sorted({name.partition("::")[2].partition("/")[0] for name in names})
    chosen = ("-run", f"^(?:{'|'.join(map(re.escape, tests))})$", *packages)
    return replace(gate, argv=(*gate.argv[: runner.at], *kept, *chosen))


def _by_name(wide: Gate, runner: KnownRunner, names: list[str]) -> Gate:
    """Node: whole names of tests that stand in no suite, unless the command has a pattern."""
    if any(word.startswith(("--test-name-pattern", "--test-skip-pattern")) for word in wide.argv):
        return wide
    bare = [re.sub(r" \(\d+\)\Z", "", name) for name in names]
    pattern = f"--test-name-pattern=^(?:{'|'.join(map(re.escape, bare))})$"
    return replace(wide, argv=(*wide.argv[: runner.at], pattern, *wide.argv[runner.at :]))


def _exactly(gate: Gate, runner: KnownRunner, names: list[str]) -> Gate | None:
    """Libtest behind cargo: whole names, unless the command filters already; examples have none."""
    rest = gate.argv[runner.at :]
    end = rest.index("--") if "--" in rest else len(rest)
    tests = sorted({name.partition(" > ")[2] for name in names})
    if any(" " in name or not name for name in tests) or any(not w.startswith("-") for w in rest[end + 1 :]):
        return None
    if any(not word.startswith("-") for word in rest[:end]):
        return None  # a filter, or the value of an option
    head = (*gate.argv[: runner.at], *rest[:end], "--", *rest[end + 1 :])
    return replace(gate, argv=(*head, "--exact", *tests))
