"""What a loop knows of its plan: the board, the item at hand, what was verified, what the agent said.

Data only, a part of `Loop`; how it changes is in `next_item`. Without a plan it is empty, of mode "task".
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Grade
from ralph.core.model.plan.completion import Dual, Indication
from ralph.core.model.plan.items import Board, Item, Plan
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.verdict import Checkpoint

Mode = Literal["task", "planning", "building", "closing", "checking"]

# What a call in each mode is for.
PURPOSE: dict[Mode, str] = {"planning": "plan", "building": "item", "closing": "close"}


class DoneItem(Struct, frozen=True, omit_defaults=True):
    """An item that Ralph verified: where its commit is. Iteration 0 = it was ticked before this loop."""

    item: str
    iteration: int = 0
    commit: str = ""
    tree: str = ""
    grade: Grade | None = None


class ReaderNote(Struct, frozen=True, omit_defaults=True):
    """What one reader said of its area."""

    area: str
    text: str = ""
    fault: str = ""


class PlanningState(Struct, frozen=True):
    """Planning calls: what they were for, what they brought, and what was wrong with it."""

    plans_accepted: int = 0
    items_since_plan: int = 0  # verified since the newest of them
    replanned_items: frozenset[str] = frozenset()  # items for whose sake planning was entered
    failures_in_row: int = 0  # planning calls that left no usable plan
    problems: tuple[str, ...] = ()  # with the newest plan
    question: str = ""  # what the newest planning call asks a human; "" = nothing
    dropped_items: tuple[str, ...] = ()  # that nobody settled and that a new plan no longer has
    discarded_files: int = 0  # changed outside the plan by calls that must not: thrown away
    readers_running: bool = False  # readers were called and have not been accounted for
    reader_notes: tuple[ReaderNote, ...] = ()  # what they said, until the plan is made


class LinksState(Struct, frozen=True):
    """Which tests show the criteria, and how those stand."""

    tests: tuple[CriterionTest, ...] = ()
    tree: str = ""  # of which that is said
    base_tests: tuple[CriterionTest, ...] = ()  # the same of the newest verified tree
    shown_criteria: frozenset[str] = frozenset()  # by a test that failed without the work


class ClosingState(Struct, frozen=True):
    """Does the agent say that nothing is left?"""

    calls: int = 0  # that asked so
    indications: tuple[Indication, ...] = ()  # completion indicators in the newest iterations
    dual: Dual | None = None  # both halves of the exit condition, when they were last looked at


class PlanState(Struct, frozen=True):
    mode: Mode = "task"
    why: str = ""  # why this mode, or this item
    rule: str = ""  # the row of the decision table that chose the item
    plan: Plan = Plan()
    board: Board | None = None
    base: Checkpoint | None = None  # the newest tree of which everything is verified
    item: Item | None = None  # at hand
    item_touched: bool = False  # something was changed for it, and kept
    tries: dict[str, int] = {}  # item -> judged and not verified
    done_items: dict[str, DoneItem] = {}
    lost_items: dict[str, int] = {}  # verified once and no longer: item -> the iteration that broke it
    blocked_items: dict[str, str] = {}  # item -> why nobody goes on with it
    prompt_notes: tuple[str, ...] = ()  # what the next prompt must say of the iteration before
    planning: PlanningState = PlanningState()
    links: LinksState = LinksState()
    closing: ClosingState = ClosingState()

    def with_planning(self, **changes: Any) -> PlanState:
        return replace(self, planning=replace(self.planning, **changes))

    def with_links(self, **changes: Any) -> PlanState:
        return replace(self, links=replace(self.links, **changes))

    def with_closing(self, **changes: Any) -> PlanState:
        return replace(self, closing=replace(self.closing, **changes))
