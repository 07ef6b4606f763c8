"""Sabotage: the new source broken on purpose, to see whether the new tests notice."""

from __future__ import annotations

import time

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Reading
from ralph.gates.guards import Broken, GuardFacts, Sabotage, WitnessRequest, sabotage_request, witnesses
from ralph.shell.gate_run.gate_call import GateCall
from ralph.shell.gate_run.guard_calls import Batch, answers, narrow_gate
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.trees import edited_tree, overlay_tree
from ralph.shell.ports import Attention

SABOTAGE_SECONDS = 60.0  # at least this long, or as long as the suite itself took
SABOTAGE_SLOTS = 2
MACHINERY = frozenset({"missing", "sandbox", "tool-changed"})  # causes that no test noticed
SABOTAGE_CALL_SECONDS = 15.0  # seconds for one call, or four times what the gate took


def try_sabotage(
    judge: Judge, loop: Loop, facts: GuardFacts, show: WitnessRequest, batch: Batch, attend: Attention
) -> tuple[Broken, ...] | None:
    """Each sabotage tried on the witness tests, while there is time; None when asked to drop it."""
    shown = set(witnesses(facts)[0])
    if not shown:
        return ()
    asked = sabotage_request(facts)
    gates = [gate for gate in facts.gates if gate.name in batch.witness and _shows(gate, facts, shown)]
    seconds = max([SABOTAGE_SECONDS, *(loop.finals[gate.name].seconds for gate in gates)])
    until = time.monotonic() + seconds
    patience = max([SABOTAGE_CALL_SECONDS, *(4 * loop.finals[gate.name].seconds for gate in gates)])
    noticed: dict[str, bool] = {}
    owed: dict[str, str] = {}
    wanted: list[GateCall] = []
    for number, item in enumerate(asked):
        broken = _broken_tree(judge, facts.tree, item)
        owed[broken] = item.name
        for gate in gates:
            narrow = narrow_gate(facts, gate, show)
            narrow = replace(narrow, timeout=min(gate.timeout, patience))  # broken code may never end
            slot = judge.slot(gate, f"broken{number % SABOTAGE_SLOTS}")
            wanted.append(GateCall(narrow, broken, "sabotage", slot, fresh=False))
    total, heard_of = len(wanted), 0
    for heard in answers(judge, wanted, facts.tree, batch, attend):
        heard_of += 1
        name = owed[heard.call.tree]
        noticed[name] = noticed.get(name, False) or is_noticed(
            heard.reading, shown, facts.final[heard.call.gate.name]
        )
        if heard.evidence:
            batch.evidence["sabotage"] = (*batch.evidence.get("sabotage", ()), heard.evidence)
        if time.monotonic() > until:
            total -= len(wanted)
            wanted.clear()
    if heard_of < total:
        return None
    return tuple(Broken(item.name, noticed.get(item.name), item.other) for item in asked)


def _broken_tree(judge: Judge, tree: str, item: Sabotage) -> str:
    store = judge.site.store
    if item.content is not None:
        return edited_tree(store, tree, {item.path: item.content})
    return overlay_tree(store, judge.site.order.base_tree, tree, restore=(item.path,))


def _shows(gate: Gate, facts: GuardFacts, shown: set[str]) -> bool:
    tests = facts.final[gate.name].tests
    return gate.name in shown if tests is None else any(name in shown for name in tests)


def is_noticed(reading: Reading, shown: set[str], final: Reading) -> bool:
    """Is one of this gate's witnesses red, or not loaded? Others may be red for reasons of their own."""
    if reading.status == "pass" or reading.cause in MACHINERY or reading.doubt:
        return False
    if reading.tests is None:
        return True
    return any(reading.tests.get(name) != "pass" for name in shown.intersection(final.tests or ()))
