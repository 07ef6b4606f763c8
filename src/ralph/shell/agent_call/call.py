"""One agent call: its prompt, its box, its output as it streams, and what it came to.

A call lives in a folder of its own, so a runner that finds the folder of a dead one can tell what
became of it: a result is used, a survivor is ended, and a call that never began is begun.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable

import msgspec

from ralph import agents
from ralph.agents._kit.environ import secret_values
from ralph.agents._kit.lines import Intake
from ralph.agents._kit.prices import add_cost
from ralph.core.claim.status_block import OPEN
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import AgentSession, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.plan.plan_state import PURPOSE
from ralph.core.prompt import learnings
from ralph.core.prompt.facts import HIDDEN
from ralph.core.text.clean import redact
from ralph.shell.agent_call import credentials, reach
from ralph.shell.agent_call.call_files import Kept, files_left, output_pieces, read_kept
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.ports import Activity, Attention, Watcher
from ralph.shell.process import client
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.boxes import Site, agent_spec, own_folder, own_places
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.login_back import bring_back
from ralph.shell.sandbox.own_copy import LIST, prepare
from ralph.shell.state import blobs

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
            found = client.recover_call(folder)
            if found.state != "never-started":
                ended = found.ended or client.Ended(ended="runner-lost")
                return self._account(loop, action, folder, ended)
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
        stream = self._adapter.stream(self.order, loop.call.session)
        return Begun(action, folder, started, Intake(stream))

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

    def _start(
        self,
        loop: Loop,
        action: actions.RunAgent,
        folder: str,
        prompt_file: str,
        shares: tuple[SharedMount, ...],
    ) -> client.Call | Fault:
        site, order = self.site, self.order
        key = credentials.fetch(order.agent.key, site.env)
        if isinstance(key, Fault):
            return key
        self._key = tuple(key.values())
        given = {**order.agent.env, **key}
        context = self._context(loop, action, folder, prompt_file, {**site.env, **given})
        launch = self._adapter.launch(order, context)
        found = self._tools(loop, launch)
        if isinstance(found, Fault):
            return found
        argv, read, program = found
        places = own_places(site, order.agent.name, (*read, *launch.writes))
        own, told = prepare(launch, places, site.clock.now())
        self._tell(told)
        left = loop.limits.time - loop.elapsed_seconds if loop.limits.time is not None else float("inf")
        spec = agent_spec(
            site,
            argv,
            {**launch.env, **_variables(loop, order, site), **given},
            folder=folder,
            stdin=prompt_file if launch.stdin == "prompt" else "/dev/null",
            write=launch.writes,
            read=(prompt_file, context.scratch, *launch.reads, *read),
            wall=max(1.0, min(loop.limits.iteration_time, left)),
            idle=loop.limits.idle,
            shares=shares,
            own=own,
        )
        for path, text in launch.files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(agents.PROMPT_AS_JSON, _as_json(prompt_file)))
        with open(os.path.join(folder, "kept.json"), "wb") as kept:
            kept.write(msgspec.json.encode(Kept(program, launch.session, launch.outputs)))
        return client.start_call(folder, spec, site.fork_client)

    def _context(
        self, loop: Loop, action: actions.RunAgent, folder: str, prompt_file: str, environ: dict[str, str]
    ) -> agents.CallContext:
        site, order = self.site, self.order
        scratch, tmp = os.path.join(folder, "given"), os.path.join(folder, "tmp")
        os.makedirs(scratch, mode=0o700, exist_ok=True)
        cost, spent = loop.limits.cost, loop.spend.cost or 0.0
        return agents.CallContext(
            loop=f"ralph-{order.loop}",
            iteration=action.iteration,
            call=action.call,
            workspace=site.seen(),
            prompt_file=prompt_file,
            environ=environ,
            scratch=scratch,
            tmp="/tmp" if site.boxed else tmp,  # noqa: S108
            boxed=site.boxed,
            session=loop.call.session,
            token=str(uuid.uuid4()),
            cost_left=None if cost is None else max(0.0, cost - spent),
        )

    def _tools(
        self, loop: Loop, launch: agents.Launch
    ) -> tuple[tuple[str, ...], tuple[str, ...], str] | Fault:
        """The command with its program found, what must be seen for that, and the program's hash."""
        site, order, argv = self.site, self.order, launch.argv
        own = argv[launch.program]
        cwd = os.path.normpath(os.path.join(order.repo, order.prefix))
        read: list[str] = []
        program = ""
        # The agent is asked to run the checks itself: what they need must stand in its box too.
        gates = [gate.tool for gate in order.criterion.gates if gate.tool and gate.origin != HIDDEN]
        for word in dict.fromkeys((*launch.tools, *gates)):
            found = tools.resolve(
                word, path=site.path, cwd=cwd, repo=order.repo, home=site.home, known=site.known
            )
            if isinstance(found, tools.Tool):
                read += found.prefixes
                if word == own:
                    argv = (*argv[: launch.program], found.path, *argv[launch.program + 1 :])
                    program = found.sha256 if launch.pin else ""
            elif word == own:
                hint = f"; install it with: {found.hint}" if found.hint else ""
                return Fault("missing", f'"{word}": {found.why}{hint}')
        known = loop.agents.programs.get(order.agent.name, program)
        if program != known:
            told = f"{known[:12]} at the start of this loop, {program[:12]} now"
            return Fault("upgraded", f'"{argv[launch.program]}" was upgraded or replaced in mid-loop: {told}')
        return argv, tuple(read), program

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
                    watcher.said(tuple(facts))
                    hopeless = any(getattr(fact, "stop", False) for fact in facts)
                    enough = _enough(facts, now, enough)
            asked = attend(Activity("agent", (self.order.agent.name,), now - began, total, now - heard))
            if (asked or hopeless or now > enough) and not asked_at:
                asked_at = now
                sat_out = not asked and not hopeless
                client.stop(call)
        return sat_out

    def _account(
        self, loop: Loop, action: actions.RunAgent, folder: str, ended: client.Ended, *, sat_out: bool = False
    ) -> e.AgentEnded:
        """The whole output through a new parser: what was shown while it streamed decides nothing."""
        order, kept = self.order, read_kept(folder)
        parser = self._adapter.stream(order, loop.call.session)
        intake = Intake(parser)
        dropped = ended.dropped_bytes or 0
        for chunk in output_pieces(folder, gap=bool(dropped)):
            intake.absorb(chunk)
        for name, data in files_left(folder, kept.outputs):
            parser.file(name, data)
        how = "crashed" if ended.ended in ("keeper-lost", "memory") else "idle" if sat_out else ended.ended
        facts = intake.finish(_exit_code(ended), how, dropped)
        self.message = facts.message
        said = ended.error if ended.ended == "spawn-error" else facts.said.partition(OPEN)[0].rstrip()
        output = os.path.join(folder, "out")
        secrets = (*secret_values({**self.site.env, **order.agent.env}), *self._key)
        now = self.site.clock.now()
        said_at = _said(output, now)
        stored = blobs.put_file(self.site.state.blobs, output) if os.path.exists(output) else ""
        self._tell(bring_back(os.path.join(own_folder(self.site, order.agent.name), LIST), now))
        for part in ("tmp", "overlay", "given"):
            remove_tree(os.path.join(folder, part))
        session = facts.session or AgentSession("")
        if not session.id:  # the stream does not tell it: the one that was chosen at the start
            session = msgspec.structs.replace(session, id=kept.session)
        return e.AgentEnded(
            iteration=action.iteration,
            call=action.call,
            exit_code=ended.exit_code,
            ended=ended.ended,
            seconds=ended.seconds or 0.0,
            usage=add_cost(facts.usage, order.agent.price),
            claim=facts.claim,
            fault=self._addressed(_redact_fault(facts, secrets, said_at)),
            denials=tuple(redact(what, secrets)[:500] for what in facts.denials[:20]),
            said=redact(said, secrets)[:4000],
            output=stored,
            dropped=dropped,
            session=msgspec.structs.replace(session, agent=order.agent.name) if session.id else None,
            program=kept.program,
            learned=learnings.notes_in_message(redact(facts.message, secrets)),
        )

    def _addressed(self, fault: Fault | None) -> Fault | None:
        """A network that is down, with the address at which that can be looked at."""
        if fault is None or fault.kind != "network" or not self.order.box.network:
            return fault
        environ = {**self.site.env, **self.order.agent.env}
        found, why_not = reach.address(self._adapter.probe(environ).provider, environ)
        note = f" (not probed: {why_not})" if why_not else ""
        return msgspec.structs.replace(fault, message=fault.message + note, address=found)


def _variables(loop: Loop, order: Order, site: Site) -> dict[str, str]:
    """What an agent of the user's own may want to know besides its prompt."""
    told = {"RALPH_MODEL": order.agent.model} if order.agent.model else {}
    build = loop.build
    if build is not None:
        told["RALPH_PURPOSE"] = "read" if site.aside else "judge" if site.look else PURPOSE[build.mode]
        if build.item is not None:
            told["RALPH_ITEM"] = build.item.id
    return told


def _enough(facts: list[agents.AgentFact], now: float, before: float) -> float:
    """Until when a CLI that tries again by itself is let alone; for ever when it has gone on."""
    for fact in facts:
        if isinstance(fact, agents.Retried):
            before = now + RETRY_SECONDS + (fact.after or 0.0)
        elif isinstance(fact, agents.Said | agents.ToolUsed):
            before = float("inf")
    return before


def _exit_code(ended: client.Ended) -> int | None:
    """As a shell says it: from a box an exit code above 128 looks like a signal, and some CLIs use those."""
    return 128 + ended.signal if ended.exit_code is None and ended.signal else ended.exit_code


def _redact_fault(facts: agents.CallFacts, secrets: tuple[str, ...], said: float) -> Fault | None:
    """The fault without secrets; a limit's end as a moment, when one was told that can be believed."""
    fault = facts.fault
    if fault is None:
        return None
    message = redact(fault.message, secrets)
    told = agents.Reset(fault.reset_at, facts.after, facts.clock)
    if fault.kind != "limit" or told == agents.Reset():
        return Fault(fault.kind, message, fault.reset_at)
    from ralph.agents._kit.resets import moment_of

    reset = moment_of(told, said)
    note = "" if reset is not None else " (the end that it names is not believed)"
    return Fault(fault.kind, message + note, reset)


def _said(output: str, now: float) -> float:
    """When the last words of a call were written: a runner that takes it over may come much later."""
    try:
        return os.stat(output).st_mtime
    except OSError:
        return now


def _as_json(prompt_file: str) -> str:
    with open(prompt_file, "rb") as file:
        return msgspec.json.encode(file.read().decode("utf-8", "replace")).decode()
