"""Bounds in the words of a task, with somebody at the terminal; what they mean is in `app.sentence`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from ralph.app.sentence import task_limits
from ralph.app.words.format import safe


def with_limits(given: dict[str, Any], limits_set: Callable[[], dict[str, float]]) -> dict[str, Any]:
    """The options with what task and criterion say about money, time and tries, said on stderr."""
    alone = given.get("yes") or not (sys.stdin.isatty() and sys.stderr.isatty())
    return task_limits.with_limits(given, limits_set, tell=_print_note, ask=None if alone else _prompt)


def _prompt(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, err=True))


def _print_note(text: str) -> None:
    print(f"note: {safe(text, 400)}", file=sys.stderr)
