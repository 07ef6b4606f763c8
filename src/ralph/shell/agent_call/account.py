"""What came of an agent call: its usage, its claim, its fault and its session, by its whole output."""

from __future__ import annotations

import os

import msgspec

from ralph import agents
from ralph.agents._kit.environ import secret_values
from ralph.core.claim.status_block import OPEN
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.prompt import learnings
from ralph.core.text.clean import redact
from ralph.shell.agent_call.call_files import read_facts, read_kept
from ralph.shell.agent_call.describe_fault import describe_fault
from ralph.shell.agent_call.prices import add_cost
from ralph.shell.process import client
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs


def account_for(
    site: Site,
    order: Order,
    adapter: agents.Adapter,
    loop: Loop,
    action: actions.RunAgent,
    folder: str,
    ended: client.Ended,
    *,
    sat_out: bool = False,
    key: tuple[str, ...] = (),
) -> tuple[e.AgentEnded, str]:
    """The whole output through a new parser: what was shown while it streamed decides nothing.

    With it the last message, whole. `key` is what the call was given: a CLI may repeat it in an error.
    """
    kept = read_kept(folder)
    facts = read_facts(adapter.stream(order, loop.call.session), folder, kept, ended, sat_out=sat_out)
    said = ended.error if ended.ended == "spawn-error" else facts.said.partition(OPEN)[0].rstrip()
    output = os.path.join(folder, "out")
    secrets = (*secret_values({**site.env, **order.agent.env}), *key)
    said_at = _last_words_at(output, site.clock.now())
    stored = blobs.put_file(site.state.blobs, output) if os.path.exists(output) else ""
    session = facts.session
    event = e.AgentEnded(
        iteration=action.iteration,
        call=action.call,
        exit_code=ended.exit_code,
        ended=ended.ended,
        seconds=ended.seconds or 0.0,
        usage=add_cost(facts.usage, order.agent.price, order.agent.model or facts.model),
        claim=facts.claim,
        fault=describe_fault(facts, site.env, order, adapter, secrets, said_at),
        denials=tuple(redact(what, secrets)[:500] for what in facts.denials[:20]),
        said=redact(said, secrets)[:4000],
        output=stored,
        dropped=ended.dropped_bytes or 0,
        session=msgspec.structs.replace(session, agent=order.agent.name) if session else None,
        program=kept.program,
        learned=learnings.notes_in_message(redact(facts.message, secrets)),
    )
    return event, facts.message


def _last_words_at(output: str, now: float) -> float:
    """When the last words of a call were written: a runner that takes it over may come much later."""
    try:
        return os.stat(output).st_mtime
    except OSError:
        return now
