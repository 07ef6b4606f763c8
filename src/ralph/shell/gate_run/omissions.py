"""What the readings of a judge are made without: tests in quarantine, and what was red before the loop where
that may stay. Which of it may is the core's question (`core/proof/still_red.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ralph.core.model.gate import Criterion
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Reading, Verdict
from ralph.core.proof.flaky import skip_tests
from ralph.core.proof.still_red import find_old_red, leave_out

BaseReading = Callable[[str, dict[str, Verdict]], Reading | None]


class Omissions:
    def __init__(self, criterion: Criterion) -> None:
        self._criterion = criterion
        self._old_red: Mapping[str, frozenset[str]] = {}  # by gate

    def allow(self, old_red: Mapping[str, frozenset[str]]) -> None:
        """From here on these may be red."""
        self._old_red = old_red

    def allow_old_red(self, loop: Loop, tree: str, base_reading: BaseReading) -> None:
        """What was red at the base may be so where a user says so, or the agent insists on this tree."""
        criterion, insisted = loop.sealed.criterion, loop.proof.insisted_tree == tree  # with later waivers
        gates = ((gate, base_reading(gate.name, loop.proof.baseline)) for gate in criterion.gates)
        self.allow(
            {
                gate.name: find_old_red(criterion, gate, base, insisted=insisted)
                for gate, base in gates
                if base is not None
            }
        )

    def take_from(self, reading: Reading, name: str) -> Reading:
        gate = self._criterion.gate(name)
        kept = skip_tests(reading, self._criterion.quarantine, gate.fail_on)
        return leave_out(kept, self._old_red.get(name, frozenset()), gate)
