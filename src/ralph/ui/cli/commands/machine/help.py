"""`ralph help`: the help of a command, a topic, or an error code."""

from __future__ import annotations

import click

_GENERATED = {"exit-codes": "What each exit code means.", "commands": "Every command with one line."}


@click.command(short_help="Explain a command, a topic or an error code.")
@click.argument("topic", required=False, metavar="[COMMAND|TOPIC|CODE]")
@click.argument("more", nargs=-1, metavar="")
@click.pass_context
def command(ctx: click.Context, topic: str | None, more: tuple[str, ...]) -> int:
    """Explain a command, a topic (exit-codes, grades, sandbox, checks, outcomes, terms) or an error code.

    \b
    Examples:
      ralph help loop
      ralph help grades
      ralph help E-LAND-DIRTY
    """
    parent = ctx.parent
    assert parent is not None
    if topic is None:
        click.echo(parent.get_help())
    elif (text := _topic(topic)) is not None:
        _print_markdown(text)
    elif topic.upper().startswith("E-"):
        _print_error(topic.upper())
    else:
        click.echo(_command_help(parent, (topic, *more)))
    return 0


def topics() -> list[str]:
    """Every topic that `ralph help` knows."""
    from importlib import resources

    files = (resources.files("ralph") / "templates" / "help").iterdir()
    return sorted({*_GENERATED, *(file.name.removesuffix(".md") for file in files)})


def _topic(name: str) -> str | None:
    from importlib import resources

    from ralph.errors import EXIT_CODES

    if name == "exit-codes":
        return "# Exit codes\n\n" + "\n".join(f"- **{code}**: {words}" for code, words in EXIT_CODES) + "\n"
    if name == "commands":
        from ralph.ui.cli.tree import commands

        return (
            "# Commands\n\n" + "\n".join(f"- **{one}**: {words}" for one, words in commands().items()) + "\n"
        )
    if name not in topics():
        return None
    page = resources.files("ralph") / "templates" / "help" / f"{name}.md"
    return page.read_text(encoding="utf-8")


def _command_help(ctx: click.Context, names: tuple[str, ...]) -> str:
    """The help of `ralph NAME…`, as `--help` there prints it."""
    from difflib import get_close_matches

    from ralph.errors import UserError

    group: click.Command = ctx.command
    for name in names:
        found = group.get_command(ctx, name) if isinstance(group, click.Group) else None
        if found is None:
            known = [*(group.list_commands(ctx) if isinstance(group, click.Group) else ()), *topics()]
            near = get_close_matches(name, known, n=1)
            raise UserError(
                f"there is no command, topic or error code '{name}'",
                code="E-HELP-UNKNOWN",
                why=f"topics: {', '.join(topics())}",
                next=f"ralph help {near[0]}" if near else "ralph help commands",
            )
        ctx, group = click.Context(found, info_name=name, parent=ctx), found
    return ctx.get_help()


def _print_error(code: str) -> None:
    from ralph.app.words.error_pages import error_pages
    from ralph.errors import EXIT_CODES, UserError

    pages = error_pages(code)
    if not pages:
        raise UserError(f"there is no error code '{code}'", code="E-HELP-UNKNOWN", next="ralph help commands")
    click.echo(code)
    if not any(page.what or page.next for page in pages):
        click.echo("\n  the message itself says what was found")
    for page in pages:
        for label, text in (("", page.what), ("why", page.why), ("next", page.next)):
            if text:
                click.echo(f"  {label:<6}{text}" if label else f"\n  {text}")
    meanings = dict(EXIT_CODES)
    for exit_code in sorted({page.exit_code for page in pages if page.exit_code is not None}):
        click.echo(f"\nexit code {exit_code}: {meanings.get(exit_code, '')}")


def _print_markdown(text: str) -> None:
    import os
    import sys

    from ralph.app.words.format import use_colour

    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    colour = use_colour(sys.stdout, os.environ)
    Console(no_color=not colour, highlight=False).print(Markdown(text, hyperlinks=False))
