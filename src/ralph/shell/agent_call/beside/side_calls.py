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
        return _make_at_once(site, asked, attend)
    dropped, one = False, asked[0]

    def look(activity: Activity) -> bool:
        nonlocal dropped
        dropped = attend(replace(activity, what=one.what)) or dropped
        return dropped

    ended = one.caller.finish(one.loop, one.told, one.prompt, one.shares, look, watcher)
    return None if dropped else [ended]


def _make_at_once(site: Site, asked: list[SideCall], attend: Attention) -> list[e.AgentEnded] | None:
    found = [one.caller.begin(one.loop, one.told, one.prompt, one.shares) for one in asked]
    begun = {number: one for number, one in enumerate(found) if isinstance(one, Begun)}
    try:
        dropped = watch_calls(site, [one.caller for one in asked], begun, [one.what for one in asked], attend)
    finally:
        ended = {number: asked[number].caller.end(asked[number].loop, one) for number, one in begun.items()}
    if dropped:
        return None
    return [one if isinstance(one, e.AgentEnded) else ended[number] for number, one in enumerate(found)]


def watch_calls(
    site: Site, callers: list[Caller], begun: dict[int, Begun], names: list[str], attend: Attention
) -> bool:
    """Until all have ended; True when asked to drop them."""
    began = site.clock.monotonic()
    shown = tuple(names[number] for number in begun)
    while any(one.call.ended is None for one in begun.values()):
        for number, one in begun.items():
            callers[number].look(one)
        if attend(Activity("agent", shown, site.clock.monotonic() - began)):
            return True
    return False


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
