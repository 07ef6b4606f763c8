"""One of the repeats in a box that looks like the user's own clone: does a test say the same in both?

Where one does not, it is asked again there, and on the base: what differs there too depends on its
surroundings by nature. What makes the box look otherwise is in `sandbox.boxes`.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.verdict import Reading
from ralph.core.proof.compare import red_keys
from ralph.gates.guards import LikeSeen, is_repeated, turned_green
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.schedule import MACHINERY, Experiment, Lab
from ralph.shell.sandbox.boxes import link_command

STAGE = "like"
_AGAIN, _BASE = f"{STAGE}-again", f"{STAGE}-base"


def plan(lab: Lab) -> list[Experiment]:
    facts, judge = lab.facts, lab.judge
    if not judge.site.boxed:
        return []  # without a box the checks see the user's machine as it is
    # It stands for a plain repeat, unless the base's tests over the new source did already: then it is one
    # call more, and looks at the files of the tests that turned green.
    needed = facts.confirm > 2 and facts.tried.overlay is None
    calls = []
    for gate in facts.gates:
        final = facts.final.get(gate.name)
        if final is None or not is_repeated(gate, final):
            continue
        files = [] if needed else [final.files.get(name, "") for name in turned_green(facts, gate)]
        narrow, share = lab.narrow(gate, files) if files and all(files) else (gate, 1.0)
        slot = judge.slot(gate, STAGE)
        calls.append(GateCall(narrow, facts.tree, STAGE, slot, like_user=True, share=share))
    seen = _LikeCalls(lab)
    return [Experiment("repeat", calls, seen.take, seen.ask_again, needed=needed, what="in your likeness")]


class _LikeCalls(Struct):
    lab: Lab
    differs: dict[str, Heard] = {}
    again: dict[str, Reading] = {}
    base: dict[str, Reading] = {}

    def take(self, heard: Heard) -> None:
        name = heard.call.gate.name
        if heard.reading.cause in MACHINERY or not self._only_here(name, heard.reading):
            self._count(name, heard)
        else:
            self.differs[name] = heard

    def _only_here(self, name: str, reading: Reading) -> frozenset[str]:
        gate = self.lab.gate(name)
        return red_keys(reading, gate.fail_on) - red_keys(self.lab.facts.final[name], gate.fail_on)

    def _count(self, name: str, heard: Heard) -> None:
        """A repeat as any other, where it looked at everything."""
        self.lab.tried.likeness[name] = LikeSeen(frozenset(), linked=bool(link_command(self.lab.judge.site)))
        known = self.lab.tried.repeats.get(name, ())
        if heard.call.share == 1.0 or heard.reading.status != "pass":
            self.lab.tried.repeats[name] = (*known, heard.reading)

    def ask_again(self) -> list[Experiment]:
        """On the result, and on the base with its own tests."""
        lab, base = self.lab, self.lab.judge.site.order.base.tree
        again, before = list[GateCall](), list[GateCall]()
        for name, heard in self.differs.items():
            gate, reading = self.lab.gate(name), heard.reading
            again.append(replace(heard.call, stage=_AGAIN))
            files = [path for test in self._only_here(name, reading) if (path := reading.files.get(test))]
            narrow = lab.call_elsewhere(gate, files, base, _BASE, f"{STAGE}-base")
            before.append(replace(narrow, like_user=True))
        if not again:
            return []

        def take(heard: Heard) -> None:
            kept = self.again if heard.call.stage == _AGAIN else self.base
            kept[heard.call.gate.name] = heard.reading

        return [Experiment("repeat", [*again, *before], take, self.settle, needed=True)]

    def settle(self) -> list[Experiment]:
        for name, first in self.differs.items():
            stable = self._only_here(name, first.reading) & self._only_here(name, self.again[name])
            if not stable:
                self._count(name, first)  # green there once and red there once: flaky
                continue
            self.lab.tried.likeness[name] = LikeSeen(stable, stable & self._differs_at_base(name))
        return []

    def _differs_at_base(self, name: str) -> frozenset[str]:
        """What is red in the likeness only, on the base."""
        base, gate = self.lab.facts.base.get(name), self.lab.gate(name)
        if base is None:
            return frozenset()
        return red_keys(self.base[name], gate.fail_on) - red_keys(base, gate.fail_on)
