"""What a person changes in a backlog: definitions, status, counters; and what is proposed to begin with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from ralph.app.backlog.approve import approve_typed, is_approved
from ralph.app.backlog.desk import Desk, add_items, next_id
from ralph.core.backlog.changes import BacklogFact, Deed, forbidden_move
from ralph.core.backlog.convert import new_item
from ralph.core.backlog.items import ID, FeatureList, Status
from ralph.core.specs.parse import SpecCriterion, parse_spec
from ralph.errors import NothingToDo, UserError
from ralph.shell.backlog.place import prd_files, read_prd_file
from ralph.shell.backlog.store import render_fact
from ralph.shell.plan.spec_files import read_specs


class Proposed(Struct, frozen=True):
    items: list[dict[str, Any]]
    notes: tuple[str, ...] = ()


def add_typed(desk: Desk, name: str, kind: str, fields: dict[str, Any]) -> str:
    """An item from flags. Enabled unless it says otherwise and there is something that verifies it."""
    found = current(desk)
    name = name or next_id(found, kind.upper())
    if not ID.fullmatch(name) or len(name) > 60:
        words, why = f"'{name[:60]}' is not an id", "expected one such as FEAT-001"
        raise UserError(words, code="E-BACKLOG-BAD-ID", why=why, next="ralph backlog add --help")
    flat = {key: value for key, value in fields.items() if "/" not in key}
    loop = {"enabled": bool(flat.get("verification")), "max_iterations": 5, "current_iteration": 0}
    loop |= {key.partition("/")[2]: value for key, value in fields.items() if "/" in key}
    _refuse_unknown(found, flat)
    with _approval_kept(desk):
        add_items(desk, [{"id": name, **flat, "status": "FAILING", "ralph_loop": loop}])
    return name


def _refuse_unknown(found: FeatureList, fields: dict[str, Any]) -> None:
    unknown = [one for one in fields.get("dependencies", ()) if one not in found.by_id]
    if unknown:
        words = f"there is no item '{unknown[0][:60]}' to wait for"
        raise UserError(words, code="E-BACKLOG-UNKNOWN-DEPENDENCY", next="ralph backlog list")


def current(desk: Desk) -> FeatureList:
    return desk.read().found if desk.place.exists else FeatureList()


@contextmanager
def _approval_kept(desk: Desk) -> Iterator[None]:
    """What was approved stays so: a person changes the list here."""
    known = is_approved(desk, current(desk))
    yield
    if known:
        approve_typed(desk, current(desk))


def edit_typed(desk: Desk, name: str, fields: dict[str, Any]) -> None:
    with _approval_kept(desk), desk.change() as opened:
        opened.item(name)
        _refuse_unknown(opened.found, fields)
        fact = BacklogFact(deed="edited", item=name, define=fields)
        made = render_fact(opened.file, fact).found  # what it would be, before anything is recorded
        new = [one for one in made.critical if one not in opened.found.critical]
        if new:
            words, step = f"this would break the backlog: {new[0].message}", f"ralph backlog show {name}"
            raise UserError(words, code="E-BACKLOG-INVALID", at=new[0].pointer, next=step)
        opened.commit(fact)


def set_status(desk: Desk, name: str, status: Status, reason: str, deed: Deed = "status") -> None:
    _refuse_empty(reason)
    with _approval_kept(desk), desk.change() as opened:
        if opened.state_of(name).status == status:
            raise forbidden_move(name, f"{status} already")
        opened.commit(BacklogFact(deed=deed, item=name, status=status, reason=reason))


def reset_item(desk: Desk, name: str, reason: str) -> None:
    _refuse_empty(reason)
    with desk.change(resets=name) as opened:
        old = opened.state_of(name).status
        if old not in ("FAILING", "BLOCKED"):
            raise forbidden_move(name, old)
        status: Status | None = "FAILING" if old == "BLOCKED" else None
        opened.commit(BacklogFact(deed="iteration", item=name, iteration=0, status=status, reason=reason))


def _refuse_empty(reason: str) -> None:
    if not reason.strip():
        words = "the reason is empty"
        raise UserError(words, code="E-BACKLOG-MISSING-OVERRIDE-REASON", next="ralph backlog --help")


def propose_items(desk: Desk) -> Proposed:
    """An item for each PRD and each spec that no item speaks of; a boot script that is there is named."""
    found = current(desk)
    linked = {item.prd.file for item in found.items if item.prd}
    items: dict[str, dict[str, Any]] = {}
    for name in prd_files(desk.place):
        prd = read_prd_file(desk.place, name, desk.prds)
        if prd and prd.id and name not in linked and prd.id not in found.by_id:
            link = {"file": name, "last_updated": prd.last_updated, "version": prd.version}
            made = new_item(prd.id, prd.title, accept=list(prd.acceptance), notes=prd.path)
            items.setdefault(prd.id, made | {"prd_reference": link})
    kept = " ".join(item.notes for item in found.items)
    number = int(next_id(found, "SPEC").rpartition("-")[2])
    for path, text in _spec_texts(desk).items():
        if path not in kept:
            spec, name = parse_spec(path, text), f"SPEC-{number:03d}"
            criteria = [_criterion_words(one) for one in spec.criteria]
            title = spec.topic.text if spec.topic else path
            items[name] = new_item(name, title, accept=criteria, notes=path)
            number += 1
    for raw in items.values():
        raw["ralph_loop"]["convergence_criteria"] = {"acceptance_met": True}
    boot = os.path.join(os.path.dirname(desk.place.file), "init.sh")
    notes: tuple[str, ...] = ()
    if os.path.exists(boot) and not desk.settings.backlog.boot:
        shown = os.path.relpath(boot, desk.place.top)
        notes = (f'{shown} can be the boot check: put [backlog] boot = "sh {shown}" into ralph.toml',)
    return Proposed(list(items.values()), notes)


def _criterion_words(one: SpecCriterion) -> str:
    parts = (("Given", one.given), ("when", one.when), ("then", one.then))
    clauses = ", ".join(f"{word} {' and '.join(said)}" for word, said in parts if said)
    return ": ".join(filter(None, (one.id, one.title, clauses)))


def _spec_texts(desk: Desk) -> dict[str, str]:
    try:
        return read_specs(desk.place.top).texts
    except NothingToDo:
        return {}


def add_proposed(desk: Desk, items: list[dict[str, Any]]) -> None:
    """The list, made if it is missing, with these items added."""
    if items:
        add_items(desk, items)
    else:
        with desk.change(create=True):
            pass
