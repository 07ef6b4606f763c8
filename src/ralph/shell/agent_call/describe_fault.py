"""The fault of a call as it is kept: without secrets, with the moment or the address to wait for."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ralph import agents
from ralph.agents._kit.resets import moment_of
from ralph.core.model.agent import Fault
from ralph.core.model.order import Order
from ralph.core.text.clean import redact
from ralph.shell.agent_call import reach


def describe_fault(
    facts: agents.CallFacts,
    env: Mapping[str, str],
    order: Order,
    adapter: agents.Adapter,
    secrets: tuple[str, ...],
    said: float,
) -> Fault | None:
    """`said`: when the last words of the call were written."""
    return _add_address(env, order, adapter, _redact_fault(facts, secrets, said))


def _add_address(
    env: Mapping[str, str], order: Order, adapter: agents.Adapter, fault: Fault | None
) -> Fault | None:
    """A network that is down, with the address at which that can be looked at."""
    if fault is None or fault.kind != "network" or not order.box.network:
        return fault
    environ = {**env, **order.agent.env}
    found, why_not = reach.address(adapter.probe(environ).provider, environ)
    note = f" (not probed: {why_not})" if why_not else ""
    return msgspec.structs.replace(fault, message=fault.message + note, address=found)


def _redact_fault(facts: agents.CallFacts, secrets: tuple[str, ...], said: float) -> Fault | None:
    """The fault without secrets; a limit's end as a moment, when one was told that can be believed."""
    fault = facts.fault
    if fault is None:
        return None
    message = redact(fault.message, secrets)
    told = agents.Reset(fault.reset_at, facts.after, facts.clock)
    if fault.kind != "limit" or told == agents.Reset():
        return Fault(fault.kind, message, fault.reset_at)
    reset = moment_of(told, said)
    note = "" if reset is not None else " (the end that it names is not believed)"
    return Fault(fault.kind, message + note, reset)
