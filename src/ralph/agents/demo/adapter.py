"""The adapter for the built-in demo agent: a scripted child process, run and read like any other.

`agent_settings["script"]` chooses what it does in the sample project (see `agent`), `["pace"]` the
seconds it takes between two things, so that a person can watch. Elsewhere it tries small repairs
(`mend`).
"""

from __future__ import annotations

import os.path
import sys
from collections.abc import Mapping

from ralph.agents import CallContext, Launch, Parser, Probe
from ralph.agents._kit.environ import ORDINARY, agent_environ
from ralph.agents._kit.jsonlines import JsonLinesParser
from ralph.core.model.agent import AgentSession
from ralph.core.model.order import Order
from ralph.errors import UserError

SCRIPTS: tuple[str, ...] = ("honest", "wrong", "liar", "staller", "crasher", "hang", "limit")


def probe(environ: Mapping[str, str]) -> Probe:  # noqa: ARG001
    return Probe(
        installed=True,
        version="built in",
        path=_program(),
        hint="no model: scripted in ralph demo, tries small repairs elsewhere",
        login="yes",
        features=("tokens", "cost"),
    )


def launch(order: Order, call: CallContext) -> Launch:
    script = order.agent.settings.get("script", SCRIPTS[0])
    if script not in SCRIPTS:
        raise UserError(
            f'unknown demo script "{script}", expected one of {", ".join(SCRIPTS)}',
            code="E-DEMO-SCRIPT",
            next="ralph demo",
        )
    # -I: what lies in the workspace must not be imported in place of the standard library.
    argv = (sys.executable, "-I", _program(), script, order.agent.settings.get("pace", "0"))
    return Launch(
        argv=argv,
        env=agent_environ(call, ORDINARY),
        tools=(sys.executable,),
        reads=tuple(dict.fromkeys([sys.prefix, sys.base_prefix, os.path.dirname(_program())])),
    )


def stream(order: Order, session: AgentSession | None = None) -> Parser:  # noqa: ARG001
    return JsonLinesParser()


def _program() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py")
