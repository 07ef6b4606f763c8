"""The tests that turned green over code of the change that sees nobody who calls it: does it read its answers
from its callers? What is red then is called once more, beneath frames like those of its callers: who is red
there too minds the thread that it is called in, which honest code may, or that its own text is another, which
comments tell."""

from __future__ import annotations

from ralph.gates.guards import Break, BreakSeen, asked_for_callers, break_request, is_repeated, turned_green
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
    return _round(lab, "apart", names)


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
        elif mode == "apart-base" and red[name]:
            lab.tried.apart[name] = frozenset()  # it is so by nature
        elif red[name]:
            lab.tried.breaks.setdefault(name, {})[mode] = BreakSeen(red=True)

    def then() -> list[Experiment]:
        further = _round(lab, _NEXT[mode], red) if mode in _NEXT else []
        return [*further, *(_round(lab, "apart-base", _green_beside(lab)) if mode == "copied" else [])]

    what, needed = "calling changed code where it sees no caller", mode == "apart-base"
    return [Experiment("sabotage", calls, take, then, needed=needed, what=what)] if calls else []


def _green_beside(lab: Lab) -> dict[str, frozenset[str]]:
    """Green tests of the base in the files of those that go by callers, where changed code did so before."""
    found = {}
    for name, tests in lab.tried.apart.items() if asked_for_callers(lab.facts) else ():
        base, paths = lab.facts.base[name], {lab.facts.final[name].files.get(one) for one in tests}
        green = (one for one, state in (base.tests or {}).items() if state == "pass")
        found[name] = frozenset(one for one in green if base.files.get(one) in paths)
    return found


def _call(lab: Lab, name: str, mode: Break, tests: frozenset[str]) -> GateCall | None:
    gate, stage = lab.gate(name), f"{STAGE}{mode}"
    files = break_request(lab.facts, mode, lab.judge.marks_path(lab.judge.slot(gate, stage)))
    if not files:
        return None
    known, tree = lab.facts.final[name].files, lab.facts.tree
    if mode == "apart-base":
        known, tree = lab.facts.base[name].files, lab.judge.site.order.base.tree
    tree = edited_tree(lab.judge.site.store, tree, files)
    return lab.call_elsewhere(gate, [known[test] for test in tests if test in known], tree, stage)
