"""From the options of `loop`, `build` and `plan` to a loop that has begun; `drive_loop` does the rest."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from collections.abc import Callable
from typing import Any

import click
import msgspec

from ralph.app.sentence import task_limits
from ralph.app.words.format import safe
from ralph.errors import NeedsHuman, UserError
from ralph.ui.ask.loop_flags import LoopFlags
from ralph.ui.cli.streams import on_terminal

# What is looked for when specs say what to build and nobody says what checks it.
_ANY_CHECK = "make the tests pass"


def start(flags: LoopFlags, ask: Any = None, *, settled: bool = False) -> int:
    """Begin the loop that was asked for and drive it to its end, or show what it would be.

    `settled`: a sentence was routed, and its bounds are in the settings already.
    """
    return start_named(flags, ask, settled=settled)[0]


def start_named(flags: LoopFlags, ask: Any = None, *, settled: bool = False) -> tuple[int, str]:
    """The same, with the name of the loop; "" when nothing was started."""
    from ralph.app.settings import limits_in_config
    from ralph.app.start import start as start_loop
    from ralph.app.tell import check_note
    from ralph.ui.ask.drive_loop import drive_and_show

    env = dict(os.environ)
    if not settled:
        flags = with_limits(flags, lambda: limits_in_config(flags.settings, env, os.getcwd()))
    if flags.steer:
        check_note(flags.steer)
    prepared = prepare_order(flags, env, ask)
    if flags.dry_run:
        from ralph.app.start import refuse_dry
        from ralph.ui.ask.dry_run import show_order

        refuse_dry(prepared, env, queue=flags.queue)
        show_order(prepared, as_json=flags.as_json)
        return 0, ""
    for warning in prepared.warnings:
        print_note(f"note: {warning}")
    away = flags.detach or flags.queue
    started = start_loop(prepared, env, queue=flags.queue)
    first = _first(flags.steer) + approve_start(prepared, started, env, may_ask=not flags.yes)
    if away:
        from ralph.ui.ask.detach import detach_and_show

        code = detach_and_show(
            started.name,
            env,
            started,
            first,
            priority=flags.priority,
            queue=flags.queue,
            as_json=flags.as_json,
        )
        return code, started.name
    code = drive_and_show(
        started.name,
        env,
        started,
        mode=flags.display or prepared.settings.people.display,
        as_json=flags.as_json,
        first=first,
        may_ask=not flags.yes,
    )
    return code, started.name


def approve_start(prepared: Any, started: Any, env: dict[str, str], *, may_ask: bool) -> tuple[Any, ...]:
    """The yes of a person at this terminal, where one is asked for; without one the loop waits, paused."""
    if "start" not in prepared.order.people.approve:
        return ()
    from ralph.app.people.approve import leave_unapproved
    from ralph.core.model.events import Approved

    if may_ask and on_terminal():
        from ralph.ui.ask.dry_run import show_order

        show_order(prepared, as_json=False)
        if click.confirm("start it?", default=False, err=True):
            return (Approved(point="start", author=env.get("USER", "")),)
    leave_unapproved(started.name, started.stint, env)
    return ()


def _first(text: str) -> tuple[Any, ...]:
    from ralph.core.model.events import Steered

    return (Steered(text=text, author="flag"),) if text else ()


def prepare_order(flags: LoopFlags, env: dict[str, str], ask: Any = None) -> Any:
    """The order; what a repository asks for is shown and approved first when somebody can answer."""
    from ralph.app.settings import approve
    from ralph.app.start import FROM_SPECS, StartRequest, prepare_start

    request = StartRequest(
        task=flags.task or ("" if ask is None else FROM_SPECS),
        cwd=os.getcwd(),
        checks=flags.checks,
        hidden_checks=flags.hidden_checks,
        agent_cmd=flags.agent_words.agent_cmd,
        agent_settings=_agent_words(flags),
        task_class=flags.task_class or ("" if ask is None else "implement-feature"),
        until=flags.until,
        base=flags.base,
        branch=flags.branch,
        with_changes=flags.with_changes,
        allow_write=flags.allow_write,
        loop_id=flags.loop_id,
        issue=flags.issue,
        flags={**flags.settings, "--display": flags.display},
        plan=ask,
    )
    token = secrets.token_hex(4)
    consent = consent_to_infer(yes=flags.yes, auto=flags.auto_criteria, never=flags.no_infer)
    try:
        return prepare_start(add_check(request, env, consent, dry=flags.dry_run), env, token=token)
    except NeedsHuman as asks:
        if asks.code != "E-APPROVAL" or flags.yes or not on_terminal():
            raise
        print_note(f"{asks.what}:\n{asks.why}")
        if not click.confirm("approve exactly this, once and for all?", default=False, err=True):
            raise
        approve(asks.next.rsplit(" ", 1)[-1], env)
        return prepare_start(add_check(request, env, consent, dry=flags.dry_run), env, token=token)


def refuse_agent(flags: LoopFlags, env: dict[str, str]) -> None:
    """Whoever is asked whether to start is not told afterwards that there is no such agent."""
    from ralph.app.start import check_agent

    check_agent(flags.settings, flags.agent_words.agent_cmd, env, os.getcwd())


def _agent_words(flags: LoopFlags) -> dict[str, str]:
    """What was typed for the agent's own command line, one word a line."""
    effort = {"effort": flags.agent_words.effort} if flags.agent_words.effort else {}
    if not flags.agent_words.agent_args and not effort:
        return {}
    if flags.agent_words.agent_cmd:
        raise UserError(
            f"{'--effort' if effort else '--agent-args'} is for a named agent",
            code="E-USAGE",
            why="the words of --agent-cmd are its own already",
            next="ralph loop --help",
        )
    try:
        args = "\n".join(shlex.split(flags.agent_words.agent_args))
        return {**effort, **({"args": args} if args else {})}
    except ValueError as odd:
        raise UserError(
            f"--agent-args cannot be split into words: {odd}", code="E-USAGE", next="ralph loop --help"
        ) from None


def consent_to_infer(*, yes: bool, auto: bool, never: bool) -> Any:
    """What may be inferred without a question, and whether somebody can be asked; None: nothing."""
    from ralph.app.criterion.adopt import Consent

    return None if never else Consent(yes=yes, auto=auto, ask=on_terminal() and not yes)


def add_check(request: Any, env: dict[str, str], consent: Any, *, dry: bool = False) -> Any:
    """The request with a check: its own, the project's, or an inferred one that was agreed to."""
    if request.checks or request.hidden_checks or consent is None or not request.task.strip():
        return request
    if request.plan is not None and request.plan.mode == "plan":
        return request
    from ralph.app.criterion.adopt import adopt_checks
    from ralph.ui.ask.criterion import Terminal

    asked = request
    if request.plan is not None:
        asked = msgspec.structs.replace(request, task=_ANY_CHECK, task_class="")
    found = adopt_checks(asked, env, consent, Terminal(), dry=dry)
    if request.plan is None:
        return found
    return msgspec.structs.replace(
        found, task=request.task, task_class=request.task_class, until=request.until
    )


def print_note(text: str) -> None:
    from ralph.core.text.clean import clean

    print(clean(text), file=sys.stderr)


def with_limits(flags: LoopFlags, limits_set: Callable[[], dict[str, float]]) -> LoopFlags:
    """The flags with what task and criterion say about money, time and tries, said on stderr."""
    alone = flags.yes or not on_terminal()
    until, settings = task_limits.with_limits(
        flags.task, flags.until, flags.settings, limits_set, tell=_print_note, ask=None if alone else _prompt
    )
    return msgspec.structs.replace(flags, until=until, settings=settings)


def _prompt(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, err=True))


def _print_note(text: str) -> None:
    print(f"note: {safe(text, 400)}", file=sys.stderr)
