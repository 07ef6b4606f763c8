"""Which loops does a worker take up, and in which order? A table over what lists know of a loop.

The worker asks this of every loop that nobody drives, and keeps nothing in mind between two questions. What a
person stopped stays stopped; what ran in a terminal is that terminal's. A loop whose runner dies again and
again without one new fact is given up after as many tries as any fault (`failover.FAULT_CAP`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from msgspec import Struct

from ralph.core.decide.failover import FAULT_CAP
from ralph.core.model.events import StintStarted
from ralph.core.model.loop import HostState
from ralph.core.model.outcome import PRIORITIES, Stopper

OLD_SECONDS = 24 * 3600.0  # what stopped longer ago than this is nobody's plan any more
PATIENCE_SECONDS = (1.0, 2.0, 10.0)  # since the last sign of life, before the first, second and third try
# A loop that was just handed over: its starter's own runner, with all its variables, is first. Where only
# that one has the key, it has long enough to come up on a busy machine.
QUEUE_SECONDS, KEY_SECONDS = 5.0, 60.0
AT_WORK: frozenset[str] = frozenset({"new", "baseline", "working", "judging", "waiting"})
NO_BOX = "S0"
PASSES: frozenset[Stopper] = frozenset({"signal", "machine"})  # what stopped it may be over


class Standing(Struct, frozen=True):
    """A loop that nobody drives, as its row in the list says."""

    loop: str
    phase: str
    stopped_by: Stopper
    host: HostState
    updated: float  # wall clock


class Wake(NamedTuple):
    """start: a runner; resume: the same, after recording that it goes on; stop: record a pause; leave; wait:
    leave, but let nobody overtake it.
    """

    what: Literal["start", "resume", "stop", "leave", "wait"]
    why: str = ""


LEAVE = Wake("leave")


def wake(loop: Standing, now: float, variables: Collection[str]) -> Wake:
    """What to do about it now. `variables` are the names that a runner started here would have."""
    what = _find_cause(loop, now)
    if what == "leave":
        return LEAVE
    if what == "crashed" and loop.stopped_by == "limit":  # it is only to come to the pause that was asked for
        return Wake("start") if loop.host.stints < FAULT_CAP else LEAVE
    if loop.host.stints >= FAULT_CAP:
        return Wake("stop", f"its runner ended {loop.host.stints} times in a row without getting anywhere")
    missing = ", ".join(name for name in loop.host.needs if name not in variables)
    since, patience = max(loop.updated, loop.host.stint_at), PATIENCE_SECONDS[loop.host.stints]
    if what == "queued":
        since, patience = loop.host.queued_at, KEY_SECONDS if missing else QUEUE_SECONDS
    if 0 <= now - since < patience:  # less than nothing: a clock was set back, and nobody waits for that
        return Wake("wait") if what == "queued" and not missing else LEAVE
    if missing:
        why = f"the agent's key was in {missing}, which is not set here: set it and resume the loop"
        return Wake("stop", why)
    return Wake("resume" if what == "paused" else "start")


def lost_box(before: str, opening: StintStarted) -> str:
    """Why a loop that nobody looks at does not go on: now it would have the user's own rights.

    Whoever resumes it has been told.
    """
    if not opening.hosted or opening.protection != NO_BOX or before in ("", NO_BOX):
        return ""
    return (
        f"its sandbox ({before}) does not hold any more; ralph doctor says why, a resume goes on without it"
    )


def _find_cause(loop: Standing, now: float) -> str:
    if not loop.host.background:
        return "leave"
    if loop.phase == "queued":
        return "queued"
    if now - loop.updated > OLD_SECONDS:
        return "leave"
    if loop.phase in AT_WORK:
        return "crashed"
    return "paused" if loop.phase == "paused" and loop.stopped_by in PASSES else "leave"


def in_order(loops: list[Standing]) -> list[Standing]:
    """Crashed ones first: they had a place. Then by priority, then who has waited longest."""

    def rank(one: Standing) -> tuple[bool, int, float, str]:
        queued = one.phase == "queued"
        return (queued, -PRIORITIES.index(one.host.priority), one.host.queued_at or one.updated, one.loop)

    return sorted(loops, key=rank)
