"""What holds for every sequence of facts, legal or not, that anybody could think of.

Trees and verdicts are chosen independently, so that stale verdicts are tried as well: a machine that
ignored them passed every property until the generator did that. The books kept here are the test's own.
"""

from __future__ import annotations

from typing import Any

import builders as b
import msgspec
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec.structs import replace

from ralph.core.decide.machine import decide, fold
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.rubric import Opinion, Rubric
from ralph.core.model.spend import Limits, Usage
from ralph.core.model.verdict import GuardResult, Verdict
from ralph.errors import IllegalEvent

TREES = ("t0", "t1", "t2")
GATES = (b.gate(), b.gate("e2e"), b.gate("lint", proof=False))
FAULTS = ("limit", "overload", "network", "auth", "crash", "timeout", "idle", "missing", "context", "disk")
trees = st.sampled_from(TREES)
claims = st.none() | st.builds(Claim, st.sampled_from(["IN_PROGRESS", "COMPLETE", "BLOCKED"]))
faults = st.none() | st.builds(
    Fault, st.sampled_from([*FAULTS, "interrupted"]), st.just("m"), st.none() | st.floats(0, 9999)
)
usages = st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.floats(0, 2))
small = st.integers(0, 3)
statuses = st.sampled_from(["pass", "pass", "pass", "fail", "error", "skipped", "flaky"])
verdicts = st.builds(
    Verdict,
    gate=st.sampled_from(["test", "e2e", "lint", "unheard"]),
    tree=trees,
    stage=st.sampled_from(["baseline", "fast", "final", "overlay"]),
    status=statuses,
    red=small,
    new_red_count=st.integers(0, 1),
    per_test=st.booleans(),
    witness_count=st.integers(0, 1),
    red_digest=st.sampled_from("ab"),
    signature=st.sampled_from(["", "x", "y"]),
    cause=st.sampled_from(["", "", "", "missing", "no-tests"]),
)
guard_results = st.builds(
    lambda guard, tree, found, integrity: b.guard(tree, *found, name=guard, integrity=integrity),
    st.sampled_from(["inventory", "stubs"]),
    trees,
    st.lists(st.sampled_from(["k1", "k2"]), max_size=1),
    st.booleans(),
)
measures = st.builds(b.measured, trees, witness=st.integers(0, 1), noticed=st.integers(0, 1))
clocks: dict[str, Any] = {"at": st.floats(0, 9999), "took": st.floats(-5, 50)}
directions = st.sampled_from(["land", "undo"])
EVENTS = st.one_of(
    st.builds(e.LoopStarted, order=st.just(b.order())),
    st.builds(
        e.StintStarted,
        pid=st.just(1),
        host=st.just("h"),
        version=st.just("1"),
        protection=st.sampled_from(["S0", "S2"]),
    ),
    st.builds(e.WorkspaceMade, path=st.just("/w")),
    st.builds(e.AgentStarted, iteration=small, call=small, agent=st.just("a"), prompt=st.just("p"), **clocks),
    st.builds(e.AgentEnded, iteration=small, call=small, claim=claims, fault=faults, usage=usages, **clocks),
    st.builds(e.CheckpointMade, iteration=small, tree=trees, commit=st.just("c")),
    st.builds(e.GateEnded, iteration=small, verdict=verdicts, **clocks),
    st.builds(
        e.NoVerdict,
        iteration=small,
        stage=st.sampled_from(["baseline", "fast", "final", "guards"]),
        tree=trees,
        gate=st.sampled_from([gate.name for gate in GATES]),
        cause=st.just("frozen"),
        doubt=st.booleans(),
    ),
    st.builds(
        e.GuardsEnded,
        iteration=small,
        tree=trees,
        results=st.lists(guard_results, max_size=2).map(tuple) | measures,
    ),
    st.builds(e.WorkspaceRestored, iteration=small, tree=trees),
    st.builds(e.WaitOver, **clocks),
    st.builds(e.Steered, text=st.just("x")),
    st.builds(e.PauseAsked, now=st.booleans()),
    st.builds(
        e.ResumeAsked,
        more_iterations=st.integers(0, 1),
        more_time=st.floats(0, 50),
        gates=st.sampled_from([(), (b.gate("joined"),)]),
    ),
    st.builds(e.AbortAsked),
    st.builds(e.ResultPublished, branch=st.just("r"), commit=st.just("c"), tree=trees),
    st.builds(
        e.LoopEnded,
        outcome=st.sampled_from(["verified", "exhausted", "aborted"]),
        reason=st.just("r"),
        grade=st.sampled_from([None, "A"]),
    ),
    st.builds(
        e.LandingStarted, direction=directions, branch=st.just("m"), old=st.just("a"), new=st.just("b")
    ),
    st.builds(e.LandingEnded, direction=directions, done=st.booleans()),
    st.builds(e.LoopDropped),
)


# A search that breaks everything off early finds nothing: most loops must come to a final judgement.
LIKELY_AT_BASE = st.sampled_from(["fail", "fail", "fail", "error", "flaky", "pass"])
LIKELY_LATER = st.sampled_from(["pass", "pass", "pass", "pass", "pass", "fail", "error", "skipped", "flaky"])
RARELY = st.sampled_from([False, False, False, True])
ENDS_IT = (e.AbortAsked, e.PauseAsked)


def obey(draw: Any, loop: Loop) -> e.AnyEvent:
    """The fact that what is owed was done, with whatever came of it."""
    owed = loop.todo[0]
    times = {"at": draw(st.floats(0, 9999)), "took": draw(st.floats(0, 50))}
    match owed:
        case model_actions.MakeWorkspace():
            return e.WorkspaceMade(path="/w", **times)
        case actions.RunGates():
            status = draw(LIKELY_AT_BASE if owed.stage == "baseline" else LIKELY_LATER)
            name = draw(st.sampled_from(owed.gates))
            verdict = replace(draw(verdicts), gate=name, tree=owed.tree, stage=owed.stage, status=status)
            verdict = replace(verdict, answered=status != "error")
            return e.GateEnded(iteration=loop.iteration, verdict=verdict, **times)
        case actions.RunGuards():
            found = draw(st.lists(guard_results, max_size=2)) if draw(RARELY) else [b.guard()]
            found += draw(measures)
            results = tuple(replace(result, tree=owed.tree) for result in found)
            return e.GuardsEnded(iteration=loop.iteration, tree=owed.tree, results=results, **times)
        case actions.RunAgent() if not loop.call.running:
            return e.AgentStarted(iteration=owed.iteration, call=owed.call, agent="a", prompt="p", **times)
        case actions.RunAgent():
            claim = draw(claims) if draw(RARELY) else b.COMPLETE
            fault = draw(faults) if draw(RARELY) else None
            return e.AgentEnded(
                iteration=owed.iteration,
                call=loop.call.number,
                claim=claim,
                fault=fault,
                usage=draw(usages),
                **times,
            )
        case actions.TakeSnapshot():
            return e.CheckpointMade(iteration=owed.iteration, tree=draw(trees), commit="c", **times)
        case actions.RestoreWorkspace():
            return e.WorkspaceRestored(iteration=loop.iteration, tree=owed.to.tree, **times)
        case actions.Wait():
            return e.WaitOver(**times)
        case actions.AskJudge() if not loop.jury.open:
            return e.JudgeStarted(
                iteration=loop.iteration, call=owed.call, tree=owed.tree, agent="j", prompt="q", **times
            )
        case actions.AskJudge():
            fault = draw(faults) if draw(RARELY) else None
            score = draw(st.sampled_from([3.0, 6.5, 8.0, 8.0]))
            said = Opinion(
                tree=owed.tree, status="pass" if score > 7 else "fail", weighted=score, required=True
            )
            return e.JudgeEnded(
                iteration=loop.iteration,
                call=owed.call,
                tree=owed.tree,
                opinion=None if fault else said,
                fault=fault,
                **times,
            )
        case actions.PublishResult():
            return e.ResultPublished(branch="r", commit="c", tree=owed.tree, **times)
        case actions.Finish():
            return e.LoopEnded(outcome=owed.outcome, reason=owed.reason, grade=owed.grade, **times)
    raise AssertionError(owed)


class Books:
    """What an independent reader of the facts would know."""

    def __init__(self) -> None:
        self.base: dict[str, str] = {}
        self.final: dict[tuple[str, str], str] = {}
        self.found: dict[str, tuple[GuardResult, ...]] = {}
        self.looked: dict[str, tuple[GuardResult, ...]] = {}
        self.accused: set[str] = set()
        self.calls = 0
        self.refused: set[str] = set()
        self.passed: set[str] = set()

    def note(self, event: e.AnyEvent) -> None:
        match event:
            case e.GateEnded(verdict=verdict) if verdict.stage == "baseline":
                self.base[verdict.gate] = verdict.status
            case e.GateEnded(verdict=verdict) if verdict.stage == "final":
                self.final[verdict.tree, verdict.gate] = verdict.status
            case e.GuardsEnded():
                self.looked[event.tree] = event.results
                self.found[event.tree] = tuple(result for result in event.results if result.findings)
                if any(result.integrity for result in self.found[event.tree]):
                    self.accused.add(event.tree)
            case e.AgentStarted() | e.JudgeStarted():
                self.calls += 1
            case e.JudgeEnded(opinion=Opinion() as opinion):
                (self.passed if opinion.status == "pass" else self.refused).add(event.tree)


class Machine(RuleBasedStateMachine):
    loop: Loop
    facts: list[e.AnyEvent]

    @initialize(
        task_class=st.sampled_from(["test-pass", "bug-fix", "regression"]),
        on_fail=st.sampled_from(["auto", "keep", "revert"]),
        min_grade=st.sampled_from("ABCD"),
        limits=st.builds(
            Limits,
            iterations=st.integers(1, 4),
            time=st.none() | st.just(900.0),
            cost=st.none() | st.just(3.0),
            calls_per_hour=st.none() | st.integers(1, 2),
        ),
        judged=RARELY,
    )
    def begin(self, task_class: str, on_fail: str, min_grade: str, limits: Limits, judged: bool) -> None:
        sealed = b.order(
            *GATES,
            task_class=task_class,
            on_fail=on_fail,
            min_grade=min_grade,
            limits=limits,
            rubric=Rubric(dimensions=(), required=True) if judged else None,
        )
        self.loop, self.facts, self.books = Loop(), [], Books()
        self.feed(e.LoopStarted(rules=e.RULES, order=sealed))

    def feed(self, event: e.AnyEvent) -> bool:
        before = msgspec.json.encode(self.loop)
        spend = self.loop.spend
        try:
            after = decide(self.loop, event)
        except IllegalEvent:
            assert msgspec.json.encode(self.loop) == before
            return False
        assert after.spend.calls >= spend.calls
        assert after.elapsed_seconds >= spend.seconds + spend.waited
        assert (after.spend.tokens or 0) >= (spend.tokens or 0)
        assert (after.spend.cost or 0) >= (spend.cost or 0)
        self.loop = after
        self.facts.append(event)
        self.books.note(event)
        return True

    @precondition(lambda self: self.loop.todo)
    @rule(data=st.data())
    def what_is_owed(self, data: st.DataObject) -> None:
        assert self.feed(obey(data.draw, self.loop)), self.loop.todo

    @precondition(lambda self: self.loop.todo)
    @rule(data=st.data())
    def a_few_things_that_are_owed(self, data: st.DataObject) -> None:
        for _ in range(4):
            if self.loop.todo:
                assert self.feed(obey(data.draw, self.loop)), self.loop.todo

    @precondition(lambda self: self.loop.todo and isinstance(self.loop.todo[0], actions.RunGates))
    @rule(verdict=verdicts, data=st.data())
    def a_green_verdict_on_any_tree(self, verdict: Verdict, data: st.DataObject) -> None:
        owed = self.loop.todo[0]
        assert isinstance(owed, actions.RunGates)
        green = replace(verdict, gate=data.draw(st.sampled_from(owed.gates)), status="pass")
        self.feed(e.GateEnded(iteration=self.loop.iteration, verdict=green))

    @precondition(
        lambda self: self.loop.todo and isinstance(self.loop.todo[0], actions.RunGates | actions.RunGuards)
    )
    @rule(data=st.data(), doubt=st.booleans())
    def no_answer(self, data: st.DataObject, doubt: bool) -> None:
        """Whatever it means, it is no verdict: what is known of any tree stays as it is."""
        before, owed = self.loop, self.loop.todo[0]
        gates, stage = (
            (owed.gates, owed.stage) if isinstance(owed, actions.RunGates) else (("test",), "guards")
        )
        name = data.draw(st.sampled_from(gates))
        event = e.NoVerdict(
            iteration=before.iteration,
            stage=stage,  # type: ignore[arg-type]
            tree=owed.tree,
            gate=name,
            cause="frozen",
            doubt=doubt and before.proof.doubted_tree != owed.tree,
        )
        assert self.feed(event)
        assert (self.loop.todo or self.loop.control.held_todo) == before.todo
        after = self.loop.with_proof(
            no_answers=before.proof.no_answers, doubted_tree=before.proof.doubted_tree
        )
        assert (after.proof, after.progress) == (before.proof, before.progress)

    @rule(event=EVENTS, really=RARELY)
    def anything(self, event: e.AnyEvent, really: bool) -> None:
        if really or not isinstance(event, ENDS_IT):
            self.feed(event)

    @invariant()
    def verified_means_proven_on_that_very_tree(self) -> None:
        loop, books = self.loop, self.books
        if loop.outcome != "verified":
            return
        proof = [gate.name for gate in loop.sealed.criterion.proof]
        assert books.calls > 0
        assert loop.work.tree != loop.sealed.base.tree
        assert all(books.final.get((loop.work.tree, name)) == "pass" for name in proof)
        assert books.found[loop.work.tree] == ()
        assert books.looked[loop.work.tree]
        assert loop.grade is not None
        assert loop.grade <= loop.sealed.criterion.min_grade

    @invariant()
    def unproven_means_green_on_that_very_tree_and_less_proof_than_was_asked_for(self) -> None:
        loop, books = self.loop, self.books
        if loop.outcome != "unproven":
            return
        proof = [gate.name for gate in loop.sealed.criterion.proof]
        assert loop.work.tree != loop.sealed.base.tree
        assert all(books.final.get((loop.work.tree, name)) == "pass" for name in proof)
        assert books.found[loop.work.tree] == ()
        assert loop.landing.result
        assert loop.call.claim is not None
        assert loop.call.claim.status == "COMPLETE"
        assert loop.grade is not None
        assert loop.grade > loop.sealed.criterion.min_grade

    @invariant()
    def a_required_judge_has_passed_whatever_is_published(self) -> None:
        loop = self.loop
        published = loop.todo and isinstance(loop.todo[0], actions.PublishResult)
        if loop.order is not None and loop.order.rubric is not None and (published or loop.landing.result):
            assert loop.work.tree in self.books.passed
            assert loop.work.tree not in self.books.refused or loop.landing.result

    @invariant()
    def satisfied_means_green_before_any_call(self) -> None:
        loop, books = self.loop, self.books
        if loop.outcome == "satisfied":
            assert (books.calls, loop.grade, loop.landing.result) == (0, None, "")
            assert all(books.base[gate.name] == "pass" for gate in loop.sealed.criterion.proof)

    @invariant()
    def green_work_is_never_taken_back(self) -> None:
        loop = self.loop
        if (
            loop.todo
            and isinstance(loop.todo[0], actions.RestoreWorkspace)
            and loop.work.tree not in loop.progress.accused_trees
        ):
            assert loop.progress.history[-1].red > 0

    @invariant()
    def without_a_witness_the_agent_has_to_say_so(self) -> None:
        loop, books = self.loop, self.books
        if loop.outcome != "verified":
            return
        proof = [gate.name for gate in loop.sealed.criterion.proof]
        # A check that came to no judgement at the base is a witness only by tests that were red by name.
        named = [
            name
            for name in proof
            if loop.proof.finals[name].per_test and loop.proof.finals[name].witness_count
        ]
        red = [name for name in proof if books.base[name] == "fail" or name in named]
        if any(books.base[name] in ("fail", "error") for name in red) and loop.grade in ("A", "B"):
            return  # perhaps a check of the user's
        counted = {name: many for one in books.looked[loop.work.tree] for name, many in one.counted.items()}
        if counted.get("witness") and counted.get("noticed"):
            assert loop.grade == "B"
        else:
            assert loop.grade in ("C", "D")
            assert loop.call.claim == b.COMPLETE

    @invariant()
    def limits_hold(self) -> None:
        assert self.loop.limits.iterations is not None
        assert self.loop.iteration <= self.loop.limits.iterations
        assert self.loop.spend.calls == self.books.calls

    @invariant()
    def something_is_owed_or_somebody_is_asked(self) -> None:
        loop = self.loop
        assert len(loop.todo) <= 1
        assert (loop.outcome is not None) == (loop.phase == "ended")
        if loop.phase == "ended":
            assert not loop.todo
        elif loop.phase == "paused":
            assert not loop.todo or isinstance(loop.todo[0], actions.Finish)
        else:
            assert loop.todo
        assert not loop.call.running or loop.phase == "working"

    @invariant()
    def an_accused_tree_is_never_the_best(self) -> None:
        if self.loop.progress.best is not None and self.loop.progress.best.iteration > 0:
            assert self.loop.progress.best.tree not in self.books.accused

    def teardown(self) -> None:
        if hasattr(self, "facts"):
            assert fold(e.decode(e.encode(fact)) for fact in self.facts) == self.loop


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


CALLS = st.lists(st.sampled_from([*FAULTS, "nothing"]), min_size=1, max_size=8)
