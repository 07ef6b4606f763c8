"""Loops for the tests of what Ralph shows: real events through the real machine into a real journal."""

from __future__ import annotations

import os

from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order, StartPoint
from ralph.core.model.parts import flat_fields, from_flat
from ralph.core.model.spend import Limits, Usage
from ralph.core.model.verdict import Counts, Finding, GuardResult, Verdict
from ralph.core.views.summary import summarise, summary_json
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.store import SummaryRow
from ralph.shell.state.directory import open_state

START = 1_700_000_000.0
TESTS = Gate(name="tests", run="pytest -q", argv=("pytest", "-q"), read="pytest", proof=True)
LINT = Gate(name="lint", run="ruff check .", argv=("ruff", "check", "."))


def order(name="fix-auth-7f3a91c2", **changes):
    """`changes` by the names that they have in a journal."""
    made = Order(
        loop=name,
        task="fix the failing auth tests",
        repo="/home/me/app",
        criterion=Criterion(task_class="test-pass", gates=(TESTS, LINT)),
        limits=Limits(),
        agent=SealedAgent("command"),
        base=StartPoint("b" * 40, "0" * 40, head_branch="main"),
        branch=f"ralph/{name}",
    )
    return from_flat(Order, flat_fields(made) | changes)


def verdict(gate, status, tree, stage, **more):
    red = 0 if status == "pass" else 1
    known = {
        "summary": "214 passed"
        if gate == "tests" and status == "pass"
        else "clean"
        if not red
        else "1 failed",
        "seconds": 12.4,
        "red": red,
        "red_digest": "x" * red,
        "evidence": "4af1c2d3" * 8,
        "per_test": True,
        "witness_count": 1,
        "counts": Counts(passed=214),
    }
    if red:
        known["findings"] = (Finding(key="test_refresh_rotates", message="boom"),)
    return Verdict(gate=gate, tree=tree, stage=stage, status=status, **known | more)


class Maker:
    """Plays a loop event by event; each step of a story is one method."""

    def __init__(self, made=None):
        self.loop, self.events, self.at, self.trees = Loop(), [], START, 0
        self.add(e.LoopStarted(rules=e.RULES, order=made or order()), took=0.0)

    def add(self, event, took=1.0):
        self.at += took
        event = replace(event, at=self.at, took=took)
        self.loop = decide(self.loop, event)
        self.events.append(event)
        return self

    def begin(self, tests="fail", lint="pass", **more):
        self.add(
            e.StintStarted(
                pid=7,
                host="box",
                version="0.1.0",
                protection="S2",
                words=("writes the workspace only", "no net"),
            )
        )
        self.add(e.WorkspaceMade(path="/state/workspaces/fix-auth"))
        return self.gates("baseline", tests, lint, **more)

    def gates(self, stage, tests, lint, **more):
        number = self.loop.iteration
        self.add(
            e.GateEnded(
                iteration=number, verdict=verdict("tests", tests, self.loop.work.tree, stage, **more)
            ),
            12.0,
        )
        return self.add(
            e.GateEnded(iteration=number, verdict=verdict("lint", lint, self.loop.work.tree, stage)), 2.0
        )

    def call(self, *, cost=0.31, claim="COMPLETE", fault=None, said="did it", changed=True):
        number, call = self.loop.iteration, self.loop.call.number + 1
        self.add(e.AgentStarted(iteration=number, call=call, agent="command", prompt="77e0aa11" * 8))
        self.add(
            e.AgentEnded(
                iteration=number,
                call=call,
                exit_code=0,
                seconds=108.0,
                usage=Usage(tokens=None if cost is None else 5120, cost=cost),
                claim=Claim(status=claim, work="login") if claim else None,
                fault=fault,
                said=said,
            ),
            108.0,
        )
        self.trees += changed
        tree = f"{self.trees:x}" * 40 if changed or self.trees else self.loop.work.tree
        files = {"files": 2, "added": 31, "removed": 4, "total_lines": 35 * self.trees} if changed else {}
        return self.add(
            e.CheckpointMade(iteration=number, tree=tree, commit=f"{9 - self.trees}" * 40, **files)
        )

    def failing(self, **more):
        return self.call(**more).gates("fast", "fail", "pass")

    def passing(self, **more):
        self.call(**more).gates("fast", "pass", "pass").gates("final", "pass", "pass")
        tree = self.loop.work.tree
        results = (
            GuardResult(guard="inventory", tree=tree, applied=True, summary="214 tests before and after"),
        )
        self.add(e.GuardsEnded(iteration=self.loop.iteration, tree=tree, results=results), 5.0)
        self.add(e.ResultPublished(branch=self.loop.landing.branch, commit="c" * 40, tree=tree))
        return self.finish()

    def finish(self):
        owed = self.loop.todo[0]
        assert isinstance(owed, actions.Finish), owed
        return self.add(e.LoopEnded(outcome=owed.outcome, reason=owed.reason, grade=owed.grade), 0.1)


def verified(made=None):
    """Two iterations: a false "done", then a true one."""
    return Maker(made).begin().failing().passing()


def exhausted(made=None):
    made = replace(made or order(), limits=Limits(iterations=2))
    return Maker(made).begin().failing(cost=None).failing(cost=None).finish()


def record_all(state_dir, *makers):
    """Write loops into a journal, as the runner does; the state directory."""
    root = os.fspath(state_dir)
    open_state(root, create=True)
    with open_journal(root) as journal:
        for maker in makers:
            loop = Loop()
            for seq, event in enumerate(maker.events):
                loop = decide(loop, event)
                name, at = loop.sealed.loop, int(event.at * 1000)
                row = SummaryRow(
                    loop=name,
                    repo=loop.sealed.repo,
                    phase=loop.phase,
                    outcome=loop.outcome or "",
                    body=summary_json(summarise(loop, START)),
                )
                fields = {"at": at, "kind": e.kind_of(event), "v": 1, "body": e.encode(event), "summary": row}
                if seq == 0:
                    journal.create(name, **fields)
                else:
                    journal.append(name, seq, **fields)
    return root
