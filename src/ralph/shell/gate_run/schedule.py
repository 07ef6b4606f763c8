"""The further gate calls of one judgement: every experiment in one queue, within a budget of suite runs.

An experiment is a question about the result that gate calls answer. What it asks is a guard's request
(`gates.guards`), its calls are made in `experiments`, and here they share the machine: calls of all
experiments run side by side, and what one answer leads to joins the queue. What does not fit into the budget
is left out and named, and its guard then counts as not applied (`Tried.undone`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading, Verdict
from ralph.core.proof.causes import is_missing
from ralph.gates.guards import GuardFacts, Tried
from ralph.gates.narrow import narrow_to_files
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.ports import Attention

if TYPE_CHECKING:  # it need not be loaded first
    from ralph.shell.gate_run.verdicts import Judge

SUITE_RUNS = 3.0  # the whole of a final proof, its verdict included, by the wall clock on two cores
CORES = 2
SMALL_SUITE_SECONDS = 5.0  # below this nothing is left out: starting processes is most of what it takes
MACHINERY = frozenset({"missing", "sandbox", "tool-changed"})  # causes that no test noticed
MAX_BUSY = 4.0  # load averages of a container are those of its whole host
CALL_SECONDS = 15.0  # for a call on other source, or four times what the gate took: it may never end
START_SECONDS = 0.5  # of a checkout, a box and a runner that loads
UNKNOWN_SHARE = 0.5  # of a gate that looks at some files, where it is not known which tests are in them
BUDGET_WORDS = f"it does not fit into {SUITE_RUNS:g} suite runs"


def red_among(reading: Reading, tests: frozenset[str]) -> frozenset[str]:
    """Those of these tests that are not green; "": the gate as a whole."""
    if reading.status == "pass" or reading.cause in MACHINERY or reading.doubt:
        return frozenset()
    return frozenset(name for name in tests if (reading.tests or {}).get(name) != "pass")


class Lab(Struct):
    """Where experiments on one result are made: the result, who calls gates, and what was found so far."""

    judge: Judge
    facts: GuardFacts
    finals: dict[str, Verdict]
    settled: bool = False  # a doubt about this tree was looked into before
    evidence: dict[str, tuple[str, ...]] = {}  # by stage
    missing: Heard | None = None  # a call that gave no answer: then nothing of all this is used
    busy: float = 1.0  # how many times as long everything takes as on an idle machine

    @property
    def tried(self) -> Tried:
        return self.facts.tried

    def gate(self, name: str) -> Gate:
        return next(gate for gate in self.facts.gates if gate.name == name)

    def patience(self, gate: Gate) -> float:
        """How long a call of this gate on other source than the result's may take."""
        return min(gate.timeout, max(CALL_SECONDS, 4 * self.finals[gate.name].seconds))

    def narrow(self, gate: Gate, files: Collection[str]) -> tuple[Gate, float]:
        """The gate looking at these test files only, if it can be told so, and its share of the tests."""
        own = self.facts.final[gate.name].files
        narrow = narrow_to_files(gate, sorted(set(files)), self.facts.has_path)
        if narrow.argv == gate.argv:
            return gate, 1.0
        if not own:
            return narrow, UNKNOWN_SHARE
        return narrow, sum(path in files for path in own.values()) / len(own)

    def call_elsewhere(
        self, gate: Gate, files: Collection[str], tree: str, stage: str, slot: str = "", *, fresh: bool = True
    ) -> GateCall:
        """A call over these test files on other source than the result's, which may never end by itself."""
        narrow, share = self.narrow(gate, files)
        narrow = replace(narrow, timeout=self.patience(gate))
        return GateCall(narrow, tree, stage, self.judge.slot(gate, slot or stage), fresh, share=share)

    def seconds(self, call: GateCall) -> float:
        """What this call is expected to take, by what its gate took for the verdict."""
        return START_SECONDS + call.share * self.finals[call.gate.name].seconds


def _always() -> bool:
    return True


class Experiment(Struct):
    """Gate calls that answer one question. No two use the same stage at the same time."""

    guard: str  # who asks: beside its result stands what was not done
    calls: list[GateCall]
    take: Callable[[Heard], GateCall | None]  # notes an answer; a call that has to be made in its stead
    then: Callable[[], list[Experiment]] = list  # what follows when all its calls are answered
    needed: bool = False  # made whatever it takes: a verdict rests on it
    enough: Callable[[], bool] = _always  # as long as not, its calls are made whatever they take
    max_seconds: float = inf  # of its calls together; what has not begun by then is left out
    what: str = ""  # what is not done when calls are left out; "": its guard tells that itself
    owed: int = 0
    spent: float = 0.0
    beyond: list[GateCall] = []  # what did not fit


def perform(lab: Lab, experiments: list[Experiment], attend: Attention) -> bool:
    """Every experiment; False when asked to drop them, or when a call gave no answer (`lab.missing`)."""
    queue = _Queue(lab, budget_seconds(lab.finals, lab.busy))
    for one in sorted(experiments, key=lambda one: not one.needed):
        queue.add(one)
    for heard in lab.judge.hear(queue.wanted, lab.facts.tree, attend):
        if is_missing(heard.reading, settled=lab.settled):
            lab.missing = heard
            return False
        queue.enter(heard)
    return queue.owed == 0


def how_busy(load: float, cores: int) -> float:
    """Processes that want a core, for each there is: a small suite takes long among many."""
    return min(MAX_BUSY, max(1.0, load / cores))


def budget_seconds(finals: dict[str, Verdict], busy: float) -> float:
    """What all further calls together may take, by what the verdicts took one after another."""
    suite = sum(verdict.seconds for verdict in finals.values())
    if suite < SMALL_SUITE_SECONDS * busy:
        return inf
    return (SUITE_RUNS - 1) * suite * CORES


class _Queue(Struct):
    lab: Lab
    left: float
    wanted: list[GateCall] = []
    by_stage: dict[str, Experiment] = field(default_factory=dict)
    owed: int = 0

    def add(self, one: Experiment) -> None:
        admitted: list[GateCall] = []
        for call in one.calls:
            seconds = self.lab.seconds(call)
            if one.needed or seconds <= self.left:
                admitted.append(call)
                self.left -= seconds
            else:
                one.beyond.append(call)
        for call in admitted:
            self._put(one, call)
        self._follow(one)

    def enter(self, heard: Heard) -> None:
        one = self.by_stage[heard.call.stage]
        if heard.evidence:
            known = self.lab.evidence.get(heard.call.stage, ())
            self.lab.evidence[heard.call.stage] = (*known, heard.evidence)
        one.spent += heard.seconds
        instead = one.take(heard)
        if instead is not None:
            self._put(one, instead)
        one.owed -= 1
        self.owed -= 1
        if one.spent > one.max_seconds:
            rest = [call for call in self.wanted if self.by_stage[call.stage] is one]
            self.wanted[:] = [call for call in self.wanted if self.by_stage[call.stage] is not one]
            one.owed -= len(rest)
            self.owed -= len(rest)
            one.beyond.clear()
            self._leave_out(one, len(rest))
        self._follow(one)

    def _put(self, one: Experiment, call: GateCall) -> None:
        before = self.by_stage.get(call.stage, one)
        assert before is one or before.owed == 0, call.stage
        self.by_stage[call.stage] = one
        self.wanted.append(call)
        one.owed += 1
        self.owed += 1

    def _follow(self, one: Experiment) -> None:
        if one.owed == 0 and one.beyond and not one.enough():
            self._put(one, one.beyond.pop(0))
        elif one.owed == 0:
            self._leave_out(one, len(one.beyond))
            for further in one.then():
                self.add(further)

    def _leave_out(self, one: Experiment, count: int) -> None:
        if count and one.what:
            self.lab.tried.leave_out(one.guard, f"{one.what}, {BUDGET_WORDS}")
