"""A routed sentence on screen: the proposal in words, questions, command lines. See `app.sentence.route`.

Nothing here starts anything. Every command line comes from the table of commands: what does not exist is
never offered.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import msgspec

from ralph.app.sentence.route import is_open
from ralph.app.words.format import clock, safe, table
from ralph.core.sentence.intent import Route, RouteChoice, RouteQuestion

# control -> command lines, the first whose command exists
CONTROLS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "abort": (("abort",),),
    "pause": (("pause",),),
    "status": (("status",),),
    "resume": (("resume",),),
    "attach": (("attach",), ("logs", "-f")),
    "logs": (("logs",),),
    "report": (("report",),),
    "diff": (("diff",),),
    "verify": (("verify",),),
    "plan": (("plan",),),
    "build": (("build",),),
    "retrospective": (("analytics", "--recommend"),),
    "gates": (("gates", "run"),),
    "refine": (("specs", "refine"),),
    "parallel": (("backlog", "run", "--parallel"),),
    "item": (("backlog", "run", "--once"),),
    "backlog": (("backlog", "run"),),
}
# what a control does that is no command's name, or is about no loop
DO = {
    "plan": "make the plan",
    "build": "build the plan item by item",
    "retrospective": "look back over the loops of this project, with recommendations",
    "gates": "run the checks of this project",
    "refine": "let another agent attack the specs",
    "parallel": "work on several items of the backlog at once",
    "item": "work on the next item of the backlog",
    "backlog": "work through the backlog",
}
USUAL_PARALLEL = 3
ORCHESTRA = (("--team",), ("--roles", "planner,reviewer"))  # plan, build and review in one
WHERE = {
    "internal": "internal: a loop here, in the foreground",
    "external": "external: a loop in the background, which needs no terminal",
    "goal": "goal: the host's own goal command",
    "control": "control of a loop",
    "none": "none: nothing to start",
}


def loop_argv(found: Route, typed: Sequence[str] = ()) -> list[str]:
    """The command line of a proposal's loop. The task can never be taken for a flag, and `typed` flags of the
    call stand at its end: they count where the sentence says otherwise."""
    task = found.task or ""
    words = [
        "ralph",
        "build" if found.build or found.team else "loop",
        *([task] if task and not task.startswith("-") else []),
    ]
    flags = _without_typed(loop_flags(found), typed)
    return [*words, *flags, *typed, *(["--", task] if task.startswith("-") else [])]


def _without_typed(flags: list[tuple[str, ...]], typed: Sequence[str]) -> list[str]:
    return [word for flag in flags if flag[0] not in typed for word in flag]


def loop_flags(found: Route) -> list[tuple[str, ...]]:
    """What the sentence says as options of `ralph loop`."""
    flags: list[tuple[str, ...]] = list(ORCHESTRA) if found.team else []
    flags += [("--check", check) for check in found.checks]
    if found.stated and found.criterion and not any(check in found.criterion for check in found.checks):
        flags.append(("--until", found.criterion))
    if found.agent:
        profile = found.agent.startswith("profile:")
        flags.append(("--profile" if profile else "--agent", found.agent.removeprefix("profile:")))
    bounds = _bound_flags(found)
    flags += zip(bounds[::2], bounds[1::2], strict=True)
    if found.loop_id and found.route != "control":
        flags.append(("--loop-id", found.loop_id))
    if found.route == "external":
        flags.append(("--detach",))
    return flags


def _bound_flags(found: Route) -> list[str]:
    from ralph.core.text.units import duration_words

    flags: list[str] = []
    if found.max_iterations is not None:
        flags += ["--max-iterations", str(found.max_iterations)]
    if found.timeout is not None:
        flags += ["--max-time", duration_words(found.timeout)]
    if found.max_cost is not None:
        flags += ["--max-cost", f"{found.max_cost:g}"]
    return flags


def control_argv(found: Route, typed: Sequence[str] = ()) -> list[str]:
    """The command line of a control. Only commands that exist; a bound of `resume` is so much more.

    `typed` flags go with it, so that each is used, or refused by the command; a yes was for this sentence.
    """
    from ralph.ui.cli.tree import command_names

    words = next(words for words in CONTROLS[found.verb] if words[0] in command_names())
    name = [found.loop_id] if found.loop_id else []
    more = [str(found.count or USUAL_PARALLEL)] if found.verb == "parallel" else [*found.paths]
    if found.task is None:  # else they are the new loop's
        said = _bound_flags(found) if found.verb == "resume" else []
        more += [f"+{word}" if at % 2 else word for at, word in enumerate(said)]
        more += ["--agent", found.agent] if found.agent else []
        more += ["--detach"] if found.detach else []
        more += [word for word in typed if word != "--yes" or words[0] == "backlog"]
    return ["ralph", words[0], *name, *words[1:], *more]


def command_lines(found: Route, typed: Sequence[str] = ()) -> list[str]:
    """What would be typed instead of the sentence, in order."""
    lines = []
    if found.route == "control" and not is_open(found, "loop"):
        lines.append(shlex.join(control_argv(found, typed)))
    if (found.task is not None or found.build) and found.route not in ("none", "goal"):
        lines.append(shlex.join(loop_argv(found, typed)))
    if found.route == "goal":
        lines += [choice.value for one in found.ask if one.about == "start" for choice in one.choices]
    return lines


def offer_commands(found: Route) -> Route:
    """With the command lines of a control in `ask`."""
    other = found.agent or found.build or (found.team and found.task is not None)
    if found.route != "control" and not (found.route in ("internal", "external") and other):
        return found
    lines = command_lines(found)
    if not lines or is_open(found, "loop"):
        return found
    words = DO.get(found.verb, f"{found.verb or 'start'} it")
    question = RouteQuestion("start", words, tuple(RouteChoice("command", line) for line in lines))
    return msgspec.structs.replace(found, ask=(*found.ask, question))


def proposal_lines(found: Route, *, asking: bool = True, typed: Sequence[str] = ()) -> list[str]:
    """The proposal, one fact a line, and what is still to be asked."""
    facts = [("route", WHERE[found.route])]
    if found.team:
        facts.append(("do", "plan, build item by item, and review"))
    if found.route == "control":
        facts.append(("do", DO.get(found.verb, found.verb)))
        if found.loop_id or found.verb not in DO:
            facts.append(("loop", found.loop_id or "the newest"))
    if found.task is not None:
        facts.append(("task", safe(found.task, 300) + (" (a guess)" if found.guessed else "")))
    if found.build:
        facts.append(("task", "what the specs and the plan say, item by item"))
    if found.agent:
        facts.append(("agent", safe(found.agent.removeprefix("profile:"), 80)))
    if found.criterion:
        facts.append(("criterion", safe(found.criterion, 300)))
    if found.verification_command:
        facts.append(("check", safe(found.verification_command, 300)))
    if _limits(found):
        facts.append(("limits", _limits(found)))
    if found.route != "control" and found.loop_id:
        facts.append(("loop", found.loop_id))
    if found.host:
        facts.append(("host", safe(found.host, 40)))
    if found.route != "none":
        facts.append(("confidence", found.confidence))
    lines = table(facts)
    for one in found.ask if asking else ():
        if one.about != "start":
            lines += question_lines(one)
    commands = command_lines(found, typed)
    if commands and found.route in ("internal", "external", "control") and not is_open(found, "task"):
        lines += ["as a command", *(f"  {safe(line, 2000)}" for line in commands)]
    return lines


def question_lines(one: RouteQuestion) -> list[str]:
    """The question, and its choices by number; what a choice would start stands below it."""
    plain = one.about in ("place", "bound", "clause")  # their values mean something to the program only
    rows = [
        (f"  {number}", safe(choice.label, 100), "" if plain else safe(choice.value, 2000) or "(to be typed)")
        for number, choice in enumerate(one.choices, 1)
    ]
    lines = [safe(one.question, 500)]
    for line, choice in zip(table(rows), one.choices, strict=True):
        lines += [line, *([f"     {safe(choice.note, 400)}"] if choice.note and not plain else [])]
    return lines


def _limits(found: Route) -> str:
    from ralph.app.words.format import dollars, plural

    parts = []
    if found.max_iterations is not None:
        parts.append(plural(found.max_iterations, "iteration"))
    if found.timeout is not None:
        parts.append(clock(found.timeout))
    if found.max_cost is not None:
        parts.append(dollars(found.max_cost))
    return ", ".join(parts)
