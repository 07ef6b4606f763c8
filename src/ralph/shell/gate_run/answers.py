"""A gate call that is wanted, and what came of it."""

from __future__ import annotations

import msgspec

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.executed.watched import LineHits, Watch


class GateCall(msgspec.Struct, frozen=True):
    """What is to be called."""

    gate: Gate
    tree: str
    stage: str  # what it is for, in the evidence
    slot: str  # its folder and checkout; two calls of one slot come after each other
    fresh: bool = True  # a checkout made anew; False: the slot's own, brought up to date
    watch: Watch | None = None  # which statements to look for while it goes on
    reads: bool = False  # which files it reads is watched
    like_user: bool = False  # in a box that looks like a plain clone of the user's
    opened: bool = False  # which files are opened is watched, from outside alone
    times: int = 1  # one after the other in the same box, until one of them is red
    seconds: int = 0  # after which no further one begins
    share: float = 1.0  # of what the whole gate takes: less where it looks at some tests only


class Heard(msgspec.Struct, frozen=True):
    """What came of it. A gate whose tool is not there was never started: no evidence."""

    call: GateCall
    reading: Reading
    evidence: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    hits: LineHits | None = None  # what it executed of the watched statements
    marks: bytes = b""  # what code that was wrapped for an experiment wrote about itself
