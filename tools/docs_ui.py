"""The generated parts of docs/agents, commands, config, json.md: `make docs` writes them, a test compares."""

from __future__ import annotations

import inspect
from importlib import import_module, resources

import click
import msgspec

from ralph.agents import adapters
from ralph.agents._kit.folders import Folder
from ralph.app.words.error_pages import error_pages
from ralph.core.model.events import KINDS, VERSIONS
from ralph.errors import EXIT_CODES
from ralph.gates.readers import read_choices
from ralph.shell.config.schema import OPTIONS, format_value
from ralph.ui.cli.tree import cli
from ralph.ui.cli.tree import commands as all_commands


def own_folders() -> str:
    """What of each CLI's folders is copied in, and what goes back, from the adapters themselves."""
    rows = ["| agent | folder | copied in | seen read-only | goes back |", "|---|---|---|---|---|"]
    for name, module in adapters().items():
        cli_ = getattr(import_module(module), "CLI", None)
        if cli_ is not None:
            rows += [
                _own_row(name, one, _describe_copied(one), one.shown, _describe_returned(one))
                for one in cli_.folders
            ]
            rows += [_own_row(name, one, (), ("all of it",), ()) for one in cli_.settings]
    return "\n".join(rows)


def _own_row(name: str, folder: Folder, *lists: tuple[str, ...]) -> str:
    moved = f", or by `{folder.variable}`" if folder.variable else ""
    cells = [", ".join(_named(entry) for entry in entries) or "nothing" for entries in lists]
    return f"| `{name}` | `~/{folder.below_home}`{moved} | {' | '.join(cells)} |"


def _named(entry: str) -> str:
    """File names as code; what is said of them as words."""
    name, mark, rest = entry.partition(" (") if " (" in entry else entry.partition(": ")
    return entry if entry == "all of it" else f"`{name}`{mark}{rest}"


def exit_codes() -> str:
    rows = [f"| {code} | {words} |" for code, words in EXIT_CODES]
    return "\n".join(["| code | meaning |", "|---|---|", *rows])


def error_codes() -> str:
    """What is said under each code, from where it is raised."""
    parts: dict[str, list[str]] = {}
    for page in error_pages():
        lines = parts.setdefault(page.code, [])
        says = [_in_cell(text) for text in (page.what, page.why) if text]
        after = f" Next: `{page.next}`." if page.next else ""
        exit_code = f" (exit {page.exit_code})" if page.exit_code is not None else ""
        lines.append(f"- {'; '.join(says) or 'see the message'}{exit_code}.{after}")
    return "\n\n".join("\n".join((f"### {code}", "", *lines)) for code, lines in parts.items())


def _in_cell(text: str) -> str:
    return text.replace("<", "\\<").replace("*", "\\*").rstrip(".")


def help_topics() -> str:
    """The pages of `ralph help`, one level deeper."""
    pages = resources.files("ralph") / "templates" / "help"
    texts = [page.read_text(encoding="utf-8") for page in sorted(pages.iterdir(), key=lambda one: one.name)]
    return "\n".join("#" + text for text in texts).rstrip()


def commands() -> str:
    """One section a command, from the command itself."""
    context = click.Context(cli, info_name="ralph")
    parts = []
    for name in all_commands():
        command = cli.get_command(context, name)
        assert command is not None
        parts.append(_section(command, f"ralph {name}", "##"))
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context)
            for sub in command.list_commands(inner):
                found = command.get_command(inner, sub)
                assert found is not None
                if not found.hidden:
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
    for kind in KINDS:
        fields = [f"`{field.name}`" for field in msgspec.structs.fields(kind) if field.name != "at"]
        lines.append(f"| {kind.__name__} | {VERSIONS[kind.__name__]} | {', '.join(fields)} |")
    return "\n".join(lines)


def mcp_tools() -> str:
    """Every tool of `ralph mcp` with its arguments and the first sentence of what it does."""
    from ralph.ui.mcp.tools import TOOLS

    rows = ["| tool | arguments | |", "|---|---|---|"]
    for row in TOOLS:
        needed = row.schema.get("required", [])
        names = [f"`{name}`" if name in needed else f"[`{name}`]" for name in row.schema["properties"]]
        what = " ".join((row.request.__doc__ or "").split("\n\n")[0].split())
        rows.append(f"| `{row.name}` | {' '.join(names)} | {what} |")
    return "\n".join(rows)


def _describe_copied(folder: Folder) -> tuple[str, ...]:
    """What is copied in, in words."""
    parts = {**folder.parts, **folder.beside}
    whole = [*folder.files, *(login.file for login in folder.logins if not login.keys)]
    some = [f"{file} ({', '.join(keys)})" for file, keys in parts.items()]
    some += [f"{login.file} ({', '.join(login.keys)})" for login in folder.logins if login.keys]
    return tuple(sorted({*whole, *some}))


def _describe_returned(folder: Folder) -> tuple[str, ...]:
    """What may go back, in words."""
    return tuple(f"{login.file}: {', '.join((*login.tokens, login.when))}" for login in folder.logins)


_RULE_WORDS = {
    "free": "yes",
    "tighten": "only stricter",
    "approve": "once approved",
    "waive": "once approved",
    "user": "no",
}
_KIND_WORDS = {
    "names": "text", "word": "text", "switch": "true or false", "count": "number", "iterations": "number",
    "kinds": "text", "address": "text",
    "days": "number", "inner": "path", "inners": "paths", "dirs": "paths", "texts": "paths", "env": "table",
    "waivers": "table", "prefix": "text", "quarantine": "table", "score": "number", "dimensions": "tables",
    "grades": "D, C, B or A, also by class",
}  # fmt: skip


def config_table() -> str:
    """The options, as they are in the one table of them."""
    rows = [
        "| key | kind | default | flag | variable | in a project | what |",
        "|---|---|---|---|---|---|---|",
    ]
    for option in OPTIONS:
        choices = read_choices() if option.kind == "reader" else option.choices
        kind = " \\| ".join(choices) or _KIND_WORDS.get(option.kind, option.kind)
        default = "" if option.default in (None, "", (), {}) else f"`{format_value(option, option.default)}`"
        flag, env = (f"`{name}`" if name else "" for name in (option.flag, option.env))
        key, rule = option.key.replace("*", "NAME"), _RULE_WORDS[option.project]
        rows.append(f"| `{key}` | {kind} | {default} | {flag} | {env} | {rule} | {option.doc} |")
    return "\n".join(rows)
