"""The plan as a file: in the workspace for the agent to read, in every judged tree with Ralph's own ticks.

The plan lives in the journal; the file is a rendering of it. A call begins with the item at hand open; its
snapshot shows the item ticked, so that the tree that is judged is the very tree that is committed once it is
verified. What an agent writes into the file is read (`read_back`) and then replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec.structs import replace

from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief
from ralph.core.model.plan.board import plan_with_states, state_of
from ralph.core.model.plan.items import NAME, STATES, Board, Plan, State
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.plan.layout import LineEdit, Sheet, based_on, lay_out, mark_item
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import with_root_file
from ralph.shell.plan.brief import code_digest

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
        for edit in (*basis, *self._state_edits(board, sheet)):
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

    def _state_edits(self, board: Board, sheet: Sheet) -> Iterable[LineEdit]:
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
    build, brief = loop.build, loop.sealed.plan_brief
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
