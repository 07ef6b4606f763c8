"""Actions: what the core asks the shell to do. Never stored: `decide` makes them again from the facts.

A new action is a struct and a row of ACTIONS here, a method of the performer, and whoever owes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ralph.core.model.gate import Grade
from ralph.core.model.outcome import Outcome
from ralph.core.model.team.terms import Role, Seat
from ralph.core.model.verdict import Checkpoint, Stage

if TYPE_CHECKING:
    from ralph.core.model.loop import Loop


class Action(Struct, frozen=True):
    """One effect that the shell owes; done, it is a fact."""


class MakeWorkspace(Action, frozen=True):
    pass


class RunGates(Action, frozen=True):
    stage: Stage
    tree: str
    gates: tuple[str, ...]
    fresh: bool = False  # in checkouts made anew: what is green there need not be judged again


class RunGuards(Action, frozen=True):
    tree: str


class TieTests(Action, frozen=True):
    tree: str


class RunAgent(Action, frozen=True):
    iteration: int
    call: int
    agent: int = 0  # 0 = the one that is wanted, else a spare one


class RunReaders(Action, frozen=True):
    call: int  # of the first
    count: int


class TakeSnapshot(Action, frozen=True):
    iteration: int


class RestoreWorkspace(Action, frozen=True):
    to: Checkpoint
    rejected: Checkpoint | None
    why: str = ""  # for the next prompt


class Wait(Action, frozen=True):
    seconds: float
    until: float | None  # epoch seconds, when a provider named a time
    why: str
    probe: str = ""  # host:port; while it does not answer, the wait lasts until it does
    most: float = 0.0  # but not longer than this


class PublishResult(Action, frozen=True):
    tree: str
    grade: Grade


class PublishItem(Action, frozen=True):
    item: str
    tree: str
    grade: Grade


class Finish(Action, frozen=True):
    outcome: Outcome
    reason: str
    grade: Grade | None = None


class AskJudge(Action, frozen=True):
    tree: str
    call: int
    then: PublishResult | PublishItem | Finish  # what follows unless the judge holds it back
    role: Seat = "judge"
    both: bool = False  # the judge is asked at the same time, by the call after this one


class RunRole(Action, frozen=True):
    """A call of the team before the work begins: the planner's, the tester's."""

    role: Role
    call: int
    tree: str


class ActionRow(NamedTuple):
    """How an action is performed."""

    by: str  # method of the performer that does it and gives the fact or facts that it is done
    attends: bool = False  # it takes long: it hears, between two breaths, that it is to be dropped
    opens: str = ""  # method that gives the fact to be recorded before it begins; "" = none
    is_open: Callable[[Loop], bool] = bool  # was that recorded?


ACTIONS: dict[type[Action], ActionRow] = {
    MakeWorkspace: ActionRow("make_workspace"),
    RunGates: ActionRow("run_gates", attends=True),
    RunGuards: ActionRow("run_guards", attends=True),
    TieTests: ActionRow("tie_tests"),
    RunReaders: ActionRow(
        "finish_readers", True, "open_readers", lambda loop: loop.build.planning.readers_running
    ),
    RunRole: ActionRow("finish_role", True, "open_role", lambda loop: bool(loop.team.open)),
    RunAgent: ActionRow("finish_call", True, "open_call", lambda loop: loop.call.running),
    TakeSnapshot: ActionRow("take_snapshot"),
    RestoreWorkspace: ActionRow("restore"),
    Wait: ActionRow("wait", attends=True),
    AskJudge: ActionRow(
        "finish_judge", True, "open_judge", lambda loop: loop.jury.open or loop.team.review.open
    ),
    PublishResult: ActionRow("publish"),
    PublishItem: ActionRow("publish_item"),
    Finish: ActionRow("finish"),
}
