"""The prompt of a call as `ralph prompt show` has it: found in the record, or made for the call that is owed.

Here: which call is meant, its text, its parts against the model's window, the difference to the call before.
Not here: how it is printed (`commands.prompt`). Text is cleaned and redacted for the screen; the bytes that
were sent are in the blob that the journal names.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ralph.app.views.owed_prompt import about_to_call, owed_text
from ralph.app.words.format import safe_lines
from ralph.core.decide import failover
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.prompt.budget import WARN_SHARE, PromptPart, parts_of, tokens, window
from ralph.core.prompt.facts import kind_of
from ralph.core.text.quoting import BEGINS
from ralph.errors import NothingToDo, UserError
from ralph.shell.journal.entries import Record
from ralph.shell.state import blobs
from ralph.shell.state.directory import State


class Shown(Struct, frozen=True, kw_only=True):
    loop: str
    iteration: int
    call: int
    agent: str
    model: str
    purpose: str  # plan, item, close; "" = the task
    item: str
    sent: bool  # False: it would be sent now
    text: str
    parts: tuple[PromptPart, ...]
    tokens: int
    window: int

    @property
    def share(self) -> float:
        return self.tokens / self.window

    @property
    def large(self) -> bool:
        return self.share > WARN_SHARE


def find_prompts(record: Record, state: State, iteration: int | None) -> tuple[Shown, Shown | None]:
    """The prompt that is meant, and the one before it."""
    calls = [event for event in record.events if isinstance(event, e.AgentStarted)]
    owing = about_to_call(record.loop) if iteration is None else None
    if owing is not None:
        return _next_prompt(record, state, owing), _sent_prompt(record, state, calls[-1]) if calls else None
    wanted = [n for n, call in enumerate(calls) if iteration in (None, call.iteration)]
    if not wanted and iteration is None:
        raise NothingToDo(
            f"loop '{record.name}' has called no agent and is not about to",
            code="E-PROMPT-NONE",
            next=f"ralph status {record.name}",
        )
    if not wanted:
        known = ", ".join(dict.fromkeys(str(call.iteration) for call in calls)) or "none"
        raise UserError(
            f"loop '{record.name}' has no call in iteration {iteration}",
            code="E-PROMPT-ITERATION",
            why=f"expected one of: {known}",
            next=f"ralph logs {record.name}",
        )
    at = wanted[-1]
    return _sent_prompt(record, state, calls[at]), _sent_prompt(record, state, calls[at - 1]) if at else None


def _sent_prompt(record: Record, state: State, call: e.AgentStarted) -> Shown:
    text = blobs.get(state.blobs, call.prompt).decode("utf-8", "replace")
    order = failover.with_agent(record.loop.sealed, call.using, "planning" if call.purpose == "plan" else "")
    return _shown_prompt(
        text,
        loop=record.name,
        iteration=call.iteration,
        call=call.call,
        agent=call.agent,
        model=order.agent.model,
        purpose=call.purpose,
        item=call.item,
        sent=True,
    )


def _next_prompt(record: Record, state: State, loop: Loop) -> Shown:
    owed = loop.todo[0]
    assert isinstance(owed, actions.RunAgent)
    order = failover.with_agent(loop.sealed, owed.agent, loop.build.mode)
    item = loop.build.item
    kind = kind_of(loop)
    return _shown_prompt(
        owed_text(record.name, loop, state),
        loop=record.name,
        iteration=owed.iteration,
        call=owed.call,
        agent=order.agent.name,
        model=order.agent.model,
        purpose={"prompt": "", "build": "item"}.get(kind, kind),
        item=item.id if item is not None and kind == "build" else "",
        sent=False,
    )


def _shown_prompt(text: str, **about: Any) -> Shown:
    size = window(about["agent"], about["model"])
    return Shown(**about, text=safe_lines(text), parts=parts_of(text), tokens=tokens(text), window=size)


def difference(before: Shown, after: Shown) -> list[str]:
    """As a patch; the marks around foreign text are new in each call and no difference."""
    from difflib import unified_diff

    old, new = (_drop_nonces(shown.text).splitlines() for shown in (before, after))
    was, now = (f"iteration {shown.iteration}, call {shown.call}" for shown in (before, after))
    return list(unified_diff(old, new, was, now, lineterm="", n=2))


def _drop_nonces(text: str) -> str:
    for nonce in {found[1] for line in text.splitlines() if (found := BEGINS.fullmatch(line))}:
        text = text.replace(nonce, "·")
    return text
