"""Which agents a loop gets: for its work, for reading before a plan, and as its judge.

Looked up once, before the loop starts. Nothing is started here; a key is only named, never read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from ralph import agents
from ralph.agents._kit.programs import KINDS, SETTING, allowed_kinds
from ralph.agents.command import split_command
from ralph.core.model.agent import KeySource, SealedAgent
from ralph.core.model.order import Order
from ralph.core.model.rubric import Rubric
from ralph.core.model.spend import Price
from ralph.errors import AGAIN, NeedsHuman, SetupError, UserError
from ralph.shell import config
from ralph.shell.agent_call.prices import listed_price, price_list
from ralph.shell.config.judge import rubric_of
from ralph.shell.git.project import Project
from ralph.shell.plan.request import PlanAsk
from ralph.shell.sandbox import tools

NO_CHOICE = frozenset({"command", "demo"})  # adapters that nobody gets without asking


class AgentChoice(msgspec.Struct, frozen=True, kw_only=True):
    agent: SealedAgent  # without a model: the name of one CLI's model means nothing to another
    reports_cost: bool = False
    allow_list: bool = True  # what it may do can be bounded without a sandbox
    notes: tuple[str, ...] = ()


def choose_agents(
    settings: config.Settings,
    project: Project,
    env: Mapping[str, str],
    *,
    command: str = "",
    typed: Mapping[str, str] | None = None,
) -> tuple[AgentChoice, ...]:
    """The agent that is wanted and those that stand in for it, or the reason why there is none.

    `command` is what `--agent-cmd` gave.
    """
    names = settings.agent.split(",") if settings.agent and not command else [""]
    first, *others = (
        # The model's name is the first one's: to another CLI it means nothing.
        _one(
            replace(settings, agent=name, model="" if number else settings.model),
            project,
            env,
            command,
            typed,
        )
        for number, name in enumerate(names)
    )
    # What must be said of those that stand in is said at the start too: later nobody may be there.
    notes = (*first.notes, *(note for one in others for note in one.notes))
    return (msgspec.structs.replace(first, notes=notes), *others)


def _one(
    settings: config.Settings,
    project: Project,
    env: Mapping[str, str],
    command: str,
    typed: Mapping[str, str] | None,
) -> AgentChoice:
    cwd = os.path.join(project.top, project.prefix)
    profile = settings.profiles.get(settings.profile, config.ProfileSpec())
    price, key = price_of(profile), key_of(profile)
    if command:
        argv = _locate_program(split_command(command), cwd, project, env)
        given = settings.agent_env("command")
        sealed = SealedAgent("command", argv, dict(typed or {}), given, key=key, price=price)
        return AgentChoice(agent=sealed)
    name, notes = (settings.agent, ()) if settings.agent else _first_installed(env)
    table = _table(settings, name)
    own = settings.agents.get(table, config.AgentSpec())
    extra = {"write": "\n".join(own.write), **own.settings, **(typed or {})}
    extra = {word: value for word, value in extra.items() if value}
    given = settings.agent_env(table)
    if own.command:
        _refuse_effort(name, extra, ())
        argv = _locate_program(split_command(own.command), cwd, project, env)
        adapter, weaker = _speaks(name, own)
        sealed = SealedAgent(adapter, argv, extra, given, key=key, price=price)
        return AgentChoice(agent=sealed, notes=(*notes, *weaker))
    if name == "acp":
        raise UserError(
            'agent "acp" needs a command, none was given',
            code="E-AGENT-CMD",
            why='expected [agents.NAME] with command = "my-agent --acp" and settings = {protocol = "acp"}',
            next="ralph agents list",
        )
    found = agents.load(name).probe({**env, **given})
    if not found.installed:
        raise SetupError(
            f'agent "{name}" is not installed',
            code="E-AGENT-MISSING",
            why=f"install it with: {found.hint}" if found.hint else "its program is not on PATH",
            next="ralph agents list",
        )
    _refuse_effort(name, extra, found.efforts)
    notes = (*notes, *_programs(name, found.programs, allowed_kinds(extra)))
    listed = price is None and "tokens" in found.features and "cost" not in found.features
    if listed := listed and listed_price(settings.model) is not None:
        notes = (*notes, f"cost is estimated by list prices of {price_list().as_of} for {settings.model}")
    if found.login == "no" and key is None:  # it may still be logged in by a way that files do not show
        notes = (*notes, f"agent {name} seems not to be logged in; if so: {found.login_hint}")
    return AgentChoice(
        agent=SealedAgent(name, settings=extra, env=given, key=key, price=price),
        reports_cost="cost" in found.features or price is not None or listed,
        allow_list=name in NO_CHOICE or "allow-list" in found.features,
        notes=(*notes, *_weaker(name)) if name in agents.OVER_ACP else notes,
    )


def _programs(name: str, found: Mapping[str, list[str]], allowed: frozenset[str]) -> Iterator[str]:
    """What the user's settings of that CLI would start, and whether it does in this loop."""
    for on in (True, False):
        kinds = {kind: names for kind, names in found.items() if (kind in allowed) is on}
        if kinds:
            told = "; ".join(
                f"{KINDS[kind]} {', '.join(names[:5])}{' …' if names[5:] else ''}"
                for kind, names in kinds.items()
            )
            words = f'[agents.{name}] settings = {{{SETTING} = "{" ".join(kinds)}"}}'
            yield f"of your {name} settings: {told}: " + (
                "on, as allowed" if on else f"off in loops; on with {words}"
            )


def _refuse_effort(name: str, extra: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Said, not dropped: who asks for effort must know that there is none to ask for."""
    level = extra.get("effort", "")
    if level and level not in known:
        raise UserError(
            f'agent "{name}" has no effort "{level}"',
            code="E-AGENT-EFFORT",
            why=f"expected one of {', '.join(known)}"
            if known
            else "its command line has no setting for effort",
            next="ralph agents list",
        )


def with_effort(agent: SealedAgent, env: Mapping[str, str], effort: str = "") -> SealedAgent:
    """The agent with a level of its own; "" = as it is."""
    if not effort:
        return agent
    known = () if agent.argv else agents.load(agent.name).probe({**env, **agent.env}).efforts
    _refuse_effort(agent.name, {"effort": effort}, known)
    return replace(agent, settings={**agent.settings, "effort": effort})


def _table(settings: config.Settings, name: str) -> str:
    """Whose table of the configuration counts: over ACP a CLI has its own one, else that of its other way."""
    other = agents.OVER_ACP.get(name, "")
    return other if other and name not in settings.agents else name


def _speaks(name: str, own: config.AgentSpec) -> tuple[str, tuple[str, ...]]:
    """The adapter for a command of the configuration, and what must be said of it."""
    protocol = own.settings.get("protocol", "lines")
    if protocol not in ("lines", "acp"):
        raise UserError(
            f'unknown protocol "{protocol}" of agent "{name}", expected "lines" or "acp"',
            code="E-AGENT-PROTOCOL",
            why="a command either prints text and JSON lines, or speaks the Agent Client Protocol",
            next="ralph config show",
        )
    return ("acp", _weaker(name)) if protocol == "acp" else ("command", ())


def _weaker(name: str) -> tuple[str, ...]:
    from ralph.agents.acp.adapter import WEAKER

    return (f"agent {name}: {WEAKER}",)


def refuse_unboxed(choice: AgentChoice, level: str, wanted: str) -> None:
    """An agent that cannot be bounded by a list of its own needs a sandbox, or the user's word for none."""
    if choice.allow_list or level in ("S2", "S3") or wanted == "none":
        return
    raise SetupError(
        f'agent "{choice.agent.name}" may do anything, and no sandbox holds here (level {level})',
        code="E-AGENT-UNHELD",
        why="it has no list of allowed tools that works without a person; expected a sandbox around it",
        next="ralph doctor",
    )


def refuse_without_login(order: Order, env: Mapping[str, str]) -> None:
    """Where a call can only come to a refused login: end before anything is made or started."""
    found = agents.load(order.agent.name).probe({**env, **order.agent.env})
    if found.login != "no" or order.agent.key is not None:
        return
    raise NeedsHuman(
        f'agent "{order.agent.name}" is not logged in',
        code="E-AGENT-LOGIN",
        why="neither a file of its login nor a variable with its key was found",
        next=found.login_hint,
    )


def key_of(profile: config.ProfileSpec) -> KeySource | None:
    if not (profile.key_from or profile.key_command):
        return None
    return KeySource(profile.key_as or profile.key_from, profile.key_from, profile.key_command)


def price_of(profile: config.ProfileSpec) -> Price | None:
    """Both directions must be known: half a price is none."""
    if profile.price_input is None or profile.price_output is None:
        return None
    return Price(profile.price_input, profile.price_output, profile.price_cached)


def _first_installed(env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """The first agent that is installed and logged in; somebody who has one need not name it."""
    for name in agents.adapters():
        if name not in NO_CHOICE:
            found = agents.load(name).probe(env)
            if found.installed and found.login == "yes":
                return name, (f"agent {name} is used: it is installed and logged in (--agent for another)",)
    raise SetupError(
        "no agent was named, and none is installed and logged in",
        code="E-AGENT-NONE",
        why="; ".join(_ways_to_an_agent(env)),
        next=f"{AGAIN} --agent demo",
    )


def _ways_to_an_agent(env: Mapping[str, str]) -> list[str]:
    """What would help: a login, an installation, a command of one's own, the agent that needs nothing."""
    found = {name: agents.load(name).probe(env) for name in agents.adapters() if name not in NO_CHOICE}
    lines = [f"log in: {one.login_hint} ({name})" for name, one in found.items() if one.installed]
    lines += [f"install: {one.hint} ({name})" for name, one in found.items() if not one.installed][:3]
    return [*lines, "or --agent-cmd CMD for your own, or --agent demo, which needs neither"]


def _locate_program(
    argv: tuple[str, ...], cwd: str, project: Project, env: Mapping[str, str]
) -> tuple[str, ...]:
    """The command with its program as an absolute path: inside a box a relative one means another file."""
    path = env.get("PATH", os.defpath)
    found = tools.resolve(argv[0], path=path, cwd=cwd, repo=project.top, home=env.get("HOME", "/"))
    if isinstance(found, tools.MissingTool):
        raise SetupError(
            f'the agent command "{argv[0]}" cannot be started: {found.why}',
            code="E-AGENT-MISSING",
            at=cwd,
            why="Ralph looked in the folder where it was called, then on PATH",
            next=found.hint or "ralph agents list",
        )
    return (found.path, *argv[1:])


def choose_reader(
    ask: PlanAsk | None,
    settings: config.Settings,
    project: Project,
    env: Mapping[str, str],
    worker: AgentChoice,
) -> SealedAgent | None:
    """`worker` is the agent that plans. None when nobody is to read."""
    if ask is None or not ask.readers:
        return None
    choice = worker
    if ask.reader_agent:
        choice = choose_agents(replace(settings, agent=ask.reader_agent), project, env)[0]
    return replace(choice.agent, model=ask.reader_model or ("" if ask.reader_agent else settings.model))


SAME = (
    "the judge is the agent that does the work, which is weaker than another one: "
    "[judge] agent, model or profile names another"
)


class JudgeChoice(msgspec.Struct, frozen=True):
    """The judge, if there is one: its rubric, its agent, and what is to be said of it."""

    rubric: Rubric | None = None
    judge: SealedAgent | None = None
    choices: tuple[AgentChoice, ...] = ()  # the agent once more, as it was chosen
    notes: tuple[str, ...] = ()


def choose_judge(
    settings: config.Settings, project: Project, env: Mapping[str, str], worker: AgentChoice
) -> JudgeChoice:
    """The judge that these settings ask for. `worker` is the agent that does the work."""
    rubric = rubric_of(settings)
    if rubric is None:
        return JudgeChoice()
    choice = _choice(settings, project, env) or worker
    model = settings.judge.model or _profile(settings).model
    if choice is worker and not model:
        model = settings.model
    judge, other = choice.agent, worker.agent
    same = (judge.name, judge.argv, model) == (other.name, other.argv, settings.model)
    notes = () if choice is worker else tuple(f"judge: {note}" for note in choice.notes)
    return JudgeChoice(
        rubric=replace(rubric, same_agent=same),
        judge=replace(judge, model=model),
        choices=(choice,),
        notes=(*notes, SAME) if same else notes,
    )


def choose_judge_beside(
    settings: config.Settings, project: Project, env: Mapping[str, str], host: str
) -> JudgeChoice:
    """The judge of work that the agent of a host does: by default the host's own program, called for that."""
    if rubric_of(settings) is None:
        return JudgeChoice()
    named = settings.judge.agent or _profile(settings).agent
    worker = AgentChoice(agent=SealedAgent(host))
    if not named:
        worker = choose_agents(replace(settings, agent=host), project, env)[0]
    return choose_judge(settings, project, env, worker)


def _choice(settings: config.Settings, project: Project, env: Mapping[str, str]) -> AgentChoice | None:
    """Another agent than the worker's; its profile's key and price are its own, never the worker's."""
    name = settings.judge.agent or _profile(settings).agent.partition(",")[0]
    if not name:
        return None
    return choose_agents(replace(settings, agent=name, profile=settings.judge.profile), project, env)[0]


def _profile(settings: config.Settings) -> config.ProfileSpec:
    name = settings.judge.profile
    if name and name not in settings.profiles:
        raise UserError(
            f'[judge] names the profile "{name}", which is not defined',
            code="E-JUDGE",
            at=settings.origins["judge.profile"].where,
            why=f"expected one of {', '.join(sorted(settings.profiles))}",
            next="ralph config show --origin",
        )
    return settings.profiles.get(name, config.ProfileSpec())
