"""The nouns of routing: a question, a proposal, and how sure it is. What a sentence means is in `route`."""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ralph.core.sentence.goal_hosts import MAX_CHARS, goal_line

MAX_TEXT_CHARS = 8000
KINDS = ("test", "types", "lint", "build", "custom command")

Where = Literal["internal", "external", "goal", "control", "none"]
Confidence = Literal["high", "medium", "low"]
About = Literal["task", "check", "loop", "bound", "place", "clause", "start", "instead"]


class RouteChoice(Struct, frozen=True):
    """One possible answer. `value` is what it stands for: a command, a task, a loop; "" = to be typed.

    `note` says what else must be known before choosing it, such as the script that a command starts.
    """

    label: str
    value: str = ""
    note: str = ""


class RouteQuestion(Struct, frozen=True):
    about: About
    question: str
    choices: tuple[RouteChoice, ...] = ()


class KnownLoop(Struct, frozen=True):
    name: str
    task: str = ""
    unfinished: bool = False
    resumable: bool = False


class KnownHere(Struct, frozen=True):
    """What is known besides the sentence: loops of this project, newest first, and the host."""

    loops: tuple[KnownLoop, ...] = ()
    host: str = ""
    specs: bool = False  # there are specs or a plan to build, or the newest loop built some


class Route(Struct, frozen=True, kw_only=True):
    """The proposal. The fields up to `ask` are public, in this order; the rest serves the command."""

    route: Where
    task: str | None = None
    criterion: str | None = None
    verification_command: str | None = None
    max_iterations: int | None = None
    timeout: int | None = None  # seconds
    loop_id: str | None = None
    host: str | None = None
    confidence: Confidence = "low"
    ask: tuple[RouteQuestion, ...] = ()
    verb: str = ""  # of a control
    detach: bool = False  # of a control: in the background
    max_cost: float | None = None
    checks: tuple[str, ...] = ()  # what `--check` is to be given; without any the loop finds its own
    stated: bool = False  # the criterion was said, not inferred
    guessed: bool = False  # the task was not said but taken from elsewhere
    why: str = ""
    agent: str | None = None  # "codex", "codex,claude", "profile:glm5"
    build: bool = False  # `ralph build`: the task is what specs and plan say
    team: bool = False  # `ralph build` with a planner and a reviewer
    count: int | None = None  # of a control: how many items at once
    paths: tuple[str, ...] = ()  # of a control: which specs


PUBLIC = Route.__struct_fields__[:10]
# Questions that mean something is missing; the others only name what can be done now.
OPEN = ("task", "check", "loop", "bound", "place", "clause")


def public(found: Route) -> dict[str, object]:
    """The proposal as `--json` prints it."""
    every = to_builtins(found)
    return {name: every[name] for name in PUBLIC}


_WHAT_PROVES = "what command proves that it is done?"


def why_asked(found: Route) -> str:
    """Why what was said about the end is no check ("": nothing was wrong with it, or nothing was asked)."""
    asked = next((one.question for one in found.ask if one.about == "check"), "")
    return asked.removesuffix(_WHAT_PROVES).removesuffix("; ")


def why_vague(found: Route) -> bool:
    """Does the criterion rest on a word that nothing measures?"""
    return "no check can decide" in why_asked(found)


def check_question(why: str = "", found: tuple[RouteChoice, ...] = ()) -> RouteQuestion:
    """Test, types, lint, build or a command of one's own; `found` are those whose command is known."""
    known = {choice.label: choice for choice in found}
    extra = tuple(choice for choice in found if choice.label not in KINDS)
    choices = extra + tuple(known.get(kind, RouteChoice(kind)) for kind in KINDS)
    return RouteQuestion("check", f"{why}; {_WHAT_PROVES}" if why else _WHAT_PROVES, choices)


def with_confidence(found: Route) -> Route:
    """With the confidence that its open questions leave."""
    about = {one.about for one in found.ask if one.about in OPEN}
    level: Confidence = "high"
    if about & {"task", "loop"}:
        level = "low"
    elif about or found.guessed:
        level = "medium"
    ask = tuple(one for one in found.ask if one.about != "start")
    if found.route == "goal" and found.task and found.criterion:
        line = goal_line(found.task, found.criterion)
        if len(line) > MAX_CHARS:
            level = "low"
        ask += (RouteQuestion("start", f"the line to type in {found.host}", (RouteChoice("goal", line),)),)
    return replace(found, confidence=level, ask=ask)


def with_check(
    found: Route, criterion: str, command: str, confidence: Confidence, checks: tuple[str, ...] = ()
) -> Route:
    """The proposal with a check from elsewhere. What was said stays the criterion; doubt stays open."""
    ask = found.ask
    if confidence == "high":
        ask = tuple(one for one in ask if one.about != "check")
    return with_confidence(
        replace(
            found,
            criterion=found.criterion or criterion or None,
            verification_command=command or None,
            checks=checks,
            ask=ask,
        )
    )


@cache
def _whys() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath("no_route.toml").read_text("utf-8")
    return tomllib.loads(text.replace("<most>", str(MAX_TEXT_CHARS)))


def no_route(kind: str, said: str, until: str = "") -> Route:
    row = _whys()[kind]
    why, choices = row["why"], tuple(RouteChoice(*one) for one in row["choices"])
    if kind in ("unmatched", "goal") and said:
        fill = {'"TASK"': shlex.quote(said), '"CRITERION"': shlex.quote(until)}
        choices = tuple(
            replace(one, value=re.sub("|".join(fill), lambda hit: fill[hit[0]], one.value))
            for one in choices
            if until or "CRITERION" not in one.value
        )
    sure: Confidence = "medium" if kind == "unmatched" else "high"
    return Route(route="none", confidence=sure, ask=(RouteQuestion("instead", why, choices),), why=kind)
