"""The plan as a file: in the workspace for the agent to read, in every judged tree with Ralph's own ticks.

The plan lives in the journal; the file is a rendering of it. A call begins with the item at hand open; its
snapshot shows the item ticked, so that the tree that is judged is the very tree that is committed once it is
verified. What an agent writes into the file is read (`read_plan`, `read_notes`) and then replaced: work that
it found is taken over, its ticks are not.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from msgspec.structs import replace

from ralph.core.decide.plan_facts import NOTHING_LEFT, leaves_nothing
from ralph.core.model.events import PlanRead
from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief
from ralph.core.model.plan.board import Board, plan_with_states, state_of
from ralph.core.model.plan.items import NAME, STATES, Plan, State
from ralph.core.model.plan.plan_rules import is_valid
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.model.verdict import Finding
from ralph.core.plan.file import check_file, parse_plan
from ralph.core.plan.layout import LineEdit, Sheet, based_on, lay_out, mark_item
from ralph.core.text.clean import clean
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.snapshot import Snapshot
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import read_blob, with_root_file
from ralph.shell.plan.brief import code_digest

MAX_BYTES = 4 << 20  # as a fact it may have twice as many bytes, and must fit into the journal
MAX_ITEMS, MAX_LINES = 20_000, 100_000  # items, and lines of all kinds
MAX_FINDINGS = 20  # findings kept of a plan that cannot be used
MAX_SHOWN = 20
_STATE: dict[int, State] = {ord(state[0]): state for state in STATES}


class RenderedPlan:
    """The plan's file, laid out once and then kept in step by small edits; one for a stint."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._data = bytearray()
        self._sheet: Sheet | None = None
        self._states: tuple[bytes, ...] = ()

    def data(self, build: PlanState, brief: Brief, *, code: str, ticked: str = "") -> bytes:
        """The file with the states of the board, and this item shown as done."""
        board = build.board
        if board is None:
            return lay_out(replace(build.plan, specs=brief.specs, code=code))[0]
        sheet = self._sheet if self._plan is build.plan else None
        basis = None if sheet is None else based_on(sheet, specs=brief.specs, code=code)
        if sheet is None or basis is None:
            sheet, basis = self._lay_out(build.plan, board, brief, code), ()
        for edit in (*basis, *self._turned(board, sheet)):
            self._put(edit)
        self._states = board.states
        if not ticked:
            return bytes(self._data)
        self._put(mark_item(sheet, ticked, "done"))
        shown = bytes(self._data)
        self._put(mark_item(sheet, ticked, state_of(board, ticked)))
        return shown

    def _put(self, edit: LineEdit) -> None:
        self._data[edit.at : edit.at + len(edit.data)] = edit.data

    def _lay_out(self, plan: Plan, board: Board, brief: Brief, code: str) -> Sheet:
        whole = replace(plan_with_states(plan, board), specs=brief.specs, code=code)
        data, self._sheet = lay_out(whole)
        self._data = bytearray(data)
        self._plan, self._states = plan, board.states
        return self._sheet

    def _turned(self, board: Board, sheet: Sheet) -> Iterable[LineEdit]:
        """One edit for each item whose state is not the one on paper; untouched parts are the same object."""
        at = 0
        for old, new in zip(self._states, board.states, strict=True):
            if old is not new:
                for offset, (was, now) in enumerate(zip(old, new, strict=True)):
                    if was != now:
                        yield mark_item(sheet, board.ranked.items[at + offset].id, _STATE[now])
            at += len(new)


def tree_code_digest(store: Store, tree: str) -> str:
    """What the plan calls the code: everything but the plan itself."""
    return code_digest(private_call(store, ["ls-tree", "-z", tree]).out)


def tree_with_plan(
    paper: RenderedPlan, store: Store, loop: Loop, tree: str, *, ticked: str = ""
) -> tuple[str, bytes]:
    """The tree with the plan's file as Ralph renders it (or without, where it stays out), and that file."""
    build, brief = loop.build, loop.sealed.brief
    assert build is not None
    assert brief is not None
    data = paper.data(build, brief, code=tree_code_digest(store, tree), ticked=ticked)
    return with_root_file(store, tree, NAME, data if brief.in_tree else None), data


def write_plan(workspace: str, data: bytes) -> None:
    """Into the workspace; what an agent left in its place, or in the new file's, gives way, unfollowed."""
    path = os.path.join(workspace, NAME)
    fresh = f"{path}.ralph-new"
    os.chmod(workspace, 0o700)  # an agent may have closed its own folder
    if os.path.isdir(path) and not os.path.islink(path):
        remove_tree(path)
    remove_tree(fresh)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        file.write(data)
    os.replace(fresh, path)


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
    brief = loop.sealed.brief
    assert brief is not None
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
    assert build is not None
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
