"""`ralph session`: the task of the agent session that you work in, judged by Ralph."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import click

from ralph.ui.cli.loop_options import pick_options
from ralph.ui.cli.task_text import TaskCommand, task_argument

NEVER = 1 << 30  # refusals: a person who asks is told the truth each time
BASELINE_SECONDS = 60.0  # that `start` waits: an agent's shell has a time limit too


@click.group(short_help="Let Ralph judge the agent session you work in.")
def command() -> None:
    """Give the agent session you work in a task that Ralph judges.

    Ralph's Stop hook (`ralph skills install`) then does not let the agent stop before the checks pass on
    your work tree, at most five times in a row. Without --host and --session, the session is the one whose
    agent runs the command.
    """


def _which(function: Callable[..., Any]) -> Callable[..., Any]:
    function = click.option(
        "--session", "session", default="", metavar="ID", help="Id of the session, as its host knows it."
    )(function)
    return click.option("--host", default="", metavar="NAME", help="Program that the session lives in.")(
        function
    )


@command.command("start", cls=TaskCommand, short_help="Start judging this session.")
@task_argument
@pick_options("--check", "--hidden-check", "--class", "--until", "--no-infer", "--auto-criteria", "--yes")
@click.option("--min-grade", default=None, metavar="GRADE", help="Least grade of proof that is enough.")
@click.option(
    "--base", default="", metavar="REV", help="Commit to compare with (default: your files as they are now)."
)
@_which
def start(host: str, session: str, **given: Any) -> int:
    """Start judging this session: seal TASK and its checks, and see what the checks say now.

    \b
    Example:
      ralph session start "make the tests pass" --check "npm test"
    """
    from ralph.app.session.gate import start_session
    from ralph.app.session.view import session_lines, this_session
    from ralph.app.start import StartRequest
    from ralph.ui.ask.start_loop import add_check, consent_to_infer

    env = dict(os.environ)
    which = this_session(env, host, session)
    request = StartRequest(
        task=given["task"],
        cwd=os.getcwd(),
        checks=given["checks"],
        hidden_checks=given["hidden_checks"],
        task_class=given["task_class"],
        until=given["until"],
        base=given["base"],
        flags={"--min-grade": given["min_grade"]},
    )
    consent = consent_to_infer(yes=given["yes"], auto=given["auto_criteria"], never=given["no_infer"])
    request = add_check(request, env, consent)
    found = start_session(request, *which, env, seconds=BASELINE_SECONDS)
    print("\n".join(session_lines(found)))
    return 0


@command.command("status", short_help="Show how this session stands.")
@_which
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(host: str, session: str, as_json: bool) -> int:
    """Show the task of this session, what the checks say, and what Ralph answered last.

    \b
    Example:
      ralph session status --json
    """
    from ralph.app.session.view import find_session, load_session, session_json, session_lines

    env = dict(os.environ)
    found = load_session(env, find_session(env, host, session))
    print(json.dumps({"v": 1, **session_json(found)}) if as_json else "\n".join(session_lines(found)))
    return 0


@command.command("list", short_help="List the sessions of this repository.")
@click.option("--all", "every", is_flag=True, help="Of all repositories.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(every: bool, as_json: bool) -> int:
    """List sessions that have or had a task, newest first.

    \b
    Example:
      ralph session list --all
    """
    from ralph.app.session.view import headline, session_json, sessions_here
    from ralph.app.words.format import safe, stamp, table

    found = sessions_here(dict(os.environ), os.getcwd(), every=every)
    if as_json:
        print(json.dumps({"v": 1, "sessions": [session_json(one) for one in found]}))
        return 0
    rows = [
        (stamp(one.began), one.host, one.id, headline(one), safe(one.loop.sealed.task, 60)) for one in found
    ]
    print("\n".join(table(rows)) if rows else "no session has a task here")
    return 0


@command.command("verify", short_help="Judge this session's work now.")
@_which
@click.option(
    "--wait", "seconds", default=600.0, metavar="SECONDS", help="Wait at most so long. [default: 600]"
)
def verify(host: str, session: str, seconds: float) -> int:
    """Judge what stands in the work tree, as the Stop hook does, without stopping.

    Exit code 0 when it is verified, 1 when it is not.

    \b
    Example:
      ralph session verify
    """
    from ralph.app.session.gate import ask_stop
    from ralph.app.session.view import find_session, headline

    env = dict(os.environ)
    found, answer = ask_stop(
        find_session(env, host, session), env, seconds=seconds, most=NEVER, event="verify"
    )
    print("\n".join([headline(found) if found.ended else f"not yet: {answer.why}", *answer.words]))
    return 0 if found.ended is not None and found.ended.outcome == "verified" else 1


@command.command("blocked", short_help="Say that you need the user.")
@click.argument("why")
@_which
def say_blocked(why: str, host: str, session: str) -> int:
    """Say that this session cannot go on without the user: the next stop is not refused.

    \b
    Example:
      ralph session blocked "which database is meant?"
    """
    from ralph.app.session.gate import claim_in_session
    from ralph.app.session.view import find_session
    from ralph.core.model.agent import Claim
    from ralph.core.text.clean import one_line

    env = dict(os.environ)
    claim = Claim(status="BLOCKED", recommendation=one_line(why, 500))
    claim_in_session(find_session(env, host, session), env, claim)
    print("noted: you may stop and ask")
    return 0


@command.command("stop", short_help="Stop judging this session.")
@_which
@click.option("--reason", default="ended by the user", metavar="TEXT", help="Why, for the record.")
def stop(host: str, session: str, reason: str) -> int:
    """Stop judging this session. What was recorded stays; nothing of yours is changed.

    \b
    Example:
      ralph session stop
    """
    from ralph.app.session.gate import end_session
    from ralph.app.session.view import find_session, session_lines

    env = dict(os.environ)
    found = end_session(find_session(env, host, session), env, reason[:400])
    print("\n".join(session_lines(found)[:2]))
    return 0


@command.command("continue", short_help="Go on outside, as a loop in the background.")
@click.option("--agent", default="", metavar="NAME", help="Agent of the loop (default: this session's).")
@pick_options("--agent-cmd")
@_which
def continue_(agent: str, agent_cmd: str, host: str, session: str) -> int:
    """Turn this session into a loop in the background: with its task, checks, baseline, counts and evidence.

    The session is not judged any more; your files stay as they are. `ralph attach` shows the loop.

    \b
    Example:
      ralph session continue
    """
    from ralph.app.session.continue_outside import continue_outside
    from ralph.app.session.view import find_session
    from ralph.ui.ask.detach import detach_and_show

    env = dict(os.environ)
    begun, clear = continue_outside(find_session(env, host, session), env, agent=agent, agent_cmd=agent_cmd)
    return detach_and_show(begun.name, clear, begun, ())


@command.command("judge", hidden=True)
@click.argument("name")
def judge(name: str) -> int:
    """Be the judge of a session; started by its hooks.

    \b
    Example:
      ralph session judge NAME
    """
    from ralph.app.session.gate import run_judge

    run_judge(name, dict(os.environ))
    return 0
