"""Which item is next, and why the others are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.core.backlog.items import BacklogItem, FeatureList

NO_CRITERION = "needs a criterion: no verification command, no convergence criterion, none in its PRD"
DONE = frozenset({"PASSING", "CANCELLED"})


class Selection(Struct, frozen=True):
    """The eligible items in their order; when all were asked for, also why each other one is passed over."""

    eligible: tuple[BacklogItem, ...]
    passed_over: dict[str, str] = {}

    @property
    def first(self) -> BacklogItem | None:
        return self.eligible[0] if self.eligible else None


def select(
    found: FeatureList, lacks: Callable[[BacklogItem], bool] = lambda _: False, most: int = 0
) -> Selection:
    """Enabled, FAILING, dependencies PASSING or CANCELLED, under its cap; by priority, then id.

    `lacks` tells whether nothing could prove an item; with `most` it is asked until so many are eligible."""
    passed: dict[str, str] = {}
    eligible: list[BacklogItem] = []
    open_ones = (one for one in found.items if one.status == "FAILING" and one.loop.enabled)
    for item in sorted(open_ones if most else found.items, key=lambda one: one.order):
        if most and len(eligible) == most:
            break
        if why := why_not(item, found.by_id) or (NO_CRITERION if lacks(item) else ""):
            passed[item.id] = why
        else:
            eligible.append(item)
    return Selection(tuple(eligible), passed)


def why_not(item: BacklogItem, by_id: Mapping[str, BacklogItem]) -> str:
    """Why this item is not worked on now; "" = it is eligible, if something can prove it."""
    if item.status == "BLOCKED":
        return f"BLOCKED: {item.override or 'no reason given'}"
    if item.status != "FAILING":
        return item.status
    if not item.enabled:
        check = "" if item.verification else " --verify CMD"
        return f"not enabled: ralph backlog edit {item.id}{check} --enable"
    if item.dependencies and (waits := waiting_for(item, by_id)):
        return f"waits for {', '.join(waits)}"
    if item.iteration >= item.max_attempts:
        return f"{item.iteration} of {item.max_attempts} attempts used: needs a reset"
    return f"waits for a person: {item.question}" if item.question else ""


def waiting_for(item: BacklogItem, by_id: Mapping[str, BacklogItem]) -> list[str]:
    return [name for name in item.dependencies if name not in by_id or by_id[name].status not in DONE]


def nothing_words(found: FeatureList) -> str:
    """S3's reason for an empty selection."""
    if not found.items:
        return "The backlog is empty"
    left = sum(item.status in ("FAILING", "BLOCKED") for item in found.items)
    return f"No eligible items: {left} not passing" if left else "Backlog complete"
