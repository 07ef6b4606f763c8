"""The backlog of a folder: found by its settings, opened, and changed by people and scripts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct, field

from ralph.clock import SystemClock
from ralph.core.backlog.changes import BacklogFact
from ralph.core.backlog.items import BacklogItem, FeatureList
from ralph.core.backlog.prd import Prd
from ralph.core.backlog.select import Selection, select
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.backlog.place import BacklogPlace, KnownPrds, find_place, read_prd_file
from ralph.shell.backlog.store import (
    Memory,
    OpenBacklog,
    change_backlog,
    hold,
    invalid_error,
    lock_path,
    read_backlog,
)
from ralph.shell.config import approvals
from ralph.shell.journal.selection import project_top
from ralph.shell.state.directory import config_dir, open_state, state_dir
from ralph.shell.state.locks import Lock, holder

MAX_TEXT = 8000


class Desk(Struct, frozen=True, kw_only=True):
    """Where the backlog is, and by which settings."""

    place: BacklogPlace
    settings: config.Settings
    env: Mapping[str, str]
    memory: Memory = field(default_factory=dict)
    prds: KnownPrds = field(default_factory=dict)

    def read(self) -> OpenBacklog:
        return read_backlog(self.place, self.env, SystemClock(), self.memory)

    def change(self, *, resets: str = "", create: bool = False) -> AbstractContextManager[OpenBacklog]:
        return change_backlog(
            self.place, self.env, SystemClock(), resets=resets, create=create, memory=self.memory
        )

    def commit(self, fact: BacklogFact) -> None:
        with self.change() as opened:
            opened.commit(fact)

    @property
    def root(self) -> str:
        return open_state(state_dir(self.env), create=True).root

    def pid_at_work(self) -> int:
        """The process that works through this backlog; 0 = none."""
        root = open_state(state_dir(self.env), create=False).root
        found = holder(lock_path(root, self.place, "run"))
        return found.pid if found else 0

    def hold_for_run(self) -> Lock:
        """The one runner of this backlog; a second one is refused at once."""
        return hold(self.root, self.place, SystemClock(), "run", seconds=0)


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
    return None if item.prd is None else read_prd_file(desk.place, item.prd.file, desk.prds)


def choose(desk: Desk, opened: OpenBacklog, most: int = 0) -> Selection:
    """The eligible items, at least so many; a list with critical errors is refused, all of them named."""
    if opened.found.critical:
        raise invalid_error(desk.place, opened.found)
    return select(opened.found, lambda item: lacks_criterion(desk, item), most)


def lacks_criterion(desk: Desk, item: BacklogItem) -> bool:
    """Nothing could prove it."""
    if item.verification or {"build_passes", "tests_pass"} & {*item.criteria}:
        return False
    prd = prd_of(desk, item)
    return prd is None or not prd.commands


def iso_time(seconds: float | None = None) -> str:
    return time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(SystemClock().now() if seconds is None else seconds)
    )


def add_items(desk: Desk, raws: list[dict[str, Any]]) -> None:
    """Add whole items; each gets what an item always has."""
    with desk.change(create=True) as opened:
        known = set(opened.found.by_id)
        for name in (raw["id"] for raw in raws):
            if name in known:
                words, step = f"there is already an item '{name}'", f"ralph backlog show {name}"
                raise UserError(words, code="E-BACKLOG-EXISTS", next=step)
            known.add(name)
        usual: dict[str, Any] = {"status": "FAILING", "attempts": [], "override_reason": None}
        usual["created_at"] = iso_time()
        made = tuple(raw | {key: usual[key] for key in usual if key not in raw} for raw in raws)
        opened.commit(BacklogFact(deed="added", added=made))


def next_id(found: FeatureList, kind: str) -> str:
    """The first free number of a kind: FEAT-001, FEAT-002, …"""
    ends = [one.rpartition("-")[2] for one in found.by_id if one.startswith(f"{kind}-")]
    return f"{kind}-{max((int(end) for end in ends if end.isdigit()), default=0) + 1:03d}"


def clip(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} …"
