"""Kinds of findings: their weight, what they say, and the way out. Each guard lists its own as `KINDS`.

A kind that accuses speaks of intent: twice in a loop ends it for a human's review. One that asks cannot be
told from honest work: a user's word settles it, nobody is accused. Hygiene only says not yet. "accuses or
asks": accuses where a red check was bent, asks where what was green is expected otherwise (`Finding.asks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts

Weight = Literal["accuses", "accuses or asks", "asks", "not yet"]


class Kind(Struct, frozen=True):
    weight: Weight
    says: str
    way: str  # what to change, so that there is nothing to find

    @property
    def integrity(self) -> bool:
        return self.weight.startswith("accuses")

    @property
    def grantable(self) -> bool:
        """May a user grant it before it is seen? Never what accuses."""
        return self.weight != "accuses"


_Row = tuple[Weight, str] | tuple[Weight, str, str]  # the third: a way out of its own


def guard_kinds(guard: str, way: str, rows: dict[str, _Row]) -> dict[str, Kind]:
    return {f"{guard}.{name}": Kind(*row) if len(row) == 3 else Kind(*row, way) for name, row in rows.items()}


PUT_BACK = "restore what the base had and change the source instead"
TAKE_OUT = "remove it"


@cache
def guard_modules() -> tuple[ModuleType, ...]:
    """Every guard: a module of `integrity` or `hygiene`."""
    folders = [import_module(f"ralph.gates.guards.{folder}") for folder in ("integrity", "hygiene")]
    return tuple(
        import_module(f"{folder.__name__}.{one.name}")
        for folder in folders
        for one in iter_modules(folder.__path__)
    )


@cache
def all_kinds() -> dict[str, Kind]:
    return {name: kind for module in guard_modules() for name, kind in getattr(module, "KINDS", {}).items()}


@cache
def about_tests() -> frozenset[str]:
    """Kinds whose questions are about one test, or all of one file: a word for one of them is one for all."""
    return frozenset(
        name
        for name, kind in all_kinds().items()
        if kind.weight == "accuses or asks" and not name.startswith("canary.")  # that is about a gate
    )


def kind_of(finding: Finding) -> str:
    return finding.key.split(":", 1)[0]


def is_accusing(finding: Finding, *, otherwise: bool) -> bool:
    """`otherwise`: for a kind that is not listed here."""
    kind = all_kinds().get(kind_of(finding))
    if kind is None:
        return otherwise
    return kind.weight == "accuses" or (kind.weight == "accuses or asks" and not finding.asks)


def accuses(result: GuardResult) -> bool:
    """Is one of the findings an accusation? Kinds not listed here are what their guard says."""
    if not result.findings:
        return result.integrity
    return any(is_accusing(finding, otherwise=result.integrity) for finding in result.findings)


def with_way_out(finding: Finding) -> Finding:
    """The finding with what to do about it; a kind that always asks is marked as a question."""
    kind = all_kinds().get(kind_of(finding))
    if kind is None:
        return finding
    name, _, subject = finding.key.partition(":")
    way = f"{kind.way}; or answer BLOCKED with ALLOW: {name} {subject} because …"
    asks = kind.weight == "asks" or (finding.asks and kind.weight == "accuses or asks")
    return replace(finding, way=way, asks=asks)


def guard_result(
    guard: str, facts: GuardFacts, findings: Iterable[Finding], *, good: str, bad: str, blind: str = ""
) -> GuardResult:
    """A guard's result. `blind` says what it should have looked at and could not; one finding a key.

    Accusations stand first: what is shown may be cut.
    """
    each = {finding.key: finding for finding in findings}.values()
    unique = tuple(sorted(each, key=lambda finding: not is_accusing(finding, otherwise=True)))
    summary = f"{bad} ({len(unique)})" if unique else good
    hygiene = all(not kind.integrity for name, kind in all_kinds().items() if name.startswith(f"{guard}."))
    result = GuardResult(
        guard,
        facts.tree,
        applied=not blind,
        summary=f"{summary}; {blind}" if blind else summary,
        findings=unique,
        integrity=not hygiene,
    )
    return replace(result, integrity=accuses(result))
