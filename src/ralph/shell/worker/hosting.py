"""Handing a loop over to the worker: what it must know to go on without whoever started it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ralph import agents
from ralph.agents._kit.environ import ORDINARY, holds_secret, matches_any
from ralph.core.decide import failover
from ralph.core.model.events import LoopQueued
from ralph.core.model.order import Order
from ralph.core.model.outcome import Priority

# Where programs and settings are found. What may hold a password, such as a proxy's address, is left out.
KEPT = (
    *ORDINARY,
    "VIRTUAL_ENV",
    "NVM_*",
    "PYENV_*",
    "GOPATH",
    "CARGO_HOME",
    "JAVA_HOME",
    "DBUS_*",
    "DISPLAY",
)


def queued_fact(order: Order, env: Mapping[str, str], priority: Priority, most: int) -> LoopQueued:
    """The fact that a loop is the worker's, with what is no secret of the starter's environment."""
    kept = {
        name: value
        for name, value in env.items()
        if matches_any(name, KEPT) and "@" not in value and not holds_secret(name) and len(value) < 8192
    }
    return LoopQueued(priority=priority, env=kept, needs=key_variables(order, env), most=most)


def key_variables(order: Order, env: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of the starter that this loop's agents get their keys from. None: they log in by their files.

    Asked of the adapters themselves: what they would be given, and looks like a key.
    """
    found: dict[str, None] = {}
    chosen = [failover.with_agent(order, number) for number in range(1 + len(order.spares))]
    roles = order.team.roles.values() if order.team is not None else ()
    others = (order.judge, order.plan_brief.reader, *(terms.agent for terms in roles))
    chosen += [replace(order, agent=agent, spares=()) for agent in others if agent is not None]
    for one in chosen:
        key = one.agent.key
        if key is not None and not key.command:
            found[key.variable] = None
        given = {**env, **one.agent.env}
        call = agents.CallContext(
            loop=order.loop, iteration=1, call=1, workspace=order.repo, prompt_file="", environ=given
        )
        launch = agents.load(one.agent.name).launch(one, call)
        found |= {
            name: None
            for name in launch.env
            if holds_secret(name) and name in env and name not in one.agent.env
        }
    return tuple(found)
