"""The plan as a file: in the workspace for the agent to read, in every judged tree with Ralph's own ticks.

The plan lives in the journal; the file is a rendering of it. A call begins with the item at hand open; its
snapshot shows the item ticked, so that the tree that is judged is the very tree that is committed once it is
verified. What an agent writes into the file is read (`read_plan`, `read_notes`) and then replaced: work that
it found is taken over, its ticks are not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec.structs import replace

from ralph.core.buildstate import Building
from ralph.core.events import PlanRead
from ralph.core.loop import Loop
from ralph.core.model import Brief, Finding
from ralph.core.plan import STATES, Plan, State
from ralph.core.plancheck import check_file, sound
from ralph.core.planfile import NAME, parse_plan
from ralph.core.planselect import Board, state_of, up_to_date
from ralph.core.plansheet import Edit, Sheet, based_on, lay_out, marked
from ralph.core.text import clean
from ralph.shell.briefing import code_digest
from ralph.shell.gitstore import Store, private_call
from ralph.shell.gittrees import read_blob, with_root_file
from ralph.shell.snapshot import Snapshot

LARGEST = 8 << 20
WRONG = 20  # findings kept of a plan that cannot be used
SHOWN = 20
_STATE: dict[int, State] = {ord(state[0]): state for state in STATES}


class Paper:
    """The plan's file, laid out once and then kept in step by small edits; one for a stint."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._data = bytearray()
        self._sheet: Sheet | None = None
        self._states: tuple[bytes, ...] = ()

    def data(self, build: Building, brief: Brief, *, code: str, ticked: str = "") -> bytes:
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
        self._put(marked(sheet, ticked, "done"))
        shown = bytes(self._data)
        self._put(marked(sheet, ticked, state_of(board, ticked)))
        return shown

    def _put(self, edit: Edit) -> None:
        self._data[edit.at : edit.at + len(edit.data)] = edit.data

    def _lay_out(self, plan: Plan, board: Board, brief: Brief, code: str) -> Sheet:
        whole = replace(up_to_date(plan, board), specs=brief.specs, code=code)
        data, self._sheet = lay_out(whole)
        self._data = bytearray(data)
        self._plan, self._states = plan, board.states
        return self._sheet

    def _turned(self, board: Board, sheet: Sheet) -> Iterable[Edit]:
        """One edit for each item whose state is not the one on paper; untouched parts are the same object."""
        at = 0
        for old, new in zip(self._states, board.states, strict=True):
            if old is not new:
                for offset, (was, now) in enumerate(zip(old, new, strict=True)):
                    if was != now:
                        yield marked(sheet, board.ranked.items[at + offset].id, _STATE[now])
            at += len(new)


def code_of(store: Store, tree: str) -> str:
    """What the plan calls the code: everything but the plan itself."""
    return code_digest(private_call(store, ["ls-tree", "-z", tree]).out)


def put_plan(paper: Paper, store: Store, loop: Loop, tree: str, *, ticked: str = "") -> tuple[str, bytes]:
    """The tree with the plan's file as Ralph renders it (or without, where it stays out), and that file."""
    build, brief = loop.build, loop.sealed.brief
    assert build is not None
    assert brief is not None
    data = paper.data(build, brief, code=code_of(store, tree), ticked=ticked)
    return with_root_file(store, tree, NAME, data if brief.in_tree else None), data


def write_plan(workspace: str, data: bytes) -> None:
    """Into the workspace; whatever an agent left in its place gives way, unfollowed."""
    path = os.path.join(workspace, NAME)
    if os.path.isdir(path) and not os.path.islink(path):
        from ralph.shell.disktree import remove_tree

        remove_tree(path)
    fresh = f"{path}.ralph-new"
    with open(fresh, "wb") as file:
        file.write(data)
    os.replace(fresh, path)


def read_plan(store: Store, loop: Loop, found: Snapshot) -> PlanRead:
    """What a planning call left: its plan, if it is sound, and everything else that it changed."""
    brief = loop.sealed.brief
    assert brief is not None
    outside = [change.path for change in found.changes if change.path != NAME]
    base = PlanRead(outside=len(outside), paths=tuple(clean(path)[:200] for path in outside[:SHOWN]))
    data = read_blob(store, found.tree, NAME, LARGEST)
    if data is None:
        return base
    if len(data) >= LARGEST:
        return replace(base, wrong=(Finding("plan-large", f"the plan has {LARGEST} bytes or more", NAME, 1),))
    parsed = parse_plan(data.decode("utf-8", "replace"))
    wrong = check_file(parsed, brief.criteria)
    if not sound(wrong):
        return replace(base, wrong=wrong[:WRONG])
    return replace(base, plan=replace(parsed.plan, specs=brief.specs, code=code_of(store, loop.before)))


def read_notes(store: Store, loop: Loop, found: Snapshot, given: bytes) -> PlanRead | None:
    """What any other call wrote into the plan: items that it found, boxes that it ticked."""
    build = loop.build
    assert build is not None
    outside = [change.path for change in found.changes if change.path != NAME]
    data = read_blob(store, found.tree, NAME, LARGEST)
    closing = build.mode == "closing"
    told = PlanRead(outside=len(outside), paths=tuple(clean(path)[:200] for path in outside[:SHOWN]))
    if data is None or data == given or build.board is None or len(data) >= LARGEST:
        return told if closing else None
    known = build.board.ranked.at
    items = parse_plan(data.decode("utf-8", "replace")).plan.items
    ticked = [
        item.id
        for item in items
        if item.id in known and item.state == "done" and state_of(build.board, item.id) != "done"
    ]
    new = tuple(item for item in items if item.id not in known and item.state == "open")
    read = PlanRead(found=new[:SHOWN], ticked=tuple(ticked[:SHOWN]))
    return replace(read, outside=told.outside, paths=told.paths) if closing else read
