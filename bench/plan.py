"""What the plan costs an iteration: tick an item, choose the next, tell the agent, change the file.

Ten thousand items beside a hundred. Both plans are of one kind: groups of ten that build on each other, and a
last item that waits for all. Making the board and laying the file out happens once a plan, and is not
counted. One line is choosing and telling; the other is all that an iteration does with the plan's file, as
`PlanDesk` does it: into the workspace, and into the tree before and after the call. Together they may cost
50 ms more an iteration.
"""

import os
import subprocess
import tempfile
import time

from measuring import Line, interleaved, median
from msgspec.structs import replace

from ralph.core.model.order import Brief
from ralph.core.model.plan.board import board_of, choose, with_failing, with_state
from ralph.core.model.plan.items import NAME, Board, Item, Plan
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.prompt.for_item import item_text
from ralph.core.specs.parse import SpecCriterion
from ralph.shell.git.project import find_project
from ralph.shell.git.store import open_store
from ralph.shell.git.trees import tree_of, with_root_file
from ralph.shell.plan.rendered import RenderedPlan, tree_code_digest, write_plan

PART = "plan"
MORE = 50.0  # ms that ten thousand items may cost an iteration more than a hundred, all in all
FEW, MANY = 100, 10_000
GROUP = 10


def measure(quick: bool) -> list[Line]:
    turns, rounds = 40, 20 if quick else 100  # at 40 of 100 the short plan still has as much to tell
    few, many = _Work(FEW), _Work(MANY)
    floors, ralphs = interleaved(rounds // 5, lambda: few.seconds(turns), lambda: many.seconds(turns))
    with tempfile.TemporaryDirectory() as top:
        small, large = (_Filing(count, os.path.join(top, str(count))) for count in (FEW, MANY))
        below, above = interleaved(rounds // 5, small.seconds, large.seconds)
    lines = [("choosing and telling", median(floors), median(ralphs))]
    lines.append(("its file in git", median(below), median(above)))
    lines.append(("all of it", *(sum(line[at] for line in lines) for at in (1, 2))))
    return [
        Line(
            part=PART,
            what=f"{what}, {MANY:,} items",
            floor=floor * 1e3,
            ralph=ralph * 1e3,
            unit="ms",
            value=(ralph - floor) * 1e3,
            value_unit="ms more",
            aim=MORE,
        )
        for what, floor, ralph in lines
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

    def seconds(self, turns: int) -> float:
        """Of one iteration, each beginning with an item that was verified."""
        board = self.start
        taken = []
        for _ in range(turns):
            item = choose(board).item
            if item is None:
                raise SystemExit("the plan has no next item")
            began = time.perf_counter()
            board = with_failing(with_state(board, item.id, "done"), item.serves)
            choice = choose(board)
            text = item_text(board, choice, self.criteria)
            taken.append(time.perf_counter() - began)
            if len(text) > 4000:
                raise SystemExit("the prompt grew with the plan")
        return median(taken)


class _Filing:
    """A repository with a plan in it, and the work of its desk on that file."""

    def __init__(self, count: int, top: str) -> None:
        repo = os.path.join(top, "repo")
        for words in (["init", "-q", repo], ["-C", repo, "commit", "-q", "--allow-empty", "-m", "x"]):
            identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.invalid"]
            subprocess.run(["git", *identity, *words], check=True)
        self.store = open_store(find_project(repo), os.path.join(top, "store"))
        self.workspace, self.paper = repo, RenderedPlan()
        plan = _plan(count)
        names = tuple(f"C-{n}" for n in range(count))
        self.brief = Brief(specs="0" * 64, criteria=names)
        self.build = PlanState(mode="building", plan=plan, board=board_of(plan, criteria=names))
        self.tree = tree_of(self.store, self.store.project.head)
        self.seconds()  # the layout

    def seconds(self) -> float:
        board = self.build.board
        assert board is not None
        item = choose(board).item
        assert item is not None
        began = time.perf_counter()
        for _ in range(2):  # before the call and after it
            code = tree_code_digest(self.store, self.tree)
            data = self.paper.data(self.build, self.brief, code=code, ticked=item.id)
            self.tree = with_root_file(self.store, self.tree, NAME, data)
        write_plan(self.workspace, self.paper.data(self.build, self.brief, code=code))
        taken = time.perf_counter() - began
        self.build = replace(self.build, board=with_state(board, item.id, "done"))
        return taken


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
