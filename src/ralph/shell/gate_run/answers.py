"""A gate call that is wanted, and what came of it; the calls that guards ask for, together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec
from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import is_missing
from ralph.gates.executed.watched import LineHits, Watch
from ralph.shell.ports import Attention


class GateCall(msgspec.Struct, frozen=True):
    """What is to be called."""

    gate: Gate
    tree: str
    stage: str  # what it is for, in the evidence
    slot: str  # its folder and checkout; two calls of one slot come after each other
    fresh: bool = True  # a checkout made anew; False: the slot's own, brought up to date
    watch: Watch | None = None  # which statements to look for while it goes on


class Heard(msgspec.Struct, frozen=True):
    """What came of it. A gate whose tool is not there was never started: no evidence."""

    call: GateCall
    reading: Reading
    evidence: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    hits: LineHits | None = None  # what it executed of the watched statements
    marks: bytes = b""  # what code that was wrapped for an experiment wrote about itself


class Hears(Protocol):
    """Who makes gate calls."""

    def hear(self, wanted: list[GateCall], tree: str, attend: Attention) -> Iterator[Heard]: ...


class Batch(Struct):
    """What the calls of one batch said, by purpose and gate."""

    overlay: dict[str, Reading] = {}
    repeats: dict[str, tuple[Reading, ...]] = {}
    witness: dict[str, Reading] = {}
    altered: dict[str, tuple[frozenset[str], Reading]] = {}
    coverage: dict[str, LineHits] = {}
    differed: dict[str, Reading] = {}  # a watched call that came out otherwise than the final one
    evidence: dict[str, tuple[str, ...]] = {}
    owed: int = 0
    settled: bool = False  # a doubt about this tree was looked into before
    missing: Heard | None = None  # a call that gave no answer: then nothing of all this is used


def answers(
    judge: Hears, wanted: list[GateCall], tree: str, batch: Batch, attend: Attention
) -> Iterator[Heard]:
    """Answers as they come in, up to the first call that gave none."""
    for heard in judge.hear(wanted, tree, attend):
        if is_missing(heard.reading, settled=batch.settled):
            batch.missing = heard
            return
        yield heard
