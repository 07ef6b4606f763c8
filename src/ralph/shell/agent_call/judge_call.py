"""The call of judge or reviewer: a fresh checkout for reading only, a prompt of its own, an opinion.

The call is made like any other agent call (`call`): boxed, bounded, killed with its tree. What it may write
is its private home and /tmp, and neither is one that the judged agent ever had. Files by which the work could
give orders to the judge's CLI (AGENTS.md and the like) stand in the checkout as they were before the work;
their change is in the diff, as data. What an opinion does to the loop is decided in `core.decide.opinion`.
"""

from __future__ import annotations

import hashlib
import os
from importlib.resources import files

from msgspec.structs import replace

from ralph.agents._kit.environ import secret_values
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.rubric import Opinion
from ralph.core.model.team.review import opinion_in
from ralph.core.model.team.terms import Seat
from ralph.core.prompt.for_judge import question
from ralph.core.text.clean import clean, redact
from ralph.shell.agent_call.beside.side_calls import SideCall, is_instruction_file, judge_order, make_calls
from ralph.shell.git.checkout import Submodule, fresh_checkout
from ralph.shell.git.trees import changed_paths, diff_text, overlay_tree
from ralph.shell.ports import Attention, Watcher
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs


class Asker:
    """Asks the judge and the reviewer of one site."""

    def __init__(self, site: Site, modules: tuple[Submodule, ...]) -> None:
        self.site = site
        self._modules = modules

    def open(self, loop: Loop, action: actions.AskJudge) -> e.JudgeStarted:
        """The question, kept before anybody is asked."""
        return e.JudgeStarted(
            iteration=loop.iteration,
            call=action.call,
            tree=action.tree,
            agent=self.site.order.agent_in(action.role).name,
            prompt=self._prompt(loop, action, action.role, action.call),
            role=action.role,
            beside=self._prompt(loop, action, "judge", action.call + 1) if action.both else "",
        )

    def _prompt(self, loop: Loop, action: actions.AskJudge, seat: Seat, call: int) -> str:
        site, order, rubric = self.site, self.site.order, loop.rubric_of(seat)
        assert rubric is not None
        template = (files("ralph") / "templates" / f"{seat}.md.j2").read_text(encoding="utf-8")
        base, item = _since(loop, action)
        diff = clean(diff_text(site.store, base, action.tree))
        # Not guessable by who wrote the change: it was not known when that was written.
        words = f"{seat}/{order.loop}/{call}/{loop.now}/{order.config_digest}"
        nonce = hashlib.sha256(words.encode()).hexdigest()[:16]
        diff = redact(diff, secret_values(site.env))
        text = question(template, loop, rubric, diff, nonce, item=item, seat=seat)
        return blobs.put(site.state.blobs, text.encode())

    def finish(
        self, loop: Loop, action: actions.AskJudge, attend: Attention, watcher: Watcher
    ) -> e.JudgeEnded | None:
        """Make the call, or take up what an earlier runner began; None when asked to drop it."""
        look = self._checkout(action.tree)
        seats: tuple[Seat, ...] = (action.role, "judge") if action.both else (action.role,)
        asked = [self._ask(loop, look, seat, action.call + number) for number, seat in enumerate(seats)]
        ended = make_calls(self.site, asked, attend, watcher)
        if ended is None:
            return None  # the record of the call stays: whoever goes on accounts for it
        opinions = [
            self._opinion(loop, action, seat, one, done)
            for seat, one, done in zip(seats, asked, ended, strict=True)
        ]
        first, second = ended[0], ended[1] if action.both else None
        return e.JudgeEnded(
            iteration=loop.iteration,
            call=action.call,
            tree=action.tree,
            opinion=opinions[0],
            fault=first.fault,
            seconds=first.seconds,
            usage=first.usage,
            output=first.output,
            role=action.role,
            beside=None
            if second is None
            else e.SecondAnswer(opinions[1], second.fault, second.seconds, second.usage, second.output),
        )

    def _ask(self, loop: Loop, look: str, seat: Seat, call: int) -> SideCall:
        rubric = loop.rubric_of(seat)
        assert rubric is not None
        aside = "" if seat == "judge" else seat
        site = replace(
            self.site,
            order=judge_order(self.site.order, self.site.order.agent_in(seat)),
            look=look,
            aside=aside,
        )
        prompt = blobs.get(site.state.blobs, loop.jury_of(seat).prompt)
        return SideCall(site, loop, call, prompt, rubric.timeout, seat)

    def _opinion(
        self, loop: Loop, action: actions.AskJudge, seat: Seat, asked: SideCall, ended: e.AgentEnded
    ) -> Opinion | None:
        if ended.fault is not None:
            return None
        agent, rubric = self.site.order.agent_in(seat), loop.rubric_of(seat)
        assert rubric is not None
        secrets = secret_values({**self.site.env, **agent.env})
        return replace(
            opinion_in(asked.caller.message, seat, rubric, action.tree, secrets),
            agent=agent.name,
            model=agent.model,
            iteration=loop.iteration,
            call=asked.call,
            evidence=ended.output,
        )

    def _checkout(self, tree: str) -> str:
        site = self.site
        base = os.path.join(site.folder, "checkouts", "judge")
        os.makedirs(os.path.dirname(base), mode=0o700, exist_ok=True)
        orders = [
            change.path
            for change in changed_paths(site.store, site.order.base.tree, tree, renames=False)
            if is_instruction_file(change.path)
        ]
        if orders:
            tree = overlay_tree(site.store, site.order.base.tree, tree, restore=orders)
        fresh_checkout(site.store, base, base + ".index", tree, modules=self._modules)
        return base


def _since(loop: Loop, action: actions.AskJudge) -> tuple[str, str]:
    """The tree that the change is a change of, and the plan's item that it is for, if it is one item's."""
    build = loop.build
    if build.item is None or not isinstance(action.then, actions.PublishItem):
        return loop.sealed.base.tree, ""
    base = build.base.tree if build.base is not None else loop.sealed.base.tree
    return base, f"{build.item.id}, {build.item.title}"
