"""What plan and build mode add to a call: the plan's file before it, what became of it after, ties, commits.

The hands of the runner ask here when a loop has a plan; the order of things is the core's.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.claim.completion_words import indication
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.plan.items import Item
from ralph.core.model.plan.plan_state import PURPOSE
from ralph.core.model.plan.test_link import CriterionTest, changed_links
from ralph.core.prompt.facts import HIDDEN
from ralph.core.text.clean import one_line
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.snapshot import Snapshot
from ralph.shell.git.trees import diff_with_stat
from ralph.shell.git.workspace import Workspace
from ralph.shell.plan.rendered import (
    RenderedPlan,
    read_notes,
    read_plan,
    tree_code_digest,
    tree_with_plan,
    write_plan,
)
from ralph.shell.plan.test_links import CriterionTests

_TYPES = (
    ("docs", re.compile(r"\b(?:doc|docs|document|readme|changelog)\w*\b", re.IGNORECASE)),
    ("fix", re.compile(r"\b(?:fix|mend|repair|bug|correct|broken)\w*\b", re.IGNORECASE)),
    ("refactor", re.compile(r"\b(?:refactor|rename|move|extract|simplify|clean)\w*\b", re.IGNORECASE)),
    ("test", re.compile(r"\b(?:test|tests|coverage)\b", re.IGNORECASE)),
)
MAX_TESTS = 3


class Ready(Struct, frozen=True):
    """A call as its record tells of it."""

    purpose: str = ""
    item: str = ""
    tree: str = ""


class PlanDesk:
    """One for a stint; it may be thrown away at any time, all it keeps can be read again."""

    def __init__(self, judge: Judge, workspace: Workspace) -> None:
        self._judge = judge
        self._workspace = workspace
        self._paper = RenderedPlan()
        self._tier = CriterionTests(judge)

    def ready(self, loop: Loop) -> Ready:
        """Lay the plan before the agent, and say from which tree its work is told."""
        build, brief = loop.build, loop.sealed.brief
        assert build is not None
        assert brief is not None
        store = self._judge.site.store
        purpose = PURPOSE[build.mode]
        if purpose != "item":
            if build.plan.items:
                code = tree_code_digest(store, loop.work.tree)
                write_plan(self._workspace.path, self._paper.data(build, brief, code=code))
            return Ready(purpose)
        assert build.item is not None
        tree, _ = tree_with_plan(self._paper, store, loop, loop.work.tree, ticked=build.item.id)
        write_plan(self._workspace.path, self._given(loop, loop.work.tree))
        return Ready(purpose, build.item.id, tree)

    def after(self, loop: Loop, found: Snapshot) -> tuple[Snapshot, e.PlanRead | None]:
        """The snapshot with the plan as Ralph renders it, and what the agent made of the plan."""
        build = loop.build
        assert build is not None
        store = self._judge.site.store
        if build.mode == "planning":
            return found, read_plan(store, self._workspace.path, loop, found)
        read = read_notes(store, self._workspace.path, loop, found, self._given(loop, loop.work.tree_before))
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

    def heard(self, loop: Loop, event: e.AgentEnded, prompt: str) -> e.AgentEnded:
        """With what the agent's last message says of being finished."""
        assert loop.build is not None
        if loop.build.mode == "planning":
            return event
        said = indication(loop.iteration, event.said, event.claim, prompt)
        return replace(event, indication=said)

    def ties(self, loop: Loop, tree: str) -> tuple[CriterionTest, ...]:
        assert loop.build is not None
        return changed_links(loop.build.links.tests, self._tier.ties(loop, tree))

    def message(self, loop: Loop, action: actions.PublishItem) -> str:
        return item_message(loop, action)

    def _given(self, loop: Loop, tree: str) -> bytes:
        build, brief = loop.build, loop.sealed.brief
        assert build is not None
        assert brief is not None
        return self._paper.data(build, brief, code=tree_code_digest(self._judge.site.store, tree))


def item_message(loop: Loop, action: actions.PublishItem) -> str:
    """The message of a verified item's commit: what, why, and a list of what shows it."""
    order, build = loop.sealed, loop.build
    assert build is not None
    assert build.item is not None
    item = build.item
    lines = [one_line(f"{_type_of(item)}({item.id}): {item.title}", 100), ""]
    lines += [f"Chosen because {one_line(build.why, 200)}."]
    if item.serves:
        lines.append(f"Serves {', '.join(item.serves)}.")
    lines += ["", "Verification:"]
    for gate in order.criterion.gates:
        verdict = loop.proof.finals[gate.name]
        run = "(hidden)" if gate.origin == HIDDEN else f"$ {one_line(gate.run, 200)}"
        told = f"{verdict.status}, {one_line(verdict.summary, 100)}"
        lines.append(f"- {gate.name}: {told}; {run}; evidence {verdict.evidence[:16]}")
    for name in item.serves:
        tests = [tie.test for tie in build.links.tests if tie.criterion == name and tie.test]
        more = f" and {len(tests) - MAX_TESTS} more" if len(tests) > MAX_TESTS else ""
        lines.append(f"- {name}: {one_line(', '.join(tests[:MAX_TESTS]), 300)}{more}")
    lines.append(f"- grade {action.grade}, sandbox {loop.work.protection}, tree {action.tree}")
    lines += [f"- not proven: {one_line(sentence, 200)}" for sentence in loop.proof.unproven]
    trailers = [
        f"Ralph-Loop: {order.loop}",
        f"Ralph-Item: {item.id}",
        f"Ralph-Grade: {action.grade}",
        f"Ralph-Base: {order.base.commit}",
    ]
    return "\n".join([*lines, "", *trailers]) + "\n"


def _type_of(item: Item) -> str:
    for name, words in _TYPES:
        if words.search(item.title):
            return name
    return "chore" if item.chore else "feat"
