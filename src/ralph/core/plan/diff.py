"""What changed between two plans, item by item, as `ralph plan --refresh` shows it.

Items are the same when their ids are; notes and order do not count. What was verified stays verified only
where the new plan still has the item and it means the same: `carried` says which states may be taken over.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.plan.items import Item, Plan

_MEANING = ("title", "serves", "after", "priority", "size", "optional", "human", "chore", "no_proof")


class Changed(Struct, frozen=True):
    old: Item
    new: Item
    fields: tuple[str, ...]


class PlanDiff(Struct, frozen=True):
    added: tuple[Item, ...] = ()
    removed: tuple[Item, ...] = ()
    changed: tuple[Changed, ...] = ()
    missing_added: tuple[str, ...] = ()
    missing_removed: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.added or self.removed or self.changed or self.missing_added or self.missing_removed)


def diff_plans(old: Plan, new: Plan) -> PlanDiff:
    before = {item.id: item for item in old.items}
    after = {item.id: item for item in new.items}
    changed = []
    for item in after.values():
        was = before.get(item.id)
        if was is not None:
            fields = tuple(name for name in (*_MEANING, "state") if getattr(was, name) != getattr(item, name))
            if fields:
                changed.append(Changed(was, item, fields))
    then, now = {one.name: 0 for one in old.missing}, {one.name: 0 for one in new.missing}
    return PlanDiff(
        added=tuple(item for item in after.values() if item.id not in before),
        removed=tuple(item for item in before.values() if item.id not in after),
        changed=tuple(changed),
        missing_added=tuple(name for name in now if name not in then),
        missing_removed=tuple(name for name in then if name not in now),
    )


def diff_lines(diff: PlanDiff) -> tuple[str, ...]:
    """One line a change: + added, - removed, ~ changed."""
    from ralph.core.plan.layout import tags_of  # only for people

    lines = [f"+ {item.id}: {item.title} ({tags_of(item)})" for item in diff.added]
    lines += [f"- {item.id}: {item.title}" for item in diff.removed]
    for one in diff.changed:
        told = "; ".join(
            f"{name} {_show_field(one.old, name)} -> {_show_field(one.new, name)}" for name in one.fields
        )
        lines.append(f"~ {one.new.id}: {told}")
    lines += [f"+ missing spec: {name}" for name in diff.missing_added]
    lines += [f"- missing spec: {name}" for name in diff.missing_removed]
    return tuple(lines)


def _show_field(item: Item, name: str) -> str:
    value = getattr(item, name)
    if name == "priority":
        return f"P{value}"
    if isinstance(value, tuple):
        return " ".join(value) or "nothing"
    return f"'{value}'" if name in ("title", "no_proof") and value else str(value) or "none"


def carry_states(old: Plan, new: Plan) -> Plan:
    """The new plan with the states that Ralph gave to items of the old one.

    A box that only the new plan ticks is opened: whoever wrote it is not the one who verifies. An item
    whose meaning changed (its title, or what it serves) is open again too.
    """
    before = {item.id: item for item in old.items}
    items = []
    for item in new.items:
        was = before.get(item.id)
        same = was is not None and (was.title, was.serves) == (item.title, item.serves)
        items.append(replace(item, state=was.state if was is not None and same else "open"))
    return replace(new, items=tuple(items))
