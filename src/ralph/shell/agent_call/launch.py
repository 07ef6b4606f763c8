"""Starting the call of an agent: its key, its program, its box, and what its CLI wants to find on disk."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Callable, Mapping

import msgspec

from ralph import agents
from ralph.agents.command import split_command
from ralph.core.model import actions
from ralph.core.model.agent import Fault, KeySource
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.plan.plan_state import PURPOSE
from ralph.shell.agent_call.call_files import Kept
from ralph.shell.process import client
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.boxes import agent_spec, own_places
from ralph.shell.sandbox.bubblewrap import SharedMount
from ralph.shell.sandbox.own_copy import prepare
from ralph.shell.sandbox.site import Site


class Launched(msgspec.Struct, frozen=True):
    """A call that has begun, and the key it was given."""

    call: client.Call
    key: tuple[str, ...]


def launch_call(
    site: Site,
    order: Order,
    adapter: agents.Adapter,
    loop: Loop,
    action: actions.RunAgent,
    *,
    folder: str,
    prompt_file: str,
    shares: tuple[SharedMount, ...],
    tell: Callable[[tuple[str, ...]], None],
) -> Launched | Fault:
    """Start the program in its box; a fault says why it cannot be started. `tell` hears about logins."""
    key = fetch_key(order.agent.key, site.env)
    if isinstance(key, Fault):
        return key
    given = {**order.agent.env, **key}
    context = _call_context(site, order, loop, action, folder, prompt_file, {**site.env, **given})
    launch = adapter.launch(order, context)
    found = _find_tools(site, order, loop, launch)
    if isinstance(found, Fault):
        return found
    argv, read, program = found
    places = own_places(site, order.agent.name, (*read, *launch.writes))
    own, told = prepare(launch, places, site.clock.now())
    tell(told)
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
    started = client.start_call(folder, spec, site.fork_client)
    return Launched(started, tuple(key.values()))


def _call_context(
    site: Site,
    order: Order,
    loop: Loop,
    action: actions.RunAgent,
    folder: str,
    prompt_file: str,
    environ: dict[str, str],
) -> agents.CallContext:
    scratch, tmp = os.path.join(folder, "given"), os.path.join(folder, "tmp")
    os.makedirs(scratch, mode=0o700, exist_ok=True)
    limits, spent = loop.limits, loop.spend.cost or 0.0
    bounds = [max(0.0, limits.cost - spent)] if limits.cost is not None else []
    bounds += [limits.iteration_cost] if limits.iteration_cost is not None else []
    return agents.CallContext(
        loop=f"ralph-{order.loop}",
        iteration=action.iteration,
        call=action.call,
        workspace=site.path_in_call(),
        prompt_file=prompt_file,
        environ=environ,
        scratch=scratch,
        tmp="/tmp" if site.boxed else tmp,  # noqa: S108
        boxed=site.boxed,
        session=loop.call.session,
        token=str(uuid.uuid4()),
        cost_left=min(bounds, default=None),
    )


def _find_tools(
    site: Site, order: Order, loop: Loop, launch: agents.Launch
) -> tuple[tuple[str, ...], tuple[str, ...], str] | Fault:
    """The command with its program found, what must be seen for that, and the program's hash."""
    argv = launch.argv
    own = argv[launch.program]
    cwd = os.path.normpath(os.path.join(order.repo, order.prefix))
    read: list[str] = []
    program = ""
    # The agent is asked to run the checks itself: what they need must stand in its box too.
    gates = [gate.tool for gate in order.criterion.gates if gate.tool and not gate.hidden]
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


def _variables(loop: Loop, order: Order, site: Site) -> dict[str, str]:
    """What an agent of the user's own may want to know besides its prompt."""
    told = {"RALPH_MODEL": order.agent.model} if order.agent.model else {}
    build = loop.build
    aside = ROLE_PURPOSE.get(site.aside, "read") if site.aside else "judge" if site.look else ""
    purpose = aside or PURPOSE.get(build.mode, "")
    if purpose:
        told["RALPH_PURPOSE"] = purpose
    if build.item is not None:
        told["RALPH_ITEM"] = build.item.id
    return told


def _as_json(prompt_file: str) -> str:
    with open(prompt_file, "rb") as file:
        return msgspec.json.encode(file.read().decode("utf-8", "replace")).decode()


ROLE_PURPOSE = {"planner": "advise", "tester": "test", "reviewer": "review"}
TIMEOUT_SECONDS = 30.0  # seconds; a password manager may ask its owner
MAX_CHARS = 16_384


def fetch_key(source: KeySource | None, env: Mapping[str, str]) -> dict[str, str] | Fault:
    """The variable that holds the key; a fault that says what is missing, without what was printed.

    It is fetched anew for each call and goes into the agent's environment and nowhere else: not into the
    order, the journal, a file or a message.
    """
    if source is None:
        return {}
    if source.command:
        return _from_command(source, env)
    value = env.get(source.variable, "").strip()
    if not value:
        return Fault("auth", f"the variable {source.variable} holds no key; set it and resume the loop")
    return {source.into: value}


def _from_command(source: KeySource, env: Mapping[str, str]) -> dict[str, str] | Fault:
    argv = split_command(source.command)
    try:
        done = subprocess.run(
            argv,
            env=dict(env),
            cwd=env.get("HOME") or os.sep,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Fault("auth", f'the key command "{argv[0]}" gave no key within {TIMEOUT_SECONDS:.0f} s')
    except OSError as error:
        return Fault("auth", f'the key command "{argv[0]}" cannot be started: {error.strerror}')
    key = done.stdout[: MAX_CHARS + 1].decode("utf-8", "replace").strip()
    if done.returncode or not key or len(key) > MAX_CHARS or any(char.isspace() for char in key):
        told = f"exit code {done.returncode}" if done.returncode else "no single word"
        return Fault("auth", f'the key command "{argv[0]}" gave no key: {told}')
    return {source.into: key}
