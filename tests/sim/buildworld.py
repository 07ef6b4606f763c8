"""Plan and build mode in the simulated world: trees that hold code and the plan's file, a branch of commits.

A tree is `own:CODE:PLAN.RED`. CODE is a word whose letters are what was done: `a` makes the tests of A-1
green, `R` makes a gate red. PLAN is the plan's file as Ralph renders it (the ticked items), or what an agent
left in its place. An agent is a function of what it is called for and of the code it finds, so that a call
made again does the same again.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from simworld import NAME, Answer, Disk, Ended, SimClock, SimHands, Ticks, live

from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief, Order, StartPoint
from ralph.core.model.plan.board import state_of
from ralph.core.model.plan.items import Item, Plan
from ralph.core.model.plan.test_link import CriterionTest, changed_links
from ralph.core.model.spend import Limits, Usage
from ralph.shell.ports import Activity, Attention

A, B = Item("a", "do a", serves=("A-1",)), Item("b", "do b", serves=("B-1",))
FOUND = Item("c", "look at a once more", serves=("A-1",))
HUMAN = Item("sign", "sign it", human=True, chore=True)
IDS = ("A-1", "B-1")
BASE = "own::.0"


def tree_of(code: str, plan: str) -> str:
    return f"own:{code}:{plan}.{int('R' in code)}"


def code_in(tree: str) -> str:
    return tree.split(":")[1]


def plan_in(tree: str) -> str:
    return tree.split(":")[2].rpartition(".")[0]


def ticks(loop: Loop, item: str = "") -> str:
    """The plan's file: what is ticked in it."""
    board = loop.build.board
    if board is None:
        return ""
    done = (one.id for one in loop.build.plan.items if state_of(board, one.id) == "done" or one.id == item)
    return "+".join(sorted(done))


class Builder(Struct, frozen=True):
    """What an agent makes of the code: by item and by how often it was tried before; the last row stays.

    A row is the code that it leaves, or what it adds ("+b") to the code that it finds.
    """

    work: dict[str, tuple[str, ...]] = msgspec.field(default_factory=lambda: {"a": ("a",), "b": ("ab",)})
    plan: Plan | None = None  # there from the start
    draft: tuple[Item, ...] = (A, B)  # what a planning call writes
    scribbles: str = ""  # what it leaves in the code besides
    finds: bool = False  # the first closing call names more work
    faults: tuple[str, ...] = ()
    brief: dict[str, Any] = {}

    def order(self) -> Order:
        gates = (Gate("test", "test", ("test",), proof=True), Gate("lint", "lint", ("lint",)))
        return Order(
            loop=NAME,
            task="make it work",
            repo="/repo",
            criterion=Criterion("implement-feature", gates),
            limits=Limits(iterations=14),
            agent=SealedAgent("sim"),
            base=StartPoint("c0", BASE),
            branch="ralph/sim",
            brief=Brief(plan=self.plan, criteria=IDS, **self.brief),
        )


class Called(Struct, frozen=True):
    """The agent of one call."""

    script: Builder
    loop: Loop

    def answer(self, _iteration: int, tree: str, faults_had: int) -> Answer:
        script, build = self.script, self.loop.build
        if faults_had < len(script.faults):
            fault: Any = script.faults[faults_had]
            return Answer(tree, fault=Fault(fault, f"fault {faults_had + 1}"), usage=Usage())
        if build.mode == "planning":
            return Answer(tree_of(code_in(tree) + script.scribbles, "draft"))
        if build.mode == "closing":
            new = script.finds and build.board is not None and "c" not in build.board.ranked.at
            return Answer(tree_of(code_in(tree), "found") if new else tree)
        assert build.item is not None
        rows = script.work.get(build.item.id, (code_in(tree),))
        row = rows[min(build.tries.get(build.item.id, 0), len(rows) - 1)]
        return Answer(tree_of(code_in(tree) + row[1:] if row.startswith("+") else row, plan_in(tree)))


class BuildDisk(Disk):
    """With the commits of the result branch, oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[str] = []


class BuildHands(SimHands):
    """What plan and build mode add to the hands."""

    def __init__(self, disk: Any, script: Builder, clock: SimClock, tick: Ticks) -> None:
        super().__init__(disk, script, clock, tick)  # type: ignore[arg-type]
        self._builder = script

    def open_call(self, loop: Loop, action: actions.RunAgent) -> e.AgentStarted:
        started = super().open_call(loop, action)
        self._disk.workspace = tree_of(code_in(self._disk.workspace), ticks(loop))  # laid before the agent
        self._tick()
        if loop.build.mode != "building":
            return started
        assert loop.build.item is not None
        begins = tree_of(code_in(loop.work.tree), ticks(loop, loop.build.item.id))
        return e.AgentStarted(
            iteration=action.iteration, call=action.call, agent="sim", prompt="p", tree=begins
        )

    def finish_call(self, loop: Loop, action: actions.RunAgent, attend: Attention) -> e.AgentEnded | None:
        self._script: Any = Called(self._builder, loop)
        return super().finish_call(loop, action, attend)

    def take_snapshot(self, loop: Loop, action: actions.TakeSnapshot) -> e.CheckpointMade:
        build = loop.build
        tree, commit, read = self._disk.workspace, loop.work.commit, None
        if build.mode == "building":
            assert build.item is not None
            tree = tree_of(code_in(tree), ticks(loop, build.item.id))
        elif plan_in(tree) == "draft":
            outside = int(code_in(tree) != code_in(loop.work.tree_before))
            read = e.PlanRead(plan=Plan(items=self._builder.draft), outside=outside)
        elif plan_in(tree) == "found":
            read = e.PlanRead(found=(FOUND,))
        self._tick()
        if tree != loop.work.tree:
            commit = f"commit of {tree} after {loop.work.commit[-12:]} at {int(loop.last_work_at)}"
            self._disk.set_ref(f"checkpoint/{action.iteration} of call {loop.call.number}", commit)
        self._tick()
        return e.CheckpointMade(iteration=action.iteration, tree=tree, commit=commit, plan=read)

    def tie_tests(self, loop: Loop, action: actions.TieTests) -> e.TestsTied:
        self._tick()
        found = []
        for name in IDS:
            good = name[0].lower() in code_in(action.tree)
            found.append(
                CriterionTest(
                    "specs/1.md", name, f"test_{name}" if good else "", "pass" if good else "untested"
                )
            )
        return e.TestsTied(tree=action.tree, ties=changed_links(loop.build.links.tests, found))

    def publish_item(self, loop: Loop, action: actions.PublishItem) -> e.ItemPublished:
        """As git does it: adopt what a killed runner put there, else move the branch on."""
        disk = self._disk
        assert isinstance(disk, BuildDisk)
        parent = loop.landing.result or "c0"
        commit = f"{action.item}: {action.tree} on {len(disk.commits)}"
        self._tick()
        known = f"{action.item}: {action.tree} on {len(disk.commits) - 1}"
        if disk.commits and disk.commits[-1] == known and parent == ([*disk.commits][-2:-1] or ["c0"])[0]:
            commit = known
        else:
            assert parent == (disk.commits[-1] if disk.commits else "c0"), (
                "the branch is not where it was left"
            )
            disk.commits.append(commit)
            disk.done[f"item {commit}"] += 1
        self._tick()
        return e.ItemPublished(item=action.item, branch="b", commit=commit, tree=action.tree)

    def open_readers(self, loop: Loop, action: actions.RunReaders) -> e.ReadersStarted:
        self._tick()
        prompts = ("p",) * action.count
        return e.ReadersStarted(call=action.call, count=action.count, agent="sim", prompts=prompts)

    def finish_readers(
        self, loop: Loop, action: actions.RunReaders, attend: Attention
    ) -> e.ReadersEnded | None:
        """Calls at the same time: what a killed runner began is lost, what it did not begin is begun."""
        disk, numbers = self._disk, range(action.call, action.call + action.count)
        fresh = [number for number in numbers if number not in disk.calls]
        for number in numbers:
            if number in fresh:
                self._tick()
                disk.done[f"call {number}"] += 1
                disk.calls[number] = None
            elif disk.calls[number] is None:
                disk.calls[number] = Answer("", fault=Fault("interrupted", "lost"), usage=Usage())
        self._tick()
        if attend(Activity("agent")):
            return None
        for number in fresh:
            disk.calls[number] = Answer("")
            self._tick()
        answers = [disk.calls[number] for number in numbers]
        notes = [e.ReaderNote("x", fault="lost" if one is None or one.fault else "") for one in answers]
        used = [one.usage for one in answers if one is not None]
        return e.ReadersEnded(notes=tuple(notes), usages=tuple(used))


def build(script: Builder, crash_at: set[int], commands: Any = None, seed: int = 0, **more: Any) -> Ended:
    return live(
        script,
        crash_at,
        commands,
        seed,
        hands=BuildHands,
        sealed=script.order(),
        disk=BuildDisk(),
        **more,
    )
