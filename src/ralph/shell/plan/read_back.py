"""What an agent left in the plan's file. Work that it found is taken over, its ticks are not."""

from __future__ import annotations

import os
import stat

from msgspec.structs import replace

from ralph.core.decide.plan_facts import NOTHING_LEFT, leaves_nothing
from ralph.core.model.events import PlanRead
from ralph.core.model.loop import Loop
from ralph.core.model.plan.board import state_of
from ralph.core.model.plan.items import NAME
from ralph.core.model.plan.plan_rules import is_valid
from ralph.core.model.verdict import Finding
from ralph.core.plan.file import check_file, parse_plan
from ralph.core.text.clean import clean
from ralph.shell.git.snapshot import Snapshot
from ralph.shell.git.store import Store
from ralph.shell.git.trees import read_blob
from ralph.shell.plan.rendered import tree_code_digest

MAX_BYTES = 4 << 20  # as a fact it may have twice as many bytes, and must fit into the journal
MAX_ITEMS, MAX_LINES = 20_000, 100_000  # items, and lines of all kinds
MAX_FINDINGS = 20  # findings kept of a plan that cannot be used
MAX_SHOWN = 20


def is_large(data: bytes) -> bool:
    """Nobody plans that much; reading it would take minutes."""
    return len(data) >= MAX_BYTES or data.count(b"\n") > MAX_LINES


def _read_plan_file(store: Store, workspace: str, tree: str) -> bytes | None:
    """The plan as a call left it. Where git ignores it, no snapshot has it, and the file itself is read."""
    data = read_blob(store, tree, NAME, MAX_BYTES)
    if data is not None:
        return data
    try:
        handle = os.open(os.path.join(workspace, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(handle, "rb") as file:
        return file.read(MAX_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else None


def read_plan(store: Store, workspace: str, loop: Loop, found: Snapshot) -> PlanRead:
    """What a planning call left: its plan, if it is sound, and everything else that it changed."""
    brief = loop.sealed.plan_brief
    outside = [change.path for change in found.changes if change.path != NAME]
    base = PlanRead(outside=len(outside), paths=tuple(clean(path)[:200] for path in outside[:MAX_SHOWN]))
    data = _read_plan_file(store, workspace, found.tree)
    if data is None:
        return base
    if is_large(data):
        message = f"the plan has more than {MAX_BYTES} bytes or {MAX_LINES} lines"
        return replace(base, wrong=(Finding("plan-large", message, NAME, 1),))
    parsed = parse_plan(data.decode("utf-8", "replace"))
    count = len(parsed.plan.items)
    if count > MAX_ITEMS:
        message = f"the plan has {count} items, expected at most {MAX_ITEMS}"
        return replace(base, wrong=(Finding("plan-many", message, NAME, 1),))
    wrong = check_file(parsed, brief.criteria)
    if not is_valid(wrong):
        return replace(base, wrong=wrong[:MAX_FINDINGS])
    if leaves_nothing(loop, parsed.plan):
        return replace(base, wrong=(Finding("plan-idle", NOTHING_LEFT, NAME, 1),))
    return replace(
        base,
        plan=replace(parsed.plan, specs=brief.specs, code=tree_code_digest(store, loop.work.tree_before)),
    )


def read_notes(store: Store, workspace: str, loop: Loop, found: Snapshot, given: bytes) -> PlanRead | None:
    """What any other call wrote into the plan: items that it found, boxes that it ticked."""
    build = loop.build
    outside = [change.path for change in found.changes if change.path != NAME]
    data = _read_plan_file(store, workspace, found.tree)
    closing = build.mode == "closing"
    told = PlanRead(outside=len(outside), paths=tuple(clean(path)[:200] for path in outside[:MAX_SHOWN]))
    if data is None or data == given or build.board is None or is_large(data):
        return told if closing else None
    known = build.board.ranked.at
    items = parse_plan(data.decode("utf-8", "replace")).plan.items
    ticked = [
        item.id
        for item in items
        if item.id in known and item.state == "done" and state_of(build.board, item.id) != "done"
    ]
    new = tuple(item for item in items if item.id not in known and item.state == "open")
    read = PlanRead(found=new[:MAX_SHOWN], ticked=tuple(ticked[:MAX_SHOWN]))
    return replace(read, outside=told.outside, paths=told.paths) if closing else read
