"""Judging: gates over one tree become verdicts, held against what they said of the base.

The base is judged twice, watched and with a canary beside the tests the second time, so that what is flaky,
which files judge and what a canary does there is known before any agent ran. Making the calls is
`gate_call`' matter, what a verdict means the core's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading, Stage, Verdict
from ralph.core.proof.causes import TRIES, is_missing
from ralph.shell.dependencies.built import Deps
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.extra_calls import BaseFlakes
from ralph.shell.gate_run.gate_call import MARKS, GateCaller
from ralph.shell.gate_run.make_verdict import make_verdict
from ralph.shell.gate_run.omissions import Omissions
from ralph.shell.gate_run.second_calls import SecondCalls
from ralph.shell.git.checkout import Submodule
from ralph.shell.ports import Attention
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs


class _Stored(msgspec.Struct, frozen=True):
    """Of a verdict's evidence, what tells how its gate was executed."""

    tool_sha256: str
    output: str = ""


class Judge:
    """Runs gates for one site; remembers the baseline's readings."""

    def __init__(self, site: Site, modules: tuple[Submodule, ...]) -> None:
        self.site = site
        self.deps = Deps(site, modules)
        self._caller = GateCaller(site, modules)
        self._base: dict[str, Reading] = {}
        self.omissions = Omissions(site.order.criterion)
        self.found: dict[str, tuple[str, ...]] = {}  # by gate: what its base misses and the checkout has
        self.flakes = BaseFlakes(site, self.hear, self.slot)

    def judge(
        self,
        gates: tuple[Gate, ...],
        tree: str,
        stage: Stage,
        baseline: dict[str, Verdict],
        attend: Attention,
        readings: dict[str, Reading] | None = None,
        *,
        settled: bool = False,
    ) -> Iterator[Verdict]:
        """Verdicts as they come in; ends early, with every process gone, when `attend` says so.

        One of them may be none (`causes.is_missing`): then its gate is to be asked again, from the beginning.
        `settled`: that has been done on this tree where it was in doubt who ended a call.
        """
        again = stage == "baseline" and self.site.order.criterion.confirm > 1
        kept = "fresh" if (fresh := stage == "final") else "kept"
        wanted = [GateCall(gate, tree, stage, self.slot(gate, kept), fresh) for gate in gates]
        heard: dict[str, list[Heard]] = {gate.name: [] for gate in gates}
        twice = SecondCalls(self.site, self.slot, tree)
        wanted += twice.call_ahead(gates) if again else ()
        anew: list[Gate] = []
        for answer in twice.in_order(self.hear(wanted, tree, attend)):
            gate = self.site.order.criterion.gate(answer.call.gate.name)
            mine, slot = heard[gate.name], self.slot(gate, "again")
            if is_missing(answer.reading, settled=settled):
                twice.forget(gate)
                mine.clear()
                yield self._verdict(gate, tree, stage, [answer], baseline, readings)
                continue
            answer = twice.take_out_ours(answer)  # noqa: PLW2901
            if answer.call.reads and (call := twice.call_instead(gate, mine[0].reading, answer.reading)):
                wanted.append(call)
                continue
            if stage == "baseline" and not mine and answer.reading.status != "pass":
                reading = self._look_for_missing(answer)
                if reading is None:
                    twice.forget(gate)
                    anew.append(gate)
                    continue
                if reading is not answer.reading:  # no agent is called, so nothing is to be confirmed
                    twice.forget(gate)
                    only = [replace(answer, reading=reading)]
                    yield self._verdict(gate, tree, stage, only, baseline, readings)
                    continue
            mine.append(answer)
            if again and len(mine) == 1 and answer.evidence:
                wanted += twice.after_first(gate, answer.reading)
                continue
            twice.forget(gate)
            base = self.base_reading(gate.name, baseline) if fresh else None
            if len(mine) == 1 and self.flakes.may_be_old(gate, mine[0].reading, tree, base):
                wanted.append(GateCall(gate, tree, stage, slot))
                continue
            mine = self.flakes.settle(gate, mine, tree, base, attend)
            yield self._verdict(gate, tree, stage, mine, baseline, readings)
        if anew:  # each time with something more, so it comes to an end
            self.deps.add(tuple(dict.fromkeys(path for gate in anew for path in self.found[gate.name])))
            yield from self.judge(tuple(anew), tree, stage, baseline, attend, readings, settled=settled)

    def _look_for_missing(self, answer: Heard) -> Reading | None:
        """How a red base is to be read; None: it is to be called anew with what it lacks by its own words.

        A base of which nothing loads for want of what is in no commit is no base to begin from.
        """
        from ralph.shell.dependencies.generated import find_missed  # few bases need it

        reading, gate, site = answer.reading, answer.call.gate, self.site
        said = [reading.summary, *(finding.message for finding in reading.findings)]
        if answer.evidence:
            stored = msgspec.json.decode(blobs.get(site.state.blobs, answer.evidence), type=_Stored)
            said.append(blobs.get(site.state.blobs, stored.output).decode("utf-8", "replace"))
        order, tree = site.order, answer.call.tree
        task = order.task if order.brief is None else None  # items of a plan ask for this and that
        missed = find_missed(site.store, tree, "\n".join(said), order.repo, gate.cwd, task)
        fresh = tuple(path for path in missed.shared if not self.deps.has(path))
        if fresh:
            self.found[gate.name] = (*self.found.get(gate.name, ()), *fresh)
            return None
        why = missed.why() if not (reading.counts and reading.counts.passed) else ""
        if why:
            reading = replace(reading, status="error", cause="missing", summary=why)
        return reading

    def patiently(
        self,
        gates: tuple[Gate, ...],
        tree: str,
        stage: Stage,
        baseline: dict[str, Verdict],
        attend: Attention,
        readings: dict[str, Reading] | None = None,
    ) -> Iterator[Verdict]:
        """As `judge`, where nothing is journaled: no answer is asked for again, as often as in a loop."""
        settled = False
        for left in reversed(range(TRIES)):
            again: list[Gate] = []
            doubt = False
            for verdict in self.judge(gates, tree, stage, baseline, attend, readings, settled=settled):
                if left and is_missing(verdict, settled=settled):
                    again += [gate for gate in gates if gate.name == verdict.gate]
                    doubt = doubt or verdict.doubt
                else:
                    yield verdict
            gates, settled = tuple(again), settled or doubt

    def hear(self, wanted: list[GateCall], tree: str, attend: Attention) -> Iterator[Heard]:
        """Answers of gate calls, with the dependencies of `tree` shared in; quarantined tests left out.

        None at all when asked to stop before the dependencies were there.
        """
        shares = self.deps.shares(tree, attend)
        if shares is None:
            return
        if isinstance(shares, Reading):
            for call in wanted:
                yield Heard(call, shares)
            return
        for heard in self._caller.hear(wanted, shares, attend):
            yield replace(heard, reading=self.omissions.take_from(heard.reading, heard.call.gate.name))

    def slot(self, gate: Gate, purpose: str) -> str:
        """The folder of a call: one for each gate and purpose, used again by the next tree."""
        names = [sealed.name for sealed in self.site.order.criterion.gates]
        return f"{purpose}-{names.index(gate.name)}"

    def marks_path(self, slot: str) -> str:
        """The file for marks of code that is wrapped for an experiment, as that code sees it."""
        return os.path.join(self._caller.report_folder(slot), MARKS)

    def _verdict(
        self,
        gate: Gate,
        tree: str,
        stage: Stage,
        heard: list[Heard],
        baseline: dict[str, Verdict],
        readings: dict[str, Reading] | None,
    ) -> Verdict:
        base = self.base_reading(gate.name, baseline) if stage != "baseline" else None
        verdict, reading = make_verdict(self.site, gate, tree, stage, heard, base)
        if readings is not None:
            readings[gate.name] = reading
        return verdict

    def base_reading(self, name: str, baseline: dict[str, Verdict]) -> Reading | None:
        """What this gate said of the base commit, every test of it."""
        if name not in self._base:
            verdict = baseline.get(name)
            if verdict is None:
                return None
            self._base[name] = self.reading(verdict)
        return self._base[name]

    def tool_of(self, verdict: Verdict) -> str:
        """The hash of the tool that this verdict's gate was executed by, as its evidence says; "" = none."""
        if not verdict.evidence:
            return ""
        stored = msgspec.json.decode(blobs.get(self.site.state.blobs, verdict.evidence), type=_Stored)
        return stored.tool_sha256

    def reading(self, verdict: Verdict) -> Reading:
        return msgspec.json.decode(blobs.get(self.site.state.blobs, verdict.reading), type=Reading)
