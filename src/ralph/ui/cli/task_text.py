"""The task on a command line: quoted, in several words, from stdin (`-`) or a file (`@FILE`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from ralph.errors import UserError
from ralph.ui.cli.option_groups import help_all_option, write_options

MAX_BYTES = 1 << 20  # far more than a task may have


class TaskCommand(click.Command):
    """Several words are one task where no option can be meant by them: in front, or behind `--`."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.params.append(help_all_option())

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_options(self, ctx, formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        rest = super().parse_args(ctx, args)
        words = ctx.meta.pop(_WORDS, ())
        if len(words) > 1 and not ctx.resilient_parsing and not _stands_apart(typed, words):
            raise click.UsageError(
                f"quote the task, or an option's value of several words: '{' '.join(words)[:80]}'", ctx
            )
        return rest


_WORDS = "ralph.task_words"


def _stands_apart(args: Sequence[str], words: tuple[str, ...]) -> bool:
    return tuple(args[: len(words)]) == words or (
        "--" in args and tuple(args[args.index("--") + 1 :]) == words
    )


def task_argument(function: Any) -> Any:
    """TASK and `--task-file`, given to the command as one text named `task`."""
    function = click.option(
        "--task-file",
        is_eager=True,
        default="",
        metavar="FILE",
        help="Read the task from FILE; - is stdin. TASK may also be @FILE or -.",
    )(function)
    return click.argument("task", nargs=-1, metavar="[TASK]", callback=_read_task)(function)


def _read_task(ctx: click.Context, _param: click.Parameter, words: tuple[str, ...]) -> str:
    path = ctx.params.pop("task_file", "")
    if ctx.resilient_parsing:
        return ""
    ctx.meta[_WORDS] = words
    text = " ".join(words)
    if path and words:
        raise click.UsageError("the task is given twice: as TASK and with --task-file", ctx)
    if path or text == "-":
        return _from_stdin() if (path or text) == "-" else read_task_file(path)
    if len(words) == 1 and text.startswith("@"):
        return read_task_file(text[1:])
    return text


def _from_stdin() -> str:
    if sys.stdin.isatty():
        print("type the task, then Ctrl-D", file=sys.stderr)
    return _decode(sys.stdin.buffer.read(MAX_BYTES), "stdin")


def read_task_file(path: str) -> str:
    """The text of a file that holds a task."""
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return _decode(file.read(MAX_BYTES), f"'{path}'")
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(
            f"the task file '{path}' cannot be read", code="E-TASK-FILE", why=why, next="ralph loop --help"
        ) from None


def _decode(data: bytes, where: str) -> str:
    """How long a task may be is said where every task is looked at."""
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        text, why = "", "is not UTF-8 text"
    else:
        why = "is empty"
    if not text:
        raise UserError(f"the task in {where} {why}", code="E-TASK-FILE", next="ralph loop --help")
    return text
