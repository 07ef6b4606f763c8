"""The manual page, from the commands themselves: `python tools/man.py` writes it, a test keeps it in step."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from ralph.errors import EXIT_CODES
from ralph.ui.cli.tree import cli, command_groups, load_command

PAGE = Path(__file__).parents[1] / "data" / "share" / "man" / "man1" / "ralph.1"


def page() -> str:
    """The whole page in man(7)."""
    lines = ['.TH RALPH 1 "" "ralph" "User Commands"', ".SH NAME"]
    lines += [r"ralph \- run a coding agent until your checks prove the task done", ".SH SYNOPSIS"]
    lines += [
        r".B ralph",
        r"\fICOMMAND\fR [\fIOPTION\fR]...",
        ".br",
        ".B ralph",
        r"\(dq\fISENTENCE\fR\(dq",
        ".SH DESCRIPTION",
    ]
    lines += [_escape(line) for line in _paragraphs(cli.help or "")]
    for group, names in command_groups().items():
        lines += [f".SH {group.upper()}"]
        for name in names:
            lines += _command(load_command(name), f"ralph {name}")
    lines += [".SH EXIT STATUS"]
    for code, words in EXIT_CODES:
        lines += [".TP", f".B {code}", _escape(words)]
    lines += [".SH FILES", ".TP", ".I ralph.toml", "settings of a project", ".TP"]
    lines += [r".I $XDG_CONFIG_HOME/ralph/config.toml", "your own settings", ".TP"]
    lines += [r".I $XDG_STATE_HOME/ralph", "journal, evidence, workspaces and reports"]
    lines += [
        ".SH SEE ALSO",
        r"\fBralph help\fR \fITOPIC\fR for checks, grades, outcomes, the sandbox and every error code.",
    ]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    yield from (".SS", f"{_escape(path)} {_escape(' '.join(command.collect_usage_pieces(context)))}")
    yield from (_escape(line) for line in _paragraphs(command.help or ""))
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and "--help" not in param.opts:
            yield from (".TP", f"\\fB{_escape(record[0])}\\fR", _escape(record[1]))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _command(inner, f"{path} {name}")


def _paragraphs(text: str) -> Iterator[str]:
    """Prose as it flows; what is marked with \\b stays line by line."""
    for block in inspect.cleandoc(text).split("\n\n"):
        yield ".PP"
        if block.startswith("\b\n"):
            yield ".nf"
            yield from block.split("\n")[1:]
            yield ".fi"
        else:
            yield " ".join(block.split())


def _escape(line: str) -> str:
    if line in (".PP", ".nf", ".fi"):
        return line
    plain = line.replace("\\", r"\e").replace("-", r"\-").replace("…", "...").replace("·", "|")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
