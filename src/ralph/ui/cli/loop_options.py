"""The options that start a loop, once for every command that can: `loop`, `build` and `plan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from ralph.app.flags import FLAGS, PROFILE_FLAGS, format_value
from ralph.ui.cli.option_groups import Number

# Flags that are settings come from the one table of options; the rest is about this loop alone.
METAVARS = {
    "waivers": "ID=REASON",
    "duration": "TIME",
    "money": "USD",
    "count": "N",
    "iterations": "N",
    "names": "NAME",
    "kinds": "KIND,…",
    "word": "NAME",
    "grades": "GRADE",
}
ALSO = {"--max-iterations": ("-n", "--iterations")}
SETTINGS = {flag: option for flag, option in FLAGS.items() if flag != "--display"}


def setting_options(function: Any) -> Any:
    """One click option for each setting that has a flag, with the table's own words."""
    function = pick_settings(*SETTINGS)(function)
    for profile, names in PROFILE_FLAGS.items():
        words = f"Same as --profile {profile}."
        function = click.option(*names, f"profile_{profile}", is_flag=True, help=words)(function)
    return function


def pick_settings(*flags: str) -> Callable[[Any], Any]:
    """Some of these options, in the order of the table."""

    def give(function: Any) -> Any:
        for flag, option in reversed(SETTINGS.items()):
            function = _setting_option(flag, option)(function) if flag in flags else function
        return function

    return give


def _setting_option(flag: str, option: Any) -> Callable[[Any], Any]:
    many = option.kind in ("waivers", "texts")
    switch: dict[str, Any] = {"is_flag": True, "flag_value": "true"} if option.kind == "switch" else {}
    help_text = (
        option.doc
        if option.default in (None, "", {}, ())
        else f"{option.doc} [default: {format_value(option, option.default)}]"
    )
    return click.option(
        flag,
        *ALSO.get(flag, ()),
        flag.removeprefix("--").replace("-", "_"),
        default=None,
        multiple=many,
        metavar=METAVARS.get(option.kind),
        type=click.Choice(option.choices) if option.choices else str,
        help=help_text,
        **switch,
    )


def typed_settings(given: Mapping[str, object]) -> dict[str, object]:
    """What was typed, by flag."""
    typed = {flag: given.get(flag.removeprefix("--").replace("-", "_")) for flag in SETTINGS}
    for profile in PROFILE_FLAGS:
        if given.get(f"profile_{profile}") and typed["--profile"] is None:
            typed["--profile"] = profile
    return typed


DETACH: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "-d", "--detach", is_flag=True, help="Run in the background; needs neither this terminal nor a login."
    ),
    click.option(
        "--queue", is_flag=True, help="With too many active loops, wait for a place in the background."
    ),
    click.option(
        "--priority",
        default="medium",
        type=click.Choice(("low", "medium", "high", "critical")),
        help="Which queued loop gets the next place.",
    ),
)
OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--check",
        "checks",
        multiple=True,
        metavar="[NAME=]CMD",
        help="Command that proves the task: fails now, must pass at the end. Repeatable.",
    ),
    click.option(
        "--hidden-check",
        "hidden_checks",
        multiple=True,
        metavar="[NAME=]CMD",
        help="Check that the agent never sees; keep its files outside the repository. Repeatable.",
    ),
    click.option(
        "--agent-cmd",
        default="",
        metavar="CMD",
        help="Use any executable as the agent; it reads the prompt from stdin or {prompt_file}. "
        "In the sandbox it has a private, empty home.",
    ),
    click.option(
        "--effort",
        type=click.Choice(["minimal", "low", "medium", "high", "xhigh", "max"]),
        default=None,
        help="How much the model thinks, where the agent's CLI has a setting for it.",
    ),
    click.option(
        "--agent-args",
        default="",
        metavar="WORDS",
        help='Further words for the agent\'s own command line, such as "--add-dir docs".',
    ),
    click.option(
        "--class",
        "task_class",
        default="",
        metavar="CLASS",
        help="Task class (default: inferred from the task's wording).",
    ),
    click.option(
        "--until",
        "--completion",
        "until",
        default="",
        metavar="TEXT",
        help="What must be true at the end, in words; added to the prompt.",
    ),
    click.option("--base", default="", metavar="REV", help="Commit to start from (default: HEAD)."),
    click.option("--with-changes", is_flag=True, help="Include your uncommitted changes."),
    click.option("--branch", default="", metavar="NAME", help="Name of the result branch."),
    click.option(
        "--allow-write",
        multiple=True,
        metavar="PATH",
        help="Let the agent write to PATH outside the workspace. Repeatable.",
    ),
    click.option(
        "--loop-id",
        default="",
        metavar="NAME",
        help="Name of the loop (default: made from the task); 8 hex digits are added unless it ends in them.",
    ),
    click.option("--steer", default="", metavar="TEXT", help="Add a note to the first prompt."),
    click.option(
        "--issue",
        default="",
        metavar="N|URL",
        help="Comment on this issue when the loop ends, by gh or glab.",
    ),
    *DETACH,
    setting_options,
    click.option(
        "--display",
        default=None,
        type=click.Choice(("auto", "live", "plain", "none")),
        help="How progress is shown.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines; see docs/json.md."),
    click.option("--dry-run", is_flag=True, help="Show criterion, checks, sandbox and limits, then exit."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
    click.option(
        "--no-infer",
        "--no-infer-completion",
        "no_infer",
        is_flag=True,
        help="Stop instead of inferring a check when none is given.",
    ),
    click.option("--auto-criteria", is_flag=True, help="Also use an inferred check of medium confidence."),
)


READERS = click.option(
    "--readers",
    is_flag=False,
    flag_value=4,
    default=0,
    type=Number(0, 16),
    metavar="[N]",
    help="Run N read-only agents in parallel before planning (at most 16; 4 if N is omitted).",
)
READER_AGENT = click.option(
    "--reader-agent", default="", metavar="NAME", help="Agent for the readers (default: the loop's agent)."
)
READER_MODEL = click.option("--reader-model", default="", metavar="NAME", help="Model for the readers.")
PLAN_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--replan-every",
        default=0,
        type=Number(0),
        metavar="N",
        help="Re-plan after every N verified items. Needs a plan.",
    ),
    click.option(
        "--allow-baseline-red",
        "allow_red",
        is_flag=True,
        help="Allow tests that already failed before the loop to keep failing. Needs a plan.",
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


def detach_options(function: Any) -> Any:
    for option in reversed(DETACH):
        function = option(function)
    return function


def loop_options(function: Any) -> Any:
    """Every option of `ralph loop`, in the order of its help."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function
