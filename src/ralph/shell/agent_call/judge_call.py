"""The judge's call: a fresh checkout for reading only, a prompt of its own, its answer as an opinion.

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
from ralph.core.model.agent import SealedAgent
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.rubric import Opinion, Rubric, opinion_of, read_answer
from ralph.core.prompt.for_judge import question
from ralph.core.text.clean import clean, redact
from ralph.shell.agent_call.call import Caller
from ralph.shell.git.checkout import Submodule, fresh_checkout
from ralph.shell.git.trees import changed_paths, diff_text, overlay_tree
from ralph.shell.ports import Activity, Attention, Watcher
from ralph.shell.sandbox.site import Site
from ralph.shell.state import blobs

ORDERS = frozenset(
    {
        ".aider.conf.yml",
        ".aider.model.settings.yml",
        ".cursorrules",
        ".env",
        ".goosehints",
        ".mcp.json",
        "agents.md",
        "claude.local.md",
        "claude.md",
        "copilot-instructions.md",
        "gemini.md",
        "opencode.json",
        "opencode.jsonc",
        "qwen.md",
    }
)  # fmt: skip
ORDER_FOLDERS = frozenset(
    {".agents", ".claude", ".codex", ".cursor", ".gemini", ".goose", ".opencode", ".qwen", ".vibe"}
)


class Asker:
    """Asks the judge of one site."""

    def __init__(self, site: Site, modules: tuple[Submodule, ...]) -> None:
        self.site = site
        self._modules = modules
        assert site.order.rubric is not None
        assert site.order.judge is not None
        self._rubric: Rubric = site.order.rubric
        self._judge: SealedAgent = site.order.judge

    def open(self, loop: Loop, action: actions.AskJudge) -> e.JudgeStarted:
        """The question, kept before anybody is asked."""
        site, order = self.site, self.site.order
        template = (files("ralph") / "templates" / "judge.md.j2").read_text(encoding="utf-8")
        base, item = _since(loop, action)
        diff = clean(diff_text(site.store, base, action.tree))
        # Not guessable by who wrote the change: it was not known when that was written.
        words = f"judge/{order.loop}/{action.call}/{loop.now}/{order.config_digest}"
        nonce = hashlib.sha256(words.encode()).hexdigest()[:16]
        diff = redact(diff, secret_values(site.env))
        text = question(template, loop, self._rubric, diff, nonce, item=item)
        return e.JudgeStarted(
            iteration=loop.iteration,
            call=action.call,
            tree=action.tree,
            agent=self._judge.name,
            prompt=blobs.put(site.state.blobs, text.encode()),
        )

    def finish(
        self, loop: Loop, action: actions.AskJudge, attend: Attention, watcher: Watcher
    ) -> e.JudgeEnded | None:
        """Make the call, or take up what an earlier runner began; None when asked to drop it."""
        order = judge_order(self.site.order, self._judge)
        site = replace(self.site, order=order, look=self._checkout(action.tree))
        caller = Caller(site, order)
        dropped = False

        def look(activity: Activity) -> bool:
            nonlocal dropped
            dropped = attend(replace(activity, what="judge")) or dropped
            return dropped

        prompt = blobs.get(site.state.blobs, loop.jury.prompt)
        limits = replace(loop.limits, iteration_time=self._rubric.timeout)
        asked = replace(loop.with_call(session=None), limits=limits)
        told = actions.RunAgent(iteration=loop.iteration, call=action.call)
        ended = caller.finish(asked, told, prompt, (), look, watcher)
        if dropped:
            return None  # the record of the call stays: whoever goes on accounts for it
        opinion = None
        if ended.fault is None:
            opinion = opinion_of(self._rubric, read_answer(caller.message, self._rubric), action.tree)
            opinion = replace(
                self._redact_opinion(opinion),
                agent=self._judge.name,
                model=self._judge.model,
                iteration=loop.iteration,
                call=action.call,
                evidence=ended.output,
            )
        return e.JudgeEnded(
            iteration=loop.iteration,
            call=action.call,
            tree=action.tree,
            opinion=opinion,
            fault=ended.fault,
            seconds=ended.seconds,
            usage=ended.usage,
            output=ended.output,
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

    def _redact_opinion(self, opinion: Opinion) -> Opinion:
        secrets = secret_values({**self.site.env, **self._judge.env})
        return replace(
            opinion,
            summary=redact(opinion.summary, secrets),
            why=redact(opinion.why, secrets),
            suggestions=tuple(redact(text, secrets) for text in opinion.suggestions),
            scores=tuple(replace(one, reasoning=redact(one.reasoning, secrets)) for one in opinion.scores),
        )


def _since(loop: Loop, action: actions.AskJudge) -> tuple[str, str]:
    """The tree that the change is a change of, and the plan's item that it is for, if it is one item's."""
    build = loop.build
    if build.item is None or not isinstance(action.then, actions.PublishItem):
        return loop.sealed.base.tree, ""
    base = build.base.tree if build.base is not None else loop.sealed.base.tree
    return base, f"{build.item.id}, {build.item.title}"


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
