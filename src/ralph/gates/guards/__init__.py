"""Guards: checks on how a result came about. One file each.

A guard is a module of `integrity` (it accuses) or `hygiene` (it only says not yet) with `NAME`, `KINDS` and
`check(facts: GuardFacts) -> GuardResult`: it looks at readings, changes and file contents and spawns nothing.
Its findings have keys "<guard>.<kind>:<what>", and `KINDS` says what each kind means. A guard that needs
another gate call asks for it by a request as `overlay_request` does, finds the answer in the facts and says
`CALLED = True`; the others look at trees and readings that are there anyway, so they come first.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.text.waiver_name import waiver_name
from ralph.gates.guards._base.facts import (
    Asked,
    BreakSeen,
    Broken,
    Change,
    GuardFacts,
    LikeSeen,
    Tried,
)
from ralph.gates.guards._base.kinds import (
    about_tests,
    accuses,
    all_kinds,
    guard_modules,
    is_accusing,
    kind_of,
    with_way_out,
)
from ralph.gates.guards._base.test_files import files_of_tests
from ralph.gates.guards._calls.again import turned_green
from ralph.gates.guards._files.overlay import overlay_request
from ralph.gates.guards._watch.attribution import attribution_request, bent_files, changed_gate_files
from ralph.gates.guards.hygiene.altered import altered_request
from ralph.gates.guards.hygiene.diff_coverage import watch_request
from ralph.gates.guards.hygiene.scope import scope_request
from ralph.gates.guards.integrity.repeat import is_repeated
from ralph.gates.guards.integrity.sabotage import (
    Break,
    Sabotage,
    asked_for_callers,
    break_request,
    first_breaks,
    known_at_base,
    next_break,
    sabotage_request,
    waits_for_all,
)
from ralph.gates.guards.integrity.witness import (
    WitnessRequest,
    needs_witness,
    source_changes,
    witness_request,
    witnesses,
)

__all__ = [
    "CALLED",
    "KINDS",
    "READ",
    "REGISTRY",
    "Asked",
    "Break",
    "BreakSeen",
    "Broken",
    "Change",
    "GuardFacts",
    "LikeSeen",
    "Sabotage",
    "Tried",
    "WitnessRequest",
    "altered_request",
    "asked_for_callers",
    "attribution_request",
    "bent_files",
    "break_request",
    "changed_gate_files",
    "files_of_tests",
    "first_breaks",
    "inspect",
    "is_repeated",
    "known_at_base",
    "needs_witness",
    "next_break",
    "overlay_request",
    "sabotage_request",
    "scope_request",
    "source_changes",
    "turned_green",
    "waits_for_all",
    "watch_request",
    "witness_request",
    "witnesses",
]

_GONE = frozenset(("inventory.deleted", "inventory.skipped"))
Check = Callable[[GuardFacts], GuardResult]
KINDS = all_kinds()
# The order in which they are told; one that is not named here comes after them.
_ORDER = (
    *("protected", "suppressions", "environment", "dependencies", "secrets"),
    *("stubs", "junk", "leftovers", "sealed_tests", "substance", "inventory", "base_tests", "repeat"),
    *("canary", "altered", "witness", "sabotage", "scope", "criteria", "diff_coverage"),
)


def _checks(*, called: bool) -> dict[str, Check]:
    found = {one.NAME: one.check for one in guard_modules() if getattr(one, "CALLED", False) is called}
    return {name: found[name] for name in (*_ORDER, *found) if name in found}


READ = _checks(called=False)
CALLED = _checks(called=True)
REGISTRY: dict[str, Check] = {**READ, **CALLED}


def inspect(facts: GuardFacts, checks: dict[str, Check] = REGISTRY) -> tuple[GuardResult, ...]:
    """These guards' results for one tree, with the user's waivers applied."""
    return tuple(_waive(_name_undone(check(facts), facts), facts) for check in checks.values())


def _name_undone(result: GuardResult, facts: GuardFacts) -> GuardResult:
    """What did not fit into the budget was not applied: no grade may count on it."""
    undone = facts.tried.undone.get(result.guard)
    if not undone:
        return result
    return replace(result, applied=False, summary=f"{result.summary}; not done: {'; '.join(undone)}")


def _waive(result: GuardResult, facts: GuardFacts) -> GuardResult:
    """Waived findings no longer block; they stay in the summary with the user's reason."""
    kept, waived = [], []
    for finding in map(with_way_out, result.findings):
        reason = _reason(finding, facts.waivers)
        if reason is None and not is_accusing(finding, otherwise=result.integrity):
            reason = _reason(finding, facts.granted, apart=_GONE)
        if reason is None:
            kept.append(finding)
        else:
            waived.append(f"{finding.key} ({reason or 'no reason given'})")
    left = replace(result, findings=tuple(kept))
    if waived:
        left = replace(left, summary=f"{result.summary}; waived: {', '.join(waived)}")
    return replace(left, integrity=accuses(left)) if result.findings else result


def _reason(finding: Finding, waivers: dict[str, str], apart: frozenset[str] = frozenset()) -> str | None:
    """By its whole key, or by its kind; a question about a test also by any other one about that test.

    `apart`: kinds that only their own name settles, because nobody has seen them yet.
    """
    spoken = {waiver_name(name): reason for name, reason in waivers.items()}
    for name in (finding.key, kind_of(finding)):
        if (name := waiver_name(name)) in spoken:
            return spoken[name]
    if not finding.asks or kind_of(finding) not in about_tests() - apart:
        return None
    subject = _subject(waiver_name(finding.key))
    return next(
        (
            reason
            for key, reason in spoken.items()
            if key.partition(":")[0] in about_tests()
            and (own := _subject(key))
            and (own in (subject, finding.path) or subject.startswith((f"{own}::", f"{own} > ")))
        ),
        None,
    )


def _subject(key: str) -> str:
    """The test that a key is about, as all guards would write it: without class dots and parameters."""
    rest = key.partition(":")[2]
    if "::" not in rest:
        return rest  # titles of JavaScript: brackets and dots are words in them
    path, colons, name = rest.partition("[")[0].partition("::")
    return path + colons + name.replace(".", "::")
