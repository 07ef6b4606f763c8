"""Which kinds of check prove a class of task, and which kind a gate is. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from ralph.core.model.gate import Gate, TaskClass
from ralph.core.toolchains.classify_command import Sorted, named_kind, sort_command
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.never_fails import why_degenerate, why_idle
from ralph.core.toolchains.rows import KINDS, Kind
from ralph.core.toolchains.split_command import split, strip_launchers

Level = Literal["minimal", "default", "full", "security"]  # at which `ralph init` puts a check
LEVELS: tuple[Level, ...] = ("minimal", "default", "full", "security")
LEVEL_OF: dict[str, Level] = {
    "lint": "minimal",
    "format": "default",
    "types": "default",
    "build": "full",
    "test": "full",
    "coverage": "full",
    "security": "security",
    "docs": "full",
}
# class -> kinds that prove it, kinds that must stay green
AIMS: dict[TaskClass, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {
    "test-pass": (("test",), ()),
    "coverage": (("coverage",), ()),
    "type-clean": (("types",), ()),
    "lint-clean": (("lint",), ()),
    "build-pass": (("build",), ()),
    "bug-fix": (("test",), ()),
    "implement-feature": (("test",), ()),
    "regression": ((), ("test", "build", "types", "lint")),
    "docs": ((), ()),
    "custom": (("test",), ()),
}


# class -> kinds of check that are green when nothing is left to do; a coverage call runs the tests too
_SETTLED_BY: dict[str, frozenset[str]] = {
    "test-pass": frozenset({"test", "coverage"}),
    "coverage": frozenset({"coverage"}),
    "type-clean": frozenset({"types"}),
    "lint-clean": frozenset({"lint", "format"}),
    "build-pass": frozenset({"build"}),
}
_COMPILERS = frozenset(
    {"cargo types", "tsc", "vue-tsc"}
)  # they check types, and are a build without its output
# Without a bound above zero nothing is measured.
_BOUND = re.compile(
    r"check-coverage|(?:fail-under|threshold[\w.]*(?![\w.]))(?![= ][\"']?0+(?:\.0*)?(?:[\s\"']|$))",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"/|\.(?:sh|bash|py|rb|pl|js|mjs|ts)$")
_ANYTHING = re.compile(r"^(?:check|ci|all|verify|validate|gates?|default)s?(?:\.\w+)?$")


def settles(task_class: TaskClass, gate: Gate) -> bool:
    """Is this check of the kind that the class asks for, so that green leaves nothing to do?

    A command whose kind cannot be told (a script of the project's own) is taken for it: whoever gave it as
    the proof says by that what done means. One that is known to change files, set up, print or list settles
    nothing. Of class custom, any check is that Ralph did not find by itself.
    """
    if task_class == "custom":
        return gate.origin != "inferred"
    wanted = _SETTLED_BY.get(task_class)
    if wanted is None or why_degenerate(gate.run):
        return False
    bounded = True
    if task_class == "coverage":
        if gate.minimum:
            return True
        bounded = _BOUND.search(gate.run) is not None
        if gate.read == "coverage" and not bounded:
            return False
    if not split(gate.run):
        return True  # not even its words can be told
    found = [_part(words) for words in _simple(gate.run)]
    if task_class == "build-pass" and any(one.tool in _COMPILERS for one in found):
        return True
    kinds = {one.kind for one in found if one.kind}
    if any(one.tool == _UNKNOWN for one in found):
        return True
    return bounded and bool(wanted & kinds) if kinds else any(one.unknown for one in found)


_UNKNOWN = "?"  # a script whose name does not tell what it checks


def _simple(run: str, depth: int = 2) -> list[list[str]]:
    """The simple commands of one, also behind `sh -c`."""
    found: list[list[str]] = []
    for words in split(run):
        inner = strip_launchers(words)
        if words[0].rsplit("/", 1)[-1] in ("sh", "bash", "zsh") and "-c" in words[1:-1] and depth:
            found += _simple(words[words.index("-c") + 1], depth - 1)
        elif inner:
            found.append(words)
    return found


def _part(words: list[str]) -> Sorted:
    inner = strip_launchers(words)
    last = inner[0].rsplit("/", 1)[-1]
    known = toolchains()
    if known.setup.match(" ".join(words)):
        return Sorted()
    if words[0] in ("test", "[", "[["):
        return Sorted(unknown=True)
    targets = [word for word in inner[1:] if not word.startswith("-") and word != "run"]
    named = targets[:1] if last in known.packagers or last in known.taskers else [last]
    script = _SCRIPT.search(words[0]) or _SCRIPT.search(inner[0]) or named != [last]
    one = sort_command(shlex.join(words))
    if script and last not in known.kinds and (one.unknown or any(_ANYTHING.match(name) for name in named)):
        return Sorted(tool=_UNKNOWN)
    return Sorted() if one.kind and why_idle(words) else one


def proof_kinds(task_class: TaskClass) -> frozenset[str]:
    """The kinds whose gates prove a class; empty where any gate may."""
    return frozenset() if task_class == "custom" else frozenset(AIMS[task_class][0])


def gate_kind(name: str, run: str) -> str:
    """What a gate checks, by its command, else by its name; "" when neither tells."""
    kind = sort_command(run).kind
    if kind:
        return kind
    said = named_kind(name)
    return said if said in KINDS else ""


@lru_cache(10_000)
def _endings_read_by(run: str) -> tuple[str, ...]:
    """Endings of the files that a command's language has; () = not known."""
    tool = sort_command(run).tool
    every = toolchains().languages.values()
    return next((one.endings for one in every if any(row.tool == tool for row in one.rows)), ())


def could_affect_gate(run: str, cwd: str, changed: Iterable[str]) -> bool:
    """Could a change of these files change what a gate says? In doubt it could."""
    endings = _endings_read_by(run)
    inside = [path for path in changed if cwd in (".", "") or path.startswith(cwd.rstrip("/") + "/")]
    return any(not endings or path.endswith(endings) for path in inside)
