"""Gates over the result with the base's tests and configs; and with what turned green expecting otherwise."""

from __future__ import annotations

from ralph.gates.guards import altered_request, overlay_request
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import Experiment, Lab
from ralph.shell.git.trees import edited_tree, overlay_tree


def plan(lab: Lab) -> list[Experiment]:
    """Its answers count among the repeats, so it comes before them."""
    facts, judge = lab.facts, lab.judge
    over = overlay_request(facts)
    if over is None:
        return []
    store = judge.site.store
    mended = edited_tree(store, facts.tree, over.edit) if over.edit else facts.tree
    tree = overlay_tree(store, judge.site.order.base.tree, mended, restore=over.restore, drop=over.drop)
    heard_of = lab.tried.overlay = {}
    calls = [
        GateCall(gate, tree, "overlay", judge.slot(gate, "overlay")) for gate in facts.gates if gate.required
    ]

    def take(heard: Heard) -> None:
        heard_of[heard.call.gate.name] = heard.reading

    return [Experiment("base_tests", calls, take, needed=True)]


def plan_altered(lab: Lab) -> list[Experiment]:
    facts, judge = lab.facts, lab.judge
    asked = altered_request(facts) if facts.confirm > 1 else {}
    calls = []
    for gate in facts.gates:
        if gate.name in asked:
            files = asked[gate.name].files
            narrow, share = lab.narrow(gate, files)
            tree = edited_tree(judge.site.store, facts.tree, files)
            calls.append(GateCall(narrow, tree, "altered", judge.slot(gate, "altered"), share=share))

    def take(heard: Heard) -> None:
        name = heard.call.gate.name
        lab.tried.altered[name] = (asked[name].tests, heard.reading)

    return [Experiment("altered", calls, take, what="expecting other values")]
