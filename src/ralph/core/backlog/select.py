"""Which item is next, and why the others are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from ralph.core.backlog.items import BacklogItem, FeatureList

DONE = frozenset({"PASSING", "CANCELLED"})


class Passed(Struct, frozen=True):
    """An item that is not next, and the reason."""

    id: str
    reason: str


class Selection(Struct, frozen=True):
    """The eligible items in their order, and why each of the others is passed over."""

    eligible: tuple[BacklogItem, ...]
    passed_over: tuple[Passed, ...] = ()

    @property
    def first(self) -> BacklogItem | None:
        return self.eligible[0] if self.eligible else None


def select(found: FeatureList, no_criterion: Collection[str] = ()) -> Selection:
    """Enabled, FAILING, dependencies PASSING or CANCELLED, under its cap; by priority, then id.

    `no_criterion` are items whose PRD was looked up and gives no command either."""
    eligible: list[BacklogItem] = []
    passed: list[Passed] = []
    for item in found.items:
        why = why_not(item, found.by_id, no_criterion)
        if why:
            passed.append(Passed(item.id, why))
        else:
            eligible.append(item)
    return Selection(tuple(sorted(eligible, key=lambda one: one.order)), tuple(passed))


def why_not(item: BacklogItem, by_id: Mapping[str, BacklogItem], no_criterion: Collection[str] = ()) -> str:
    """Why this item is not worked on now; "" = it is eligible."""
    if item.status == "BLOCKED":
        return f"BLOCKED: {item.override or 'no reason given'}"
    if item.status != "FAILING":
        return item.status
    if not item.enabled:
        return "not enabled: ralph_loop.enabled is not true"
    waits = waiting_for(item, by_id)
    if waits:
        return f"waits for {', '.join(waits)}"
    if item.iteration >= item.max_attempts:
        return f"{item.iteration} of {item.max_attempts} attempts used: needs a reset"
    if item.id in no_criterion:
        return "needs a criterion: no verification command, no convergence criterion, none in its PRD"
    return ""


def waiting_for(item: BacklogItem, by_id: Mapping[str, BacklogItem]) -> list[str]:
    return [name for name in item.dependencies if name not in by_id or by_id[name].status not in DONE]


def nothing_words(found: FeatureList) -> str:
    """S3's reason for an empty selection."""
    if not found.items:
        return "The backlog is empty"
    left = sum(item.status in ("FAILING", "BLOCKED") for item in found.items)
    return f"No eligible items: {left} not passing" if left else "Backlog complete"
