"""What all adapters of coding CLIs share: the table of one CLI, its probe, and the frame of its launch.

A CLI's own folders below the home are named here as data; the shell makes them writable in the box where
they exist, with settings and hooks in them kept as they are. Nothing here starts anything.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ralph.agents import CallContext, Launch, Probe
from ralph.agents.environ import ORDINARY, agent_environ
from ralph.core.model import Order


class Folder(Struct, frozen=True):
    """A folder of the CLI: where it is by default, and which variable moves it."""

    below_home: str
    variable: str = ""
    below_variable: str = ""  # where in the variable's folder it then is


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
    folders: tuple[Folder, ...] = ()
    settings: tuple[Folder, ...] = ()  # folders that it only reads
    protect: tuple[str, ...] = ()  # in its folders: settings, hooks, whatever would run outside the box
    hide: tuple[str, ...] = ()  # in its folders: conversations about other work
    quiet: dict[str, str] = {}  # variables that turn down retries, updates, telemetry; the user's go before
    features: tuple[str, ...] = ()
    provider: str = ""  # URL of the model's provider, where that is always the same
    moved_by: tuple[str, ...] = ()  # variables that hold another
    elsewhere: tuple[str, ...] = ()  # variables by which it is none of these


def listed(settings: Mapping[str, str], key: str) -> tuple[str, ...]:
    """A setting that holds several entries, one a line."""
    return tuple(entry.strip() for entry in settings.get(key, "").splitlines() if entry.strip())


def folders(cli: Cli, environ: Mapping[str, str], of: tuple[Folder, ...] | None = None) -> tuple[str, ...]:
    """The CLI's own folders, whether they exist or not."""
    found = []
    for folder in cli.folders if of is None else of:
        moved = environ.get(folder.variable, "") if folder.variable else ""
        if moved.startswith("/"):
            found.append(os.path.normpath(os.path.join(moved, folder.below_variable)))
        elif home := environ.get("HOME", ""):
            found.append(os.path.normpath(os.path.join(home, folder.below_home)))
    return tuple(dict.fromkeys(found))


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
    )


def _provider(cli: Cli, environ: Mapping[str, str]) -> str:
    if any(environ.get(name) for name in cli.elsewhere):
        return ""
    return next((environ[name] for name in cli.moved_by if environ.get(name)), cli.provider)


def _places(cli: Cli, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What of the home it may write in a box, in words."""
    kept = f", but not {', '.join(cli.protect)} in it" if cli.protect else ""
    unseen = f"; {', '.join(cli.hide)} look empty" if cli.hide else ""
    there = [folder for folder in folders(cli, environ) if os.path.isdir(folder)]
    return tuple(f"in the box it can write {folder}{kept}{unseen}" for folder in there)


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
    over: Mapping[str, str] | None = None,
    outputs: tuple[str, ...] = (),
    bare: bool = False,
    session: str = "",
) -> Launch:
    """The frame of a call: program, environment, folders. `bare` leaves out what settings add to argv."""
    settings = order.agent_settings
    environ = agent_environ(call, ORDINARY, cli.env, listed(settings, "env"))
    given = {**cli.quiet, **(env or {})}
    own = folders(cli, call.environ)
    return Launch(
        argv=(cli.program, *words, *(() if bare else listed(settings, "args"))),
        env={**given, **environ, **{name: given[name] for name in (env or {})}},
        stdin=stdin,
        files=dict(files or {}),
        tools=(cli.program,),
        writes=listed(settings, "write"),
        reads=folders(cli, call.environ, cli.settings),
        login=own,
        protect=tuple(os.path.join(folder, name) for folder in own for name in cli.protect),
        hide=()
        if order.keep_session
        else tuple(os.path.join(folder, name) for folder in own for name in cli.hide),
        over=dict(over or {}),
        outputs=outputs,
        session=session,
        pin=True,
    )


def model_words(order: Order, flag: str, prefix: str = "") -> tuple[str, ...]:
    """The words that name the model, where one was asked for."""
    return (flag, prefix + order.model) if order.model else ()


def visible_checks(order: Order) -> tuple[str, ...]:
    """Commands of the checks that the agent knows of, for a CLI's list of what may be executed."""
    gates = order.criterion.gates
    return tuple(gate.run for gate in gates if gate.origin != "hidden" and "\n" not in gate.run)
