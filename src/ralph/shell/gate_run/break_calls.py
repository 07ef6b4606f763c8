"""Gates over the result with the code of the change made to fail: their green must be able to turn red."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.proof.compare import compare
from ralph.gates.guards import BreakSeen, GuardFacts, break_request, first_breaks, next_break
from ralph.gates.guards._breaks.wrap_source import Mode, read_marks
from ralph.gates.narrow import narrow_to_files
from ralph.shell.gate_run.answers import Batch, GateCall, Heard, answers
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.trees import edited_tree
from ralph.shell.ports import Attention

MACHINERY = frozenset({"missing", "sandbox", "tool-changed"})  # causes that no test noticed


def try_breaks(
    judge: Judge, facts: GuardFacts, batch: Batch, patience: dict[str, float], attend: Attention
) -> dict[str, dict[str, BreakSeen]] | None:
    """What each gate said of broken code; None when asked to drop it, or when a call gave no answer."""
    seen: dict[str, dict[str, BreakSeen]] = {}
    if facts.confirm < 2:
        return seen
    todo = [(gate, mode) for gate in facts.gates for mode in first_breaks(facts, gate)]
    while todo:
        wanted = [
            call for gate, mode in todo if (call := _call(judge, facts, gate, mode, patience[gate.name]))
        ]
        tried = {(call.gate.name, call.stage): call for call in wanted}
        for gate, mode in todo:
            if (gate.name, f"broken-{mode}") not in tried:
                seen.setdefault(gate.name, {})[mode] = BreakSeen(red=False)
        owed = len(wanted)
        for heard in answers(judge, wanted, facts.tree, batch, attend):
            owed -= 1
            how = heard.call.stage.removeprefix("broken-")
            seen.setdefault(heard.call.gate.name, {})[how] = _what_was_seen(facts, heard)
            if heard.evidence:
                known = batch.evidence.get("sabotage", ())
                batch.evidence = {**batch.evidence, "sabotage": (*known, heard.evidence)}
        if owed:
            return None
        todo = [
            (gate, further)
            for gate in facts.gates
            if gate.proof and gate.name in seen and (further := next_break(seen[gate.name])) is not None
        ]
    return seen


def _call(judge: Judge, facts: GuardFacts, gate: Gate, mode: Mode, patience: float) -> GateCall | None:
    slot = judge.slot(gate, f"broken-{mode}")
    files = break_request(facts, mode, judge.marks_path(slot))
    if not files:
        return None
    narrow = narrow_to_files(gate, sorted({*_files_of_tests(facts, gate)}), facts.has_path)
    narrow = replace(narrow, timeout=min(gate.timeout, patience))  # broken code may never end
    return GateCall(narrow, edited_tree(judge.site.store, facts.tree, files), f"broken-{mode}", slot)


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
    if reading.status == "pass" or reading.cause in MACHINERY or reading.doubt:
        red = False
    elif reading.tests is None:
        red = True
    else:
        red = any(reading.tests.get(name) != "pass" for name in _tests_to_turn(facts, heard.call.gate))
    return BreakSeen(red, marks.entered, marks.exits)
