"""The user's word on commands that a repository's backlog brings: shown once, approved by hash."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from ralph.app.backlog.criteria import commands_of
from ralph.app.backlog.desk import Desk, prd_of
from ralph.clock import SystemClock
from ralph.core.backlog.items import FeatureList
from ralph.core.backlog.prd import Prd
from ralph.shell.config import approvals
from ralph.shell.config.settings import Approval, AskedItem
from ralph.shell.state.directory import config_dir

PrdReader = Callable[[str], Prd | None]


def approval_of(desk: Desk, found: FeatureList, read: PrdReader | None = None) -> Approval | None:
    """What a list would have executed; None: no command. `read` finds PRDs that are not the work tree's."""
    asked: dict[str, str] = {}
    inside = desk.place.inside
    for item in found.items:
        if item.enabled and item.status != "CANCELLED":
            prd = prd_of(desk, item) if read is None else read(item.prd.file) if item.prd else None
            proofs, guards = commands_of(item, prd)
            for run in (*proofs.values(), *guards.values()):
                asked.setdefault(run, f"{inside}: {item.id}")
    for one in found.protected:
        for run in one.tests:
            asked.setdefault(run, f"{inside}: protected_files {one.path}")
    if not asked:
        return None
    words = "\0".join(("backlog", desk.place.top, *sorted(asked)))
    items = tuple(AskedItem("backlog", run, where) for run, where in asked.items())
    return Approval(sha256(words.encode("utf-8", "surrogatepass")).hexdigest(), desk.place.top, items)


def is_approved(desk: Desk, found: FeatureList, read: PrdReader | None = None) -> bool:
    needed = approval_of(desk, found, read)
    return needed is None or approvals.is_approved(config_dir(desk.env), needed.hash)


def approve_typed(desk: Desk, found: FeatureList) -> None:
    """What a user typed is approved, together with what was before."""
    needed = approval_of(desk, found)
    if needed is not None:
        now = SystemClock().now()
        approvals.remember(config_dir(desk.env), needed, now)
        approvals.approve(config_dir(desk.env), needed.hash, now)


def require_approval(
    desk: Desk, found: FeatureList, *, config: bool = True, read: PrdReader | None = None
) -> None:
    """Of the list's commands, and of what the project's `config` asks for: it may hold gates."""
    needed = approvals.approval_needed(desk.settings) if config else None
    needed = needed or (None if is_approved(desk, found, read) else approval_of(desk, found, read))
    if needed is not None:
        raise approvals.needs_approval_error(config_dir(desk.env), needed, SystemClock().now())
