"""The calls of `ralph specs refine`: each spec is attacked in one of its own, by an agent that can only read.

They are made like any other (boxed, bounded, killed with their tree), outside of any loop: nothing is
journaled, and nothing is written to the project. What an answer is worth is decided in `core.specs.refine`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.resources import files
from secrets import token_hex

from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._kit.environ import secret_values
from ralph.core.decide.failover import limit_reached
from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Spend, add_side_calls, add_usage
from ralph.core.prompt.for_spec import spec_question
from ralph.core.specs.refine import Refinement, read_refinement
from ralph.shell.agent_call.beside.side_calls import SideCall, make_calls
from ralph.shell.git.checkout import fresh_checkout
from ralph.shell.ports import Attention, Quiet
from ralph.shell.run.throwaway import open_aside, users_tree
from ralph.shell.sandbox.site import Site
from ralph.shell.start.refine import Refining

MAX_SPEC = 200_000  # characters of one spec
MAX_TRIES = 2  # answers about one spec that cannot be used


class RefinedSpec(Struct, frozen=True):
    path: str
    text: str
    said: Refinement | None = None
    trouble: str = ""  # why there is no proposal, or why it could not be applied


def refine_specs(
    refining: Refining, env: Mapping[str, str], now: float, attend: Attention
) -> Iterator[tuple[RefinedSpec, Spend]]:
    """One spec after the other, with what was spent so far. Raises KeyboardInterrupt when dropped."""
    order = refining.order

    with open_aside(order, refining.project, env, users_tree) as (site, modules, tree):
        look = os.path.join(site.folder, "checkout")
        fresh_checkout(site.store, look, look + ".index", tree, modules=modules)
        loop = fold((e.LoopStarted(order=order, rules=e.RULES, at=now),))
        caller = _SpecCalls(refining, replace(site, look=look, aside="reviewer"), loop, attend)
        for path in refining.files.texts:
            yield caller.refine(path), caller.loop.spend


class _SpecCalls:
    """Calls of one command; after a fault, or at a limit, nobody is asked any more."""

    def __init__(self, refining: Refining, site: Site, loop: Loop, attend: Attention) -> None:
        self.loop = loop
        self._refining, self._site, self._attend = refining, site, attend
        self._calls, self._stop = 0, ""
        self._secrets = secret_values({**site.env, **refining.order.agent.env})

    def refine(self, path: str) -> RefinedSpec:
        text = self._refining.files.texts[path]
        if len(text) > MAX_SPEC:
            why = f"the spec has {len(text)} characters, expected at most {MAX_SPEC}"
            return RefinedSpec(path, text, trouble=why)
        said: Refinement | str = ""
        for _ in range(MAX_TRIES):
            message = self._ask(path, str(said))
            if message is None:
                return RefinedSpec(path, text, trouble=self._stop)
            said = read_refinement(message, text)
            told = (message, *(said.words() if isinstance(said, Refinement) else ()))
            if any(secret in words for secret in self._secrets for words in told):
                said = "it repeats a secret of the environment"
            if isinstance(said, Refinement):
                return RefinedSpec(path, text, said)
        return RefinedSpec(path, text, trouble=f"the agent's answer cannot be used: {said}")

    def _ask(self, path: str, trouble: str) -> str | None:
        """The agent's last message; None when it cannot be asked, or the call failed."""
        ending = limit_reached(self.loop)
        self._stop = self._stop or (ending.reason if ending is not None else "")
        if self._stop:
            return None
        self._calls += 1
        template = (files("ralph") / "templates" / "refine.md.j2").read_text(encoding="utf-8")
        texts, own = self._refining.files.texts, self._refining.asked
        prompt = spec_question(template, texts, path, token_hex(8), asked=own, trouble=trouble).encode()
        timeout = self.loop.limits.iteration_time
        asked = SideCall(self._site, self.loop, self._calls, prompt, timeout, path)
        self.loop = self.loop.charge("reviewer", add_side_calls)
        made = make_calls(self._site, [asked], self._attend, Quiet())
        if made is None:
            raise KeyboardInterrupt
        ended = made[0]
        spend = add_usage(self.loop.spend, ended.usage)
        self.loop = replace(self.loop, spend=replace(spend, seconds=spend.seconds + ended.seconds))
        if ended.fault is not None:
            self._stop = f"the call failed ({ended.fault.kind}: {ended.fault.message})"
            return None
        return asked.caller.message
