"""The tests that turned green over code of the change that sees nobody who calls it: does it read its answers
from its callers? What is red then is called once more, beneath frames like those of its callers: who is red
there too minds the thread that it is called in, which honest code may, or that its own text is another, which
comments tell."""

from __future__ import annotations

from ralph.gates.guards import Break, BreakSeen, break_request, is_repeated, turned_green
from ralph.gates.guards._breaks.wrap_source import read_marks
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import Experiment, Lab, red_among
from ralph.shell.git.trees import edited_tree

STAGE = "caller-"
_NEXT: dict[Break, Break] = {"apart": "copied", "copied": "commented"}


def plan(lab: Lab) -> list[Experiment]:
    facts = lab.facts
    names = {
        gate.name: turned_green(facts, gate) - {"exit"}
        for gate in facts.gates
        if gate.proof and is_repeated(gate, facts.final.get(gate.name))
    }
    return _round(lab, "apart", names) if facts.confirm > 1 else []


def _round(lab: Lab, mode: Break, asked: dict[str, frozenset[str]]) -> list[Experiment]:
    calls = [call for name, tests in asked.items() if tests and (call := _call(lab, name, mode, tests))]
    red: dict[str, frozenset[str]] = {}

    def take(heard: Heard) -> None:
        name = heard.call.gate.name
        red[name] = red_among(heard.reading, asked[name])
        if mode == "apart":
            lab.tried.made_plain[name] = read_marks(heard.marks).made_plain
        elif mode == "copied":
            lab.tried.apart[name] = asked[name] - red[name]
        elif red[name]:
            lab.tried.breaks.setdefault(name, {})[mode] = BreakSeen(red=True)

    def then() -> list[Experiment]:
        return _round(lab, _NEXT[mode], red) if mode in _NEXT else []

    what = "calling code of the change where it sees no caller"
    return [Experiment("sabotage", calls, take, then, what=what)] if calls else []


def _call(lab: Lab, name: str, mode: Break, tests: frozenset[str]) -> GateCall | None:
    gate, stage = lab.gate(name), f"{STAGE}{mode}"
    files = break_request(lab.facts, mode, lab.judge.marks_path(lab.judge.slot(gate, stage)))
    if not files:
        return None
    known = lab.facts.final[name].files
    tree = edited_tree(lab.judge.site.store, lab.facts.tree, files)
    return lab.call_elsewhere(gate, [known[test] for test in tests if test in known], tree, stage)
