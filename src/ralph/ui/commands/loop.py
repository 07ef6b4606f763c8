"""`ralph loop TASK`: work on a task until it is verified done."""

from __future__ import annotations

import os
import secrets
import sys
import time
from typing import Any

import click

from ralph.errors import NeedsHuman
from ralph.shell.config.profiles import FLAGS as PROFILE_FLAGS
from ralph.shell.config.schema import FLAGS

# Flags that are settings come from the one table of options; the rest is about this loop alone.
METAVARS = {
    "waivers": "ID=REASON",
    "duration": "4h",
    "money": "USD",
    "count": "N",
    "iterations": "N",
    "names": "NAME",
    "word": "NAME",
}
SETTINGS = {flag: option for flag, option in FLAGS.items() if flag != "--display"}


def setting_options(function: Any) -> Any:
    """One click option for each setting that has a flag, with the table's own words."""
    for flag, option in reversed(SETTINGS.items()):
        many = option.kind in ("waivers", "texts")
        switch: dict[str, Any] = {"is_flag": True, "flag_value": "true"} if option.kind == "switch" else {}
        help_text = (
            option.doc
            if option.default in (None, "", {}, ())
            else f"{option.doc} [default: {_shown(option)}]"
        )
        function = click.option(
            flag,
            flag.removeprefix("--").replace("-", "_"),
            default=None,
            multiple=many,
            metavar=METAVARS.get(option.kind),
            type=click.Choice(option.choices) if option.choices else str,
            help=help_text,
            **switch,
        )(function)
    for profile, names in PROFILE_FLAGS.items():
        words = f"The same as --profile {profile}."
        function = click.option(*names, f"profile_{profile}", is_flag=True, help=words)(function)
    return function


def _shown(option: Any) -> str:
    from ralph.shell.config.schema import show

    return show(option, option.default)


def typed_settings(given: dict[str, Any]) -> dict[str, object]:
    """What was typed, by flag."""
    typed = {flag: given[flag.removeprefix("--").replace("-", "_")] for flag in SETTINGS}
    for profile in PROFILE_FLAGS:
        if given[f"profile_{profile}"] and typed["--profile"] is None:
            typed["--profile"] = profile
    return typed


@click.command(short_help="Work on a task until it is verified done.")
@click.argument("task")
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="[NAME=]CMD",
    help="Command that proves the task; red now, green after. Repeatable.",
)
@click.option(
    "--hidden-check",
    "hidden_checks",
    multiple=True,
    metavar="[NAME=]CMD",
    help="Check that the agent is never told of; its files stand outside the repository. Repeatable.",
)
@click.option(
    "--agent-cmd",
    default="",
    metavar="CMD",
    help="Any executable as the agent; the prompt comes on stdin or as {prompt_file}.",
)
@click.option(
    "--class",
    "task_class",
    default="",
    metavar="CLASS",
    help="Kind of task; found from its verb when left out.",
)
@click.option(
    "--until",
    "--completion",
    "until",
    default="",
    metavar="TEXT",
    help="In words, what must be true at the end; goes into the prompt.",
)
@click.option("--base", default="", metavar="REV", help="Commit to start from, instead of HEAD.")
@click.option("--with-changes", is_flag=True, help="Start from your uncommitted changes too.")
@click.option("--branch", default="", metavar="NAME", help="Name of the result branch.")
@click.option(
    "--allow-write",
    multiple=True,
    metavar="PATH",
    help="Path outside the workspace that the agent may write. Repeatable.",
)
@click.option(
    "--loop-id", default="", metavar="NAME", help="Name of the loop, instead of one made from the task."
)
@click.option("--steer", default="", metavar="TEXT", help="A note that joins the first prompt.")
@setting_options
@click.option(
    "--display",
    default=None,
    type=click.Choice(("auto", "live", "plain", "none")),
    help="How progress is shown.",
)
@click.option("--json", "as_json", is_flag=True, help="Event lines on stdout; see docs/json.md.")
@click.option("--dry-run", is_flag=True, help="Show criterion, gates, box and limits; spend nothing.")
@click.option("-y", "--yes", is_flag=True, help="Never ask.")
@click.option(
    "--no-infer",
    "--no-infer-completion",
    "no_infer",
    is_flag=True,
    help="Without a check, stop instead of looking for one.",
)
@click.option("--auto-criteria", is_flag=True, help="Use an inferred check of medium confidence too.")
def command(**given: Any) -> int:
    """Work on TASK until Ralph itself has verified the result.

    The agent works in an isolated copy of your repository. What it says is a claim; the checks are run by
    Ralph, on the commit, in a clean checkout. Your files are not touched: the result is a branch that
    `ralph merge` brings in.

    \b
    Examples:
      ralph loop "make the tests pass" --check "pytest -q" --agent-cmd "./my-agent.sh"
      ralph loop "fix the parser" --check tests="pytest -q" --max-iterations 5 --dry-run
      ralph loop "raise the coverage above 80%" --dry-run
    """
    from ralph.shell.driving import begin
    from ralph.ui.driving import drive_and_show

    env = dict(os.environ)
    prepared = _prepared(given, env)
    if given["dry_run"]:
        from ralph.ui.dryrun import show_order

        show_order(prepared, as_json=given["as_json"])
        return 0
    for warning in prepared.warnings:
        _say(f"note: {warning}")
    name, lock = begin(prepared, env, time.time())
    return drive_and_show(
        name,
        env,
        mode=given["display"] or prepared.settings.display,
        as_json=given["as_json"],
        min_free=prepared.settings.retention_min_free,
        lock=lock,
        first=_first(given["steer"]),
        may_ask=not given["yes"],
    )


def _first(text: str) -> tuple[Any, ...]:
    from ralph.core.events import Steered

    return (Steered(text=text, author="flag"),) if text else ()


def _prepared(given: dict[str, Any], env: dict[str, str]) -> Any:
    """The order; what a repository asks for is shown and approved first when somebody can answer."""
    from ralph.shell import approvals
    from ralph.shell.start import Request, prepare
    from ralph.shell.statedir import config_dir

    request = Request(
        task=given["task"],
        cwd=os.getcwd(),
        checks=given["checks"],
        hidden_checks=given["hidden_checks"],
        agent_cmd=given["agent_cmd"],
        task_class=given["task_class"],
        until=given["until"],
        base=given["base"],
        branch=given["branch"],
        with_changes=given["with_changes"],
        allow_write=given["allow_write"],
        loop_id=given["loop_id"],
        flags={**typed_settings(given), "--display": given["display"]},
    )
    token = secrets.token_hex(4)
    try:
        return prepare(_checked(request, given, env), env=env, token=token, now=time.time())
    except NeedsHuman as asks:
        if asks.code != "E-APPROVAL" or given["yes"] or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        _say(f"{asks.what}:\n{asks.why}")
        if not click.confirm("approve exactly this, once and for all?", default=False, err=True):
            raise
        approvals.approve(config_dir(env), asks.next.rsplit(" ", 1)[-1], time.time())
        return prepare(_checked(request, given, env), env=env, token=token, now=time.time())


def _checked(request: Any, given: dict[str, Any], env: dict[str, str]) -> Any:
    """The request with a check: its own, the project's, or an inferred one that was agreed to."""
    if request.checks or request.hidden_checks or given["no_infer"] or not request.task.strip():
        return request
    from ralph.ui.criterion import adopt

    return adopt(request, env, yes=given["yes"], auto=given["auto_criteria"], dry=given["dry_run"])


def _say(text: str) -> None:
    from ralph.core.text import clean

    print(clean(text), file=sys.stderr)
