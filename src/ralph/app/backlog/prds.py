"""PRDs as people ask for them: a new one from the template, and each with its stories and items."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

from ralph.app.backlog.change import current
from ralph.app.backlog.desk import Desk, iso_time
from ralph.app.backlog.exchange import read_document
from ralph.core.backlog.prd import prd_names, read_prd
from ralph.core.backlog.stories import FoundStories, find_stories
from ralph.errors import UserError
from ralph.shell.backlog.place import prd_files, read_prd_file
from ralph.shell.plan.spec_files import write_beside

NAME, TITLE, _DAY = "FEAT-001", "Name the feature in a few words", "2026-01-01"


def prd_template(name: str = NAME, title: str = TITLE) -> str:
    text = files("ralph").joinpath("templates/prd.md").read_text("utf-8")
    return text.replace(NAME, name).replace(_DAY, iso_time()[:10]).replace(TITLE, title)


def create_prd(desk: Desk, name: str, title: str) -> str:
    """Write a new PRD where the backlog looks for them; its path inside the project."""
    text = prd_template(name, title)
    made = read_prd(text, f"{name}.md")
    if made.problems or (made.id, made.title) != (name, title):
        why = (
            made.problems[0].message if made.problems else "expected an id and a title on one line, unquoted"
        )
        words = f"this is no id or no title of a PRD: '{name[:60]}', '{title[:100]}'"
        raise UserError(words, code="E-BACKLOG-BAD-ID", why=why, next="ralph prd create --help")
    known = {prd["id"] for prd in show_prds(desk)}
    if name in known or any(os.path.lexists(os.path.join(desk.place.prds, one)) for one in prd_names(name)):
        words, step = f"there is already a PRD '{name}'", f"ralph prd status {name}"
        raise UserError(words, code="E-BACKLOG-EXISTS", next=step)
    folder = os.path.relpath(desk.place.prds, desk.place.top)
    return write_beside(desk.place.top, folder, name, ".md", text.encode())


def show_prds(desk: Desk, name: str = "") -> list[dict[str, Any]]:
    """Every PRD, or the one with this id or file name."""
    items, shown = current(desk).items, []
    for file in prd_files(desk.place):
        prd = read_prd_file(desk.place, file, desk.prds)
        if prd is None or (name and name not in (prd.id, *prd_names(file), os.path.splitext(file)[0])):
            continue
        linked = [one for one in items if one.prd and file in prd_names(one.prd.file)]
        shown.append(
            {
                "id": prd.id,
                "file": prd.path,
                "title": prd.title,
                "version": prd.version,
                "stories": convert_file(os.path.join(desk.place.prds, file), "replace").stories,
                "items": [{"id": one.id, "status": one.status, "title": one.title} for one in linked],
                "problems": [f"{one.pointer}: {one.message}" for one in prd.problems],
            }
        )
    if name and not shown:
        words = f"there is no PRD '{name[:60]}'"
        raise UserError(words, code="E-BACKLOG-ITEM-NOT-FOUND", next="ralph prd list")
    return shown


def convert_file(path: str, errors: str = "strict") -> FoundStories:
    return find_stories(read_document(path, "ralph prd convert --help", errors), path)
