"""The items of a backlog as their file holds them, and what may be wrong with a list: types alone."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

Status = Literal["FAILING", "PASSING", "BLOCKED", "CANCELLED"]
Result = Literal["PASSED", "FAILED", "IN_PROGRESS", "BLOCKED"]
Severity = Literal["CRITICAL", "WARNING", "INFO"]
Part = Literal["tdd", "architecture", "subagents"]
Filled = Annotated[str, Meta(min_length=1)]
Text = Annotated[str, Meta(pattern=r"\S")]
STATUSES: tuple[Status, ...] = get_args(Status)
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
    file: Annotated[str, Meta(pattern=r"^(?!/)(?!(.*/)?\.\.(/|$)).")]  # below the folder of PRDs
    version: str = ""
    last_updated: str = ""


class Convergence(Struct, frozen=True, forbid_unknown_fields=True):
    build_passes: bool = False
    tests_pass: bool = False
    acceptance_met: bool = False


_NOT_ASKED = Convergence()


class LoopTerms(Struct, frozen=True):
    """An item's `ralph_loop`."""

    enabled: bool = False
    max_iterations: Annotated[int, Meta(ge=1)] = MAX_ATTEMPTS
    current_iteration: Annotated[int, Meta(ge=0)] = 0
    convergence_criteria: Convergence = _NOT_ASKED


NO_TERMS = LoopTerms()  # of an item that has none


class Evidence(Struct, frozen=True):
    commands_run: tuple[str, ...]
    results_summary: Text


class AttemptRow(Struct, frozen=True):
    """What is always told of an attempt; it may hold more."""

    run_id: Text
    timestamp: Annotated[str, Meta(min_length=19)]
    result: Result
    evidence: Evidence | None = None
    commit: str | None = None
    reverted: bool = False
    failure_reason: str = ""
    investigation: str = ""
    files_changed: tuple[str, ...] = ()
    notes: str = ""


class BacklogItem(
    Struct,
    frozen=True,
    kw_only=True,
    rename={
        "acceptance": "acceptance_criteria",
        "nonfunctional": "nonfunctional_requirements",
        "override_text": "override_reason",
        "loop": "ralph_loop",
        "prd": "prd_reference",
        "parts": "prompt_parts",
        "created": "created_at",
    },
):
    """One item as its file defines it, with the state that is rendered there."""

    id: Annotated[str, Meta(pattern=f"^{ID.pattern}$", max_length=60)]
    title: Filled
    description: str = ""
    acceptance: tuple[Filled, ...] = ()
    nonfunctional: tuple[Filled, ...] = ()
    verification: tuple[Text, ...] = ()
    status: Status
    priority: int | None = None
    dependencies: tuple[Text, ...] = ()
    loop: LoopTerms = NO_TERMS
    prd: PrdLink | None = None
    attempts: tuple[dict[str, Any], ...] = ()
    override_text: str | None = None
    question: str | None = None  # of Ralph, for a person: not worked on before it is answered
    notes: str = ""
    proof: Literal["none"] | None = None
    proof_reason: str | None = None  # why nothing can prove it, as declared
    parts: tuple[Part, ...] = ()
    created: str = ""

    @property
    def order(self) -> tuple[int, str]:
        return (_LAST if self.priority is None else self.priority, self.id)

    @property
    def enabled(self) -> bool:
        return self.loop.enabled

    @property
    def max_attempts(self) -> int:
        return self.loop.max_iterations

    @property
    def iteration(self) -> int:
        return self.loop.current_iteration

    @property
    def override(self) -> str:
        return self.override_text or ""

    @property
    def no_proof(self) -> str:
        return self.proof_reason or "" if self.proof else ""

    @property
    def criteria(self) -> tuple[str, ...]:
        """Convergence criteria that are asked for."""
        asked = self.loop.convergence_criteria
        if asked == _NOT_ASKED:  # as in most lists, which may be long
            return ()
        return tuple(name for name in Convergence.__struct_fields__ if getattr(asked, name))


class ProtectedFile(Struct, frozen=True, rename={"tests": "required_tests"}):
    """A file that may be touched only with certain tests passing."""

    path: str
    criticality: str = ""
    tests: tuple[Text, ...] = ()


class ListDocument(Struct, frozen=True):
    """The whole file."""

    items: tuple[BacklogItem, ...]
    schema_version: Annotated[str, Meta(pattern=r"^2(\..*)?$")] = ""
    protected_files: tuple[ProtectedFile, ...] = ()
    description: str = ""


class FeatureList(Struct, frozen=True, kw_only=True):
    items: tuple[BacklogItem, ...] = ()
    problems: tuple[Problem, ...] = ()
    protected: tuple[ProtectedFile, ...] = ()
    at: str = "items"  # the key of the list; "" when the document is the list itself
    by_id: dict[str, BacklogItem] = field(default_factory=dict)
    index: dict[str, int] = field(default_factory=dict)  # of an item in the list

    @property
    def critical(self) -> tuple[Problem, ...]:
        return tuple(one for one in self.problems if one.severity == "CRITICAL")

    def pointer(self, name: str) -> str:
        """Of an item."""
        return f"{f'/{self.at}' if self.at else ''}/{self.index[name]}"


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
