"""The backlog of a folder: found by its settings, opened, and changed by people and scripts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct

from ralph.clock import SystemClock
from ralph.core.backlog.changes import BacklogFact
from ralph.core.backlog.items import BacklogItem, FeatureList, Problem
from ralph.core.backlog.prd import Prd, link_problem
from ralph.core.backlog.select import Selection, select
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.backlog.place import BacklogPlace, find_place, prd_files, read_prd_file
from ralph.shell.backlog.store import OpenBacklog, change_backlog, hold, invalid_error, read_backlog
from ralph.shell.config import approvals
from ralph.shell.journal.selection import project_top
from ralph.shell.state.directory import config_dir, open_state, state_dir
from ralph.shell.state.locks import Lock

MAX_TEXT = 8000


class Desk(Struct, frozen=True, kw_only=True):
    """Where the backlog is, and by which settings."""

    place: BacklogPlace
    settings: config.Settings
    env: Mapping[str, str]

    def read(self) -> OpenBacklog:
        return read_backlog(self.place, self.env, SystemClock())

    def change(self, *, resets: str = "", create: bool = False) -> AbstractContextManager[OpenBacklog]:
        return change_backlog(self.place, self.env, SystemClock(), resets=resets, create=create)

    def hold_for_run(self) -> Lock:
        """The one runner of this backlog; a second one is refused at once."""
        root = open_state(state_dir(self.env), create=True).root
        return hold(root, self.place, SystemClock(), "run", seconds=0)


def open_desk(cwd: str, env: Mapping[str, str], harness_dir: str = "") -> Desk:
    top = project_top(cwd) or cwd
    user_dir = config_dir(env)
    settings = config.load(
        cwd=cwd, top=top, env=env, flags={}, user_dir=user_dir, trust=approvals.trust_check(user_dir)
    )
    own = settings.backlog
    place = find_place(cwd, harness_dir=harness_dir, file=own.file, prd=own.prd)
    return Desk(place=place, settings=settings, env=env)


def prd_of(desk: Desk, item: BacklogItem) -> Prd | None:
    return None if item.prd is None else read_prd_file(desk.place, item.prd.file)


def choose(desk: Desk, opened: OpenBacklog) -> Selection:
    """The eligible items; a list with critical errors is refused, all of them named."""
    if opened.found.critical:
        raise invalid_error(desk.place, opened.found)
    return select(opened.found, items_without_criterion(desk, opened.found))


def items_without_criterion(desk: Desk, found: FeatureList) -> frozenset[str]:
    """Items that would be worked on and that nothing could prove."""
    bare = [
        item
        for item in found.items
        if item.enabled
        and item.status == "FAILING"
        and not item.verification
        and not {"build_passes", "tests_pass"} & set(item.criteria)
    ]
    return frozenset(item.id for item in bare if (prd := prd_of(desk, item)) is None or not prd.commands)


def prd_problems(desk: Desk, found: FeatureList) -> list[Problem]:
    """PRDs that are missing, wrong or stale, and those that no item refers to."""
    problems: list[Problem] = []
    used: set[str] = set()
    for item in found.items:
        if item.prd is None:
            continue
        at = f"/{found.at}/{item.index}/prd_reference"
        used |= {item.prd.file, f"{item.prd.file}.json", f"{item.prd.file}.md"}
        prd = prd_of(desk, item)
        if prd is None:
            problems.append(
                Problem("CRITICAL", "prd_missing", f"{at}/file", f"there is no PRD '{item.prd.file}'")
            )
            continue
        problems += prd.problems
        stale = link_problem(prd, item.prd.version, item.prd.last_updated)
        if stale:
            problems.append(Problem("WARNING", "prd_stale", at, stale))
    for name in prd_files(desk.place):
        if name not in used:
            problems.append(Problem("WARNING", "prd_orphan", name, "no item refers to this PRD"))
    return problems


def iso_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(SystemClock().now()))


def add_items(desk: Desk, raws: list[dict[str, Any]]) -> list[str]:
    """Add whole items; each gets what an item always has."""
    with desk.change(create=True) as opened:
        known = set(opened.found.by_id)
        for raw in raws:
            if raw["id"] in known:
                raise UserError(
                    f"there is already an item '{raw['id']}'", code="E-BACKLOG-EXISTS",
                    next=f"ralph backlog edit {raw['id']}",
                )  # fmt: skip
            known.add(raw["id"])
        base: dict[str, Any] = {
            "status": "FAILING",
            "attempts": [],
            "override_reason": None,
            "created_at": iso_now(),
        }
        made = [{**raw, **{key: value for key, value in base.items() if key not in raw}} for raw in raws]
        opened.commit(BacklogFact(deed="added", added=tuple(made)))
    return [raw["id"] for raw in raws]


def next_id(found: FeatureList, kind: str) -> str:
    """The first free number of a kind: FEAT-001, FEAT-002, …"""
    taken = {one for one in found.by_id if one.startswith(f"{kind}-")}
    numbers = [int(one.rpartition("-")[2]) for one in taken if one.rpartition("-")[2].isdigit()]
    return f"{kind}-{max(numbers, default=0) + 1:03d}"


def clip(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} …"
