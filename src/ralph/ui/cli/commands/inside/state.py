"""`ralph state`: a session's state by the fields of other loop runners; what is written is a claim."""

from __future__ import annotations

import json
import os
from typing import Any

import click

_TYPES = click.Choice(("loop", "orchestrator", "quality-gate"))
_VERBS = click.Choice(("init", "update", "increment", "complete", "fail", "read", "delete"))


@click.command(short_help="Note or read the state of an agent session.")
@click.argument("verb", type=_VERBS)
@click.argument("kind", metavar="TYPE", type=_TYPES)
@click.argument("words", nargs=-1, metavar="[FIELD=VALUE…]")
@click.option("--session", default="", metavar="ID", help="Id of the session, as its host knows it.")
@click.option("--host", default="", metavar="NAME", help="Program that the session lives in.")
def command(verb: Any, kind: str, words: tuple[str, ...], session: str, host: str) -> int:
    """Note or read the state of the agent session you work in: loop, orchestrator or quality-gate.

    What is written is a claim. `verified_done`, results of checks and the number of stops are read from
    Ralph's record; `complete` asks for a judgement and never is one. Prints the state as JSON.

    \b
    Examples:
      ralph state init loop task="make the tests pass"
      ralph state update orchestrator phase=implementation plan_approved=true
      ralph state fail loop "the database is not there"
      ralph state read loop
    """
    from ralph.app.session import state
    from ralph.app.session.view import load_session, this_session
    from ralph.clock import SystemClock
    from ralph.core.session.names import session_name

    env = dict(os.environ)
    which = this_session(env, host, session)
    name = session_name(*which)
    match verb:
        case "init" | "update":
            found = state.note_state(name, env, kind, _pairs(words), create=verb == "init")
        case "increment":
            found = state.count_state(name, env, kind)
        case "complete":
            found = state.claim_complete(name, env, kind)
        case "fail":
            field = {"loop": "last_error", "orchestrator": "phase", "quality-gate": "last_result"}[kind]
            found = state.note_state(name, env, kind, {field: " ".join(words) or "failed"})
        case "delete":
            state.delete_state(name, env, kind)
            return 0
        case _:
            found = load_session(env, name)
    print(json.dumps(state.state_json(found, kind, which[1], SystemClock().now()), ensure_ascii=False))
    return 0


def _pairs(words: tuple[str, ...]) -> dict[str, str]:
    from ralph.errors import UserError

    for word in words:
        if "=" not in word:
            raise UserError(f"'{word[:60]}' is not FIELD=VALUE", code="E-USAGE", next="ralph state --help")
    return dict(word.split("=", 1) for word in words)
