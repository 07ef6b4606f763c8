"""What a plan adds to a call (`shell.plan.per_call`), in a loop without one."""

from __future__ import annotations

from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.plan.test_link import CriterionTest
from ralph.shell.git.snapshot import Snapshot


class TaskDesk:
    """What a plan adds to a call, in a loop without one: nothing."""

    def ready(self, loop: Loop) -> tuple[str, str, str]:  # noqa: ARG002
        return "", "", ""

    def add_indication(self, loop: Loop, ended: e.AgentEnded | None, prompt: str) -> e.AgentEnded | None:  # noqa: ARG002
        return ended

    def after(self, loop: Loop, found: Snapshot) -> tuple[Snapshot, e.PlanRead | None]:  # noqa: ARG002
        return found, None

    def ties(self, loop: Loop, tree: str) -> tuple[CriterionTest, ...]:  # noqa: ARG002
        return ()
