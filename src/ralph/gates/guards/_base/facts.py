"""What guards may look at: one final judgement, as plain data and two functions that read the trees.

The shell fills it in. Guards only look; when they need another gate call they say so by a request
(`overlay_request`, `witness_request`, `sabotage_request`), the shell performs it, and `Tried` has the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct, field

from ralph.core.model.gate import Gate, TaskClass
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.verdict import Reading
from ralph.gates.executed.watched import LineHits

Made = TypeVar("Made")
NO_TESTS = ("no-tests", "all-skipped")  # causes of a gate that found nothing to judge


class Change(Struct, frozen=True):
    """One path that differs between base and result."""

    status: Literal["A", "M", "D", "R", "T"]
    path: str
    old_path: str = ""  # for R: what it was called at the base
    mode: str = "100644"  # as git writes it; "000000" when deleted
    old_mode: str = "100644"
    size: int | None = None  # bytes in the result; None = not known

    @property
    def before(self) -> str:
        """Its path at the base."""
        return self.old_path or self.path


class Broken(Struct, frozen=True):
    """One sabotage: a function of the change broken on purpose, and what the new tests said."""

    name: str  # "path: function"
    noticed: bool | None  # None: not tried, the time was up
    other: bool = False  # it returned something foreign instead of nothing


class BreakSeen(Struct, frozen=True):
    """What one gate said when the code that the change brought was made to fail, and what that code did."""

    red: bool
    entered: int = 0  # how often broken code was reached, as far as it was counted
    exits: tuple[str, ...] = ()  # functions in which a process was ended as a success
    green: frozenset[str] = frozenset()  # tests that had turned green and stayed so; "": the gate itself
    lies: tuple[str, ...] = ()  # functions that gave what equals everything


class LikeSeen(Struct, frozen=True):
    """What is red only in a box that looks like the user's own clone, by test or as a whole ("exit")."""

    red: frozenset[str]
    at_base: frozenset[str] = frozenset()  # of these, what is red only there at the base too
    linked: bool = True  # it had a network interface beside its own


class NotedSeen(Struct, frozen=True):
    """What one gate said while tests that turned green noted their own ends."""

    red: frozenset[str] = frozenset()  # tests that are red then, and only then
    unended: frozenset[str] = frozenset()  # reported as passed, and never came to their end
    foreign: frozenset[str] = frozenset()  # parts of the language or of libraries that were replaced


class Asked(Struct, frozen=True):
    """What the specs ask of this tree."""

    ties: tuple[CriterionTest, ...]
    wanted: tuple[str, ...]  # criteria of the item at hand and of those that were verified
    shown: frozenset[str]  # those that a test showed which failed without the work
    worked: bool  # the source changed since everything was last verified


class Tried(Struct):
    """What the experiments on this result said, by gate; filled in as their answers arrive."""

    overlay: dict[str, Reading] | None = None  # None: no overlay was asked for
    attributed: dict[str, Reading] = {}  # the base with only the watched files of the judge as in the result
    scope: dict[str, dict[str, Reading]] = {}  # of checkers, by stage: base and result with planted findings
    repeats: dict[str, tuple[Reading, ...]] = {}  # of the same tree, a canary beside one
    witness: dict[str, Reading] | None = None  # the result's tests over the base source; None: not asked for
    sabotage: tuple[Broken, ...] | None = None  # None: not asked for
    breaks: dict[str, dict[str, BreakSeen]] = {}  # by gate and mode of breaking; none: not tried
    altered: dict[str, tuple[frozenset[str], Reading]] = {}  # tests that must fail -> what was said
    unheard: dict[str, frozenset[str]] = {}  # tests that are green although their claim fails
    apart: dict[str, frozenset[str]] = {}  # tests that are red where the change sees nobody who calls it
    made_plain: dict[str, frozenset[str]] = {}  # classes that did otherwise than their type until then
    coverage: dict[str, LineHits] = {}  # what a repeat of each gate executed of the change
    likeness: dict[str, LikeSeen] = {}  # where a repeat in the user's likeness came out otherwise
    alone: dict[str, tuple[Reading, ...]] = {}  # the tests that turned green, called by themselves
    plain: dict[str, frozenset[str]] = {}  # tests that are red when an ordinary program calls them
    uncalled: dict[str, frozenset[str]] = {}  # tests that it could not call, of runners whose tests it calls
    bound: dict[str, frozenset[str]] = {}  # tests that it does not call: of other runners, with fixtures, …
    noted: dict[str, NotedSeen] = {}  # where notes of tests contradict what was reported
    undone: dict[str, tuple[str, ...]] = {}  # by guard, not by gate: what did not fit in

    def leave_out(self, guard: str, what: str) -> None:
        """Everything that was left out is named, each thing once."""
        self.undone[guard] = tuple(dict.fromkeys((*self.undone.get(guard, ()), what)))


class GuardFacts(Struct, frozen=True):
    tree: str
    gates: tuple[Gate, ...]
    base: dict[str, Reading]
    final: dict[str, Reading]
    changes: tuple[Change, ...]
    read_base: Callable[[str], bytes | None]
    read_result: Callable[[str], bytes | None]
    protect: tuple[str, ...] = ()
    waivers: dict[str, str] = {}  # finding key, or its part before the colon -> the user's reason
    granted: dict[str, str] = {}  # the same, granted before it was seen: never for what accuses
    base_paths: frozenset[str] = frozenset()  # every file of the base; empty = not known
    task: str = ""
    task_class: TaskClass | None = "custom"  # None: a plan, whose items are of any class
    confirm: int = 1  # how often the final verdict was to be green
    criteria: Asked | None = None  # None: there are no specs
    item: GuardFacts | None = None  # of a plan: what was done for the item at hand; the task is its title
    sealed: dict[str, bytes] = {}  # test files of the tester, as it wrote them
    tried: Tried = field(default_factory=Tried)
    memo: dict[str, Any] = {}  # what several guards work out together, once; nothing of it is kept

    def once(self, key: str, make: Callable[[], Made]) -> Made:
        """What `make` gives, worked out once for all guards."""
        if key not in self.memo:
            self.memo[key] = make()
        return cast(Made, self.memo[key])

    def has_path(self, path: str) -> bool:
        """Is there such a file or folder, at the base or in the result?"""
        return path in self.once("paths", self._all_paths)

    def _all_paths(self) -> set[str]:
        files = {*self.base_paths, *(change.path for change in self.changes if change.status != "D")}
        parts = [path.split("/") for path in files]
        above = {"/".join(names[:count]) for names in parts for count in range(1, len(names))}
        return files | above | {"."}


class Overlay(Struct, frozen=True):
    """The result's tree, with the base's tests and configs over it."""

    restore: tuple[str, ...]  # paths that get their content at the base
    drop: tuple[str, ...]  # paths that are taken away
    edit: dict[str, bytes] = {}  # files of the result that hold tests too, with the base's tests in them
