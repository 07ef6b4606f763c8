"""Beginning an attempt: the item's words and gates become the order of a loop, recorded before it is made."""

from __future__ import annotations

import secrets
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.backlog.criteria import ItemGates
from ralph.app.backlog.desk import Desk, prd_of
from ralph.core.backlog.changes import BacklogFact
from ralph.core.backlog.items import BacklogItem, FeatureList
from ralph.core.backlog.task_text import item_task
from ralph.core.criterion.named_tools import named_class

if TYPE_CHECKING:  # its rooms are many: imported where a loop is begun
    from ralph.app.start import Prepared, Started, StartRequest


class BegunAttempt(Struct, frozen=True):
    item: BacklogItem
    gates: ItemGates
    started: Started
    prepared: Prepared


def prepare_attempt(
    desk: Desk, item: BacklogItem, gates: ItemGates, found: FeatureList, typed: StartRequest, base: str
) -> Prepared:
    """The order of a loop on this item; nothing is written."""
    parts = [_part_text(name) for name in item.parts]
    nonce = secrets.token_hex(8)
    task = item_task(item, prd_of(desk, item), protected=found.protected, parts=parts, nonce=nonce)
    most = typed.flags.get("--max-iterations")
    slug = "".join(char if char.isalnum() else "-" for char in item.id.lower()).strip("-")[:30]
    request = replace(
        typed,
        task=task,
        task_class=_class_of(item, gates),
        cwd=desk.place.top,
        checks=tuple(f"{name}={run}" for name, run in gates.proofs.items()),
        inferred=gates.others,
        base=base,
        flags=typed.flags | {"--max-iterations": most or str(desk.settings.backlog.iterations)},
        item=item.id,
        protect=desk.place.protect,
        loop_id=f"{slug}-{len(item.attempts) + 1}-{secrets.token_hex(4)}",
    )
    from ralph.app.start import prepare_start

    return prepare_start(request, desk.env)


def begin_attempt(
    desk: Desk, item: BacklogItem, gates: ItemGates, prepared: Prepared, *, queue: bool
) -> BegunAttempt:
    from ralph.app.start import start

    desk.commit(BacklogFact(deed="started", item=item.id, by="ralph", loop=prepared.order.loop))
    return BegunAttempt(item, gates, start(prepared, desk.env, queue=queue), prepared)


def _class_of(item: BacklogItem, gates: ItemGates) -> str:
    """Commands of its own are the whole item: green is done. Without them something new must be shown."""
    if gates.proofs:
        return "custom"
    named = named_class(item.title)
    return "implement-feature" if named == "regression" else named


def _part_text(name: str) -> str:
    """A section that an item adds to its prompt; these ship with Ralph."""
    return (files("ralph") / "templates" / "parts" / f"{name}.md").read_text(encoding="utf-8")
