"""The tests that turned green, by themselves and again and again: was it luck, or what came before them?

As often as fits into one suite run, at most 20 times; small suites have some seconds. They share two boxes: a
process of its own is what they need, and most of what a small suite takes is its box.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import GuardFacts, is_repeated, turned_green
from ralph.gates.guards._breaks.wrap_source import read_marks
from ralph.gates.narrow_tests import narrow_to_tests
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import SMALL_SUITE_SECONDS, Experiment, Lab

STAGE = "alone"
MAX_TIMES = 20
_LEAST_SHARE = 0.05  # of a suite run: a process has to be started
_SLOTS = 2  # calls at the same time, each with its part of the repeats in one box


def plan(lab: Lab) -> list[Experiment]:
    facts = lab.facts
    return [
        _repeats(lab, gate, names)
        for gate in facts.gates
        if is_repeated(gate, facts.final.get(gate.name)) and (names := turned_green(facts, gate))
    ]


def _repeats(lab: Lab, gate: Gate, names: frozenset[str]) -> Experiment:
    facts, seconds = lab.facts, lab.finals[gate.name].seconds
    narrow, share = _narrow(facts, gate, names)
    # By the clock, in each of the two boxes: starting its runner may be most of what one of them takes.
    room = seconds / _SLOTS if seconds >= SMALL_SUITE_SECONDS else SMALL_SUITE_SECONDS
    times = (
        min(MAX_TIMES, int(max(SMALL_SUITE_SECONDS, seconds) / (share * seconds))) if seconds else MAX_TIMES
    )
    stage = f"{STAGE}-{gate.name}"
    each = -(-max(1, times) // _SLOTS)
    calls = [
        GateCall(
            replace(narrow, timeout=max(narrow.timeout, lab.patience(gate) + room)),
            facts.tree,
            stage,
            lab.judge.slot(gate, f"{STAGE}{number}"),
            times=each,
            seconds=int(room),
            share=share * each,
        )
        for number in range(_SLOTS if times > 1 else 1)
    ]
    once: list[Reading] = []

    def take(heard: Heard) -> GateCall | None:
        """A red one at the first try may need what comes before it: then it is tried once more."""
        green = max(0, read_marks(heard.marks).left - (heard.reading.status == "pass"))
        first = heard.reading.status != "pass" and not green and heard.call.times > 1
        if first and not once:
            once.append(heard.reading)
            return replace(heard.call, times=1, share=share)
        passed = replace(facts.final[gate.name], status="pass")
        known = lab.tried.alone.get(gate.name, ())
        lab.tried.alone[gate.name] = (*known, *once, *[passed] * green, heard.reading)
        once.clear()
        return None

    # One of the two is made whatever the others take, so that luck is never left out in silence.
    return Experiment("repeat", calls, take, enough=lambda: gate.name in lab.tried.alone)


def _narrow(facts: GuardFacts, gate: Gate, names: frozenset[str]) -> tuple[Gate, float]:
    final = facts.final[gate.name]
    if final.tests is None:
        return gate, 1.0
    narrow = narrow_to_tests(gate, names, final.files, facts.has_path)
    if (narrow.argv, narrow.reporter) == (gate.argv, gate.reporter):
        return gate, 1.0
    return narrow, max(_LEAST_SHARE, len(names) / len(final.tests))
