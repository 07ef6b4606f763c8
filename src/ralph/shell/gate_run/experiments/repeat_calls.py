"""The gates again on the result, the first time with canaries and watched: is it green each time?"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Reading
from ralph.core.proof.flaky import changed_keys
from ralph.gates.executed.watched import LineHits
from ralph.gates.guards import is_repeated, watch_request
from ralph.gates.guards._base.facts import NotedSeen
from ralph.gates.guards._calls.noted import NoteRequest, compare_ends, noted_request, without_base
from ralph.gates.guards._tests.note_ends import read_ends
from ralph.gates.plant_canary import Planted, take_out_canaries
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.extra_calls import with_canary
from ralph.shell.gate_run.schedule import Experiment, Lab
from ralph.shell.git.trees import edited_tree
from ralph.shell.ports import Attention


def plan(lab: Lab) -> list[Experiment]:
    repeats = _Repeats(lab)
    facts = lab.facts
    calls = [
        call
        for gate in facts.gates
        if is_repeated(gate, facts.final.get(gate.name))
        for call in _calls(lab, gate, repeats)
    ]
    return [Experiment("repeat", calls, repeats.take, repeats.compare_with_base, needed=True)]


def _calls(lab: Lab, gate: Gate, repeats: _Repeats) -> list[GateCall]:
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
        call, bird = with_canary(judge.site, gate, facts.tree, final, slot, "final", same, known)
        if bird is not None:
            repeats.planted[gate.name] = bird
        call = replace(call, watch=watch_request(facts), opened=base is not None and base.reads is not None)
        calls.append(repeats.note(call, bird))
    return calls


class _NotedCall(Struct):
    """A repeat whose tests note their ends; where it is red, a plain one and itself again tell why."""

    slot: str  # of its calls; others of the same gate may answer between them
    tree: str
    without: str  # the same tree without notes
    asked: NoteRequest
    red: Reading | None = None
    plain: Reading | None = None


class _Repeats(Struct):
    """Enters the repeats of one result."""

    lab: Lab
    planted: dict[str, Planted] = {}
    minded: dict[str, Canary | None] = {}
    differed: dict[str, Reading] = {}  # a watched call that came out otherwise than the final one
    noted: dict[str, _NotedCall] = {}

    def note(self, call: GateCall, bird: Planted | None) -> GateCall:
        """The call with the tests that turned green noting their ends."""
        facts, judge = self.lab.facts, self.lab.judge
        own = {bird.path: bird.content} if bird is not None else {}
        gate = self.lab.gate(call.gate.name)
        marks = judge.marks_path(call.slot)
        asked = noted_request(facts, gate, marks, lambda path: own.get(path) or facts.read_result(path))
        if not asked.files:
            return call
        tree = edited_tree(judge.site.store, call.tree, asked.files)
        self.noted[gate.name] = _NotedCall(call.slot, tree, call.tree, asked)
        return replace(call, tree=tree)

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
            if first is not None:  # watched both times, and not the same: flaky
                self.noted.pop(name, None)
                reading = first
        if name in self.noted and self.noted[name].slot == call.slot:
            settled = self._settle_noted(name, heard, reading)
            if isinstance(settled, GateCall):
                return settled
            reading = settled
        if call.stage == "canary":
            if self._minds(name, reading):
                self.minded[name] = reading.canary
                return GateCall(self.lab.gate(name), self.lab.facts.tree, "final", call.slot)
        elif name in self.minded:
            reading = replace(reading, canary=self.minded.pop(name))
        tried.repeats[name] = (*tried.repeats.get(name, ()), reading)
        return None

    def _settle_noted(self, name: str, heard: Heard, reading: Reading) -> GateCall | Reading:
        """What counts as the repeat; or the next call that tells why one with notes is red."""
        mine, call, tried = self.noted[name], replace(heard.call, watch=None), self.lab.tried
        differs = self._differs(name, reading)
        if call.tree == mine.without:
            if not differs:
                mine.plain = reading
                return replace(call, tree=mine.tree)
        elif differs and mine.plain is None:
            mine.red = reading
            return replace(call, tree=mine.without)
        elif differs and mine.plain is not None:
            gate, final = self.lab.gate(name), self.lab.facts.final[name]
            tried.noted[name] = NotedSeen(red=frozenset(changed_keys(final, reading, gate.fail_on)))
            reading = mine.plain
        elif mine.red is not None:
            reading = mine.red  # red once and green once with the same notes: flaky
        else:
            tried.noted[name] = compare_ends(mine.asked, reading, read_ends(heard.marks))
        del self.noted[name]
        return reading

    def compare_with_base(self) -> list[Experiment]:
        """Where notes contradict the report or turn it red: do they tell anything at the base?"""
        lab, calls, asked = self.lab, list[GateCall](), dict[str, NoteRequest]()
        edited = frozenset(change.path for change in lab.facts.changes)
        store, base = lab.judge.site.store, lab.judge.site.order.base.tree
        for name, seen in lab.tried.noted.items():
            if not seen.red and not seen.unended and not seen.foreign:
                continue
            gate = self.lab.gate(name)
            marks = lab.judge.marks_path(lab.judge.slot(gate, "noted"))
            there = asked[name] = noted_request(lab.facts, gate, marks, lab.facts.read_base)
            calls.append(
                lab.call_elsewhere(gate, there.files, edited_tree(store, base, there.files), "noted")
            )

        def take(heard: Heard) -> None:
            name = heard.call.gate.name
            seen, ends = lab.tried.noted[name], read_ends(heard.marks)
            lab.tried.noted[name] = without_base(seen, asked[name], ends, edited)

        return [Experiment("repeat", calls, take, needed=True)] if calls else []

    def _differs(self, name: str, reading: Reading) -> bool:
        """Did a call come out otherwise than the final one, which nobody watched?"""
        final, canary = self.lab.facts.final[name], reading.canary
        disarmed = canary is not None and bool(canary.silent or canary.unseen)
        changed = changed_keys(final, reading, self.lab.gate(name).fail_on)
        return disarmed or reading.status != final.status or bool(changed)

    def _minds(self, name: str, reading: Reading) -> bool:
        """Red beside a canary, which the base had none of: is it the canary? A plain call tells."""
        base = self.lab.facts.base.get(name)
        if base is not None and base.canary is not None:
            return False  # it did not mind at the base: what is red now is red
        return bool(changed_keys(self.lab.facts.final[name], reading, self.lab.gate(name).fail_on))


def forgive_base_flakes(lab: Lab, attend: Attention) -> None:
    """Takes out what failed once beside a green final verdict, where the base shows the same."""
    facts, tried = lab.facts, lab.tried
    for gate in facts.gates:
        base, final = facts.base.get(gate.name), facts.final.get(gate.name)
        if final is None or final.status != "pass":
            continue

        def forgive(reading: Reading, gate: Gate = gate, base: Reading | None = base) -> Reading:
            return lab.judge.flakes.forgive(gate, reading, facts.tree, base, attend)

        if gate.name in tried.repeats:
            tried.repeats[gate.name] = tuple(map(forgive, tried.repeats[gate.name]))
        if tried.overlay and gate.name in tried.overlay:
            tried.overlay[gate.name] = forgive(tried.overlay[gate.name])
