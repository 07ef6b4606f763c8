"""Who is called next, and what comes first: a limit, an agent that rests, a fault that time heals, a network.

The first named agent is the one that is wanted; the others stand in while it is at its limit or broken,
and it comes back when its rest is over. What a fault means where there is no other agent is
`after_fault`'s matter. Pure: rests end by the wall clock of the newest event.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from msgspec.structs import replace

from ralph.core.model.actions import Finish, Wait
from ralph.core.model.agent import Fault
from ralph.core.model.gate import NEEDS_WITNESS
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.team.terms import Role

BEFORE_WORK: tuple[Role, ...] = ("planner", "tester")  # of a team
HOUR = 3600.0
FAULT_CAP = 3  # in a row: the machinery is broken
CUT_CAP = 5  # calls in a row that something killed under one runner: each of them was paid for
LIMIT_CAP = 10  # in a row without one call that worked, of what only time can heal
HEALED_BY_TIME = frozenset({"limit", "overload", "server", "network"})
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


def with_agent(order: Order, number: int, mode: str = "") -> Order:
    """The order as the call of this agent sees it; in a team the planner makes the plan."""
    if number:
        return replace(order, agent=order.spares[number - 1])
    planner = order.team.roles.get("planner") if order.team is not None and mode == "planning" else None
    return order if planner is None else replace(order, agent=planner.agent)


def agent_names(order: Order) -> tuple[str, ...]:
    return (order.agent.name, *(spare.name for spare in order.spares))


def first_awake_agent(loop: Loop) -> int | None:
    """The first agent that does not rest; None when all do."""
    known = range(len(loop.sealed.spares) + 1)
    return next((number for number in known if loop.agents.rest_until.get(number, 0.0) <= loop.now), None)


def rest_agent(loop: Loop, fault: Fault, *, broken: bool) -> Loop:
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
    why = f"{agent_names(loop.sealed)[loop.call.agent]}: {fault.kind}, {fault.message}"
    return loop.with_agents(
        rest_until={**loop.agents.rest_until, loop.call.agent: until}, failover_reason=why
    )


def can_switch_agent(loop: Loop) -> bool:
    """May another agent be called at once, instead of waiting for the one that failed?"""
    number = first_awake_agent(loop)
    return number is not None and number != loop.call.agent and loop.call.agent in loop.agents.rest_until


def earliest(loop: Loop) -> float | None:
    """When the first of them is back; None when none ever is."""
    soonest = min(loop.agents.rest_until.values(), default=NEVER)
    return None if soonest == NEVER else soonest


MAX_WAIT_SECONDS = 3600.0  # then the agent itself has another try: it may know of a way that we do not


def note_outage(loop: Loop, fault: Fault) -> Loop:
    """Remember since when: faults in a row are one outage."""
    if not fault.address:
        return loop
    going_on = loop.agents.outages_in_row > 0 and loop.agents.down_since > 0
    return loop if going_on else loop.with_agents(down_since=loop.now)


def wait_for_network(loop: Loop, fault: Fault, seconds: float) -> Wait:
    """`seconds` is how long is waited if the address turns out to answer."""
    time = loop.limits.time
    left = MAX_WAIT_SECONDS if time is None else min(MAX_WAIT_SECONDS, max(1.0, time - loop.elapsed_seconds))
    since = datetime.fromtimestamp(loop.agents.down_since or loop.now, UTC).strftime("%H:%M:%S")
    why = f"network down since {since} UTC, probing {fault.address}: {fault.message}"
    return Wait(seconds=seconds, until=None, why=why, probe=fault.address, most=left)


BACK_OFF = {  # first wait in seconds after a fault that time can heal; doubled with each in a row
    "limit": 300.0,
    "overload": 20.0,
    "server": 20.0,
    "network": 20.0,
    "hollow": 20.0,
    "protocol": 1.0,
    "request": 1.0,
    "disk": 30.0,
    "crash": 1.0,
    "timeout": 1.0,
    "idle": 1.0,
}


def nobody_awake(loop: Loop) -> Wait:
    """Every agent rests: until the first is back. `on_event` has seen to it that one ever is."""
    until = earliest(loop) or loop.now + HOUR
    return Wait(
        seconds=max(1.0, until - loop.now),
        until=until,
        why=f"no agent is available; {loop.agents.failover_reason}",
    )


def cool_down(loop: Loop) -> Wait | None:
    """A fault of the last call that time can heal: until the named time, else backing off."""
    fault: Fault | None = loop.call.fault
    if fault is None or fault.kind not in BACK_OFF:
        return None
    why = f"{fault.kind}: {fault.message}"
    if fault.reset_at is not None:
        seconds = max(1.0, fault.reset_at - loop.now)
        return Wait(seconds=seconds, until=loop.now + seconds, why=why)
    in_row = max(0, loop.agents.faults_in_row - 1, loop.agents.outages_in_row - 1)
    seconds = min(BACK_OFF[fault.kind] * 2**in_row, HOUR)
    return (
        wait_for_network(loop, fault, seconds)
        if fault.address
        else Wait(seconds=seconds, until=None, why=why)
    )


def due_role(loop: Loop) -> Role | None:
    """The role of a team that comes before the agent's first call; None when that may be made, or was.

    A tester works on the base and on nothing else, before a line of the work exists: its tests cannot have
    been made to fit.
    """
    team = loop.sealed.team
    if team is not None and loop.has_plan:
        return "tester" if "tester" in team.roles and _lacks_item_tests(loop) else None
    if team is None or loop.call.prompt:
        return None
    for role in BEFORE_WORK:
        wanted = role in team.roles and role not in loop.team.asked
        if wanted and (role != "tester" or _lacks_witness(loop)):
            return role
    return None


def asked_key(loop: Loop) -> str:
    """By what a team remembers that its tester was asked: once a loop, with a plan once an item."""
    return f"tester {loop.build.item.id}" if loop.build.item is not None else "tester"


def _lacks_item_tests(loop: Loop) -> bool:
    """Is the item untouched, on verified ground, and does no red test speak for what it serves?"""
    build, item = loop.build, loop.build.item
    if loop.rules < 6 or build.mode != "building" or item is None or build.base is None:
        return False
    if item.chore or item.human or item.no_proof or asked_key(loop) in loop.team.asked:
        return False
    if build.item_touched or build.tries.get(item.id) or loop.work.tree != build.base.tree:
        return False
    return not any(tie.criterion in item.serves and tie.status == "fail" for tie in build.links.tests)


def _lacks_witness(loop: Loop) -> bool:
    """Must something be red first, and is nothing of what the user gave?"""
    criterion, base = loop.sealed.criterion, loop.proof.baseline
    red = any(base[gate.name].status == "fail" for gate in criterion.proof if gate.name in base)
    return criterion.task_class in NEEDS_WITNESS and not red


def hourly_wait(loop: Loop) -> Wait | None:
    cap = loop.limits.calls_per_hour
    if cap is None or len(loop.call.times) < cap:
        return None
    seconds = min(HOUR, loop.call.times[-cap] + HOUR - loop.now)
    if seconds <= 0:
        return None
    return Wait(seconds=seconds, until=loop.now + seconds, why=f"{cap} calls per hour used")


def limit_reached(loop: Loop) -> Finish | None:
    limits, spend = loop.limits, loop.spend
    if limits.iterations is not None and loop.iteration >= limits.iterations:
        return Finish("exhausted", f"{loop.iteration} of {limits.iterations} iterations used")
    if limits.time is not None and loop.elapsed_seconds >= limits.time:
        return Finish("exhausted", f"time limit of {limits.time:.0f} s reached")
    if limits.cost is not None and spend.cost is not None and spend.cost >= limits.cost:
        return Finish("exhausted", f"cost limit of {limits.cost:g} USD reached ({spend.cost:.2f})")
    if limits.tokens is not None and spend.tokens is not None and spend.tokens >= limits.tokens:
        return Finish("exhausted", f"token limit of {limits.tokens} reached ({spend.tokens})")
    most, cost = limits.iteration_cost, loop.call.cost
    if most is not None and cost is not None and cost > most:
        return Finish("exhausted", f"one agent call cost {cost:.2f} USD, the limit is {most:g} USD")
    return None
