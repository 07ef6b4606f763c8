"""The options that start a loop, once for every command that can: `loop`, `build` and `plan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ralph.app.flags import FLAGS, PROFILE_FLAGS, format_value

# Flags that are settings come from the one table of options; the rest is about this loop alone.
METAVARS = {
    "waivers": "ID=REASON",
    "duration": "4h",
    "money": "USD",
    "count": "N",
    "iterations": "N",
    "names": "NAME",
    "kinds": "KIND,…",
    "word": "NAME",
    "grades": "GRADE",
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
            else f"{option.doc} [default: {_default_text(option)}]"
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


def _default_text(option: Any) -> str:
    return format_value(option, option.default)


def typed_settings(given: dict[str, Any]) -> dict[str, object]:
    """What was typed, by flag."""
    typed = {flag: given[flag.removeprefix("--").replace("-", "_")] for flag in SETTINGS}
    for profile in PROFILE_FLAGS:
        if given[f"profile_{profile}"] and typed["--profile"] is None:
            typed["--profile"] = profile
    return typed


OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--check",
        "checks",
        multiple=True,
        metavar="[NAME=]CMD",
        help="Command that proves the task; red now, green after. Repeatable.",
    ),
    click.option(
        "--hidden-check",
        "hidden_checks",
        multiple=True,
        metavar="[NAME=]CMD",
        help="Check that the agent is never told of; its files stand outside the repository. Repeatable.",
    ),
    click.option(
        "--agent-cmd",
        default="",
        metavar="CMD",
        help="Any executable as the agent; the prompt comes on stdin or as {prompt_file}.",
    ),
    click.option(
        "--class",
        "task_class",
        default="",
        metavar="CLASS",
        help="Kind of task; found from its verb when left out.",
    ),
    click.option(
        "--until",
        "--completion",
        "until",
        default="",
        metavar="TEXT",
        help="In words, what must be true at the end; goes into the prompt.",
    ),
    click.option("--base", default="", metavar="REV", help="Commit to start from, instead of HEAD."),
    click.option("--with-changes", is_flag=True, help="Start from your uncommitted changes too."),
    click.option("--branch", default="", metavar="NAME", help="Name of the result branch."),
    click.option(
        "--allow-write",
        multiple=True,
        metavar="PATH",
        help="Path outside the workspace that the agent may write. Repeatable.",
    ),
    click.option(
        "--loop-id", default="", metavar="NAME", help="Name of the loop, instead of one made from the task."
    ),
    click.option("--steer", default="", metavar="TEXT", help="A note that joins the first prompt."),
    setting_options,
    click.option(
        "--display",
        default=None,
        type=click.Choice(("auto", "live", "plain", "none")),
        help="How progress is shown.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Event lines on stdout; see docs/json.md."),
    click.option("--dry-run", is_flag=True, help="Show criterion, gates, box and limits; spend nothing."),
    click.option("-y", "--yes", is_flag=True, help="Never ask."),
    click.option(
        "--no-infer",
        "--no-infer-completion",
        "no_infer",
        is_flag=True,
        help="Without a check, stop instead of looking for one.",
    ),
    click.option("--auto-criteria", is_flag=True, help="Use an inferred check of medium confidence too."),
)


READERS = click.option(
    "--readers",
    is_flag=False,
    flag_value=4,
    default=0,
    type=click.IntRange(0, 16),
    metavar="[N]",
    help="Calls that only read, at the same time, before the plan is made; 4 without a number.",
)
READER_AGENT = click.option(
    "--reader-agent", default="", metavar="NAME", help="Agent of the readers; the loop's own when left out."
)
READER_MODEL = click.option("--reader-model", default="", metavar="NAME", help="Model of the readers.")
PLAN_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--replan-every",
        default=0,
        type=click.IntRange(0),
        metavar="N",
        help="Plan anew after so many verified items. With a plan only.",
    ),
    click.option(
        "--allow-baseline-red",
        is_flag=True,
        help="What was red before may stay red at the end, tests by their names. With a plan only.",
    ),
    READERS,
    READER_AGENT,
    READER_MODEL,
)


def plan_options(function: Any) -> Any:
    """What a loop with a plan can be told besides."""
    for option in reversed(PLAN_OPTIONS):
        function = option(function)
    return function


def plan_ask(given: dict[str, Any]) -> Any:
    from ralph.app.start import PlanAsk

    return PlanAsk(
        replan_every=given["replan_every"],
        readers=given["readers"],
        reader_agent=given["reader_agent"],
        reader_model=given["reader_model"],
        allow_red=given["allow_baseline_red"],
    )


def pick_options(*flags: str) -> Callable[[Any], Any]:
    """Some of the options of `ralph loop`, by their names."""

    def give(function: Any) -> Any:
        for option in reversed(OPTIONS):
            probe = click.Command("probe", params=[])
            option(probe)
            if any(flag in param.opts for param in probe.params for flag in flags):
                function = option(function)
        return function

    return give


def loop_options(function: Any) -> Any:
    """Every option of `ralph loop`, in the order of its help."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function
