"""What holds in plan and build mode for every sequence of facts, legal or not, that anybody could think of.

As in `test_machine_properties`: trees, verdicts, ties and plans are chosen independently of each other, and
the books kept here are the test's own. What the specs say of a tree is always told in full, so that a
decision by the table of another tree is noticed.
"""

from __future__ import annotations

from typing import Any

import builders as b
import msgspec
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from machine_facts import EVENTS, QUIET, RARELY, claims, faults, usages, verdicts
from machine_facts import obey as obey_machine
from msgspec.structs import replace
from plans import items, sound_plans

from ralph.core.decide import next_item
from ralph.core.decide.machine import decide, fold
from ralph.core.decide.plan_facts import GOOD, with_items
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import Brief
from ralph.core.model.plan.board import state_of
from ralph.core.model.plan.completion import Indication
from ralph.core.model.plan.items import Item, Plan
from ralph.core.model.plan.test_link import CriterionTest, Status, status_by_criterion
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import Finding
from ralph.errors import IllegalEvent

IDS = ("C-0", "C-1", "C-2")
GATES = (b.gate(), b.gate("lint", proof=False))
trees = st.sampled_from(["t0", "t1", "t2", "t3"])
# Two of three in a row are good, or no search comes to an end in which anything is verified.
STATUS: st.SearchStrategy[Status] = st.sampled_from(
    ["pass", "pass", "pass", "pass", "unknown", "fail", "flaky", "skipped", "unseen", "untested"]
)
words = (
    st.builds(Indication, iteration=st.integers(0, 5), complete=st.booleans(), signal=st.booleans())
    | st.none()
)
found_items = items(st.sampled_from(["i0", "i1", "new", "newer", next_item.MEND]))


@st.composite
def small_plans(draw: st.DrawFn) -> Plan:
    """At most four items of the criteria above; one may bear the name of Ralph's own."""
    plan = draw(sound_plans(most=4))
    known = [
        replace(item, serves=tuple(one for one in item.serves if one in IDS), chore=draw(st.booleans()))
        for item in plan.items
    ]
    if draw(st.integers(0, 5)) == 0:
        known.append(replace(draw(found_items), id=next_item.MEND, after=()))
    return replace(plan, items=tuple(known))


@st.composite
def tables(draw: st.DrawFn) -> tuple[CriterionTest, ...]:
    kind = draw(st.sampled_from(["good", "good", "any"]))
    found = []
    for name in IDS:
        status: Status = "pass" if kind == "good" else draw(STATUS)
        found.append(
            CriterionTest("specs/1.md", name, "" if status == "untested" else f"test_{name}", status)
        )
    return tuple(found)


wrongs = st.lists(
    st.builds(Finding, key=st.just("k"), message=st.just("m"), line=st.integers(1, 9)), max_size=2
)
reads = st.none() | st.builds(
    e.PlanRead,
    plan=st.none() | small_plans() | st.builds(Plan, items=st.lists(found_items, max_size=3).map(tuple)),
    wrong=wrongs.map(tuple),
    outside=st.integers(0, 2),
    paths=st.just(("x.py",)),
    found=st.lists(found_items, max_size=2).map(tuple),
    ticked=st.lists(st.sampled_from(["i0", "i1"]), max_size=1).map(tuple),
)
notes = st.lists(st.builds(e.ReaderNote, area=st.just("a"), text=st.just("x")), min_size=1, max_size=2)
BUILD_EVENTS = st.one_of(
    EVENTS,
    st.builds(e.TestsTied, tree=trees, ties=tables()),
    st.builds(
        e.ItemPublished,
        item=st.sampled_from(["i0", "i1", "new", next_item.MEND]),
        branch=st.just("r"),
        commit=st.just("c"),
        tree=trees,
    ),
    st.builds(
        e.ReadersStarted,
        call=st.integers(0, 3),
        count=st.integers(0, 2),
        agent=st.just("a"),
        prompts=st.just(("p",)),
    ),
    st.builds(e.ReadersEnded, notes=notes.map(tuple), usages=st.lists(usages, max_size=2).map(tuple)),
    st.builds(
        e.ResumeAsked,
        more_iterations=st.integers(0, 2),
        done=st.lists(st.sampled_from(["i0", "i1", "none such"]), max_size=2).map(tuple),
    ),
    st.builds(e.CheckpointMade, iteration=st.integers(0, 3), tree=trees, commit=st.just("c"), plan=reads),
)


def obey(draw: Any, loop: Loop) -> e.AnyEvent:
    """The fact that what is owed was done, with whatever came of it."""
    owed, build = loop.todo[0], loop.build
    match owed:
        case model_actions.RunReaders() if not build.planning.readers_running:
            return e.ReadersStarted(call=owed.call, count=owed.count, agent="a", prompts=("p",) * owed.count)
        case actions.RunReaders():
            told = tuple(draw(usages) for _ in range(owed.count))
            return e.ReadersEnded(notes=tuple(draw(notes)), usages=told)
        case actions.TieTests():
            return e.TestsTied(tree=owed.tree, ties=draw(tables()))
        case actions.PublishItem():
            return e.ItemPublished(item=owed.item, branch="r", commit=f"r-{owed.tree}", tree=owed.tree)
        case actions.RunAgent() if loop.call.running:
            fault = draw(faults) if draw(RARELY) and draw(RARELY) else None
            claim = draw(claims) if draw(RARELY) else replace(b.COMPLETE, tasks=1)
            return e.AgentEnded(
                iteration=owed.iteration,
                call=loop.call.number,
                claim=claim,
                fault=fault,
                indication=draw(words),
            )
        case actions.TakeSnapshot():
            read = draw(reads)
            if build.mode == "planning" and not draw(RARELY):
                read = e.PlanRead(plan=draw(small_plans()))
            return e.CheckpointMade(iteration=owed.iteration, tree=draw(trees), commit="c", plan=read)
        case actions.RunGates() if not draw(RARELY):
            verdict = replace(draw(verdicts), tree=owed.tree, stage=owed.stage, status="pass", per_test=True)
            return e.GateEnded(iteration=loop.iteration, verdict=replace(verdict, gate=owed.gates[0]))
        case actions.RunGuards() if not draw(RARELY):
            return e.GuardsEnded(iteration=loop.iteration, tree=owed.tree, results=b.measured(owed.tree))
    return obey_machine(draw, loop)


class Books:
    """What an independent reader of the facts would know."""

    def __init__(self) -> None:
        self.verdicts: dict[tuple[str, str, str], str] = {}  # stage, tree, gate
        self.found: dict[str, bool] = {}
        self.ties: dict[str, dict[str, Status]] = {}
        self.closing_in_row = 0
        self.calls = 0

    def note(self, before: Loop, event: e.AnyEvent) -> None:
        match event:
            case e.GateEnded(verdict=verdict):
                self.verdicts[verdict.stage, verdict.tree, verdict.gate] = verdict.status
            case e.GuardsEnded():
                self.found[event.tree] = any(result.findings for result in event.results)
            case e.TestsTied():
                self.ties[event.tree] = status_by_criterion(event.ties)
            case e.AgentStarted():
                self.calls += 1
            case e.ReadersStarted():
                self.calls += event.count
            case e.CheckpointMade():
                failed = before.call.fault is not None and event.tree == before.work.tree_before
                closing = before.build.mode == "closing" and not (event.plan and event.plan.found)
                if not failed:
                    self.closing_in_row = self.closing_in_row + 1 if closing else 0


class Machine(RuleBasedStateMachine):
    loop: Loop
    facts: list[e.AnyEvent]

    @initialize(
        plan=st.none() | small_plans(),
        criteria=st.none() | st.just(IDS) | st.just(IDS[:2]),
        more=st.fixed_dictionaries(
            {
                "readers": st.sampled_from([0, 0, 2]),
                "replan_every": st.sampled_from([0, 0, 1, 2]),
                "attempts": st.integers(1, 3),
                "allow_red": st.booleans(),
                "planning": st.sampled_from(["", "", "the specs changed"]),
                "mode": st.sampled_from(["build"] * 9 + ["plan"]),
            }
        ),
        on_fail=st.sampled_from(["auto", "keep", "revert"]),
        limits=st.builds(
            Limits, iterations=st.integers(2, 9), calls_per_hour=st.none() | st.just(3), time=st.just(9e9)
        ),
    )
    def begin(self, plan: Any, criteria: Any, more: Any, on_fail: Any, limits: Limits) -> None:
        sealed = b.order(
            *GATES,
            task_class="implement-feature",
            on_fail=on_fail,
            limits=limits,
            brief=Brief(plan=plan, criteria=criteria, **more),
        )
        self.loop, self.facts, self.books = Loop(), [], Books()
        assert self.feed(e.LoopStarted(rules=e.RULES, order=sealed))

    def feed(self, event: e.AnyEvent) -> bool:
        before = self.loop
        kept = msgspec.json.encode(before)
        try:
            after = decide(before, event)
        except IllegalEvent:
            assert msgspec.json.encode(before) == kept
            return False
        self.loop = after
        self.facts.append(event)
        self.books.note(before, event)
        return True

    @precondition(lambda self: self.loop.todo)
    @rule(data=st.data())
    def what_is_owed(self, data: st.DataObject) -> None:
        assert self.feed(obey(data.draw, self.loop)), self.loop.todo

    @precondition(lambda self: self.loop.todo)
    @rule(data=st.data())
    def many_things_that_are_owed(self, data: st.DataObject) -> None:
        for _ in range(8):
            if self.loop.todo:
                assert self.feed(obey(data.draw, self.loop)), self.loop.todo

    @precondition(lambda self: self.loop.phase in ("paused", "ended"))
    @rule(hands=st.lists(st.sampled_from(["i0", "i1", "i2"]), max_size=2))
    def a_human_looks(self, hands: list[str]) -> None:
        self.feed(e.ResumeAsked(more_iterations=2, done=tuple(hands)))

    @rule(event=BUILD_EVENTS, really=RARELY)
    def anything(self, event: e.AnyEvent, really: bool) -> None:
        if really or not isinstance(event, (e.AbortAsked, e.PauseAsked)):
            self.feed(event)

    @invariant()
    def verified_means_that_everything_is_proven_on_that_very_tree(self) -> None:
        loop, books = self.loop, self.books
        owed = loop.todo[0] if loop.todo else None
        wins = loop.outcome == "verified" or (isinstance(owed, actions.Finish) and owed.outcome == "verified")
        brief, build = loop.sealed.brief, loop.build
        assert brief is not None
        if not wins or brief.mode == "plan":
            return
        board, tree = build.board, loop.work.tree
        assert board is not None
        for rank, item in enumerate(board.ranked.items):
            if board.ranked.required[rank]:
                assert state_of(board, item.id) in ("done", "cancelled"), item
        stands = books.ties.get(tree, {})
        assert [name for name in brief.criteria or () if stands.get(name) not in GOOD] == []
        untouched = tree == loop.sealed.base.tree
        stage = "baseline" if untouched else "final"
        seen = {gate.name: books.verdicts.get((stage, tree, gate.name)) for gate in GATES}
        for name, status in seen.items():
            old = books.verdicts["baseline", "t0", name] != "pass"
            assert status == "pass" or (brief.allow_red and old and status is not None), name
        assert untouched or books.found[tree] is False

    @invariant()
    def what_is_done_has_its_commit(self) -> None:
        build = self.loop.build
        if build.board is None:
            return
        at = build.board.ranked.at
        assert build.done_items.keys() <= at.keys()
        assert build.lost_items.keys() <= build.done_items.keys()
        for name, done in build.done_items.items():
            human = build.board.ranked.items[at[name]].human
            assert done.commit or done.iteration == 0 or human, done
        for name in at:
            if state_of(build.board, name) == "done":
                assert name in build.done_items, name
                assert name not in build.lost_items, name

    @invariant()
    def at_most_two_closing_calls_find_nothing(self) -> None:
        assert self.books.closing_in_row <= next_item.CLOSING_CAP
        assert self.loop.spend.calls == self.books.calls

    @invariant()
    def something_is_owed_or_somebody_is_asked(self) -> None:
        loop = self.loop
        assert len(loop.todo) <= 1
        assert (loop.outcome is not None) == (loop.phase == "ended")
        if loop.phase not in ("ended", "paused"):
            assert loop.todo
        build = loop.build
        if loop.todo and isinstance(loop.todo[0], actions.RunAgent):
            assert (build.item is not None) == (build.mode == "building"), build.mode
        if loop.todo and isinstance(loop.todo[0], actions.PublishItem):
            assert build.item is not None
            assert loop.todo[0].item == build.item.id

    def teardown(self) -> None:
        if hasattr(self, "facts"):
            assert fold(e.decode(e.encode(fact)) for fact in self.facts) == self.loop


def test_random_facts_of_a_plan_a_few() -> None:
    """A short, repeatable search through sequences of facts finds no broken promise."""
    few = settings(
        max_examples=examples(5),
        stateful_step_count=20,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=QUIET,
    )
    run_state_machine_as_test(Machine, settings=few)


@pytest.mark.slow
def test_random_facts_of_a_plan_many() -> None:
    """A long search (another one each time with `--hypothesis-profile search`) finds no broken promise."""
    many = settings(
        max_examples=examples(30), stateful_step_count=40, deadline=None, suppress_health_check=QUIET
    )
    run_state_machine_as_test(Machine, settings=many)


@settings(
    max_examples=examples(20), deadline=None, database=None, derandomize=True, suppress_health_check=QUIET
)
@given(plan=small_plans(), found=st.lists(found_items, max_size=5).map(tuple))
def test_found_items_never_make_a_plan_unsound(plan: Plan, found: tuple[Item, ...]) -> None:
    """Whatever ids and dependencies found items have, circles and unknown ones too, they join it open."""
    loop = fold([e.LoopStarted(rules=e.RULES, order=b.order(*GATES, brief=Brief(plan=plan, criteria=IDS)))])
    after = with_items(loop, loop.build, found)
    assert after.board is not None
    assert len(after.plan.items) == len(plan.items) + len(found)
    assert all(item.state == "open" for item in after.plan.items[len(plan.items) :])
