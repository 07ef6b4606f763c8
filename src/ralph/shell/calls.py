"""One agent call: its prompt, its box, its output as it streams, and what it came to.

A call lives in a folder of its own, so a runner that finds the folder of a dead one can tell what
became of it: a result is used, a survivor is ended, and a call that never began is begun.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from ralph import agents
from ralph.agents.environ import secret_values
from ralph.agents.lines import Intake
from ralph.core import events as e
from ralph.core.loop import Loop
from ralph.core.model import Fault
from ralph.core.status import OPEN
from ralph.core.text import redact
from ralph.shell import blobs, process, sandbox, tools
from ralph.shell.boxes import Site, agent_spec
from ralph.shell.disktree import remove_tree
from ralph.shell.runner import Activity, Attention, Watcher
from ralph.shell.sandbox import Share

BREATH = 0.1


class Caller:
    def __init__(self, site: Site) -> None:
        self.site = site
        self._adapter = agents.load(site.order.agent)

    def folder(self, call: int) -> str:
        return os.path.join(self.site.folder, "calls", str(call))

    def finish(
        self,
        loop: Loop,
        action: e.RunAgent,
        prompt: bytes,
        shares: tuple[Share, ...],
        attend: Attention,
        watcher: Watcher,
    ) -> e.AgentEnded:
        """Begin the call, or take up what an earlier runner began; its tree is empty on return."""
        folder = self.folder(action.call)
        if os.path.exists(os.path.join(folder, "spec.json")):
            found = process.recover_call(folder)
            if found.state != "never-started":
                ended = found.ended or process.Ended(ended="runner-lost")
                return self._account(action, folder, ended)
        remove_tree(folder)
        os.makedirs(folder, mode=0o700)
        prompt_file = os.path.join(folder, "prompt.md")
        with open(prompt_file, "wb") as file:
            file.write(prompt)
        started = self._start(loop, action, folder, prompt_file, shares)
        if isinstance(started, Fault):
            return e.AgentEnded(
                iteration=action.iteration,
                call=action.call,
                ended="spawn-error",
                fault=started,
                said=started.message,
            )
        call, placeholders = started
        try:
            self._watch(call, attend, watcher)
        finally:
            if call.ended is None:
                process.kill(call)
                process.wait(call)
            sandbox.remove_placeholders(placeholders)
        assert call.ended is not None
        return self._account(action, folder, call.ended)

    def _start(
        self, loop: Loop, action: e.RunAgent, folder: str, prompt_file: str, shares: tuple[Share, ...]
    ) -> tuple[process.Call, tuple[str, ...]] | Fault:
        site, order = self.site, self.site.order
        context = agents.CallContext(
            loop=f"ralph-{order.loop}",
            iteration=action.iteration,
            call=action.call,
            workspace=site.seen(),
            prompt_file=prompt_file,
            environ=site.env,
        )
        launch = self._adapter.launch(order, context)
        cwd = os.path.normpath(os.path.join(order.repo, order.prefix))
        read = [prompt_file, *launch.reads]
        argv = launch.argv
        for word in launch.tools:
            found = tools.resolve(
                word, path=site.path, cwd=cwd, repo=order.repo, home=site.home, known=site.known
            )
            if isinstance(found, tools.Tool):
                read += found.prefixes
                argv = (found.path, *argv[1:]) if word == argv[0] else argv
            elif word == argv[0]:
                hint = f"; install it with: {found.hint}" if found.hint else ""
                return Fault("missing", f'"{word}": {found.why}{hint}')
        left = loop.limits.time - loop.elapsed if loop.limits.time is not None else float("inf")
        spec, placeholders = agent_spec(
            site,
            argv,
            {**launch.env, **({"RALPH_MODEL": order.model} if order.model else {}), **order.agent_env},
            folder=folder,
            stdin=prompt_file if launch.stdin == "prompt" else "/dev/null",
            write=launch.writes,
            read=tuple(read),
            wall=max(1.0, min(loop.limits.iteration_time, left)),
            idle=loop.limits.idle,
            shares=shares,
        )
        for path, text in launch.files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return process.start_call(folder, spec, site.nursery), placeholders

    def _watch(self, call: process.Call, attend: Attention, watcher: Watcher) -> None:
        """Show what streams in until the call ends; a request to drop it becomes a stop."""
        intake = Intake(self._adapter.stream(self.site.order))
        began = heard = time.monotonic()
        total, asked_at = 0, 0.0
        while call.ended is None:
            process.poll([call], BREATH)
            chunk = process.follow(call)
            now = time.monotonic()
            if chunk:
                total, heard = total + len(chunk), now
                facts = intake.feed(chunk)
                if facts:
                    watcher.said(tuple(facts))
            if (
                attend(Activity("agent", (self.site.order.agent,), now - began, total, now - heard))
                and not asked_at
            ):
                asked_at = now
                process.stop(call)

    def _account(self, action: e.RunAgent, folder: str, ended: process.Ended) -> e.AgentEnded:
        """The whole output through a new parser: what was shown while it streamed decides nothing."""
        intake = Intake(self._adapter.stream(self.site.order))
        dropped = ended.dropped_bytes or 0
        for chunk in _output(folder, gap=bool(dropped)):
            intake.absorb(chunk)
        how = "crashed" if ended.ended in ("keeper-lost", "memory") else ended.ended
        facts = intake.finish(ended.exit_code, how, dropped)
        said = ended.error if ended.ended == "spawn-error" else facts.said.partition(OPEN)[0].rstrip()
        output = os.path.join(folder, "out")
        secrets = secret_values(self.site.env)
        stored = blobs.put_file(self.site.state.blobs, output) if os.path.exists(output) else ""
        for part in ("tmp", "overlay"):
            remove_tree(os.path.join(folder, part))
        return e.AgentEnded(
            iteration=action.iteration,
            call=action.call,
            exit_code=ended.exit_code,
            ended=ended.ended,
            seconds=ended.seconds or 0.0,
            usage=facts.usage,
            claim=facts.claim,
            fault=facts.fault,
            denials=tuple(redact(what, secrets)[:500] for what in facts.denials[:20]),
            said=redact(said, secrets)[:4000],
            output=stored,
            dropped=dropped,
        )


def _output(folder: str, *, gap: bool) -> Iterator[bytes]:
    """Head and tail in pieces; a gap between them ends the line that it falls into."""
    for name in ("out", "out-tail"):
        path = os.path.join(folder, name)
        if name == "out-tail" and gap:
            yield b"\n"
        if os.path.exists(path):
            with open(path, "rb") as file:
                while chunk := file.read(1 << 20):
                    yield chunk
