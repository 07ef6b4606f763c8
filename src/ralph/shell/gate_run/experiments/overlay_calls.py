"""Gates over trees put together from both: the base's tests and configs over the result, the judge's changed
files over the base, what turned green expecting otherwise, findings planted where checkers look."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import (
    altered_request,
    attribution_request,
    bent_files,
    changed_gate_files,
    files_of_tests,
    overlay_request,
    scope_request,
)
from ralph.gates.guards.hygiene.altered import line_request, unheard_tests
from ralph.gates.narrow_tests import narrow_to_tests
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
    lab.tried.overlay = {}
    then = partial(_attribute, lab)
    return _over_tree(lab, "overlay", tree, facts.gates, lab.tried.overlay, then=then, needed=True)


def _over_tree(
    lab: Lab, stage: str, tree: str, gates: tuple[Gate, ...], heard_of: dict[str, Reading], **more: Any
) -> list[Experiment]:
    calls = [GateCall(gate, tree, stage, lab.judge.slot(gate, stage)) for gate in gates if gate.required]

    def take(heard: Heard) -> None:
        heard_of[heard.call.gate.name] = heard.reading

    return [Experiment("base_tests", calls, take, **more)]


def plan_altered(lab: Lab) -> list[Experiment]:
    facts, judge = lab.facts, lab.judge
    asked = altered_request(facts)
    calls = []
    for gate in facts.gates:
        if gate.name in asked:
            files = asked[gate.name].files
            narrow, share = lab.narrow(gate, files)
            narrow = replace(narrow, argv=asked[gate.name].argv or narrow.argv)
            tree = edited_tree(judge.site.store, facts.tree, files)
            calls.append(GateCall(narrow, tree, "altered", judge.slot(gate, "altered"), share=share))

    def take(heard: Heard) -> None:
        name = heard.call.gate.name
        lab.tried.altered[name] = (asked[name].tests, heard.reading)

    return [Experiment("altered", calls, take, needed=True)]


def plan_unheard(lab: Lab) -> list[Experiment]:
    facts, judge, stage = lab.facts, lab.judge, "altered-line"
    calls, asked = [], {}
    for gate in facts.gates:
        slot = judge.slot(gate, stage)
        request = line_request(facts, gate, judge.marks_path(slot))
        if request is None:
            continue
        asked[gate.name] = request
        files = files_of_tests(facts, gate)
        narrow = narrow_to_tests(gate, request.tests, files, facts.has_path)
        share = lab.narrow(gate, {files[name] for name in request.tests if name in files})[1]
        tree = edited_tree(judge.site.store, facts.tree, request.files)
        calls.append(GateCall(narrow, tree, stage, slot, share=share))

    def take(heard: Heard) -> None:
        name = heard.call.gate.name
        told = heard.reading.tests or {}
        lab.tried.unheard[name] = unheard_tests(asked[name], told, heard.marks)

    what = "making the assertions fail at which tests failed"
    return [Experiment("altered", calls, take, what=what)] if calls else []


def plan_attribution(lab: Lab) -> list[Experiment]:
    """Where the base's tests are run as well, what they say comes first."""
    return _attribute(lab) if overlay_request(lab.facts) is None else []


def _attribute(lab: Lab) -> list[Experiment]:
    facts, judge = lab.facts, lab.judge
    judges = attribution_request(facts)
    if judges is None:
        return []
    tree = overlay_tree(
        judge.site.store, facts.tree, judge.site.order.base.tree, restore=judges.restore, drop=judges.drop
    )
    gates = tuple(gate for gate in facts.gates if gate.proof)
    what = "the base with only the changed files that judge"
    # Nothing else tells that a check was softened beside work that is right, or who bent a red test.
    needed = bool(bent_files(facts) or changed_gate_files(facts))
    return _over_tree(lab, "attributed", tree, gates, lab.tried.attributed, what=what, needed=needed)


def plan_scope(lab: Lab) -> list[Experiment]:
    facts, judge = lab.facts, lab.judge
    calls = []
    for gate in facts.gates:
        asked = scope_request(facts, gate)
        if asked is None:
            continue
        for stage, tree, planted in (
            ("scope-base", judge.site.order.base.tree, asked.base),
            ("scope", facts.tree, asked.result),
        ):
            made = edited_tree(judge.site.store, tree, {path: one.content for path, one in planted.items()})
            calls.append(GateCall(gate, made, stage, judge.slot(gate, stage)))

    def take(heard: Heard) -> None:
        lab.tried.scope.setdefault(heard.call.gate.name, {})[heard.call.stage] = heard.reading

    needed = any(call.gate.proof for call in calls)  # green shows nothing of what it does not look at
    what = "planting findings where checkers look"
    return [Experiment("scope", calls, take, needed=needed, what=what)] if calls else []
