"""`ralph route TEXT` and bare `ralph "TEXT"`: from a sentence to a proposal, and with a yes to its start."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from ralph.app.sentence.route import add_check, known_here, with_answer
from ralph.app.words.format import safe
from ralph.core.sentence.goal_hosts import MARKERS
from ralph.core.sentence.intent import (
    OPEN,
    Route,
    RouteChoice,
    RouteQuestion,
    public,
    why_asked,
    why_vague,
    with_check,
    with_confidence,
)
from ralph.core.sentence.route import route
from ralph.errors import NothingToDo, UserError
from ralph.ui.ask import route_screens
from ralph.ui.cli.streams import on_terminal

if TYPE_CHECKING:
    from ralph.ui.ask.loop_flags import LoopFlags

HOSTS = ("auto", *MARKERS)
HOST_HELP = "Hand over to this host's goal command, if it has one; auto: the host Ralph runs in."


@click.command(short_help="Explain how a sentence would be interpreted.")
@click.argument("text")
@click.option("--host", type=click.Choice(HOSTS), default=None, help=HOST_HELP)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the proposal as one JSON object; see docs/routing.md."
)
def command(text: str, host: str | None, as_json: bool) -> int:
    """Show which loop TEXT asks for: route, task, criterion, check and limits. Nothing is started.

    On a terminal, Ralph asks for anything missing. Otherwise it prints what it found and exits with code 2.

    \b
    Examples:
      ralph route "ralph this: fix the flaky login tests, up to 20 tries"
      ralph route "loop until coverage is above 80%" --json
      ralph route 'keep fixing until `npm test` passes' --host claude
    """
    found = _find_route(text, host)
    if on_terminal() and not as_json:
        found = _ask_questions(found, infer=True)
    _show(found, as_json=as_json)
    return 0 if found.route == "none" or _is_settled(found) else 2


def _is_settled(found: Route) -> bool:
    """Nothing is open; a host that judges its goal itself needs no command, only a criterion."""
    if found.route != "goal":
        return found.confidence == "high"
    about = {one.about for one in found.ask if one.about in OPEN}
    return (
        found.task is not None and found.criterion is not None and about <= {"check"} and not why_vague(found)
    )


def _find_route(text: str, host: str | None) -> Route:
    env, cwd = os.environ, os.getcwd()
    return route_screens.offer_commands(add_check(route(text, known_here(host or "", env, cwd)), env, cwd))


def _show(found: Route, *, as_json: bool, typed: Sequence[str] = ()) -> None:
    if as_json:
        import json

        print(json.dumps(public(found), ensure_ascii=False))
        return
    line = route_screens.command_lines(found) if found.route == "goal" else []
    for words in route_screens.proposal_lines(found, typed=typed):
        print(words, file=sys.stderr if line else sys.stdout)
    for words in line:  # alone on stdout: it is there to be taken away
        print(words)


def typed_flags(given: dict[str, Any]) -> list[str]:
    """What was typed beside the sentence, as it would be typed beside a task."""
    from ralph.ui.cli.commands.loops import loop

    words: list[str] = []
    for param in loop.command.params:
        value = given.get(param.name or "")
        if not isinstance(param, click.Option) or value in (None, "", (), False, param.default):
            continue
        if param.is_flag:
            words.append(param.opts[-1])
        else:
            for one in value if isinstance(value, tuple) else (value,):
                words += [param.opts[0], str(one)]
    return words


def bare_command() -> click.Command:
    """`ralph "TEXT"`: the options of `ralph loop`, with a sentence in place of the task."""
    from ralph.ui.cli.commands.loops import loop

    options = [param for param in loop.command.params if isinstance(param, click.Option)]
    host = click.Option(["--host"], type=click.Choice(HOSTS), default=None, help=HOST_HELP)
    return click.Command(
        "ralph",
        params=[click.Argument(["text"]), *options, host],
        callback=_bare,
        help="Start what TEXT asks for, after showing it.",
    )


def _bare(text: str, host: str | None, **given: Any) -> int:
    found = _apply_flags(route(text, known_here(host or "", os.environ, os.getcwd())), given)
    if found.route == "none":
        raise _refusal(found, text)
    infer = not given["no_infer"]
    found = route_screens.offer_commands(add_check(found, os.environ, os.getcwd(), infer=infer))
    asking = on_terminal() and not given["yes"] and not given["as_json"]
    if asking:
        found = _ask_questions(found, infer=infer)
    if found.route == "goal":
        _show(found, as_json=given["as_json"])
        return 0 if _is_settled(found) else 2
    typed = typed_flags(given)
    if not asking:
        missing = _missing(found, given["yes"])
        if missing:
            _show(found, as_json=given["as_json"], typed=typed)
            print(f"nothing was started: {missing}", file=sys.stderr)
            return 2
    if not given["as_json"]:
        for words in route_screens.proposal_lines(found, asking=False, typed=typed):
            print(words, file=sys.stderr)
    if found.route != "control":
        from ralph.ui.ask.start_loop import refuse_agent

        refuse_agent(_loop_flags(found, given), dict(os.environ))
    if asking and not click.confirm(_yes_question(found), default=False, err=True):
        print("nothing was started", file=sys.stderr)
        return 2
    return _start(found, given)


def _apply_flags(found: Route, given: dict[str, Any]) -> Route:
    """With what was typed as flags: a flag beats the sentence."""
    kept = tuple(
        one
        for one in found.ask
        if one.about != "bound" or given.get(one.question.rsplit(" --", 1)[-1].replace("-", "_")) is None
    )
    if kept != found.ask:
        found = with_confidence(replace(found, ask=kept))
    if given["checks"] and found.route in ("internal", "external", "goal", "control"):
        checks = tuple(given["checks"])
        return with_check(found, "", " && ".join(checks), "high", checks)
    return found


def _refusal(found: Route, text: str) -> UserError:
    one = found.ask[0]
    next_line = one.choices[0].value if one.choices else "ralph --help"
    if '"CMD"' in next_line:  # what only the user knows: the help says it
        command = re.split(" [\"']", next_line)[0]
        next_line = f"{command} --help"
    if found.why == "unmatched":
        return UserError(
            f"there is no command '{safe(text, 200)}'", code="E-USAGE", why=one.question, next=next_line
        )
    return NothingToDo("nothing was started", code="E-ROUTE-NONE", why=one.question, next=next_line)


def _missing(found: Route, yes: bool) -> str:
    """Why this cannot start without somebody to ask; "" when it can."""
    refused = why_asked(found) != ""  # else a missing check is `ralph loop`'s matter: it infers one
    blocking = [one for one in found.ask if one.about in OPEN and (one.about != "check" or refused)]
    if blocking:
        return safe(blocking[0].question, 500)
    if not yes:
        return "say yes on a terminal, or with -y"
    return ""


def _yes_question(found: Route) -> str:
    if found.route == "external":
        return "start this loop in the background?"
    return "do this?" if found.route == "control" else "start this loop?"


def _ask_questions(found: Route, *, infer: bool) -> Route:
    """Every open question asked, with numbered choices."""
    while True:
        one = next((one for one in found.ask if one.about in OPEN), None)
        if one is None:
            return route_screens.offer_commands(replace(found, ask=()) if found.route != "none" else found)
        for words in route_screens.question_lines(one):
            print(words, file=sys.stderr)
        found = with_answer(found, one, _answer(one))
        if one.about == "task":
            found = add_check(found, os.environ, os.getcwd(), infer=infer)


def _answer(one: RouteQuestion) -> RouteChoice:
    """The chosen answer; what has no value is typed."""
    number = 1
    if len(one.choices) > 1:
        number = click.prompt("number", type=click.IntRange(1, len(one.choices)), err=True)
    chosen = one.choices[number - 1]
    if chosen.value:
        return chosen
    words = {"check": "command", "bound": "limit"}.get(one.about, "words")
    typed: str = click.prompt(words, err=True)
    return replace(chosen, value=typed)


def _start(found: Route, given: dict[str, Any]) -> int:
    """The same path as the commands themselves take."""
    code = 0
    if found.route == "control":
        from ralph.ui.cli.tree import cli

        argv = route_screens.control_argv(found, typed_flags(given))[1:]
        result = cli.main(args=argv, prog_name="ralph", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        if found.task is None or code:
            return code
    from ralph.ui.ask.start_loop import start

    flags = _loop_flags(found, given)
    ask = flags.planning if found.build or found.team or flags.planned else None
    return start(flags, ask, settled=True)


def _loop_flags(found: Route, given: dict[str, Any]) -> LoopFlags:
    """The flags of `ralph loop`: what the sentence says, where no flag says otherwise."""
    from ralph.ui.ask.loop_flags import read_flags
    from ralph.ui.cli.commands.loops import loop

    wanted = [word for flag in route_screens.loop_flags(found) for word in flag]
    said = {**loop.command.make_context("loop", wanted).params, "task": found.task or ""}
    said["checks"] = said["checks"] if not given["checks"] else given["checks"]
    typed = {name: value for name, value in given.items() if value not in (None, "", (), False)}
    return read_flags({**given, **said, **typed})
