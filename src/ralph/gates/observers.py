"""A gate's command made to look at other tests than it says: some files only, or canaries as well.

Options stay as they are; only words that choose tests are added to or replaced. Where the command cannot
be narrowed it is used whole, which costs time and changes nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection

from msgspec.structs import replace

from ralph.core.model import Gate
from ralph.gates.canary_text import owner
from ralph.gates.runners import Runner, recognise

_VALUED = frozenset(
    {"-k", "-m", "-p", "-c", "-o", "-n", "-W", "-s", "-t", "--rootdir", "--ignore", "--deselect", "--maxfail"}
    | {
        "--confcutdir",
        "--basetemp",
        "--import-mode",
        "--tb",
        "--cov",
        "--cov-report",
        "--cov-config",
        "--dist",
    }
    | {"--start-directory", "--pattern", "--top-level-directory", "--durations", "--timeout", "--color"}
    | {
        "--test-name-pattern",
        "--test-skip-pattern",
        "--test-concurrency",
        "--test-timeout",
        "--test-reporter",
    }
    | {"--test-reporter-destination", "--import", "--require", "-r", "--test-shard", "--log-level"}
)


def _relative(path: str, cwd: str) -> str:
    return path if cwd in (".", "") else posixpath.relpath(path, cwd)


def selects(gate: Gate, runner: Runner, path: str, names: tuple[str, ...]) -> Gate:
    """The gate with these further tests of a file chosen too, also where it stops at the first failure."""
    before, rest = gate.argv[: runner.at], list(gate.argv[runner.at :])
    here = _relative(path, gate.cwd)
    if runner.name == "pytest":
        exact = any("::" in word for word in _chosen(rest))
        added = [f"{here}::{name}" for name in names] if exact else []
        if "-k" in rest[:-1]:
            at = rest.index("-k") + 1
            rest[at] = f"({rest[at]}) or {' or '.join(names)}"
        at = rest.index("--") if "--" in rest else len(rest)
        rest = [*rest[:at], *added, "--maxfail=0", *rest[at:]]
    elif runner.name == "unittest":
        rest = [word for word in rest if word not in ("-f", "--failfast")]
        module = here.removesuffix(".py").replace("/", ".")
        owned = [word for word in _chosen(rest) if word.startswith(f"{module}.")]
        mark = names[0].rsplit("_", 2)[1]
        rest += [f"{module}.{owner(mark)}"] if owned else []
        if "-k" in rest[:-1]:
            rest += ["-k", mark]
    elif any(word.split("=", 1)[0] == "--test-name-pattern" for word in (*before, *rest)):
        mark = names[0].rsplit(" ", 1)[-1].rsplit("_", 1)[0]
        rest.insert(0, f"--test-name-pattern={mark}")
    return replace(gate, argv=(*before, *rest))


def narrowed(gate: Gate, files: Collection[str], exists: Callable[[str], bool]) -> Gate:
    """The gate looking at these test files only, where its runner can be told so; else the gate itself."""
    runner = recognise(gate.argv) if gate.reporter or gate.read == "unittest" else None
    if runner is None or not files or runner.name not in ("pytest", "node"):
        return gate
    before, rest = gate.argv[: runner.at], list(gate.argv[runner.at :])
    cwd = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
    chosen = set(_chosen(rest))

    def is_place(word: str) -> bool:
        return word in chosen and exists(posixpath.normpath(cwd + word.split("::", 1)[0]))

    kept = [word for word in rest if not is_place(word)]
    if any(word in chosen for word in kept) and runner.name == "node":
        return gate  # a glob of the shell's kind: which files it means is not known here
    at = kept.index("--") if "--" in kept else len(kept)
    places = [_relative(path, gate.cwd) for path in sorted(files)]
    return replace(gate, argv=(*before, *kept[:at], *places, *kept[at:]))


def _chosen(rest: list[str]) -> list[str]:
    """The words of a runner's arguments that are neither options nor their values."""
    found, skip = [], False
    for word in rest:
        if skip:
            skip = False
        elif word in _VALUED:
            skip = True
        elif not word.startswith("-"):
            found.append(word)
    return found
