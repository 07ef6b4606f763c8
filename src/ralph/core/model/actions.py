"""Actions: what the core asks the shell to do; never stored, because `decide` makes them again from the
facts."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.gate import Grade
from ralph.core.model.outcome import Outcome
from ralph.core.model.verdict import Checkpoint, Stage


class MakeWorkspace(Struct, frozen=True, tag=True):
    pass


class RunGates(Struct, frozen=True, tag=True):
    stage: Stage
    tree: str
    gates: tuple[str, ...]


class RunGuards(Struct, frozen=True, tag=True):
    tree: str


class TieTests(Struct, frozen=True, tag=True):
    tree: str


class RunAgent(Struct, frozen=True, tag=True):
    iteration: int
    call: int
    agent: int = 0  # 0 = the one that is wanted, else a spare one


class RunReaders(Struct, frozen=True, tag=True):
    call: int  # of the first
    count: int


class TakeSnapshot(Struct, frozen=True, tag=True):
    iteration: int


class RestoreWorkspace(Struct, frozen=True, tag=True):
    to: Checkpoint
    rejected: Checkpoint | None
    why: str = ""  # for the next prompt


class Wait(Struct, frozen=True, tag=True):
    seconds: float
    until: float | None  # epoch seconds, when a provider named a time
    why: str
    probe: str = ""  # host:port; while it does not answer, the wait lasts until it does
    most: float = 0.0  # but not longer than this


class PublishResult(Struct, frozen=True, tag=True):
    tree: str
    grade: Grade


class PublishItem(Struct, frozen=True, tag=True):
    item: str
    tree: str
    grade: Grade


class Finish(Struct, frozen=True, tag=True):
    outcome: Outcome
    reason: str
    grade: Grade | None = None


class AskJudge(Struct, frozen=True, tag=True):
    tree: str
    call: int
    then: PublishResult | PublishItem | Finish  # what follows unless the judge holds it back


Action = (
    MakeWorkspace
    | RunGates
    | RunGuards
    | TieTests
    | RunReaders
    | RunAgent
    | TakeSnapshot
    | RestoreWorkspace
    | Wait
    | PublishResult
    | PublishItem
    | AskJudge
    | Finish
)
