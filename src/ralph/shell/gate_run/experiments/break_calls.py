"""Gates over the result with the code of the change made to fail: their green must be able to turn red."""

from __future__ import annotations

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
    waits_for_all,
)
from ralph.gates.guards._breaks.wrap_source import read_marks
from ralph.gates.narrow_tests import narrow_to_tests
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import MACHINERY, Experiment, Lab
from ralph.shell.git.trees import edited_tree

STAGE = "broken-"


def plan(lab: Lab) -> list[Experiment]:
    facts = lab.facts
    if facts.confirm < 2:
        return []
    first = [(gate, mode) for gate in facts.gates for mode in first_breaks(facts, gate)]
    return [_round(lab, first)] if first else []


def _round(lab: Lab, todo: list[tuple[Gate, Break]]) -> Experiment:
    seen, wanted = lab.tried.breaks, []
    for gate, mode in todo:
        call = _call(lab, gate, mode)
        if call is not None:
            wanted.append(call)
        else:
            green = frozenset(_tests_to_turn(lab.facts, gate)) if mode == "after" else frozenset()
            not_known = BreakSeen(red=False, green=green, entered=int(mode == "reach"))
            seen.setdefault(gate.name, {})[mode] = not_known

    def take(heard: Heard) -> None:
        mode = heard.call.stage.removeprefix(STAGE)
        found = _what_was_seen(lab.facts, heard)
        if mode == "reach":
            # What is new may be what keeps the test away. One that minds being wrapped tells nothing.
            old = known_at_base(lab.facts, read_marks(heard.marks).names)
            found = replace(found, entered=1 if found.red else len(old))
        seen.setdefault(heard.call.gate.name, {})[mode] = found

    def then() -> list[Experiment]:
        further = [
            (gate, mode)
            for gate in lab.facts.gates
            if gate.proof and gate.name in seen and (mode := next_break(seen[gate.name])) is not None
        ]
        return [_round(lab, further)] if further else []

    return Experiment("sabotage", wanted, take, then, needed=True)


def _call(lab: Lab, gate: Gate, mode: Break) -> GateCall | None:
    stage = f"{STAGE}{mode}"
    files = break_request(lab.facts, mode, lab.judge.marks_path(lab.judge.slot(gate, stage)))
    if not files:
        return None
    base = lab.judge.site.order.base.tree
    tree = edited_tree(lab.judge.site.store, base if mode == "reach-base" else lab.facts.tree, files)
    call = lab.call_elsewhere(gate, _files_of_tests(lab.facts, gate), tree, stage)
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


def _tests_to_turn(facts: GuardFacts, gate: Gate) -> set[str]:
    """Tests that turned green; without such, all that are green."""
    base, final = facts.base.get(gate.name), facts.final[gate.name]
    found = turned_tests(base, final, fail_on=gate.fail_on) if base is not None else []
    if final.tests is None:
        return {""}
    return set(found) or {name for name, state in final.tests.items() if state == "pass"}


def _files_of_tests(facts: GuardFacts, gate: Gate) -> list[str]:
    files = facts.final[gate.name].files
    return [files[name] for name in _tests_to_turn(facts, gate) if name in files]


def _what_was_seen(facts: GuardFacts, heard: Heard) -> BreakSeen:
    marks = read_marks(heard.marks)
    reading = heard.reading
    turned = _tests_to_turn(facts, heard.call.gate) if facts.final[heard.call.gate.name].tests else {""}
    green = frozenset(turned)
    if reading.status != "pass" and reading.cause not in MACHINERY and not reading.doubt:
        green = frozenset(name for name in turned if (reading.tests or {}).get(name) == "pass")
    exits = marks.exits
    if reading.status == "pass" and waits_for_all(facts, heard.call.gate):
        exits = (*exits, *marks.unfinished)
    return BreakSeen(green != turned, marks.entered, exits, green)
