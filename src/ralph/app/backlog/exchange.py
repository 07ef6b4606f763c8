"""Taking items from files of other tools, and giving them: with what was left out, named."""

from __future__ import annotations

from typing import Any

from ralph.app.backlog.change import current
from ralph.app.backlog.desk import Desk, add_items
from ralph.core.backlog.convert import ImportedItems, export_items, import_items
from ralph.core.backlog.graph import mermaid, svg
from ralph.core.backlog.prd import prd_schema
from ralph.core.backlog.read_list import list_schema
from ralph.errors import UserError

MAX_BYTES = 32 << 20


def import_file(desk: Desk, path: str) -> ImportedItems:
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(MAX_BYTES)
    except (OSError, UnicodeDecodeError) as trouble:
        why = (getattr(trouble, "strerror", None) or "it is not valid UTF-8").lower()
        step = "ralph backlog import --help"
        raise UserError(
            f"'{path[:200]}' cannot be read", code="E-BACKLOG-IMPORT", why=why, next=step
        ) from None
    taken = import_items(text, path, current(desk).by_id)
    if taken.items:
        add_items(desk, list(taken.items))
    return taken


def schema_of(what: str) -> dict[str, Any]:
    return prd_schema() if what == "prd" else list_schema()


def export_text(desk: Desk, form: str) -> str:
    items = desk.read().found.items
    pictures = {"mermaid": mermaid, "svg": svg}
    return pictures[form](items) if form in pictures else export_items(items, form)
