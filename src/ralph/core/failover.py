"""Several agents for one loop: which one is called next, and how long one rests after a fault.

The first named agent is the one that is wanted; the others stand in while it is at its limit or broken,
and it comes back when its rest is over. What a fault means where there is no other agent is `handlers`'
matter. Pure: rests end by the wall clock of the newest event.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from ralph.core.loop import Loop
from ralph.core.model import Fault, Order

HOUR = 3600.0
NEVER = math.inf
# How long an agent rests after a fault of this kind, when the fault itself names no time.
REST: dict[str, float] = {
    "limit": HOUR,
    "overload": 300.0,
    "server": 300.0,
    "auth": NEVER,
    "credit": NEVER,
    "missing": NEVER,
    "upgraded": NEVER,
    "request": NEVER,
}
BROKEN = HOUR  # after as many other faults in a row as end a loop with one agent


def with_agent(order: Order, number: int) -> Order:
    """The order as the call of this agent sees it."""
    if number == 0:
        return order
    spare = order.spares[number - 1]
    return replace(
        order,
        agent=spare.agent,
        agent_argv=spare.argv,
        agent_settings=spare.settings,
        agent_env=spare.env,
        model=spare.model,
        key=spare.key,
        price=spare.price,
    )


def names(order: Order) -> tuple[str, ...]:
    return (order.agent, *(spare.agent for spare in order.spares))


def awake(loop: Loop) -> int | None:
    """The first agent that does not rest; None when all do."""
    known = range(len(loop.sealed.spares) + 1)
    return next((number for number in known if loop.resting.get(number, 0.0) <= loop.now), None)


def rested(loop: Loop, fault: Fault, *, broken: bool) -> Loop:
    """The agent of the newest call rests, if this fault is a reason and there is another agent at all."""
    if not loop.sealed.spares:
        return loop
    if fault.reset_at is not None and fault.kind in REST:
        until = max(fault.reset_at, loop.now + 1.0)
    elif fault.kind in REST:
        until = loop.now + REST[fault.kind]
    elif broken:
        until = loop.now + BROKEN
    else:
        return loop
    why = f"{names(loop.sealed)[loop.using]}: {fault.kind}, {fault.message}"
    return replace(loop, resting={**loop.resting, loop.using: until}, stood_in=why)


def stands_in(loop: Loop) -> bool:
    """May another agent be called at once, instead of waiting for the one that failed?"""
    number = awake(loop)
    return number is not None and number != loop.using and loop.using in loop.resting


def earliest(loop: Loop) -> float | None:
    """When the first of them is back; None when none ever is."""
    soonest = min(loop.resting.values(), default=NEVER)
    return None if soonest == NEVER else soonest
