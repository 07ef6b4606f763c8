"""The items of a backlog, and what may be wrong with a list of them. Reading is in `read_list`."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from msgspec import Struct, field

Status = Literal["FAILING", "PASSING", "BLOCKED", "CANCELLED"]
Result = Literal["PASSED", "FAILED", "IN_PROGRESS", "BLOCKED"]
Severity = Literal["CRITICAL", "WARNING", "INFO"]
STATUSES: tuple[Status, ...] = get_args(Status)
RESULTS: tuple[str, ...] = get_args(Result)
CRITERIA = ("build_passes", "tests_pass", "acceptance_met")
PARTS = ("tdd", "architecture", "subagents")
FILE = re.compile(r"(?:^|/)feature_list\.json$")
ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*")
MAX_ATTEMPTS = 5
MAX_ITEMS = 100_000
MAX_BYTES = 64 << 20
_LAST = 1 << 62  # priority of an item without one


class Problem(Struct, frozen=True):
    """Something wrong with the list; `pointer` is a JSON pointer into it."""

    severity: Severity
    code: str
    pointer: str
    message: str


class PrdLink(Struct, frozen=True):
    file: str
    version: str = ""
    last_updated: str = ""


class BacklogItem(Struct, frozen=True, kw_only=True):
    """One item as its file defines it, with the state that is rendered there."""

    id: str
    index: int
    title: str = ""
    description: str = ""
    acceptance: tuple[str, ...] = ()
    verification: tuple[str, ...] = ()
    status: Status = "FAILING"
    priority: int | None = None
    dependencies: tuple[str, ...] = ()
    enabled: bool = False
    max_attempts: int = MAX_ATTEMPTS
    iteration: int = 0
    criteria: tuple[str, ...] = ()  # convergence criteria that are asked for
    prd: PrdLink | None = None
    attempts: tuple[dict[str, Any], ...] = ()
    override: str = ""
    notes: str = ""
    no_proof: str = ""  # why nothing can prove it, as declared
    parts: tuple[str, ...] = ()
    created: str = ""

    @property
    def order(self) -> tuple[int, str]:
        return (_LAST if self.priority is None else self.priority, self.id)


class ProtectedFile(Struct, frozen=True):
    """A file that may be touched only with certain tests passing."""

    path: str
    criticality: str = ""
    tests: tuple[str, ...] = ()


class FeatureList(Struct, frozen=True, kw_only=True):
    items: tuple[BacklogItem, ...] = ()
    problems: tuple[Problem, ...] = ()
    version: str = ""
    protected: tuple[ProtectedFile, ...] = ()
    at: str = "items"  # the key of the list; "" when the document is the list itself
    by_id: dict[str, BacklogItem] = field(default_factory=dict)

    @property
    def critical(self) -> tuple[Problem, ...]:
        return tuple(one for one in self.problems if one.severity == "CRITICAL")


def find_cycles(after: dict[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Each cycle once, without recursion: lists may be long chains."""
    state: dict[str, int] = {}
    cycles: list[tuple[str, ...]] = []
    for root, first in after.items():
        if root in state:
            continue
        path: list[str] = [root]
        todo = [iter(first)]
        state[root] = 1
        while todo:
            name = next(todo[-1], None)
            if name is None:
                todo.pop()
                state[path.pop()] = 2
            elif state.get(name) == 1:
                cycles.append(tuple(path[path.index(name) :]))
            elif name in after and name not in state:
                state[name] = 1
                path.append(name)
                todo.append(iter(after[name]))
    return cycles
