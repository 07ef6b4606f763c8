"""Readers of `plan --readers N`: agent calls at the same time, each on a part of the code, reading only.

They stand before one checkout of the tree that the plan is made for, which none of them can write; each has a
private home of its own. Their answers are cleaned, cut and kept as notes. What follows is the core's.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from ralph.agents._kit.environ import secret_values
from ralph.core.decide.plan_readers import areas, reader_note
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.shell.agent_call.beside.side_calls import SideCall, judge_order, make_at_once
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
        site = replace(self.site, order=order, look=self._checkout(loop.work.tree))
        asked = [
            SideCall(
                replace(site, aside=f"reader-{number}"),
                loop,
                action.call + number,
                reader_prompt(loop, self._given, part).encode(),
                loop.limits.iteration_time,
                f"reader {number + 1}",
            )
            for number, part in enumerate(parts)
        ]
        ended = make_at_once(self.site, asked, attend)
        if ended is None:
            return None
        secrets = secret_values({**self.site.env, **order.agent.env})
        faults = [f"{one.fault.kind}: {one.fault.message}" if one.fault else "" for one in ended]
        notes = zip(parts, asked, faults, strict=True)
        return e.ReadersEnded(
            notes=tuple(reader_note(part, one.caller.message, fault, secrets) for part, one, fault in notes),
            usages=tuple(one.usage for one in ended),
        )

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
