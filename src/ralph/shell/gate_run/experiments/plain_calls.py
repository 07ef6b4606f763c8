"""The tests that turned green, called by an ordinary program: first without the traces of a runner, and
where one is red then, with them."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.gates.guards import files_of_tests, is_repeated, turned_green
from ralph.gates.guards._breaks.plain_program import plain_program
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import Experiment, Lab
from ralph.shell.git.trees import edited_tree

STAGE = "plain"


def plan(lab: Lab) -> list[Experiment]:
    facts = lab.facts
    if facts.confirm < 2:
        return []
    found = []
    for gate in facts.gates:
        names = turned_green(facts, gate) - {"exit"}
        call = (
            _call(lab, gate, names, dressed=False) if is_repeated(gate, facts.final.get(gate.name)) else None
        )
        if call is not None:
            found.append(_experiment(lab, gate, names, call))
    return found


def _experiment(lab: Lab, gate: Gate, names: frozenset[str], call: GateCall) -> Experiment:
    red: dict[str, frozenset[str]] = {}

    def take(heard: Heard) -> GateCall | None:
        red[heard.call.stage] = _red_tests(lab, gate, names, heard.marks)
        plain, dressed = red[call.stage], red.get(f"{call.stage}-dressed")
        if plain and dressed is None:
            return _call(lab, gate, names, dressed=True)
        lab.tried.plain[gate.name] = plain - (dressed or frozenset())
        return None

    return Experiment("repeat", [call], take, needed=True)


def _red_tests(lab: Lab, gate: Gate, names: frozenset[str], marks: bytes) -> frozenset[str]:
    """By what the program noted: a test, its function without parameters, or a file."""
    said = {line[2:] for line in marks.decode("utf-8", "replace").splitlines() if line.startswith("r ")}
    files = files_of_tests(lab.facts, gate)
    return frozenset(name for name in names if {name, name.partition("[")[0], files.get(name, "")} & said)


def _call(lab: Lab, gate: Gate, names: frozenset[str], *, dressed: bool) -> GateCall | None:
    facts, stage = lab.facts, f"{STAGE}-{gate.name}" + ("-dressed" if dressed else "")
    files = files_of_tests(facts, gate)
    tests = {name: files.get(name, "") for name in names}
    gone = {change.before for change in facts.changes if change.status in "DR"}
    paths = (facts.base_paths - gone) | {change.path for change in facts.changes if change.status != "D"}
    slot = lab.judge.slot(gate, STAGE)
    program = plain_program(
        gate, tests, facts.read_result, frozenset(paths), lab.judge.marks_path(slot), dressed=dressed
    )
    if program is None:
        return None
    own = replace(
        gate,
        argv=program.argv,
        reporter=(),
        read="exit",
        env={**gate.env, **program.env},
        timeout=lab.patience(gate),
    )
    tree = edited_tree(lab.judge.site.store, facts.tree, program.files)
    return GateCall(
        own, tree, stage, slot, share=len(names) / max(1, len(facts.final[gate.name].tests or names))
    )
