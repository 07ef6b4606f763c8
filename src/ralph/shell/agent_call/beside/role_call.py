"""The calls of a team before the work begins: the planner reads the base, the tester writes tests for it.

Both see a checkout of the base without a repository behind it, so nothing of this or an earlier loop. The
planner's is for reading only. Of what the tester leaves, new test files are taken and nothing else; they
become a commit on top of the base. What follows from it is decided in `core.decide.team`.
"""

from __future__ import annotations

import os
from importlib.resources import files

from msgspec.structs import replace

from ralph.agents._kit.environ import secret_values
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import RoleTerms
from ralph.core.prompt.for_role import role_question
from ralph.core.text.clean import clean, redact, trim
from ralph.shell.agent_call.beside.side_calls import SideCall, judge_order, make_calls
from ralph.shell.agent_call.beside.written_tests import take_tests
from ralph.shell.git.checkout import Submodule, fresh_checkout
from ralph.shell.ports import Attention, Watcher
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs

MAX_LINES, MAX_CHARS = 120, 12_000  # of what a role said


class RoleCalls:
    """Calls the planner and the tester of one site."""

    def __init__(self, site: Site, modules: tuple[Submodule, ...]) -> None:
        self.site, self._modules = site, modules

    def open(self, loop: Loop, action: actions.RunRole) -> e.RoleStarted:
        """What it is asked, kept before anybody is called."""
        template = (files("ralph") / "templates" / f"{action.role}.md.j2").read_text(encoding="utf-8")
        text = role_question(template, loop, action.role)
        return e.RoleStarted(
            role=action.role,
            call=action.call,
            tree=action.tree,
            agent=self._terms(action).agent.name,
            prompt=blobs.put(self.site.state.blobs, text.encode()),
        )

    def finish(
        self,
        loop: Loop,
        action: actions.RunRole,
        shares: tuple[SharedMount, ...],
        attend: Attention,
        watcher: Watcher,
    ) -> e.RoleEnded | None:
        """Make the call, or take up what an earlier runner began; None when asked to drop it."""
        terms, order = self._terms(action), self.site.order
        path = self._checkout(action)
        site = replace(
            self.site,
            order=judge_order(order, terms.agent),
            look=path,
            aside=action.role,
            writes=action.role == "tester",
        )
        prompt = blobs.get(site.state.blobs, loop.team.prompt)
        asked = SideCall(site, loop, action.call, prompt, terms.timeout, action.role, shares)
        ended = make_calls(site, [asked], attend, watcher)
        if ended is None:
            return None
        secrets = secret_values({**site.env, **terms.agent.env})
        fault = ended[0].fault
        return e.RoleEnded(
            role=action.role,
            call=action.call,
            fault=fault,
            said=trim(redact(clean(asked.caller.message), secrets), MAX_LINES, MAX_CHARS),
            tests=take_tests(self.site, self._modules, loop, path)
            if action.role == "tester" and fault is None
            else None,
            seconds=ended[0].seconds,
            usage=ended[0].usage,
            output=ended[0].output,
        )

    def _terms(self, action: actions.RunRole) -> RoleTerms:
        assert self.site.order.team is not None
        return self.site.order.team.roles[action.role]

    def _checkout(self, action: actions.RunRole) -> str:
        """Made before the call begins and left alone afterwards: a tester's work is in it."""
        base = os.path.join(self.site.folder, "checkouts", f"{action.role}-{action.call}")
        if not os.path.exists(os.path.join(self.site.folder, "calls", str(action.call), "spec.json")):
            os.makedirs(os.path.dirname(base), mode=0o700, exist_ok=True)
            fresh_checkout(self.site.store, base, base + ".index", action.tree, modules=self._modules)
        return base
