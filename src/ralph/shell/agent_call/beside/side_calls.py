"""Calls beside the work, one or two at the same time: judge, reviewer, planner, tester.

Each is made like any other agent call (`call`), with an order, a checkout and a home of its own.
"""

from __future__ import annotations

from functools import cached_property

from msgspec.structs import replace

from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.shell.agent_call.call import Begun, Caller
from ralph.shell.ports import Activity, Attention, Watcher
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.site import Site

ORDERS = frozenset(
    {
        *(".aider.conf.yml", ".aider.model.settings.yml", ".cursorrules", ".env", ".goosehints"),
        *(".mcp.json", "agents.md", "claude.local.md", "claude.md", "copilot-instructions.md"),
        *("gemini.md", "opencode.json", "opencode.jsonc", "qwen.md"),
    }
)  # fmt: skip
ORDER_FOLDERS = frozenset(
    {".agents", ".claude", ".codex", ".cursor", ".gemini", ".goose", ".opencode", ".qwen", ".vibe"}
)


class SideCall:
    """One call that is to be made, or was begun by an earlier runner."""

    def __init__(
        self,
        site: Site,
        loop: Loop,
        call: int,
        prompt: bytes,
        timeout: float,
        what: str,
        shares: tuple[SharedMount, ...] = (),
    ) -> None:
        limits = replace(loop.limits, iteration_time=timeout)
        self.site, self.call, self.prompt, self.what, self.shares = site, call, prompt, what, shares
        self.loop = replace(loop.with_call(session=None), limits=limits)
        self.told = actions.RunAgent(iteration=loop.iteration, call=call)

    @cached_property
    def caller(self) -> Caller:
        return Caller(self.site, self.site.order)


def make_calls(
    site: Site, asked: list[SideCall], attend: Attention, watcher: Watcher
) -> list[e.AgentEnded] | None:
    """What came of each; None when asked to drop them."""
    if len(asked) > 1:
        return make_at_once(site, asked, attend)
    dropped, one = False, asked[0]

    def look(activity: Activity) -> bool:
        nonlocal dropped
        dropped = attend(replace(activity, what=one.what)) or dropped
        return dropped

    ended = one.caller.finish(one.loop, one.told, one.prompt, one.shares, look, watcher)
    return None if dropped else [ended]


def make_at_once(site: Site, asked: list[SideCall], attend: Attention) -> list[e.AgentEnded] | None:
    """The same, side by side: nobody looks on at what streams in."""
    found = [one.caller.begin(one.loop, one.told, one.prompt, one.shares) for one in asked]
    begun = [(mine, one) for mine, one in zip(asked, found, strict=True) if isinstance(one, Begun)]
    dropped, began, names = False, site.clock.monotonic(), tuple(mine.what for mine, _ in begun)
    try:
        while not dropped and any(one.call.ended is None for _, one in begun):
            for mine, one in begun:
                mine.caller.look(one)
            dropped = attend(Activity("agent", names, site.clock.monotonic() - began))
    finally:
        ended = iter([mine.caller.end(mine.loop, one) for mine, one in begun])
    return None if dropped else [next(ended) if isinstance(one, Begun) else one for one in found]


def judge_order(order: Order, judge: SealedAgent) -> Order:
    """The order as the judge's call sees it: another agent, and nothing outside its home to write."""
    settings = {word: value for word, value in judge.settings.items() if word != "write"}
    return replace(
        order,
        agent=replace(judge, settings=settings),
        spares=(),
        keep_session=False,
        box=replace(order.box, allow_write=()),
        prefix="",
    )


def is_instruction_file(path: str) -> bool:
    """Is this a file that a coding CLI reads as instructions or settings of its own?"""
    *folders, name = path.lower().split("/")
    return name in ORDERS or any(part in ORDER_FOLDERS for part in (*folders, name))
