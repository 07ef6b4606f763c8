"""The batch of gate calls that guards ask for: overlay, repeats with canaries, witnesses, altered tests."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Reading
from ralph.core.proof.flaky import changed_keys
from ralph.gates.executed.watched import LineHits
from ralph.gates.guards import (
    GuardFacts,
    WitnessRequest,
    altered_request,
    is_repeated,
    watch_request,
)
from ralph.gates.narrow import narrow_to_files
from ralph.gates.plant_canary import Planted, take_out_canaries
from ralph.shell.gate_run.answers import Batch, GateCall, Heard, answers
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.trees import edited_tree
from ralph.shell.ports import Attention


def call_gates(
    judge: Judge,
    facts: GuardFacts,
    trees: dict[str, str],
    show: WitnessRequest | None,
    batch: Batch,
    attend: Attention,
    patience: dict[str, float],
) -> bool:
    """The batch. False when asked to drop it."""
    wanted: list[GateCall] = []
    planted: dict[str, Planted] = {}
    minded: dict[str, Canary | None] = {}
    other = altered_request(facts) if facts.confirm > 1 else {}
    for gate in facts.gates:
        if not gate.required:
            continue
        if "overlay" in trees:
            wanted.append(GateCall(gate, trees["overlay"], "overlay", judge.slot(gate, "overlay")))
        final = facts.final[gate.name]
        if not is_repeated(gate, final):
            continue
        wanted += _repeats(judge, facts, gate, planted, overlaid="overlay" in trees)
        if show is not None and not gate.hidden:
            narrow = narrow_gate(facts, gate, show)
            narrow = replace(narrow, timeout=min(gate.timeout, patience[gate.name]))  # old code may never end
            wanted.append(GateCall(narrow, trees["witness"], "witness", judge.slot(gate, "witness")))
        if gate.name in other:
            changed = edited_tree(judge.site.store, facts.tree, other[gate.name].files)
            narrow = narrow_to_files(gate, list(other[gate.name].files), facts.has_path)
            wanted.append(GateCall(narrow, changed, "altered", judge.slot(gate, "altered")))
    batch.owed = len(wanted)
    for heard in answers(judge, wanted, facts.tree, batch, attend):
        batch.owed -= 1
        stage, name, reading = heard.call.stage, heard.call.gate.name, heard.reading
        if heard.evidence:
            batch.evidence = {**batch.evidence, stage: (*batch.evidence.get(stage, ()), heard.evidence)}
        if stage == "overlay":
            batch.overlay = {**batch.overlay, name: reading}
        elif stage == "witness":
            batch.witness = {**batch.witness, name: reading}
        elif stage == "altered":
            batch.altered = {**batch.altered, name: (other[name].tests, reading)}
        elif (more := _take_repeat(facts, heard, planted, minded, batch)) is not None:
            wanted.append(more)
            batch.owed += 1
    return batch.owed == 0


def _take_repeat(
    facts: GuardFacts,
    heard: Heard,
    planted: dict[str, Planted],
    minded: dict[str, Canary | None],
    batch: Batch,
) -> GateCall | None:
    """Enters a repeat; or gives the call to make first, where something of ours may be why it differs."""
    call, reading = heard.call, heard.reading
    name = call.gate.name
    if call.stage == "canary":
        reading = take_out_canaries(reading, planted[name])
    if call.watch is not None:
        first, differs = batch.differed.pop(name, None), _differs(facts, name, reading)
        if differs and first is None:
            batch.differed[name] = reading
            return call  # is it flaky, or does it mind being watched?
        why = f"{name} comes out differently while it is watched"
        unknown = LineHits(unknown=dict.fromkeys(call.watch.files, why))
        batch.coverage = {**batch.coverage, name: unknown if differs else heard.hits or LineHits()}
        if differs:
            return replace(call, watch=None)
        reading = first or reading  # watched both times, and not the same: flaky
    if call.stage == "canary":
        if _minds(facts, name, reading):
            minded[name] = reading.canary
            gate = next(gate for gate in facts.gates if gate.name == name)
            return GateCall(gate, facts.tree, "final", call.slot)
    elif name in minded:
        reading = replace(reading, canary=minded.pop(name))
    batch.repeats = {**batch.repeats, name: (*batch.repeats.get(name, ()), reading)}
    return None


def _differs(facts: GuardFacts, name: str, reading: Reading) -> bool:
    """Did a call come out otherwise than the final one, which nobody watched?"""
    final, canary = facts.final[name], reading.canary
    fail_on = next(gate.fail_on for gate in facts.gates if gate.name == name)
    disarmed = canary is not None and bool(canary.silent or canary.unseen)
    return disarmed or reading.status != final.status or bool(changed_keys(final, reading, fail_on))


def forgive_base_flakes(judge: Judge, facts: GuardFacts, batch: Batch, attend: Attention) -> None:
    """Takes out what failed once beside a green final verdict, where the base shows the same."""
    for gate in facts.gates:
        base, final = facts.base.get(gate.name), facts.final.get(gate.name)
        if final is None or final.status != "pass":
            continue

        def plain(reading: Reading, gate: Gate = gate, base: Reading | None = base) -> Reading:
            return judge.flakes.forgive(gate, reading, facts.tree, base, attend)

        if gate.name in batch.repeats:
            again = tuple(plain(reading) for reading in batch.repeats[gate.name])
            batch.repeats = {**batch.repeats, gate.name: again}


def _minds(facts: GuardFacts, name: str, reading: Reading) -> bool:
    """Red beside a canary, which the base had none of: perhaps the canary is why, so a plain call tells."""
    base = facts.base.get(name)
    if base is not None and base.canary is not None:
        return False  # it did not mind at the base: what is red now is red
    fail_on = next(gate.fail_on for gate in facts.gates if gate.name == name)
    return bool(changed_keys(facts.final[name], reading, fail_on))


def narrow_gate(facts: GuardFacts, gate: Gate, show: WitnessRequest) -> Gate:
    """The gate looking at the new tests only, as far as they are its own."""
    own = set(facts.final[gate.name].files.values())
    tests = [path for path in show.tests if path in own] if own else show.tests
    return narrow_to_files(gate, tests, facts.has_path)


def _repeats(
    judge: Judge, facts: GuardFacts, gate: Gate, planted: dict[str, Planted], *, overlaid: bool
) -> list[GateCall]:
    """As often as the verdict is to be confirmed, the first time with canaries; the overlay counts as one."""
    more = max(0, facts.confirm - 1 - (overlaid and facts.confirm > 2))
    calls = []
    for number in range(more):
        slot = judge.slot(gate, f"again{number}")
        if number:
            calls.append(GateCall(gate, facts.tree, "final", slot))
            continue
        final, same = facts.final[gate.name], facts.base_paths - {change.path for change in facts.changes}
        base = facts.base.get(gate.name)
        known = base.canary.host if base is not None and base.canary is not None else ""
        call, bird = judge.with_canary(gate, facts.tree, final, slot, "final", same, known)
        if bird is not None:
            planted[gate.name] = bird
        calls.append(replace(call, watch=watch_request(facts)))
    return calls
