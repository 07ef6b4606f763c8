"""One agent call: its prompt, its box, its output as it streams, and what it came to.

A call lives in a folder of its own, so a runner that finds the folder of a dead one can tell what
became of it: a result is used, a call that was to outlive its runner is taken over, any other survivor is
ended, and a call that never began is begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from ralph import agents
from ralph.agents._kit.lines import Intake
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.shell.agent_call.account import account_for
from ralph.shell.agent_call.launch import launch_call
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.ports import Activity, Attention, Watcher
from ralph.shell.process import client
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.own_copy import return_logins
from ralph.shell.sandbox.site import Site

POLL_SECONDS = 0.1
RETRY_SECONDS = 30.0  # seconds in which a CLI may try again by itself, besides those it names


class Begun(msgspec.Struct):
    """A call at work."""

    action: actions.RunAgent
    folder: str
    call: client.Call
    intake: Intake


class Caller:
    """Makes the calls of one agent; `order` is the loop's as that agent sees it."""

    def __init__(self, site: Site, order: Order) -> None:
        self.site = site
        self.order = order
        self._adapter = agents.load(order.agent.name)
        self._key: tuple[str, ...] = ()  # of the newest call: a CLI may repeat it in an error
        self.message = ""  # the last message of the newest call, whole
        self._note: Callable[[str], None] = lambda _text: None  # nobody looks on: a reader among several
        self._told: set[str] = set()

    def folder(self, call: int) -> str:
        return os.path.join(self.site.folder, "calls", str(call))

    def finish(
        self,
        loop: Loop,
        action: actions.RunAgent,
        prompt: bytes,
        shares: tuple[SharedMount, ...],
        attend: Attention,
        watcher: Watcher,
    ) -> e.AgentEnded:
        """Begin the call, or take up what an earlier runner began; its tree is empty on return."""
        self._note = watcher.note
        found = self.begin(loop, action, prompt, shares)
        if not isinstance(found, Begun):
            return found
        sat_out = False
        try:
            sat_out = self._watch(loop, found.call, attend, watcher)
        except BaseException:
            self.end(loop, found)
            raise
        return self.end(loop, found, sat_out=sat_out)

    def _tell(self, told: tuple[str, ...]) -> None:
        """What the user must know of a login, once."""
        for text in told:
            if text not in self._told:
                self._told.add(text)
                self._note(text)

    def begin(
        self, loop: Loop, action: actions.RunAgent, prompt: bytes, shares: tuple[SharedMount, ...]
    ) -> Begun | e.AgentEnded:
        """The call at work, or what came of one that an earlier runner began or that cannot be begun."""
        folder = self.folder(action.call)
        if os.path.exists(os.path.join(folder, "spec.json")):
            found = self._take_over(folder)
            if isinstance(found, client.Call):
                stream = self._adapter.stream(self.order, loop.call.session)
                return Begun(action, folder, found, Intake(stream))
            if found.state != "never-started":
                return self._account(loop, action, folder, found.end())
        remove_tree(folder)
        os.makedirs(folder, mode=0o700)
        prompt_file = os.path.join(folder, "prompt.md")
        with open(prompt_file, "wb") as file:
            file.write(prompt)
        started = launch_call(
            self.site,
            self.order,
            self._adapter,
            loop,
            action,
            folder=folder,
            prompt_file=prompt_file,
            shares=shares,
            tell=self._tell,
        )
        if isinstance(started, Fault):
            return e.AgentEnded(
                iteration=action.iteration,
                call=action.call,
                ended="spawn-error",
                fault=started,
                said=started.message,
            )
        self._key = started.key
        stream = self._adapter.stream(self.order, loop.call.session)
        return Begun(action, folder, started.call, Intake(stream))

    def _take_over(self, folder: str) -> client.Call | client.Recovered:
        """What an earlier runner began: at work if it was to outlive that one, else what became of it."""
        while True:
            found = client.recover_call(folder, adopt=client.outlives(folder))
            if found.state != "alive":
                return found
            call = client.adopt_call(folder)
            if call is not None:
                return call
            self.site.clock.sleep(POLL_SECONDS)  # it is just ending, or has just begun

    def look(self, begun: Begun) -> None:
        """One glance at a call among several: it is stopped when it says itself that it is hopeless."""
        client.poll([begun.call], POLL_SECONDS)
        chunk = client.read_new_output(begun.call)
        if chunk and any(getattr(fact, "stop", False) for fact in begun.intake.feed(chunk)):
            client.stop(begun.call)

    def end(self, loop: Loop, begun: Begun, *, sat_out: bool = False) -> e.AgentEnded:
        """What came of it; if it has not ended, it is ended."""
        call = begun.call
        if call.ended is None:
            client.kill(call)
            client.wait(call)
        assert call.ended is not None
        return self._account(loop, begun.action, begun.folder, call.ended, sat_out=sat_out)

    def _account(
        self, loop: Loop, action: actions.RunAgent, folder: str, ended: client.Ended, *, sat_out: bool = False
    ) -> e.AgentEnded:
        event, self.message = account_for(
            self.site, self.order, self._adapter, loop, action, folder, ended, sat_out=sat_out, key=self._key
        )
        event = msgspec.structs.replace(event, took=event.seconds)  # also what passed before this runner came
        self._tell(return_logins(self.site.own_folder(self.order.agent.name), self.site.clock.now()))
        for part in ("tmp", "overlay", "given"):
            remove_tree(os.path.join(folder, part))
        return event

    def _watch(self, loop: Loop, call: client.Call, attend: Attention, watcher: Watcher) -> bool:
        """Show what streams in until the call ends; a request to drop it becomes a stop.

        True when it was stopped because the CLI sat out a wait of its own, which may be an hour.
        """
        intake = Intake(self._adapter.stream(self.order, loop.call.session))
        began = heard = self.site.clock.monotonic()
        total, asked_at = 0, 0.0
        enough, sat_out = float("inf"), False
        while call.ended is None:
            client.poll([call], POLL_SECONDS)
            chunk = client.read_new_output(call)
            now = self.site.clock.monotonic()
            hopeless = False
            if chunk:
                total, heard = total + len(chunk), now
                facts = intake.feed(chunk)
                if facts:
                    watcher.hear(tuple(facts))
                    hopeless = any(getattr(fact, "stop", False) for fact in facts)
                    enough = _enough(facts, now, enough)
            asked = attend(Activity("agent", (self.order.agent.name,), now - began, total, now - heard))
            if (asked or hopeless or now > enough) and not asked_at:
                asked_at = now
                sat_out = not asked and not hopeless
                client.stop(call)
        return sat_out


def _enough(facts: list[agents.AgentFact], now: float, before: float) -> float:
    """Until when a CLI that tries again by itself is let alone; for ever when it has gone on."""
    for fact in facts:
        if isinstance(fact, agents.Retried):
            before = now + RETRY_SECONDS + (fact.after or 0.0)
        elif isinstance(fact, agents.Said | agents.ToolUsed):
            before = float("inf")
    return before
