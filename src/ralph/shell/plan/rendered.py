"""The plan as a file: in the workspace for the agent to read, in every judged tree with Ralph's own ticks.

The plan lives in the journal; the file is a rendering of it. A call begins with the item at hand open; its
snapshot shows the item ticked, so that the tree that is judged is the very tree that is committed once it is
verified. What an agent writes into the file is read (`read_back`) and then replaced.
"""

from __future__ import annotations

import os

from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief
from ralph.core.model.plan.items import NAME, Plan, State
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.plan.layout import Layout
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import with_root_file
from ralph.shell.plan.brief import code_digest


class RenderedPlan:
    """The plan's file as its states stand; one for a stint."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._layout = Layout(Plan())

    def data(self, build: PlanState, brief: Brief, *, code: str, ticked: str = "") -> bytes:
        """The file with the states of the board, and this item shown as done."""
        if self._plan is not build.plan:
            self._plan, self._layout = build.plan, Layout(build.plan)
        states: dict[str, State] = dict(build.board.states) if build.board is not None else {}
        if ticked:
            states[ticked] = "done"
        return self._layout.data(states, specs=brief.specs, code=code)


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
