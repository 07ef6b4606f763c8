"""Guard "caches": no tool's memory of an earlier verdict is part of the result.

Byte code whose header tells Python not to compare it with its source is an accusation: no tool leaves that
behind by itself. Any other cache may be the trace of an honest test call, and is only to be taken away.
"""

from __future__ import annotations

import re

from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.toolchains.load import toolchains
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.judging_paths import is_test

NAME = "caches"
KINDS = guard_kinds(NAME, "delete it and add it to .gitignore", {
    "poisoned": ("accuses", "byte code that Python would load without comparing it with its source"),
    "left": ("not yet", "a tool's cache or data was left in the tree"),
})  # fmt: skip
_NO_CONFIG = (".coveragerc", ".coveragerc.toml")
# Data that tests of packaging and coverage tools are made of.
_FIXTURE = re.compile(r"\.egg-info\Z|(?:^|/)(?:\.tox|htmlcov|lcov\.info|\.coverage[^/]*)\Z|\.py[co]\Z")


def check(facts: GuardFacts) -> GuardResult:
    findings: dict[str, Finding] = {}
    kept: frozenset[tuple[str, str]] | None = None
    for change in facts.changes:
        if change.status == "D":
            continue
        if change.path.endswith((".pyc", ".pyo")) and _is_unchecked_pyc(facts, change):
            text = f"{change.path} holds byte code that Python loads without a look at its source"
            found = Finding(f"caches.poisoned:{change.path}", text, path=change.path)
            findings[found.key] = found
            continue
        place = _cache(change.path)
        if not place or change.status not in ("A", "R") or place in findings:
            continue
        kept = _kept(facts) if kept is None else kept
        if _slot(place) not in kept and not (_FIXTURE.search(place) and is_test(change.path)):
            text = f"{place} is a tool's cache or data, and does not belong to the result"
            findings[place] = Finding(f"caches.left:{place}", text, path=place)
    return guard_result(
        NAME,
        facts,
        findings.values(),
        good="no cache was added",
        bad="caches and compiled files are in the tree",
    )


def _cache(path: str) -> str:
    """The cache this path belongs to: its folder, or the file itself."""
    known = toolchains().paths
    folder = known.cache_folders.search(path)
    if folder:
        return path[: folder.end()]
    if known.cache_files.search(path) and path.rsplit("/", 1)[-1] not in _NO_CONFIG:
        return path
    return ""


def _slot(place: str) -> tuple[str, str]:
    """Its folder, and what kind of cache it is."""
    folder, _, name = place.rpartition("/")
    return folder, name.rpartition(".")[2] if "." in name.lstrip(".") else name


def _kept(facts: GuardFacts) -> frozenset[tuple[str, str]]:
    """Caches that the base keeps itself, as fixtures of a tool that reads them."""
    return frozenset(_slot(place) for path in facts.base_paths if (place := _cache(path)))


def _is_unchecked_pyc(facts: GuardFacts, change: Change) -> bool:
    """Hash-based byte code (PEP 552) beside its source: Python's own caches carry a time stamp instead."""
    data = facts.read_result(change.path) or b""
    if len(data) < 16 or data[2:4] != b"\r\n":
        return False
    return bool(int.from_bytes(data[4:8], "little") & 1)
