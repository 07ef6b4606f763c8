"""What plan and build mode add to a call: the plan's file before it, what became of it after, ties, commits.

The hands of the runner ask here when a loop has a plan; the order of things is the core's.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.claim.completion_words import indication
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.plan.plan_state import PURPOSE
from ralph.core.model.plan.test_link import CriterionTest, changed_links
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.snapshot import Snapshot
from ralph.shell.git.trees import diff_with_stat
from ralph.shell.git.workspace import Workspace
from ralph.shell.plan.read_back import read_notes, read_plan
from ralph.shell.plan.rendered import RenderedPlan, tree_code_digest, tree_with_plan, write_plan
from ralph.shell.plan.test_links import CriterionTests


class PlanDesk:
    """One for a stint; it may be thrown away at any time, all it keeps can be read again."""

    def __init__(self, judge: Judge, workspace: Workspace) -> None:
        self._judge = judge
        self._workspace = workspace
        self._paper = RenderedPlan()
        self._tier = CriterionTests(judge)

    def ready(self, loop: Loop) -> tuple[str, str, str]:
        """Lay the plan before the agent; what the call is for, its item, and the tree that it begins with."""
        build, brief = loop.build, loop.sealed.plan_brief
        store = self._judge.site.store
        purpose = PURPOSE.get(build.mode, "")
        if purpose != "item":
            if build.plan.items:
                code = tree_code_digest(store, loop.work.tree)
                write_plan(self._workspace.path, self._paper.data(build, brief, code=code))
            return purpose, "", ""
        assert build.item is not None
        tree, _ = tree_with_plan(self._paper, store, loop, loop.work.tree, ticked=build.item.id)
        write_plan(self._workspace.path, self._render(loop, loop.work.tree))
        return purpose, build.item.id, tree

    def after(self, loop: Loop, found: Snapshot) -> tuple[Snapshot, e.PlanRead | None]:
        """The snapshot with the plan as Ralph renders it, and what the agent made of the plan."""
        build = loop.build
        store = self._judge.site.store
        if build.mode == "planning":
            return found, read_plan(store, self._workspace.path, loop, found)
        read = read_notes(store, self._workspace.path, loop, found, self._render(loop, loop.work.tree_before))
        if build.mode == "closing":
            return found, read
        tree, _ = tree_with_plan(
            self._paper, store, loop, found.tree, ticked=build.item.id if build.item else ""
        )
        if tree == loop.work.tree_before:
            return replace(found, tree=tree, files_changed=0, added=0, removed=0, changes=()), read
        changes, counts = diff_with_stat(store, loop.work.tree_before, tree)
        seen = replace(found, tree=tree, changes=tuple(changes), files_changed=counts.files)
        return replace(seen, added=counts.added, removed=counts.removed), read

    def add_indication(self, loop: Loop, event: e.AgentEnded, prompt: str) -> e.AgentEnded:
        """With what the agent's last message says of being finished."""
        if loop.build.mode == "planning":
            return event
        said = indication(loop.iteration, event.said, event.claim, prompt)
        return replace(event, indication=said)

    def ties(self, loop: Loop, tree: str) -> tuple[CriterionTest, ...]:
        return changed_links(loop.build.links.tests, self._tier.ties(loop, tree))

    def _render(self, loop: Loop, tree: str) -> bytes:
        build, brief = loop.build, loop.sealed.plan_brief
        return self._paper.data(build, brief, code=tree_code_digest(self._judge.site.store, tree))
