"""What came of the calls of a team's roles, and the list of tasks that they share. Nothing here decides.

The leader is Ralph itself: it calls the roles, and each call is an agent call like any other. A role may
lower a result and never raises one; only tests that another call wrote without having seen the work count
for more than the agent's own (`core.proof.grade`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.rubric import JUDGE, Jury
from ralph.core.model.spend import Spend
from ralph.core.model.team.terms import member

TaskStatus = Literal["in_progress", "completed", "failed"]
REVIEWER = "the reviewer"  # no gate can have this name
SEATED = frozenset({JUDGE, REVIEWER})
MAX_TASKS, MAX_BLOCKER = 100, 300
MAX_TRIES = 2  # of the tester, before the loop goes on without its tests


class SealedTests(Struct, frozen=True, omit_defaults=True):
    """What the tester wrote: new test files on top of the base, and nothing else of what it left."""

    tree: str
    commit: str
    paths: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # other things that it wrote or changed: not taken
    protection: str = ""  # level of the sandbox in which it worked


class TeamTask(Struct, frozen=True, omit_defaults=True):
    """One line of the list that the team shares, in Ralph's own words: no role speaks to another there."""

    subject: str
    owner: str
    status: TaskStatus = "in_progress"
    blockers: tuple[str, ...] = ()


class TeamState(Struct, frozen=True, omit_defaults=True):
    """What a loop knows of its team."""

    open: str = ""  # the role whose call was started and has not been accounted for
    prompt: str = ""  # blob of its prompt
    asked: tuple[str, ...] = ()  # roles whose part before the work is done
    advice: str = ""  # the planner's
    tries: int = 0  # calls of the role at hand that came to nothing
    trouble: str = ""  # what was wrong with the last one
    tests: SealedTests | None = None
    kept: SealedTests | None = None  # with a plan: of those, the ones of items that are verified
    sealed: bool = False  # they are red without the work, and part of every judgement
    without: dict[str, str] = {}  # role -> why the loop goes on without it
    review: Jury = Jury()
    tasks: tuple[TeamTask, ...] = ()  # the newest
    spend: dict[str, Spend] = {}  # by role

    def take_back_tests(self) -> TeamState:
        """Only those that belong to verified work."""
        return replace(self, tests=self.kept, sealed=self.kept is not None)

    def drop_tasks(self, why: str) -> TeamState:
        """The list of a loop that has ended: nobody works on anything any more."""
        over = [
            replace(one, status="failed", blockers=(why[:MAX_BLOCKER],))
            if one.status == "in_progress"
            else one
            for one in self.tasks
        ]
        return replace(self, tasks=tuple(over))

    def with_task(
        self, subject: str, role: str, status: TaskStatus = "in_progress", blockers: Sequence[str] = ()
    ) -> TeamState:
        """The list with this task as it now stands."""
        task = TeamTask(subject, member(role), status, tuple(words[:MAX_BLOCKER] for words in blockers[:3]))
        kept = tuple(one for one in self.tasks if one.subject != subject)
        return replace(self, tasks=(*kept, task)[-MAX_TASKS:])
