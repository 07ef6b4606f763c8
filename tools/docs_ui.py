"""The generated parts of docs/commands.md and docs/json.md: `make docs` writes them, a test compares them."""

from __future__ import annotations

import inspect

import click
import msgspec

from ralph.core.events import VERSIONS, AnyEvent
from ralph.errors import EXIT_CODES
from ralph.ui.cli import COMMANDS, cli


def exit_codes() -> str:
    rows = [f"| {code} | {words} |" for code, words in EXIT_CODES]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def commands() -> str:
    """One section a command, from the command itself."""
    context = click.Context(cli, info_name="ralph")
    parts = []
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        parts.append(_section(command, f"ralph {name}", "##"))
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            for sub in command.list_commands(inner):
                found = command.get_command(inner, sub)
                assert found is not None
                parts.append(_section(found, f"ralph {name} {sub}", "###"))
    return "\n\n".join(parts)


def _section(command: click.Command, path: str, mark: str) -> str:
    named = [(arg.human_readable_name, arg.required) for arg in _arguments(command)]
    words = [name if required else f"[{name}]" for name, required in named]
    about = inspect.cleandoc((command.help or command.short_help or "").replace("\b\n", ""))
    before, colon, examples = about.partition("Example")
    lines = [f"{mark} {' '.join([path, *words])}", before.strip()]
    if colon:
        lines.append("```\n" + "\n".join(line.strip() for line in examples.splitlines()[1:]) + "\n```")
    options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
    if options:
        lines.append("\n".join(["| option | |", "|---|---|", *(_option(option) for option in options)]))
    return "\n\n".join(lines)


def _arguments(command: click.Command) -> list[click.Argument]:
    return [param for param in command.params if isinstance(param, click.Argument)]


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.make_metavar(click.Context(click.Command('x')))}"
    cells = [f"`{', '.join(option.opts)}{value}`", option.help or ""]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def events() -> str:
    """Each kind of event, its version and the fields of its body."""
    lines = ["| kind | version | body |", "|---|---|---|"]
    for kind in AnyEvent.__args__:
        fields = [f"`{field.name}`" for field in msgspec.structs.fields(kind) if field.name != "at"]
        lines.append(f"| {kind.__name__} | {VERSIONS[kind.__name__]} | {', '.join(fields)} |")
    return "\n".join(lines)
