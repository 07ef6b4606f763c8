"""The base a second time: watched, with canaries beside its tests, and at once with the first if possible.

A place for canaries is guessed from the text of the tests. Where the first call says that it was none, the
second is made again, as it always is for runners whose tests are not known by their text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import FileReads, Reading
from ralph.core.proof.flaky import changed_keys
from ralph.gates.canary_text import canary_of
from ralph.gates.guess_tests import guess_reading
from ralph.gates.plant_canary import Planted, take_out_canaries
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.extra_calls import with_canary
from ralph.shell.git import trees
from ralph.shell.sandbox.site import Site

_NO_TESTS = Reading("pass", "")


class SecondCalls:
    """Second calls of the gates of one tree."""

    def __init__(self, site: Site, slot: Callable[[Gate, str], str], tree: str) -> None:
        self._site, self._slot, self._tree = site, slot, tree
        self._planted: dict[str, Planted] = {}
        self._reads: dict[str, FileReads] = {}
        self._ahead: dict[str, GateCall] = {}  # by gate: made at once with the first, and still wanted

    def call_ahead(self, gates: tuple[Gate, ...]) -> list[GateCall]:
        """Those that need not wait. Without boxes, each with its own network, two could meet."""
        for gate in gates:
            if not self._site.boxed or gate.exclusive:
                continue
            knows_canaries = canary_of(gate.read) is not None
            call = self._call(gate, self._guess(gate) if knows_canaries else _NO_TESTS)
            if gate.name in self._planted or not knows_canaries:
                self._ahead[gate.name] = call
        return list(self._ahead.values())

    def in_order(self, answers: Iterator[Heard]) -> Iterator[Heard]:
        """A gate's first answer before that of the call made ahead, which is dropped once nobody wants it."""
        ahead, begun, early = tuple(self._ahead.values()), set[str](), dict[str, Heard]()
        for answer in answers:
            name = answer.call.gate.name
            if not any(answer.call is call for call in ahead):
                begun.add(name)
                yield answer
                if name in early and name in self._ahead:
                    yield early.pop(name)
            elif name in begun and name in self._ahead:
                yield answer
            else:
                early[name] = answer

    def forget(self, gate: Gate) -> None:
        """The first call has said it all."""
        self._ahead.pop(gate.name, None)

    def after_first(self, gate: Gate, reading: Reading) -> list[GateCall]:
        """What is left to call when the first has answered."""
        return [] if gate.name in self._ahead else [self._call(gate, reading)]

    def take_out_ours(self, answer: Heard) -> Heard:
        """Without canaries; what was read is remembered, in case a plain call has to tell the rest."""
        name, reading = answer.call.gate.name, answer.reading
        if answer.call.stage == "canary":
            reading = take_out_canaries(reading, self._planted[name])
        if reading.reads is not None:
            self._reads[name] = reading.reads
        elif name in self._reads:
            reading = replace(reading, reads=self._reads[name])
        return replace(answer, reading=reading)

    def call_instead(self, gate: Gate, first: Reading, second: Reading) -> GateCall | None:
        """Where the second differs from the first because of us, or tells nothing: the call that counts."""
        guessed, canary = self._ahead.pop(gate.name, None) is not None, second.canary
        differs = bool(changed_keys(first, second, gate.fail_on))
        if guessed and canary is not None and (differs or not canary.red):
            return self._call(gate, first)
        # The project minds a foreign test, or being watched; whether it is flaky, a plain call tells.
        return GateCall(gate, self._tree, "baseline", self._slot(gate, "again")) if differs else None

    def _guess(self, gate: Gate) -> Reading:
        store, tree = self._site.store, self._tree
        paths = trees.list_tree(store, tree)
        return guess_reading(gate, paths, lambda path: trees.read_blob(store, tree, path)) or _NO_TESTS

    def _call(self, gate: Gate, reading: Reading) -> GateCall:
        call, bird = with_canary(self._site, gate, self._tree, reading, self._slot(gate, "again"), "baseline")
        if bird is not None:
            self._planted[gate.name] = bird
        return replace(call, reads=True)
