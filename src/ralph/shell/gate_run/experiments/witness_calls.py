"""The result's new tests over the base source, and over the result with one function broken at a time."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import (
    Broken,
    GuardFacts,
    Sabotage,
    WitnessRequest,
    is_repeated,
    needs_witness,
    sabotage_request,
    witness_request,
    witnesses,
)
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import MACHINERY, Experiment, Lab
from ralph.shell.git.trees import edited_tree, overlay_tree

SABOTAGE_SECONDS = 60.0  # by the clock, or as long as the suite itself took
SABOTAGE_SLOTS = 2


def plan(lab: Lab) -> list[Experiment]:
    facts, judge = lab.facts, lab.judge
    show = witness_request(facts)
    if show is None:
        return []
    store, base = judge.site.store, judge.site.order.base.tree
    before = edited_tree(store, base, show.edit) if show.edit else base
    tree = overlay_tree(store, facts.tree, before, restore=show.take, drop=show.drop)
    heard_of = lab.tried.witness = {}
    calls = [
        lab.call_elsewhere(gate, _new_tests(facts, gate, show), tree, "witness")
        for gate in facts.gates
        if is_repeated(gate, facts.final[gate.name]) and not gate.hidden
    ]

    def take(heard: Heard) -> None:
        heard_of[heard.call.gate.name] = heard.reading

    return [Experiment("witness", calls, take, lambda: _sabotage(lab, show), needed=True)]


def _new_tests(facts: GuardFacts, gate: Gate, show: WitnessRequest) -> list[str]:
    """The new tests, as far as they are this gate's own."""
    own = set(facts.final[gate.name].files.values())
    return [path for path in show.tests if path in own] if own else list(show.tests)


def _sabotage(lab: Lab, show: WitnessRequest) -> list[Experiment]:
    """Each sabotage tried on the witness tests, while there is time."""
    facts = lab.facts
    if not needs_witness(facts):
        return []
    shown = set(witnesses(facts)[0])
    if not shown:
        lab.tried.sabotage = ()
        return []
    asked = sabotage_request(facts)
    gates = [
        gate for gate in facts.gates if gate.name in (lab.tried.witness or {}) and _shows(gate, facts, shown)
    ]
    noticed: dict[str, bool] = {}
    owed: dict[str, str] = {}
    calls: list[GateCall] = []
    for number, item in enumerate(asked):
        broken = _broken_tree(lab, item)
        owed[broken] = item.name
        for gate in gates:
            slot = f"broken{number % SABOTAGE_SLOTS}"
            files = _new_tests(facts, gate, show)
            calls.append(lab.call_elsewhere(gate, files, broken, "sabotage", slot, fresh=False))

    def take(heard: Heard) -> None:
        name = owed[heard.call.tree]
        final = facts.final[heard.call.gate.name]
        noticed[name] = noticed.get(name, False) or is_noticed(heard.reading, shown, final)

    def enough() -> bool:
        """Was one of each kind noticed?"""
        return {item.other for item in asked} == {item.other for item in asked if noticed.get(item.name)}

    def then() -> list[Experiment]:
        lab.tried.sabotage = tuple(Broken(item.name, noticed.get(item.name), item.other) for item in asked)
        return []

    seconds = max([SABOTAGE_SECONDS, *(lab.finals[gate.name].seconds for gate in gates)])
    return [Experiment("sabotage", calls, take, then, enough=enough, max_seconds=seconds * SABOTAGE_SLOTS)]


def _broken_tree(lab: Lab, item: Sabotage) -> str:
    store, tree = lab.judge.site.store, lab.facts.tree
    if item.files:
        return edited_tree(store, tree, item.files)
    return overlay_tree(store, lab.judge.site.order.base.tree, tree, restore=(item.path,))


def _shows(gate: Gate, facts: GuardFacts, shown: set[str]) -> bool:
    tests = facts.final[gate.name].tests
    return gate.name in shown if tests is None else any(name in shown for name in tests)


def is_noticed(reading: Reading, shown: set[str], final: Reading) -> bool:
    """Is one of this gate's witnesses red, or not loaded? Others may be red for reasons of their own."""
    if reading.status == "pass" or reading.cause in MACHINERY or reading.doubt:
        return False
    if reading.tests is None:
        return True
    return any(reading.tests.get(name) != "pass" for name in shown.intersection(final.tests or ()))
