"""Taking items from files of other tools, and giving them: with what was left out, named."""

from __future__ import annotations

from ralph.app.backlog.change import current
from ralph.app.backlog.desk import Desk, add_items
from ralph.core.backlog.convert import ImportedItems, export_items, import_items
from ralph.core.backlog.graph import mermaid, svg
from ralph.errors import UserError

MAX_BYTES = 32 << 20


def read_document(path: str, step: str = "ralph backlog import --help", errors: str = "strict") -> str:
    try:
        with open(path, encoding="utf-8-sig", errors=errors) as file:
            return file.read(MAX_BYTES)
    except (OSError, UnicodeDecodeError) as trouble:
        why = (getattr(trouble, "strerror", None) or "it is not valid UTF-8").lower()
        what = f"'{path[:200]}' cannot be read"
        raise UserError(what, code="E-BACKLOG-IMPORT", why=why, next=step) from None


def import_file(desk: Desk, path: str) -> ImportedItems:
    taken = import_items(read_document(path), path, current(desk).by_id)
    if taken.items:
        add_items(desk, list(taken.items))
    return taken


def export_text(desk: Desk, form: str) -> str:
    items = desk.read().found.items
    pictures = {"mermaid": mermaid, "svg": svg}
    return pictures[form](items) if form in pictures else export_items(items, form)
