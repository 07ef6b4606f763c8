"""A loop handed over to the background, and the other end: the runner that drives it there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Protocol

from ralph.core.model.events import AnyEvent
from ralph.core.model.outcome import Priority
from ralph.errors import Busy


class Room(Protocol):
    """What a starter knows of places."""

    @property
    def max_loops(self) -> int | None: ...
    @property
    def max_loops_machine(self) -> int | None: ...


def detach_and_show(
    name: str,
    env: Mapping[str, str],
    room: Room,
    first: tuple[AnyEvent, ...],
    *,
    priority: Priority = "medium",
    queue: bool = True,
    as_json: bool = False,
) -> int:
    """Hand the loop over, and say how to look at it; this process is not needed any more."""
    from ralph.app.background.hand_over import hand_over, handed_json

    handed = hand_over(
        name,
        env,
        priority=priority,
        most=room.max_loops or 1,
        machine=room.max_loops_machine or 1,
        first=first,
        stint=getattr(room, "stint", None),
        queue=queue,
    )
    if as_json:
        print(json.dumps(handed_json(handed)))
        return 0
    where = "queued: it starts when there is a place" if handed.pid is None else f"pid {handed.pid}"
    print(f"#{handed.number} {name}  in the background, {where}")
    for word, line in (
        ("status", f"ralph status {name}"),
        ("logs", f"ralph logs {name} -f"),
        ("attach", f"ralph attach {name}"),
        ("abort", f"ralph abort {name}"),
    ):
        print(f"  {word:<7} {line}")
    return 0


def drive_hosted(name: str, env: Mapping[str, str], *, resume: bool) -> int:
    """Drive one loop of the background; what it says to people goes to its log."""
    from ralph.app.resume import ResumeRequest, prepare_resume
    from ralph.core.model.events import ResumeAsked
    from ralph.ui.ask.drive_loop import drive_and_show

    # A marker of the loop that this was started from must not make it look nested.
    env = {key: value for key, value in env.items() if key != "RALPH_LOOP_ID"}
    os.environ.pop("RALPH_LOOP_ID", None)
    room = prepare_resume(ResumeRequest(loop=name), env)
    first = (ResumeAsked(author="worker"),) if resume else ()
    try:
        return drive_and_show(name, env, room, mode="none", first=first, may_ask=False, hosted=True)
    except Busy as busy:
        print(f"{name}: {busy.what}")
        return busy.exit_code
