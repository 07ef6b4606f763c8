"""Plan and build mode in the machine: which call comes next, what ticks an item, when the loop may end."""

from __future__ import annotations

from typing import Any

import builders as b
from builders import BASE, Row
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief
from ralph.core.model.plan.completion import Indication
from ralph.core.model.plan.items import Item, Plan
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.spend import Limits

A, B = Item("a", "do a", serves=("A-1",)), Item("b", "do b", serves=("B-1",))
TWO = Plan(items=(A, B))
IDS = ("A-1", "B-1")
SIGNAL = Claim("COMPLETE", exit_signal=True, tests="PASSING", tasks=1)


def order(plan: Plan | None = TWO, criteria: tuple[str, ...] | None = IDS, **more: Any) -> Any:
    brief = {"plan": plan, "criteria": criteria, "specs": "5", **more.pop("brief", {})}
    return b.order(task_class="implement-feature", brief=Brief(**brief), min_grade="C", **more)


def ties(*good: str, **other: str) -> tuple[CriterionTest, ...]:
    """How the criteria stand: named ones pass, others as told, the rest has no test."""
    found = []
    for name in IDS:
        status = other.get(name.replace("-", "_"), "pass" if name in good else "untested")
        found.append(
            CriterionTest("specs/1.md", name, "" if status == "untested" else f"test_{name}", status)
        )  # type: ignore[arg-type]
    return tuple(found)


def begun(sealed: Any = None, *good: str, verdict: Any = None) -> Loop:
    """The baseline is in, and how the criteria stand there."""
    loop = b.based(sealed or order(), verdict or b.green(per_test=True))
    if isinstance(loop.todo[0], actions.TieTests):
        loop = decide(loop, e.TestsTied(tree=BASE, ties=ties(*good)))
    return loop


def called(loop: Loop, tree: str, *, claim: Claim | None = None, said: str = "", plan: Any = None) -> Loop:
    """One call that left this tree and this of the plan; the newest completion indicators come with it."""
    loop = b.call(loop)
    word = Indication(loop.iteration, complete="done" in said, signal="signal" in said)
    loop = b.answer(loop, claim, indication=word)
    made = replace(b.snapshot(tree, loop), plan=plan)
    return decide(loop, made)


def judged(loop: Loop, tree: str, *good: str, verdict: Any = None, **other: str) -> Loop:
    """Fast verdicts and, in a loop with specs, how the criteria stand on this tree."""
    loop = b.judge(loop, verdict or b.green(tree=tree, per_test=True))
    if loop.todo and isinstance(loop.todo[0], actions.TieTests):
        loop = decide(loop, e.TestsTied(tree=tree, ties=ties(*good, **other)))
    return loop


def concluded(loop: Loop, tree: str) -> Loop:
    loop = b.judge(loop, b.final(b.green(tree=tree, per_test=True)))
    return b.conclude(loop, *b.measured(tree))


def published(loop: Loop) -> Loop:
    owed = loop.todo[0]
    assert isinstance(owed, actions.PublishItem), (loop.todo, loop.proof.not_yet)
    done = e.ItemPublished(item=owed.item, branch="ralph/fix-1", commit=f"r-{owed.tree}", tree=owed.tree)
    return decide(loop, done)


def verified(loop: Loop, tree: str, *good: str, **more: Any) -> Loop:
    """One whole iteration that verifies the item at hand."""
    return published(concluded(judged(called(loop, tree, **more), tree, *good), tree))


def ended(loop: Loop) -> tuple[str, str]:
    owed = loop.todo[0]
    assert isinstance(owed, actions.Finish), loop.todo
    return owed.outcome, owed.reason


def purpose(loop: Loop) -> tuple[str, str]:
    """What the call that is owed is for."""
    assert isinstance(loop.todo[0], actions.RunAgent), loop.todo
    return loop.build.mode, loop.build.item.id if loop.build.item else ""


FIRST = verified(begun(), "t1", "A-1")
LAST = verified(FIRST, "t2", *IDS)


PLANNED = called(begun(order(None)), "t1", plan=e.PlanRead(plan=TWO))
ALL_DONE = called(
    replace(LAST.with_proof(finals_tree=""), build=replace(LAST.build, mode="planning")),  # type: ignore[type-var]
    "t5",
    plan=e.PlanRead(plan=TWO),
)
TIED = b.judge(called(begun(), "t1"), b.green(tree="t1", per_test=True))
OWED_BASE = b.based(order(), b.green(per_test=True))
PUBLISHING = concluded(judged(called(begun(), "t1"), "t1", "A-1"), "t1")
OUT_OF_CALLS = order(limits=Limits(calls_per_hour=1))


def publishing(sealed: Any, *, pausing: bool = False) -> Loop:
    loop = concluded(judged(called(begun(sealed), "t1"), "t1", "A-1"), "t1")
    return decide(loop, e.PauseAsked()) if pausing else loop


def publication(loop: Loop) -> e.ItemPublished:
    return e.ItemPublished(item="a", branch="ralph/fix-1", commit="r-t1", tree="t1")


def _mid(sealed: Any, *, pausing: bool = False) -> Loop:
    loop = b.judge(called(begun(sealed), "t1"), b.green(tree="t1", per_test=True))
    return decide(loop, e.PauseAsked()) if pausing else loop


BLOCKED = b.close(
    verified(begun(order(Plan(items=(A, Item("sign", "x", human=True))), ("A-1",))), "t1", "A-1")
)
MODE_PLAN = replace(order(None, brief={"mode": "plan"}))
STARTING = b.fold(
    [
        e.LoopStarted(
            rules=e.RULES, order=replace(MODE_PLAN, criterion=replace(MODE_PLAN.criterion, gates=()))
        ),
        e.StintStarted(pid=1, host="h", version="1", protection="S2"),
    ]
)
READING = begun(order(None, brief={"readers": 2}))
READ = decide(READING, e.ReadersStarted(call=1, count=2, agent="demo", prompts=("p", "p")))
NOTES = e.ReadersEnded(notes=(e.ReaderNote("a", "x"), e.ReaderNote("b", fault="crash: y")))
NO_CALL = begun(order(None, brief={"readers": 1}, limits=Limits(calls_per_hour=2)))
NO_CALL_READ = decide(NO_CALL, e.ReadersStarted(call=1, count=1, agent="demo", prompts=("p",)))
NO_CALL_READ = NO_CALL_READ.with_call(times=(0.0, 0.0))
NOT_GOOD = e.TestsTied(tree="t1", ties=ties())
ROWS = [
    Row("a plan needs no baseline", STARTING, e.WorkspaceMade(path="/w"), {}),
    Row("ties of the base", OWED_BASE, e.TestsTied(tree=BASE, ties=ties()), {}),
    Row(
        "ties of the base, pausing",
        decide(OWED_BASE, e.PauseAsked()),
        e.TestsTied(tree=BASE, ties=ties()),
        {},
    ),
    Row("the plan is restored", PLANNED, e.WorkspaceRestored(iteration=1, tree=BASE), {}),
    Row("nothing is left after planning", ALL_DONE, e.WorkspaceRestored(iteration=3, tree="t2"), {}),
    Row("proven", TIED, e.TestsTied(tree="t1", ties=ties("A-1")), {}),
    Row("not proven", TIED, NOT_GOOD, {}),
    Row("not proven, pausing", _mid(order(), pausing=True), NOT_GOOD, {}),
    Row("not proven, no call left", _mid(OUT_OF_CALLS), NOT_GOOD, {}),
    Row("an item is published", PUBLISHING, publication(PUBLISHING), {}),
    Row("published, pausing", publishing(order(), pausing=True), publication(PUBLISHING), {}),
    Row("published, no call left", publishing(OUT_OF_CALLS), publication(PUBLISHING), {}),
    Row("readers begin", READING, e.ReadersStarted(call=1, count=2, agent="demo", prompts=("p", "p")), {}),
    Row("readers end", READ, NOTES, {}),
    Row("readers end, pausing", decide(READ, e.PauseAsked()), NOTES, {}),
    Row("readers end, no call left", NO_CALL_READ, NOTES, {}),
    Row("a human has done the rest", BLOCKED, e.ResumeAsked(done=("sign",)), {}),
]
