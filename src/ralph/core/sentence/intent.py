"""The nouns of routing: a question, a proposal, and how sure it is. What a sentence means is in `route`."""

from __future__ import annotations

import re
import shlex
from typing import Literal

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


_WHYS: dict[str, tuple[str, tuple[RouteChoice, ...]]] = {
    "question": (
        "this asks about loops and starts none",
        (
            RouteChoice("where the loops of this project stand", "ralph status"),
            RouteChoice("what a loop is and takes", "ralph loop --help"),
        ),
    ),
    "opinion": (
        "no check could prove an answer or a decision; ask an agent directly, and loop on what follows",
        (RouteChoice("a task that a check can prove", 'ralph loop "TASK" --check "CMD"'),),
    ),
    "goal": (
        "/goal belongs to the agent you have open, which judges by itself; Ralph starts nothing beside it",
        (
            RouteChoice(
                "the same as a loop: what checks it is looked for, and asked",
                'ralph loop "TASK" --until "CRITERION"',
            ),
            RouteChoice("with a command that proves it", 'ralph loop "TASK" --check "CMD"'),
        ),
    ),
    "negated": (
        "this asks for no loop",
        (RouteChoice("where the loops of this project stand", "ralph status"),),
    ),
    "unmatched": (
        "nothing in it asks for a loop; a single change needs none, give it to an agent directly",
        (RouteChoice("work on it until a check proves it", 'ralph loop "TASK" --check "CMD"'),),
    ),
    "specs": (
        "there are no specs to build here: write one first, or say what is to be done",
        (RouteChoice("begin a spec", "ralph specs new first-feature"),),
    ),
    "parallel": (
        "this works on 1 to 16 items of the backlog at once; add there what is to be done",
        (
            RouteChoice("add an item", 'ralph backlog add "TITLE" --verify "CMD"'),
            RouteChoice("work on several at once", "ralph backlog run --parallel 3"),
        ),
    ),
    "long": (
        f"it has more than {MAX_TEXT_CHARS} characters; write it into a file and name that file",
        (RouteChoice("do what a file says", 'ralph loop "do what SPEC.md says" --check "CMD"'),),
    ),
}


def no_route(kind: str, said: str, until: str = "") -> Route:
    why, choices = _WHYS[kind]
    if kind in ("unmatched", "goal") and said:
        fill = {'"TASK"': shlex.quote(said), '"CRITERION"': shlex.quote(until)}
        choices = tuple(
            replace(one, value=re.sub("|".join(fill), lambda hit: fill[hit[0]], one.value))
            for one in choices
            if until or "CRITERION" not in one.value
        )
    sure: Confidence = "medium" if kind == "unmatched" else "high"
    return Route(route="none", confidence=sure, ask=(RouteQuestion("instead", why, choices),), why=kind)
