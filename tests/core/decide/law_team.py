"""The law of a team: roles before the work, the trial of the tester's tests, and what an objection does."""

from __future__ import annotations

from typing import Any

import builders as b
from builders import Row
from msgspec.structs import replace
from rubrics import RUBRIC

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault, SealedAgent
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order, RoleTerms, Team
from ralph.core.model.rubric import Opinion
from ralph.core.model.spend import Spend, Usage
from ralph.core.model.team.roles import SealedTests
from ralph.core.model.verdict import Checkpoint

TESTS = SealedTests(tree="t-tests", commit="c-tests", paths=("test_new.py",))
SEALED = replace(TESTS, protection="S2")
USED = Usage(tokens=10, cost=0.5)
PAID = Spend(calls=1, tokens=10, cost=0.5)


def team(*roles: str, parallel: bool = False) -> Team:
    return Team("loop-1", {role: RoleTerms(SealedAgent(role)) for role in ("coder", *roles)}, parallel)


def sealed(*roles: str, parallel: bool = False, **more: Any) -> Order:
    values = {"task_class": "implement-feature", "team": team(*roles, parallel=parallel), **more}
    return b.order(**values)


def begun(*roles: str, protection: str = "S2", **more: Any) -> Loop:
    """The baseline is green: nothing shows the feature yet."""
    return b.based(sealed(*roles, **more), b.green(), protection=protection)


def opened(loop: Loop) -> Loop:
    owed = loop.todo[0]
    assert isinstance(owed, actions.RunRole), loop.todo
    return decide(loop, e.RoleStarted(role=owed.role, call=owed.call, tree=owed.tree, agent="x", prompt="p"))


def ended(loop: Loop, **more: Any) -> e.RoleEnded:
    owed = loop.todo[0]
    assert isinstance(owed, actions.RunRole), loop.todo
    return e.RoleEnded(**{"role": owed.role, "call": owed.call, "usage": USED, **more})


def answered(loop: Loop, **more: Any) -> Loop:
    loop = opened(loop)
    return decide(loop, ended(loop, **more))


def tried(loop: Loop, *verdicts: Any) -> Loop:
    """The tester's tests were tried, by default they are red."""
    red = b.red(tree="t-tests", count=1, new_red=("test_new",), new_red_count=1, unloaded=0)
    return b.judge(answered(loop, tests=TESTS), *(verdicts or (red,)))


def fault(kind: Any) -> dict[str, Any]:
    return {"fault": Fault(kind, "busy"), "usage": Usage()}


def grounded(loop: Loop) -> Loop:
    """Sealed, and the workspace begins on top of them."""
    return b.restored(tried(loop))


PLANNER, TESTER = opened(begun("planner")), opened(begun("tester"))
TRIAL = answered(begun("tester"), tests=TESTS)
GROUND = Checkpoint(0, "t-tests", "c-tests")
RED = b.red(tree="t-tests", count=1, new_red=("test_new",), new_red_count=1)
PAUSING = opened(decide(begun("planner"), e.PauseAsked(reason="lunch")))
assert PAUSING.phase == "working" or PAUSING.phase == "paused"

ROWS = [
    Row(
        "a role is spent from its beginning, at a cost that nobody knows yet",
        begun("tester"),
        e.RoleStarted(role="tester", call=1, tree="t0", agent="x", prompt="p", at=3.0),
        {"call.number": 1, "spend": Spend(calls=1, blind=1), "call.times": (3.0,), "now": 3.0,
         "last_work_at": 3.0, "team.open": "tester", "team.prompt": "p"},
    ),
    Row(
        "the planner's advice is kept, and the work begins",
        PLANNER,
        ended(PLANNER, said="mind the edges"),
        {"spend": PAID, "team.open": "", "team.asked": ("planner",), "team.advice": "mind the edges",
         "iteration": 1, "todo": (actions.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "a planner that cannot be called is gone without",
        PLANNER,
        ended(PLANNER, **fault("auth")),
        {"team.open": "", "team.asked": ("planner",), "iteration": 1,
         "team.without": {"planner": "it could not be called (auth: busy)"},
         "todo": (actions.RunAgent(iteration=1, call=2),)},
    ),
    Row(
        "what time may heal is waited for",
        PLANNER,
        ended(PLANNER, **fault("network")),
        {"team.open": "", "team.tries": 1, "phase": "waiting",
         "control.wait_reason": "the planner: network: busy",
         "todo": (actions.Wait(20.0, None, "the planner: network: busy"),)},
    ),
    Row(
        "an interruption from outside costs nothing but the call",
        TESTER,
        ended(TESTER, **fault("interrupted")),
        {"team.open": "", "todo": (actions.RunRole(role="tester", call=2, tree="t0"),)},
    ),
    Row(
        "a pause that was asked for comes after the role",
        decide(PLANNER, e.PauseAsked(reason="lunch")),
        ended(PLANNER, said="x"),
        {"spend": PAID, "team.open": "", "team.asked": ("planner",), "team.advice": "x", "phase": "paused",
         "reason": "lunch", "control.pause_reason": "", "todo": ()},
    ),
    Row(
        "tests are tried on the base before anybody works on top of them",
        TESTER,
        ended(TESTER, tests=TESTS),
        {"spend": PAID, "team.open": "", "team.tests": SEALED, "phase": "judging", "proof.stage": "fast",
         "proof.verdicts": {}, "proof.verdicts_tree": "t-tests",
         "todo": (actions.RunGates(stage="fast", tree="t-tests", gates=("test",)),)},
    ),
    Row(
        "a tester without tests is asked once more, with the reason",
        TESTER,
        ended(TESTER),
        {"spend": PAID, "team.open": "", "team.tries": 1, "team.trouble": "it left no new test file",
         "todo": (actions.RunRole(role="tester", call=2, tree="t0"),)},
    ),
    Row(
        "red tests become the ground on which the work begins",
        TRIAL,
        e.GateEnded(iteration=0, verdict=RED),
        {"team.asked": ("tester",), "team.sealed": True, "phase": "working", "proof.verdicts": {"test": RED},
         "progress.best": replace(GROUND, passing=0, red=1),
         "todo": (actions.RestoreWorkspace(to=GROUND, rejected=None),)},
    ),
    Row(
        "tests that pass without the change show nothing and are not taken",
        TRIAL,
        e.GateEnded(iteration=0, verdict=b.green(tree="t-tests")),
        {"team.tests": None, "team.tries": 1, "phase": "working",
         "team.trouble": "its tests pass without the change, so they show nothing",
         "proof.verdicts": TRIAL.proof.baseline, "proof.verdicts_tree": "t0",
         "todo": (actions.RunRole(role="tester", call=2, tree="t0"),)},
    ),
]  # fmt: skip


def objects(loop: Loop, *problems: str, **more: Any) -> e.JudgeEnded:
    """The open reviewer's answer."""
    opinion = Opinion(
        tree=loop.work.tree,
        status="fail" if problems else "pass",
        required=True,
        why=f"{len(problems)} objections" if problems else "no objection",
        suggestions=problems,
    )
    values = {"opinion": opinion, "usage": USED, "role": "reviewer", **more}
    return e.JudgeEnded(
        **{"iteration": loop.iteration, "call": reviewing(loop).call, "tree": loop.work.tree, **values}
    )


def reviewing(loop: Loop) -> actions.AskJudge:
    owed = loop.todo[0]
    assert isinstance(owed, actions.AskJudge), loop.todo
    return owed


def under_review(loop: Loop | None = None, tree: str = "t1", **more: Any) -> Loop:
    """Everything is green, and the reviewer's call is open."""
    values = {"task_class": "test-pass", **more}
    loop = loop or b.based(sealed("reviewer", **values))
    loop = b.conclude(b.guarding(loop, tree), b.guard(tree))
    owed = reviewing(loop)
    assert owed.role == "reviewer"
    return decide(
        loop,
        e.JudgeStarted(
            iteration=loop.iteration, call=owed.call, tree=tree, agent="r", prompt="q", role="reviewer",
            beside="j" if owed.both else "",
        ),
    )  # fmt: skip


JUDGED = {"rubric": replace(RUBRIC, required=True), "judge": SealedAgent("critic")}
