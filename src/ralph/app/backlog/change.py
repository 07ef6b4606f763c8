"""What a person changes in a backlog: definitions, status, counters; and what is proposed to begin with."""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct

from ralph.app.backlog.approve import approve_typed, is_approved
from ralph.app.backlog.desk import Desk, add_items, next_id
from ralph.core.backlog.changes import BacklogFact, Deed
from ralph.core.backlog.items import ID, FeatureList, Status
from ralph.core.backlog.read_list import read_list
from ralph.core.specs.parse import parse_spec
from ralph.errors import NothingToDo, UserError
from ralph.shell.backlog.place import prd_files, read_prd_file
from ralph.shell.backlog.store import read_file
from ralph.shell.plan.spec_files import read_specs


class Proposed(Struct, frozen=True):
    items: list[dict[str, Any]]
    notes: tuple[str, ...] = ()


def add_typed(desk: Desk, name: str, kind: str, fields: dict[str, Any]) -> str:
    """An item from flags. Enabled unless it says otherwise and there is something that verifies it."""
    found = current(desk)
    known = is_approved(desk, found)
    name = name or next_id(found, kind.upper())
    if not ID.fullmatch(name):
        raise UserError(
            f"'{name[:60]}' is not an id",
            code="E-BACKLOG-BAD-ID",
            why="expected one such as FEAT-001",
            next="ralph backlog add --help",
        )
    flat = {key: value for key, value in fields.items() if "/" not in key}
    loop = {"enabled": bool(flat.get("verification")), "max_iterations": 5, "current_iteration": 0}
    loop |= {key.partition("/")[2]: value for key, value in fields.items() if "/" in key}
    raw = {"id": name, **flat, "status": "FAILING", "ralph_loop": loop}
    _refuse_invalid(found, raw)
    add_items(desk, [raw])
    if known:
        approve_typed(desk, current(desk))
    return name


def _refuse_invalid(found: FeatureList, raw: dict[str, Any]) -> None:
    unknown = [one for one in raw.get("dependencies", ()) if one not in found.by_id]
    if unknown:
        raise UserError(
            f"there is no item '{unknown[0][:60]}' to wait for", code="E-BACKLOG-UNKNOWN-DEPENDENCY",
            next="ralph backlog list",
        )  # fmt: skip


def current(desk: Desk) -> FeatureList:
    return desk.read().found if desk.place.exists else FeatureList()


def edit_typed(desk: Desk, name: str, fields: dict[str, Any]) -> None:
    known = is_approved(desk, current(desk))
    with desk.change() as opened:
        _refuse_invalid(opened.found, fields)
        before = set(opened.found.critical)
        fact = BacklogFact(deed="edited", item=name, define=fields)
        from ralph.shell.backlog.store import render_fact  # what it would make, before anything is recorded

        opened.item(name)
        new = [
            one
            for one in read_list(render_fact(opened.text, opened.found, fact, opened.state_of(name))).critical
            if one not in before
        ]
        if new:
            raise UserError(
                f"this would break the backlog: {new[0].message}",
                code="E-BACKLOG-INVALID",
                at=new[0].pointer,
                next=f"ralph backlog show {name}",
            )
        opened.commit(fact)
    if known:
        approve_typed(desk, current(desk))


def set_status(desk: Desk, name: str, status: Status, reason: str, deed: Deed = "status") -> None:
    _refuse_empty(reason)
    with desk.change() as opened:
        if opened.state_of(opened.item(name).id).status == status:
            raise UserError(
                f"'{name}' is {status} already",
                code="E-BACKLOG-FORBIDDEN-TRANSITION",
                next=f"ralph backlog show {name}",
            )
        opened.commit(BacklogFact(deed=deed, item=name, status=status, reason=reason))


def override_item(desk: Desk, name: str, reason: str) -> None:
    set_status(desk, name, "PASSING", reason, "override")


def reset_item(desk: Desk, name: str, reason: str) -> None:
    _refuse_empty(reason)
    with desk.change(resets=name) as opened:
        old = opened.state_of(opened.item(name).id)
        if old.status not in ("FAILING", "BLOCKED"):
            raise UserError(
                f"'{name}' is {old.status}",
                code="E-BACKLOG-FORBIDDEN-TRANSITION",
                next=f"ralph backlog show {name}",
            )
        status: Status | None = "FAILING" if old.status == "BLOCKED" else None
        opened.commit(BacklogFact(deed="iteration", item=name, iteration=0, status=status, reason=reason))


def _refuse_empty(reason: str) -> None:
    if not reason.strip():
        raise UserError(
            "the reason is empty", code="E-BACKLOG-MISSING-OVERRIDE-REASON", next="ralph backlog --help"
        )


def propose_items(desk: Desk) -> Proposed:
    """An item for each PRD and each spec that no item speaks of; a boot script that is there is named."""
    found = current(desk)
    linked = {item.prd.file for item in found.items if item.prd}
    taken = set(found.by_id)
    items: list[dict[str, Any]] = []
    for name in prd_files(desk.place):
        prd = read_prd_file(desk.place, name)
        if prd is None or name in linked or prd.id in taken or not prd.id:
            continue
        taken.add(prd.id)
        link = {"file": name, "last_updated": prd.last_updated, "version": prd.version}
        items.append(
            _proposal(prd.id, prd.title, list(prd.acceptance), f"{prd.path}") | {"prd_reference": link}
        )
    for path, text in _spec_texts(desk).items():
        spec = parse_spec(path, text)
        kept = " ".join(item.notes for item in found.items)
        if path in kept:
            continue
        number = (
            1
            + sum(one["id"].startswith("SPEC-") for one in items)
            + sum(one.startswith("SPEC-") for one in found.by_id)
        )
        criteria = [f"{one.id}: {one.title}" for one in spec.criteria]
        items.append(_proposal(f"SPEC-{number:03d}", spec.topic.text if spec.topic else path, criteria, path))
    boot = os.path.join(os.path.dirname(desk.place.file), "init.sh")
    notes: tuple[str, ...] = ()
    if os.path.exists(boot) and not desk.settings.backlog.boot:
        shown = os.path.relpath(boot, desk.place.top)
        notes = (f'{shown} can be the boot check: put [backlog] boot = "sh {shown}" into ralph.toml',)
    return Proposed(items, notes)


def _spec_texts(desk: Desk) -> dict[str, str]:
    try:
        return read_specs(desk.place.top).texts
    except NothingToDo:
        return {}


def _proposal(name: str, title: str, criteria: list[str], origin: str) -> dict[str, Any]:
    loop = {
        "enabled": False,
        "max_iterations": 5,
        "current_iteration": 0,
        "convergence_criteria": {"acceptance_met": True},
    }
    return {
        "id": name, "title": title, "acceptance_criteria": criteria, "verification": [], "status": "FAILING",
        "dependencies": [], "ralph_loop": loop, "notes": origin,
    }  # fmt: skip


def add_proposed(desk: Desk, items: list[dict[str, Any]]) -> None:
    """The list, made if it is missing, with these items added."""
    if items:
        add_items(desk, items)
    elif not desk.place.exists or not read_file(desk.place.file).strip():
        with desk.change(create=True):
            pass
