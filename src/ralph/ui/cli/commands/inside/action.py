"""`ralph action`: a report on what a skill did in an agent session."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

_ID_HELP = "Id of the session, as its host knows it."
_SESSION = click.option("--session", default="", metavar="ID", help=_ID_HELP)
_HOST = click.option("--host", default="", metavar="NAME", help="Program that the session lives in.")


@click.group(short_help="Report on what a skill did in an agent session.")
def command() -> None:
    """Report on what a skill did in the agent session you work in.

    `--status completed` is a claim: it is recorded as completed only if Ralph verified the session, else as
    partial with the reason. The newest 50 reports of each skill are kept.
    """


@command.command("start", short_help="Say that a skill begins.")
@click.argument("skill")
@click.option("--description", default="", metavar="TEXT", help="What it is to do.")
@_SESSION
@_HOST
def start(skill: str, description: str, session: str, host: str) -> int:
    """Say that SKILL begins in this session.

    \b
    Example:
      ralph action start review --description "look at the last change"
    """
    from ralph.app.session.actions import start_action
    from ralph.app.session.view import find_session

    env = dict(os.environ)
    start_action(find_session(env, host, session), env, skill, description)
    return 0


@command.command("complete", short_help="Say how a skill ended, and print its report.")
@click.option("--status", type=click.Choice(("completed", "failed", "partial")), default="completed")
@click.option("--summary", default="", metavar="TEXT", help="What came of it.")
@click.option("--recommend", multiple=True, metavar="TEXT", help="Advice for the next one. Repeatable.")
@_SESSION
@_HOST
def complete(status: Any, summary: str, recommend: tuple[str, ...], session: str, host: str) -> int:
    """Say how the skill that began last in this session ended; print and keep its report.

    \b
    Example:
      ralph action complete --status failed --summary "the suite does not load"
    """
    from ralph.app.session.actions import complete_action
    from ralph.app.session.view import this_session

    env = dict(os.environ)
    which = this_session(env, host, session)
    report, path = complete_action(which, env, os.getcwd(), status, summary, recommend)
    print(report, end="")
    print(f"kept as {path}", file=sys.stderr)
    return 0


@command.command("list", short_help="List reports, newest first.")
@click.option("--failed", is_flag=True, help="Only those that are not completed.")
@click.option("--all", "every", is_flag=True, help="Of all repositories.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(failed: bool, every: bool, as_json: bool) -> int:
    """List what skills did in this repository.

    \b
    Example:
      ralph action list --failed
    """
    from ralph.app.place import project_of
    from ralph.app.session.actions import list_actions
    from ralph.app.words.format import safe, table

    found = list_actions(dict(os.environ), None if every else project_of(os.getcwd()), failed=failed)
    if as_json:
        print(json.dumps({"v": 1, "actions": found}, ensure_ascii=False))
        return 0
    rows = [
        (str(one["status"]).upper(), safe(one["skill_name"], 64), one["timestamp"], safe(one["summary"], 60))
        for one in found
    ]
    print("\n".join(table(rows)) if rows else "no action was reported")
    return 0
