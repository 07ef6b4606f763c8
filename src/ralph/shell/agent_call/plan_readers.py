"""Readers of `plan --readers N`: agent calls at the same time, each on a part of the code, reading only.

They stand before one checkout of the tree that the plan is made for, which none of them can write; each has a
private home of its own. Their answers are cleaned, cut and kept as notes. What follows is the core's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from ralph.agents._kit.environ import secret_values
from ralph.core.decide.plan_readers import areas, reader_note
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.shell.agent_call.beside.side_calls import judge_order, watch_calls
from ralph.shell.agent_call.call import Begun, Caller
from ralph.shell.git.checkout import Submodule, fresh_checkout
from ralph.shell.git.trees import list_tree
from ralph.shell.ports import Attention
from ralph.shell.prompts.build import reader_prompt
from ralph.shell.prompts.sources import PromptFiles
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs


class Readers:
    def __init__(self, site: Site, modules: tuple[Submodule, ...], given: PromptFiles) -> None:
        self.site, self._modules, self._given = site, modules, given

    def open(self, loop: Loop, action: actions.RunReaders) -> e.ReadersStarted:
        """What each is asked, kept before anybody is called."""
        parts = self._areas(loop, action)
        prompts = [reader_prompt(loop, self._given, part).encode() for part in parts]
        return e.ReadersStarted(
            call=action.call,
            count=len(prompts),
            agent=self._order().agent.name,
            prompts=tuple(blobs.put(self.site.state.blobs, text) for text in prompts),
        )

    def finish(self, loop: Loop, action: actions.RunReaders, attend: Attention) -> e.ReadersEnded | None:
        """All of them, or what an earlier runner began of them; None when asked to drop it."""
        order, parts = self._order(), self._areas(loop, action)
        look = self._checkout(loop.work.tree)
        asked = loop.with_call(session=None)
        callers, begun, ended = [], {}, {}
        for number, part in enumerate(parts):
            site = replace(self.site, order=order, look=look, aside=f"reader-{number}")
            caller = Caller(site, order)
            callers.append(caller)
            told = actions.RunAgent(iteration=loop.iteration, call=action.call + number)
            prompt = reader_prompt(loop, self._given, part).encode()
            found = caller.begin(asked, told, prompt, ())
            if isinstance(found, Begun):
                begun[number] = found
            else:
                ended[number] = found
        try:
            names = [f"reader {number + 1}" for number in range(len(parts))]
            dropped = watch_calls(self.site, callers, begun, names, attend)
        finally:
            for number, one in begun.items():
                ended[number] = callers[number].end(asked, one)
        if dropped:
            return None
        return e.ReadersEnded(
            notes=tuple(
                reader_note(part, *self._answer(callers[n], ended[n])) for n, part in enumerate(parts)
            ),
            usages=tuple(one.usage for _, one in sorted(ended.items())),
        )

    def _answer(self, caller: Caller, ended: e.AgentEnded) -> tuple[str, str, Sequence[str]]:
        """What a reader said, its fault, and what must not be told of either."""
        secrets = secret_values({**self.site.env, **self._order().agent.env})
        fault = f"{ended.fault.kind}: {ended.fault.message}" if ended.fault is not None else ""
        return caller.message, fault, secrets

    def _areas(self, loop: Loop, action: actions.RunReaders) -> tuple[tuple[str, ...], ...]:
        found = areas(list_tree(self.site.store, loop.work.tree), action.count)
        return found + ((),) * (action.count - len(found))  # fewer files than readers: the rest reads all

    def _checkout(self, tree: str) -> str:
        base = os.path.join(self.site.folder, "checkouts", "readers")
        os.makedirs(os.path.dirname(base), mode=0o700, exist_ok=True)
        fresh_checkout(self.site.store, base, base + ".index", tree, modules=self._modules)
        return base

    def _order(self) -> Order:
        """The order as a reader sees it: its own agent or model, and nothing outside its home to write."""
        order, brief = self.site.order, self.site.order.plan_brief
        assert brief.reader is not None
        return judge_order(order, brief.reader)
