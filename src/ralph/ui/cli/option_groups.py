"""The options that start a loop, in groups: `--help` shows the common ones, `--help-all` every one."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

# What most people ever need, in this order of groups; the others stand in their group under --help-all.
COMMON = (
    "--check", "--agent", "--max-iterations", "--max-time", "--max-cost", "--with-changes", "--detach",
    "--until", "--dry-run", "--yes",
)  # fmt: skip
GROUPS: dict[str, tuple[str, ...]] = {
    "Task": (
        "--task-file", "--until", "--class", "--base", "--with-changes", "--branch", "--loop-id", "--steer",
        "--issue", "--memory",
    ),
    "Proof": (
        "--check", "--hidden-check", "--no-infer", "--auto-criteria", "--min-grade", "--confirm", "--allow",
        "--allow-asked",
    ),
    "Agent": (
        "--agent", "--agent-cmd", "--agent-args", "--model", "--profile", "--with-glm5", "--mmc",
        "--keep-session", "--on-fail", "--effort", "--team", "--roles", "--parallel-roles",
    ),
    "Limits": (
        "--max-iterations", "--max-time", "--max-cost", "--max-tokens", "--iteration-timeout",
        "--idle-timeout", "--calls-per-hour", "--max-iteration-cost",
    ),
    "Sandbox": ("--sandbox", "--net", "--allow-write"),
    "Output": ("--detach", "--queue", "--priority", "--display", "--json", "--dry-run", "--yes"),
    "Plan": (
        "--plan", "--replan-every", "--allow-baseline-red", "--readers", "--reader-agent", "--reader-model",
        "--refresh", "--force", "--import", "--show",
    ),
}  # fmt: skip
_ALL = "ralph.help_all"


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """All of these at once, in this order."""
    return lambda function: reduce(lambda made, option: option(made), reversed(options), function)


class Number(click.IntRange):
    """A whole number within bounds; help says them in words where they matter, not as `[x>=0]`."""

    def _describe_range(self) -> str:
        return ""


def group_of(param: click.Parameter) -> str:
    """The group that names one of its spellings; what none names is about the task."""
    return next((group for group, flags in GROUPS.items() if any(one in flags for one in param.opts)), "Task")


def help_all_option() -> click.Option:
    def show(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            ctx.meta[_ALL] = True
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()

    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="Show every option.",
    )


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """By group; of each only the common ones unless everything was asked for."""
    every = ctx.meta.get(_ALL, False)
    rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
    left = 0
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is None or param.name in ("help", "help_all"):
            continue
        if every or any(one in COMMON for one in param.opts):
            rows[group_of(param)].append(record)
        else:
            left += 1
    for group, found in rows.items():
        if found:
            with formatter.section(group):
                formatter.write_dl(found)
    if left:
        formatter.write_paragraph()
        formatter.write(f"{left} more options: {ctx.command_path} --help-all\n")
