"""What a shell may offer after `ralph`: loops, agents, profiles, checks; commands and options are click's.

A completion answers while somebody types: it reads what is there, starts nothing, and on any trouble offers
nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from ralph.app.words.format import safe
from ralph.errors import RalphError

VARIABLE = "_RALPH_COMPLETE"


def answer_shell() -> int:
    """Print what the shell's script asks for in VARIABLE."""
    from click.shell_completion import shell_complete

    from ralph.ui.cli.tree import cli

    try:
        return shell_complete(cli, {}, "ralph", VARIABLE, os.environ[VARIABLE])
    except (RalphError, OSError):
        return 1  # nothing is said: the line belongs to the person who types


def add_completions(command: click.Command) -> click.Command:
    """Teach the parameters of a command what can stand there, by their names."""
    for param in command.params:
        offer = _offer_for(command, param)
        if offer is not None:
            param._custom_shell_complete = _wrap(offer)  # noqa: SLF001 (click takes it only when one is made)
    if isinstance(command, click.Group):
        for child in command.commands.values():
            add_completions(child)
    return command


Offer = Callable[[], Iterable[tuple[str, str]]]  # what can stand there, and a word about it
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _wrap(offer: Offer) -> Completer:
    def complete(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
        try:
            found = list(offer())
        except (RalphError, OSError):
            return []
        return [CompletionItem(text, help=note or None) for text, note in found if text.startswith(begun)]

    return complete


def _offer_for(command: click.Command, param: click.Parameter) -> Offer | None:
    offer = _BY_NAME.get(param.name or "")
    if offer is None and isinstance(param, click.Argument):
        offer = _BY_ARGUMENT.get((command.name or "", param.name or ""))
    return offer


def _loops() -> Iterable[tuple[str, str]]:
    """This project's first; outside of one, all."""
    from ralph.app.place import project_of
    from ralph.app.views.rows import list_rows

    repo = project_of(os.getcwd())
    for row in list_rows(os.environ, repo):
        yield row.name, f"{row.word}: {safe(row.body.get('task', ''), 50)}"


def _agents() -> Iterable[tuple[str, str]]:
    from ralph.app.upkeep import agent_names

    return ((name, "") for name in agent_names(os.environ, os.getcwd()))


def _profiles() -> Iterable[tuple[str, str]]:
    from ralph.app.settings import project_settings

    return ((name, "") for name in sorted(project_settings(os.environ, os.getcwd()).profiles))


def _gates() -> Iterable[tuple[str, str]]:
    from ralph.app.settings import required_gates

    return ((name, safe(run, 60)) for name, run in required_gates(os.environ, os.getcwd()).items())


_BY_NAME: dict[str, Offer] = {
    "loop": _loops,
    "loops": _loops,
    "target": _loops,
    "agent": _agents,
    "reader_agent": _agents,
    "judge_agent": _agents,
    "profile": _profiles,
}
_BY_ARGUMENT: dict[tuple[str, str], Offer] = {
    ("test", "name"): _agents,
    ("run", "names"): _gates,
    ("explain", "name"): _gates,
}
