"""What all adapters of coding CLIs share: the table of one CLI, its probe, launch and parser.

What a CLI has below the home is data too (`folders`): the shell gives it a private copy of that for each
loop. Nothing here starts anything.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from ralph.agents import CallContext, Launch, Parser, Probe
from ralph.agents._kit.environ import ORDINARY, agent_environ
from ralph.agents._kit.folders import Folder, LaunchFolder, place
from ralph.agents._kit.programs import allowed_kinds, find_programs
from ralph.agents._kit.stream import Format, StreamParser
from ralph.core.model.agent import AgentSession
from ralph.core.model.order import Order

# Of Gemini CLI and its kin, without a box: no MCP server has this name, so none of the project's is started.
NO_SERVERS = ("--allowed-mcp-server-names", "none")


class Cli(Struct, frozen=True, kw_only=True):
    """One coding CLI as data."""

    name: str
    program: str
    install: str  # command that installs it
    version: tuple[str, ...] = ("--version",)
    env: tuple[str, ...]  # variables of the user that it gets, besides the ordinary ones
    keys: tuple[str, ...] = ()  # each of these variables is a login
    signs: tuple[str, ...] = ()  # files in its folders that show a login
    login: str  # command by which a person logs in
    certain: bool = True  # without any of those there is no login; else there may be one elsewhere
    folders: tuple[Folder, ...] = ()  # it works on a private copy of these
    settings: tuple[Folder, ...] = ()  # folders that it only reads, seen as they are
    quiet: dict[str, str] = {}  # variables that turn down retries, updates, telemetry; the user's go before
    features: tuple[str, ...] = ()
    provider: str = ""  # URL of the model's provider, where that is always the same
    moved_by: tuple[str, ...] = ()  # variables that hold another
    elsewhere: tuple[str, ...] = ()  # variables by which it is none of these
    effort: tuple[str, ...] = ()  # words that set how much its model thinks; {} stands for the level
    efforts: tuple[str, ...] = ()  # levels that it knows


class CliAdapter(Struct, frozen=True):
    """The adapter of a module that has a table, a format and its own `launch`."""

    cli: Cli
    format: Format
    launch: Callable[[Order, CallContext], Launch]

    def probe(self, environ: Mapping[str, str]) -> Probe:
        return probe(self.cli, environ)

    def stream(self, order: Order, session: AgentSession | None = None) -> Parser:  # noqa: ARG002
        return StreamParser(self.format, session, login=self.cli.login)


def setting_lines(settings: Mapping[str, str], key: str) -> tuple[str, ...]:
    """A setting that holds several entries, one a line."""
    return tuple(entry.strip() for entry in settings.get(key, "").splitlines() if entry.strip())


def folders(cli: Cli, environ: Mapping[str, str], of: tuple[Folder, ...] | None = None) -> tuple[str, ...]:
    """The CLI's own folders, whether they exist or not."""
    found = (place(folder, environ)[0] for folder in (cli.folders if of is None else of))
    return tuple(dict.fromkeys(path for path in found if path))


def _own(
    cli: Cli, environ: Mapping[str, str], given: Mapping[str, str], allowed: frozenset[str]
) -> tuple[LaunchFolder, ...]:
    """Those folders for one launch; what is given stands in the first."""
    made = []
    for number, folder in enumerate(cli.folders):
        path, moved = place(folder, environ)
        if path:
            made.append(LaunchFolder(path, folder, moved, {} if number else dict(given), allowed))
    return tuple(made)


def probe(cli: Cli, environ: Mapping[str, str]) -> Probe:
    """Installed and logged in, as far as files and variables tell."""
    import shutil

    path = shutil.which(cli.program, path=environ.get("PATH"))
    if path is None:
        return Probe(False, hint=cli.install, features=cli.features, login_hint=cli.login)
    login, told = _login(cli, environ)
    return Probe(
        True,
        path=path,
        version_argv=(path, *cli.version),
        login=login,
        login_hint=told,
        hint="" if login != "no" else f"log in with: {cli.login}",
        features=cli.features,
        places=_places(cli, environ),
        provider=_provider(cli, environ),
        efforts=cli.efforts,
        programs=_programs(cli, environ),
    )


def _programs(cli: Cli, environ: Mapping[str, str]) -> dict[str, list[str]]:
    """What the user's settings would start, by kind."""
    found: dict[str, list[str]] = {}
    for folder in cli.folders:
        path, moved = place(folder, environ)
        if not path:
            continue
        near = path if moved else path.removesuffix("/" + folder.below_home)
        beside = Folder("", programs={name: folder.programs.get(name, {}) for name in folder.beside})
        for one, where in ((folder, path), (beside, near)):
            for kind, names in find_programs(one, where).items():
                found[kind] = list(dict.fromkeys((*found.get(kind, ()), *names)))
    return found


def _provider(cli: Cli, environ: Mapping[str, str]) -> str:
    if any(environ.get(name) for name in cli.elsewhere):
        return ""
    return next((environ[name] for name in cli.moved_by if environ.get(name)), cli.provider)


def _places(cli: Cli, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What becomes of its folders in the home, in words."""
    told = []
    for folder in cli.folders:
        path = place(folder, environ)[0]
        if path and os.path.isdir(path):
            back = ", ".join(login.file for login in folder.logins)
            kept = f"only refreshed tokens go back ({back})" if back else "nothing of it goes back"
            told.append(
                f"in the box it has a private copy of {path}, settings and login only; {kept}; "
                "without a sandbox the folder is in its reach"
            )
    return tuple(told)


def _login(cli: Cli, environ: Mapping[str, str]) -> tuple[Literal["yes", "no", "unknown"], str]:
    for key in cli.keys:
        if environ.get(key):
            return "yes", key
    for folder in folders(cli, environ):
        for sign in cli.signs:
            if os.path.isfile(os.path.join(folder, sign)):
                return "yes", os.path.join(folder, sign)
    return ("no" if cli.certain else "unknown"), cli.login


def launch(
    cli: Cli,
    order: Order,
    call: CallContext,
    *words: str,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    stdin: Literal["prompt", "none"] = "prompt",
    instead: Mapping[str, str] | None = None,
    outputs: tuple[str, ...] = (),
    bare: bool = False,
    session: str = "",
) -> Launch:
    """The frame of a call: program, environment, folders. `bare` leaves out what settings add to argv.

    `instead` are files of its first folder that this call sees in place of the user's: name -> text.
    """
    settings = order.agent.settings
    environ = agent_environ(call, ORDINARY, cli.env, setting_lines(settings, "env"))
    given = {**cli.quiet, **(env or {})}
    return Launch(
        argv=(
            cli.program,
            *words,
            *(() if bare else (*effort_words(cli, order), *setting_lines(settings, "args"))),
        ),
        env={**given, **environ, **{name: given[name] for name in (env or {})}},
        stdin=stdin,
        files=dict(files or {}),
        tools=(cli.program,),
        writes=setting_lines(settings, "write"),
        reads=folders(cli, call.environ, cli.settings),
        own=_own(cli, call.environ, instead or {}, allowed_kinds(settings)),
        outputs=outputs,
        session=session,
        pin=True,
    )


def model_words(order: Order, flag: str) -> tuple[str, ...]:
    """The words that name the model, where one was asked for."""
    return (flag, order.agent.model) if order.agent.model else ()


def effort_words(cli: Cli, order: Order) -> tuple[str, ...]:
    """The words that say how much the model is to think, where that was asked for."""
    level = order.agent.settings.get("effort", "")
    return tuple(word.replace("{}", level) for word in cli.effort) if level else ()


def visible_checks(order: Order) -> tuple[str, ...]:
    """Commands of the checks that the agent knows of, for a CLI's list of what may be executed."""
    gates = order.criterion.gates
    return tuple(gate.run for gate in gates if gate.origin != "hidden" and "\n" not in gate.run)
