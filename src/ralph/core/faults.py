"""What follows a call that failed and left nothing: wait, go on, let another agent stand in, or give up.

A fault refunds the iteration, never the spend. What a fault that left a changed tree means is judged like
any other work (`handlers.checkpoint_made`).
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core import failover, outage, recovery, settle
from ralph.core.events import Finish
from ralph.core.loop import Loop
from ralph.core.model import Fault

FAULT_CAP = 3  # in a row: the machinery is broken
LIMIT_CAP = 10  # in a row without one call that worked, of what only time can heal
HEALED_BY_TIME = frozenset({"limit", "overload", "server", "network"})
UNCOUNTED = frozenset({"interrupted", "budget"})


def after_fault(loop: Loop, fault: Fault) -> Loop:
    """The call failed and left nothing: refund the iteration, then wait, go on, or give up."""
    loop = replace(loop, iteration=loop.iteration - 1, steers=(*loop.given, *loop.steers), given=())
    loop = recovery.failed(loop, fault)
    if loop.aborting:
        return settle.finish(loop, Finish("aborted", loop.aborting))
    if loop.sealed.spares:
        after = _with_spares(loop, fault)
        if after is not None:
            return after
    if fault.kind == "auth":
        return settle.finish(loop, Finish("blocked", f"the agent's login has expired: {fault.message}"))
    if fault.kind in ("credit", "upgraded"):
        return settle.finish(loop, Finish("blocked", fault.message))
    if fault.kind == "missing":
        return settle.finish(loop, Finish("broken", f"the agent cannot be started: {fault.message}"))
    loop = _counted(loop, fault)
    if loop.faults >= FAULT_CAP or loop.limits_hit >= LIMIT_CAP:
        count = max(loop.faults, loop.limits_hit)
        return settle.finish(loop, Finish("broken", f"{count} faults in a row, the last: {fault.message}"))
    if loop.pausing:
        return settle.paused(loop)
    return settle.limit_or_call(loop)


def _counted(loop: Loop, fault: Fault) -> Loop:
    if fault.kind in HEALED_BY_TIME:
        return replace(outage.noted(loop, fault), limits_hit=loop.limits_hit + 1)
    return loop if fault.kind in UNCOUNTED else replace(loop, faults=loop.faults + 1)


def _with_spares(loop: Loop, fault: Fault) -> Loop | None:
    """Another agent stands in, or the first that is back is waited for; None when it is as with one agent."""
    counted = _counted(loop, fault)
    rested = failover.rested(counted, fault, broken=counted.faults >= FAULT_CAP)
    if rested is counted:
        return None
    if failover.stands_in(rested):
        rested = replace(rested, faults=0, limits_hit=0)
    elif failover.earliest(rested) is None or rested.limits_hit >= LIMIT_CAP:
        return None
    rested = replace(rested, fault=None)
    return settle.paused(rested) if rested.pausing else settle.limit_or_call(rested)
