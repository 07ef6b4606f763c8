"""What the plan costs an iteration: tick an item, choose the next, tell the agent, change the file.

Ten thousand items beside a hundred. Both plans are of one kind: groups of ten that build on each other, and a
last item that waits for all. Making the board and writing the whole file happens once a plan, and is not
counted.
"""

import itertools
import os
import tempfile
import time

from measuring import Line, interleaved, median, typical_ratio

from ralph.core.plan import Item, Plan
from ralph.core.planprompt import item_text
from ralph.core.planselect import Board, board_of, choose, with_failing, with_state
from ralph.core.plansheet import based_on, lay_out, marked
from ralph.core.specs import SpecCriterion

PART = "plan"
AIM = 1.2
FEW, MANY = 100, 10_000
GROUP = 10


def measure(quick: bool) -> list[Line]:
    turns, rounds = 40, 20 if quick else 100  # at 40 of 100 the short plan still has as much to tell
    few, many = _Work(FEW), _Work(MANY)
    floors, ralphs = interleaved(rounds, lambda: few.seconds(turns), lambda: many.seconds(turns))
    floor = median(floors)
    ralph = floor * typical_ratio(ralphs, floors)
    return [
        Line(
            part=PART,
            what=f"one iteration, {MANY:,} items",
            floor=floor * 1e6,
            ralph=ralph * 1e6,
            unit="us",
            value=ralph / floor,
            value_unit="x",
            aim=AIM,
        )
    ]


class _Work:
    """A plan from its middle on, worked item by item."""

    def __init__(self, count: int) -> None:
        plan = _plan(count)
        self.criteria = {
            f"C-{n}": SpecCriterion(
                f"C-{n}", "opens", n, n, ("a user",), ("they log in",), ("home is shown",)
            )
            for n in range(count)
        }
        self.start: Board = board_of(plan, criteria=self.criteria, clarity=dict.fromkeys(self.criteria, 4))
        data, self.sheet = lay_out(plan)
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the measurement)
        self.file.write(data)
        self.file.flush()

    def seconds(self, turns: int) -> float:
        """Of one iteration, each beginning with an item that was verified."""
        board = self.start
        digests = (f"{n:064x}" for n in itertools.count())
        taken = []
        for _ in range(turns):
            item = choose(board).item
            if item is None:
                raise SystemExit("the plan has no next item")
            began = time.perf_counter()
            board = with_failing(with_state(board, item.id, "done"), item.serves)
            choice = choose(board)
            text = item_text(board, choice, self.criteria)
            edits = (
                marked(self.sheet, item.id, "done"),
                *(based_on(self.sheet, specs="0" * 64, code=next(digests)) or ()),
            )
            for edit in edits:
                os.pwrite(self.file.fileno(), edit.data, edit.at)
            taken.append(time.perf_counter() - began)
            if len(text) > 4000 or len(edits) != 3:
                raise SystemExit("the prompt or the edits grew with the plan")
        return median(taken)


def _plan(count: int) -> Plan:
    items = []
    for n in range(count - 1):
        after = (f"i{n - 1}",) if n % GROUP else ()
        serves = (f"C-{n}", f"C-{(n + 1) % count}")
        items.append(
            Item(f"i{n}", f"do thing number {n}", priority=n // GROUP % 3, after=after, serves=serves)
        )
    last = Item("last", "release it", after=tuple(item.id for item in items), serves=("C-0",))
    return Plan(items=(*items, last), specs="0" * 64, code="0" * 64)
