"""Gates over the result with the code of the change made to fail: their green must be able to turn red."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.proof.compare import turned_tests
from ralph.gates.guards import (
    Break,
    BreakSeen,
    GuardFacts,
    break_request,
    files_of_tests,
    first_breaks,
    known_at_base,
    next_break,
    turned_green,
    waits_for_all,
)
from ralph.gates.guards._breaks.wrap_source import read_marks
from ralph.gates.narrow_tests import narrow_to_tests
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import Experiment, Lab, red_among
from ralph.shell.git.trees import edited_tree

STAGE = "broken-"


def plan(lab: Lab) -> list[Experiment]:
    first = [(gate, mode) for gate in lab.facts.gates for mode in first_breaks(lab.facts, gate)]
    return [_round(lab, first)] if first else []


def _round(lab: Lab, todo: list[tuple[Gate, Break]]) -> Experiment:
    seen, wanted, asked = lab.tried.breaks, list[GateCall](), dict[tuple[str, str], frozenset[str]]()
    for gate, mode in todo:
        names = _tests_to_turn(lab.facts, gate)
        if mode == "after":
            names = _new_tests(lab.facts, gate) or names
        call = _call(lab, gate, mode, names)
        if call is not None:
            wanted.append(call)
            asked[gate.name, call.stage] = names
        else:
            green = names if mode == "after" else frozenset()
            not_known = BreakSeen(red=False, green=green, entered=int(mode == "reach"))
            seen.setdefault(gate.name, {})[mode] = not_known

    def take(heard: Heard) -> GateCall | None:
        gate, mode = lab.gate(heard.call.gate.name), cast(Break, heard.call.stage.removeprefix(STAGE))
        names = asked[gate.name, heard.call.stage]
        found = _what_was_seen(lab.facts, heard, names)
        if not found.red and not found.exits and (every := _tests_to_turn(lab.facts, gate)) != names:
            asked[gate.name, heard.call.stage] = every
            return _call(lab, gate, mode, every)  # another test may look at the change
        if mode == "reach":
            # What is new may be what keeps the test away. One that minds being wrapped tells nothing.
            old = known_at_base(lab.facts, read_marks(heard.marks).names)
            found = replace(found, entered=1 if found.red else len(old))
        seen.setdefault(gate.name, {})[mode] = found
        return None

    def then() -> list[Experiment]:
        further = [
            (gate, mode)
            for gate in lab.facts.gates
            if gate.proof and gate.name in seen and (mode := next_break(seen[gate.name])) is not None
        ]
        return [_round(lab, further)] if further else []

    return Experiment("sabotage", wanted, take, then, needed=True)


def _call(lab: Lab, gate: Gate, mode: Break, names: frozenset[str]) -> GateCall | None:
    """The gate over these tests; None where nothing can be broken, or it cannot be told which tests."""
    stage = f"{STAGE}{mode}"
    files = break_request(lab.facts, mode, lab.judge.marks_path(lab.judge.slot(gate, stage)))
    if not files:
        return None
    tree = lab.judge.site.order.base.tree if mode.endswith("-base") else lab.facts.tree
    tree = edited_tree(lab.judge.site.store, tree, files)
    known = lab.facts.final[gate.name].files
    call = lab.call_elsewhere(gate, [known[name] for name in names if name in known], tree, stage)
    return call if not mode.startswith("reach") else _only_green(lab, gate, call)


def _only_green(lab: Lab, gate: Gate, call: GateCall) -> GateCall | None:
    """For the tests that stayed green alone; None where the runner cannot be told, or the base has none."""
    facts, final = lab.facts, lab.facts.final[gate.name]
    if final.tests is None:
        return call
    base = facts.base.get(gate.name)
    names = [
        name for name in lab.tried.breaks[gate.name]["after"].green if base and name in (base.tests or {})
    ]
    narrow = narrow_to_tests(gate, names, files_of_tests(facts, gate), facts.has_path) if names else gate
    if narrow.argv == gate.argv and len(names) < len(final.tests):
        return None
    return replace(call, gate=replace(call.gate, argv=narrow.argv, reporter=narrow.reporter))


def _tests_to_turn(facts: GuardFacts, gate: Gate) -> frozenset[str]:
    """Tests that turned green; without such, all that are green."""
    base, final = facts.base.get(gate.name), facts.final[gate.name]
    found = turned_tests(base, final, fail_on=gate.fail_on) if base is not None else []
    if not final.tests:
        return frozenset({""})
    return frozenset(found) or frozenset(name for name, state in final.tests.items() if state == "pass")


def _new_tests(facts: GuardFacts, gate: Gate) -> frozenset[str]:
    """Where no test turned green, those that the change brought: if they notice, nobody else is asked."""
    base, final = facts.base.get(gate.name), facts.final[gate.name]
    if base is None or final.tests is None or turned_tests(base, final, fail_on=gate.fail_on):
        return frozenset()
    return turned_green(facts, gate)


def _what_was_seen(facts: GuardFacts, heard: Heard, turned: frozenset[str]) -> BreakSeen:
    marks = read_marks(heard.marks)
    reading = heard.reading
    green = turned - red_among(reading, turned)
    exits = marks.exits
    if reading.status == "pass" and waits_for_all(facts, heard.call.gate):
        exits = (*exits, *marks.unfinished)
    return BreakSeen(green != turned, marks.entered, exits, green, marks.lies)
