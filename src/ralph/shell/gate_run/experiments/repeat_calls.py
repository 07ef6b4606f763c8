"""The gates again on the result, the first time with canaries and watched: is it green each time?"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Reading
from ralph.core.proof.flaky import changed_keys
from ralph.gates.executed.watched import LineHits
from ralph.gates.guards import is_repeated, watch_request
from ralph.gates.plant_canary import Planted, take_out_canaries
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import Experiment, Lab
from ralph.shell.ports import Attention


def plan(lab: Lab) -> list[Experiment]:
    repeats = _Repeats(lab)
    facts = lab.facts
    calls = [
        call
        for gate in facts.gates
        if is_repeated(gate, facts.final.get(gate.name))
        for call in _calls(lab, gate, repeats.planted)
    ]
    return [Experiment("repeat", calls, repeats.take, needed=True)]


def _calls(lab: Lab, gate: Gate, planted: dict[str, Planted]) -> list[GateCall]:
    """As often as the verdict is to be confirmed, the first time with canaries; the overlay counts as one."""
    facts, judge = lab.facts, lab.judge
    overlaid = facts.tried.overlay is not None
    more = max(0, facts.confirm - 1 - (overlaid and facts.confirm > 2))
    calls = []
    for number in range(more):
        slot = judge.slot(gate, f"again{number}")
        if number == 1 and judge.site.boxed:
            continue  # that one is made in the user's likeness (`likeness_calls`)
        if number:
            calls.append(GateCall(gate, facts.tree, "final", slot))
            continue
        final, same = facts.final[gate.name], facts.base_paths - {change.path for change in facts.changes}
        base = facts.base.get(gate.name)
        known = base.canary.host if base is not None and base.canary is not None else ""
        call, bird = judge.with_canary(gate, facts.tree, final, slot, "final", same, known)
        if bird is not None:
            planted[gate.name] = bird
        calls.append(
            replace(call, watch=watch_request(facts), opened=base is not None and base.reads is not None)
        )
    return calls


class _Repeats(Struct):
    """Enters the repeats of one result."""

    lab: Lab
    planted: dict[str, Planted] = {}
    minded: dict[str, Canary | None] = {}
    differed: dict[str, Reading] = {}  # a watched call that came out otherwise than the final one

    def take(self, heard: Heard) -> GateCall | None:
        """Enters a repeat; or gives the call to make first, where something of ours may be why it differs."""
        call, reading, tried = heard.call, heard.reading, self.lab.tried
        name = call.gate.name
        if call.stage == "canary":
            reading = take_out_canaries(reading, self.planted[name])
        if call.watch is not None:
            first, differs = self.differed.pop(name, None), self._differs(name, reading)
            if differs and first is None:
                self.differed[name] = reading
                return call  # is it flaky, or does it mind being watched?
            why = f"{name} comes out differently while it is watched"
            unknown = LineHits(unknown=dict.fromkeys(call.watch.files, why))
            tried.coverage[name] = unknown if differs else heard.hits or LineHits()
            if differs:
                return replace(call, watch=None)
            reading = first or reading  # watched both times, and not the same: flaky
        if call.stage == "canary":
            if self._minds(name, reading):
                self.minded[name] = reading.canary
                return GateCall(self._gate(name), self.lab.facts.tree, "final", call.slot)
        elif name in self.minded:
            reading = replace(reading, canary=self.minded.pop(name))
        tried.repeats[name] = (*tried.repeats.get(name, ()), reading)
        return None

    def _gate(self, name: str) -> Gate:
        return next(gate for gate in self.lab.facts.gates if gate.name == name)

    def _differs(self, name: str, reading: Reading) -> bool:
        """Did a call come out otherwise than the final one, which nobody watched?"""
        final, canary = self.lab.facts.final[name], reading.canary
        disarmed = canary is not None and bool(canary.silent or canary.unseen)
        changed = changed_keys(final, reading, self._gate(name).fail_on)
        return disarmed or reading.status != final.status or bool(changed)

    def _minds(self, name: str, reading: Reading) -> bool:
        """Red beside a canary, which the base had none of: is it the canary? A plain call tells."""
        base = self.lab.facts.base.get(name)
        if base is not None and base.canary is not None:
            return False  # it did not mind at the base: what is red now is red
        return bool(changed_keys(self.lab.facts.final[name], reading, self._gate(name).fail_on))


def forgive_base_flakes(lab: Lab, attend: Attention) -> None:
    """Takes out what failed once beside a green final verdict, where the base shows the same."""
    facts = lab.facts
    for gate in facts.gates:
        base, final = facts.base.get(gate.name), facts.final.get(gate.name)
        if final is not None and final.status == "pass" and gate.name in lab.tried.repeats:
            lab.tried.repeats[gate.name] = tuple(
                lab.judge.flakes.forgive(gate, reading, facts.tree, base, attend)
                for reading in lab.tried.repeats[gate.name]
            )
