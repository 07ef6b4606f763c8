"""The options that start a loop, once for every command that can: `loop`, `build` and `plan`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import click
import msgspec

from ralph.app.flags import FLAGS, PROFILE_FLAGS, format_value
from ralph.ui.cli.option_groups import Number, with_options

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


def _load_options() -> dict[str, tuple[Callable[[Any], Any], ...]]:
    """What can be typed for this loop alone: `loop_options.json`, in the order of the help."""
    with open(os.path.join(os.path.dirname(__file__), "loop_options.json"), "rb") as table:
        groups = msgspec.json.decode(table.read(), type=dict[str, list[dict[str, Any]]])
    for row in (row for rows in groups.values() for row in rows if "choices" in row):
        row["type"] = click.Choice(row.pop("choices"))
    return {
        name: tuple(click.option(*row.pop("flags"), **row) for row in rows) for name, rows in groups.items()
    }


_LOADED = _load_options()
DETACH = _LOADED["detach"]
OPTIONS = (*_LOADED["before"], *DETACH, setting_options, *_LOADED["after"])
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


plan_options = with_options(*PLAN_OPTIONS)  # what a loop with a plan can be told besides
detach_options = with_options(*DETACH)
loop_options = with_options(*OPTIONS)


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
