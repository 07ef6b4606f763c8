"""A person's yes to a loop that waits for one; what waits is decided in `core.decide.stints.approval`."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.app.people.notify import telling_people
from ralph.app.records import read_loop
from ralph.clock import SystemClock
from ralph.core.decide.stints.approval import WAITS, pending, refuse_start
from ralph.core.model.events import Approved, PauseAsked
from ralph.core.model.loop import Loop
from ralph.core.model.order import ApprovalPoint
from ralph.errors import NothingToDo
from ralph.shell.ports import Quiet
from ralph.shell.run.hold import hold_record
from ralph.shell.state.stints import Stint


def approve_loop(name: str, env: Mapping[str, str], *, author: str = "") -> tuple[ApprovalPoint, Loop]:
    """Record the yes to what waits for one."""
    point = pending(read_loop(name, env).loop)
    if point is None:
        raise NothingToDo(
            f"nothing of loop '{name}' waits for approval", code="E-APPROVE-NONE", next=f"ralph status {name}"
        )
    with hold_record(name, env, SystemClock(), Quiet()) as scribe:
        commit = scribe.loop.landing.result if point == "land" else ""
        return point, scribe.append(Approved(point=point, commit=commit, author=author))


def leave_unapproved(name: str, stint: Stint, env: Mapping[str, str]) -> None:
    """Leave a loop that nobody has approved yet paused, where nobody wakes it, and say so to its starter."""
    stint.release()
    with telling_people(env) as people, hold_record(name, env, SystemClock(), people) as scribe:
        scribe.append(PauseAsked(reason=WAITS, now=True, by="limit"))
        refuse_start(scribe.loop)
