"""Guards: checks on how a result came about. One file each, one row each in REGISTRY.

A guard is `check(facts: Facts) -> GuardResult`: it looks at readings, changes and file contents and
spawns nothing. Integrity guards accuse (`integrity=True`), hygiene guards only say not yet. To add
one (assertion diff, suppressions, canary, N-fold, runner integrity, hygiene): write its file with
`NAME` and `check`, give its findings keys "<guard>.<kind>:<what>", add the row. A guard that needs
another gate call asks for it by a request as `overlay_request` does, and finds the answer in Facts.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ralph.core.model import GuardResult
from ralph.gates.guards import base_tests, inventory, pinned, protected
from ralph.gates.guards.facts import Change, Executed, Facts, Overlay
from ralph.gates.guards.overlay import overlay_request

__all__ = ["REGISTRY", "Change", "Executed", "Facts", "Overlay", "inspect", "overlay_request"]

REGISTRY: dict[str, Callable[[Facts], GuardResult]] = {
    inventory.NAME: inventory.check,
    base_tests.NAME: base_tests.check,
    protected.NAME: protected.check,
    pinned.NAME: pinned.check,
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
    return replace(result, findings=tuple(kept), summary=f"{result.summary}; waived: {', '.join(waived)}")
