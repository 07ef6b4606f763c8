"""What a loop knows of its plan: the board, the item at hand, what was verified, what the agent said.

Data only, a part of `Loop`; how it changes is in `next_item`. A loop without a plan has none of it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.model.gate import Grade
from ralph.core.model.order import ReaderNote
from ralph.core.model.plan.board import Board
from ralph.core.model.plan.completion import Dual, Indication
from ralph.core.model.plan.items import Item, Plan
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.verdict import Checkpoint

Mode = Literal["planning", "building", "closing", "checking"]

# What a call in each mode is for.
PURPOSE: dict[Mode, str] = {"planning": "plan", "building": "item", "closing": "close", "checking": ""}


class DoneItem(Struct, frozen=True, omit_defaults=True):
    """An item that Ralph verified: where its commit is. Iteration 0 = it was ticked before this loop."""

    item: str
    iteration: int = 0
    commit: str = ""
    tree: str = ""
    grade: Grade | None = None


class PlanState(Struct, frozen=True):
    mode: Mode = "planning"
    why: str = ""  # why this mode, or this item
    rule: str = ""  # the row of the decision table that chose the item
    plan: Plan = Plan()
    board: Board | None = None
    item: Item | None = None
    base: Checkpoint | None = None  # the newest tree of which everything is verified
    base_ties: tuple[CriterionTest, ...] = ()  # how the criteria stand there
    touched: bool = False  # something was changed for this item, and kept
    tries: dict[str, int] = {}  # item -> judged and not verified
    done: dict[str, DoneItem] = {}
    lost: dict[str, int] = {}  # verified once and no longer: item -> the iteration that broke it
    blocked: dict[str, str] = {}  # item -> why nobody goes on with it
    replanned: frozenset[str] = frozenset()  # items for whose sake planning was entered
    plans: int = 0  # plans that were accepted
    planned: int = 0  # items verified since the newest of them
    unsound: int = 0  # planning calls in a row that left no usable plan
    reading: bool = False  # readers were called and have not been accounted for
    notes: tuple[ReaderNote, ...] = ()  # what they said, until the plan is made
    wrong: tuple[str, ...] = ()  # what was wrong with the newest plan
    shown: frozenset[str] = frozenset()  # criteria shown by a test that failed without the work
    asked: str = ""  # what the newest planning call asks a human; "" = nothing
    dropped: tuple[str, ...] = ()  # items that nobody settled and that a new plan no longer has
    discarded: int = 0  # files changed outside the plan by calls that must not: thrown away
    told: tuple[str, ...] = ()  # what the next prompt must say of the iteration before
    ties: tuple[CriterionTest, ...] = ()  # of tied_tree
    tied_tree: str = ""
    said: tuple[Indication, ...] = ()  # words of completion in the newest iterations
    dual: Dual | None = None  # both halves of the exit condition, when they were last looked at
    closings: int = 0  # calls that asked what is left
