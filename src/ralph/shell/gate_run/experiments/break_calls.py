"""Gates over the result with the code of the change made to fail: their green must be able to turn red."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.proof.compare import compare
from ralph.gates.guards import Break, BreakSeen, GuardFacts, break_request, first_breaks, next_break
from ralph.gates.guards._breaks.wrap_source import read_marks
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
            seen.setdefault(gate.name, {})[mode] = BreakSeen(red=False)

    def take(heard: Heard) -> None:
        mode = heard.call.stage.removeprefix(STAGE)
        seen.setdefault(heard.call.gate.name, {})[mode] = _what_was_seen(lab.facts, heard)

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
    tree = edited_tree(lab.judge.site.store, lab.facts.tree, files)
    return lab.call_elsewhere(gate, _files_of_tests(lab.facts, gate), tree, stage)


def _tests_to_turn(facts: GuardFacts, gate: Gate) -> set[str]:
    """Tests that turned green; without such, all that are green."""
    base, final = facts.base.get(gate.name), facts.final[gate.name]
    found = compare(base, final, fail_on=gate.fail_on).witness if base is not None else ()
    return set(found) or {name for name, state in (final.tests or {}).items() if state == "pass"}


def _files_of_tests(facts: GuardFacts, gate: Gate) -> list[str]:
    files = facts.final[gate.name].files
    return [files[name] for name in _tests_to_turn(facts, gate) if name in files]


def _what_was_seen(facts: GuardFacts, heard: Heard) -> BreakSeen:
    marks = read_marks(heard.marks)
    reading = heard.reading
    turned = _tests_to_turn(facts, heard.call.gate) if reading.tests is not None else {""}
    green = frozenset(turned)
    if reading.status != "pass" and reading.cause not in MACHINERY and not reading.doubt:
        green = frozenset(name for name in turned if (reading.tests or {}).get(name) == "pass")
    return BreakSeen(green != turned, marks.entered, marks.exits, green)
