"""Guards: checks on how a result came about. One file each, one row each in REGISTRY.

A guard is `check(facts: Facts) -> GuardResult`: it looks at readings, changes and file contents and
spawns nothing. Integrity guards accuse (`integrity=True`), hygiene guards only say not yet. To add
one: write its file with `NAME` and `check`, give its findings keys "<guard>.<kind>:<what>", add the row
here and its kinds to `kinds`. A guard that needs another gate call asks for it by a request as
`overlay_request` does, and finds the answer in Facts.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ralph.core.model import GuardResult
from ralph.gates.guards import (
    assertions,
    base_tests,
    caches,
    dependencies,
    environment,
    inventory,
    junk,
    pinned,
    protected,
    secrets,
    stubs,
    suppressions,
)
from ralph.gates.guards.facts import Change, Executed, Facts, Overlay
from ralph.gates.guards.kinds import KINDS, accuses
from ralph.gates.guards.overlay import overlay_request

__all__ = ["KINDS", "REGISTRY", "Change", "Executed", "Facts", "Overlay", "inspect", "overlay_request"]

REGISTRY: dict[str, Callable[[Facts], GuardResult]] = {
    inventory.NAME: inventory.check,
    base_tests.NAME: base_tests.check,
    protected.NAME: protected.check,
    pinned.NAME: pinned.check,
    assertions.NAME: assertions.check,
    suppressions.NAME: suppressions.check,
    environment.NAME: environment.check,
    caches.NAME: caches.check,
    dependencies.NAME: dependencies.check,
    secrets.NAME: secrets.check,
    stubs.NAME: stubs.check,
    junk.NAME: junk.check,
}


def inspect(facts: Facts) -> tuple[GuardResult, ...]:
    """Every guard's result for one tree, with the user's waivers applied."""
    return tuple(_waive(check(facts), facts.waivers) for check in REGISTRY.values())


def _waive(result: GuardResult, waivers: dict[str, str]) -> GuardResult:
    """Waived findings no longer block; they stay in the summary with the user's reason."""
    kept, waived = [], []
    for finding in result.findings:
        # By its whole key, or by its kind: "inventory.deleted".
        reason = waivers.get(finding.key, waivers.get(finding.key.split(":", 1)[0]))
        if reason is None:
            kept.append(finding)
        else:
            waived.append(f"{finding.key} ({reason or 'no reason given'})")
    if not waived:
        return result
    left = replace(result, findings=tuple(kept), summary=f"{result.summary}; waived: {', '.join(waived)}")
    return replace(left, integrity=accuses(left))
