"""The tests that turned green, by themselves and again and again: was it luck, or what came before them?

As often as fits into one suite run, at most 20 times; small suites have some seconds.
"""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.gates.guards import GuardFacts, is_repeated, turned_green
from ralph.gates.narrow_tests import narrow_to_tests
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import SMALL_SUITE_SECONDS, Experiment, Lab

STAGE = "alone"
MAX_TIMES = 20
_LEAST_SHARE = 0.05  # of a suite run: a process has to be started
_SLOTS = 2


def plan(lab: Lab) -> list[Experiment]:
    facts = lab.facts
    if facts.confirm < 2:
        return []
    return [
        _repeats(lab, gate, names)
        for gate in facts.gates
        if is_repeated(gate, facts.final.get(gate.name)) and (names := turned_green(facts, gate))
    ]


def _repeats(lab: Lab, gate: Gate, names: frozenset[str]) -> Experiment:
    facts, seconds = lab.facts, lab.finals[gate.name].seconds
    narrow, share = _narrow(facts, gate, names)
    room = max(SMALL_SUITE_SECONDS, seconds)
    times = min(MAX_TIMES, int(room / (share * seconds))) if seconds else MAX_TIMES
    stage = f"{STAGE}-{gate.name}"
    calls = [
        GateCall(
            narrow,
            facts.tree,
            stage,
            lab.judge.slot(gate, f"{STAGE}{number % _SLOTS}"),
            fresh=number < _SLOTS,
            share=share,
        )
        for number in range(max(1, times))
    ]

    def take(heard: Heard) -> None:
        lab.tried.alone[gate.name] = (*lab.tried.alone.get(gate.name, ()), heard.reading)

    return Experiment("repeat", calls, take, max_seconds=room)


def _narrow(facts: GuardFacts, gate: Gate, names: frozenset[str]) -> tuple[Gate, float]:
    final = facts.final[gate.name]
    if final.tests is None:
        return gate, 1.0
    narrow = narrow_to_tests(gate, names, final.files, facts.has_path)
    if (narrow.argv, narrow.reporter) == (gate.argv, gate.reporter):
        return gate, 1.0
    return narrow, max(_LEAST_SHARE, len(names) / len(final.tests))
