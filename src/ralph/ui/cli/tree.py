"""The command tree, lazily: a command's module is imported when it is used, and for nothing else.

Every module in a folder of `commands` is one. Each says its own line of help: `ralph --help` imports none of
them and has only their names.
"""

from __future__ import annotations

import gc
import os
from functools import cache
from importlib import import_module

import click

# What `ralph --help` shows; a command that no group names stands under More.
GROUPS: dict[str, tuple[str, ...]] = {
    "Work": ("loop", "build", "plan", "backlog", "resume", "pause", "steer", "answer", "abort", "session"),
    "Look": ("status", "attach", "logs", "diff", "report", "analytics", "checkpoints"),
    "Take": ("merge", "undo", "discard"),
    "Set up": ("init", "doctor", "agents", "gates", "config", "specs", "skills", "worker", "mcp", "demo"),
    "Prove": ("verify", "bundle", "keys", "approve"),
}
ALIASES = {"drop": "discard"}  # words of before
_ELSEWHERE = {  # what other tools call it: only suggested
    **dict.fromkeys(("run", "start"), "loop"),
    **dict.fromkeys(("ls", "list", "ps"), "status"),
    **dict.fromkeys(("stop", "kill", "cancel"), "abort"),
    **dict.fromkeys(("rm", "remove", "delete"), "discard"),
    **dict.fromkeys(("continue", "restart"), "resume"),
    **dict.fromkeys(("watch", "tail"), "attach"),
    **dict.fromkeys(("apply", "land", "accept"), "merge"),
    **dict.fromkeys(("revert", "rollback"), "undo"),
    **dict.fromkeys(("settings", "set"), "config"),
}
# Order of `ralph help commands` and of the docs: starting, watching, deciding, setting up.
_ORDER = (
    "loop", "build", "plan", "backlog", "prd", "classify", "route", "status", "logs", "report",
    "prompt", "memory", "learnings", "diff", "merge", "undo", "discard", "resume", "steer", "pause",
    "abort", "answer", "attach", "analytics", "checkpoints", "export", "worker", "mcp", "hook",
    "skills", "session", "gates", "infer", "specs", "init", "config", "approve", "agents", "doctor",
    "demo", "clean", "completions", "version", "help", "verify", "bundle", "keys",
)  # fmt: skip


@cache
def _modules() -> dict[str, str]:
    """Command -> module, by the names of files."""
    top = os.path.join(os.path.dirname(__file__), "commands")
    folders = sorted(one for one in os.listdir(top) if os.path.isdir(os.path.join(top, one)))
    return {
        name.removesuffix(".py"): f"ralph.ui.cli.commands.{folder}.{name.removesuffix('.py')}"
        for folder in folders
        for name in sorted(os.listdir(os.path.join(top, folder)))
        if name.endswith(".py") and not name.startswith("_")
    }


def module_of(command: str) -> str:
    return _modules()[command]


def load_command(name: str) -> click.Command:
    found: click.Command = import_module(module_of(name)).command
    return found


def command_names() -> list[str]:
    """Every command, those that no table names at the end."""
    known = _modules()
    return [name for name in dict.fromkeys((*_ORDER, *known)) if name in known]


def commands() -> dict[str, str]:
    """Every command with its line of help, which it says itself: all of them are imported."""
    return {name: load_command(name).get_short_help_str(200) for name in command_names()}


def command_groups() -> dict[str, list[str]]:
    """The commands that there are, by group."""
    known = _modules()
    groups = {group: [name for name in names if name in known] for group, names in GROUPS.items()}
    named = {name for names in groups.values() for name in names}
    return groups | {"More": [name for name in command_names() if name not in named]}


class LazyGroup(click.Group):
    """A group whose commands are modules of `ralph.ui.cli.commands`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return command_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in _modules():
            return None
        found = load_command(cmd_name)
        gc.freeze()
        gc.enable()
        return _with_completions(found) if "_RALPH_COMPLETE" in os.environ else found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write_paragraph()
        for group, names in command_groups().items():
            formatter.write(f"{group:<8} {'  '.join(names)}\n")

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write_paragraph()
        formatter.write("LOOP may be left out, a number (7), or any unique part of its name.\n")
        formatter.write(
            "ralph help commands · ralph help COMMAND · ralph help exit-codes · ralph help E-LAND-DIRTY\n"
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if len(args) > 1 and args[0] in ("-y", "--yes") and _is_sentence(args[1]):
            args = [*args[1:], args[0]]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in (*_modules(), *ALIASES):
            args = _join_sentence(args)
        if _is_sentence(args[0]):
            from ralph.ui.cli.commands.loops.route import bare_command

            gc.freeze()
            gc.enable()
            return "loop", bare_command(), args  # its options are those of `ralph loop`
        if name not in (*_modules(), *ALIASES) and not name.startswith("-"):
            raise click.UsageError(f"there is no command '{name}'{_suggest_command(name)}", ctx)
        return super().resolve_command(ctx, args)


def _with_completions(command: click.Command) -> click.Command:
    from ralph.ui.cli.complete import add_completions

    return add_completions(command)


def _is_sentence(text: str) -> bool:
    """No command has white space or a slash in it, so this is something said; what it means shows later."""
    return not text.startswith("-") and (len(text.split()) > 1 or text.startswith("/"))


def _join_sentence(args: list[str]) -> list[str]:
    """Words without quotes as one sentence, if they ask for something: `ralph fix until green`."""
    count = next((at for at, word in enumerate(args) if word.startswith("-")), len(args))
    said = " ".join(args[:count])
    if _is_sentence(args[0]) or not count or (count > 1 and _misspelt(args[0])):
        return args
    from ralph.core.sentence.route import route

    for text in (said, f"ralph {said}"):
        if (count > 1 or args[0] in ("it", "this", "that")) and route(text).route != "none":
            return [text, *args[count:]]
    return args


def _suggest_command(name: str) -> str:
    begun = [known for known in commands() if len(name) > 1 and known.startswith(name)]
    near = [_ELSEWHERE[name]] if name in _ELSEWHERE else begun or _misspelt(name)
    return f": did you mean '{near[0]}'?" if near else ""


def _misspelt(name: str) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name.removeprefix("ralph-"), list(_modules()), n=1, cutoff=0.6)


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from ralph import __version__

        print(f"ralph {__version__}")
        ctx.exit(0)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "-V",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
@click.pass_context
def cli(ctx: click.Context, /) -> int | None:
    """Run a coding agent again and again until a task is verified done.

    Without a command, show the loops of this project.

    \b
      ralph loop "make the tests pass"            start a loop; ralph demo shows one
      ralph "keep trying until the tests pass"    the same, in words
      ralph init                                  find this project's checks first
    """
    if ctx.invoked_subcommand is not None:
        return None
    from ralph.ui.cli.commands.views.status import overview

    return overview()
