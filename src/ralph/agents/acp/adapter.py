"""The Agent Client Protocol: one adapter for every agent that speaks it.

The call is `bridge`, a program of ours that speaks the protocol with the agent inside the box and prints
lines; what those mean stands in `updates`. Here is how each known agent is started: with the environment,
login and settings of its own adapter, and other words. The protocol tells less of how a call went than an
agent's own output, so outcomes are weaker (`WEAKER`); nobody gets such an adapter without asking for it.
"""

from __future__ import annotations

import json
import os.path
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ralph import __version__
from ralph.agents import CallContext, Launch, Parser, Probe, command
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.folders import Folder
from ralph.agents._kit.stream import StreamParser
from ralph.agents.acp.updates import FORMAT
from ralph.core.model.agent import AgentSession
from ralph.core.model.order import Order

WEAKER = (
    "outcomes over ACP are weaker: it names no limits and no retries, seldom tokens or cost, and some agents "
    "report a failure as a good end"
)
FEATURES = ("acp", "weaker")
TIMEOUT_SECONDS = (
    120.0  # seconds for each answer before the prompt: a cold start takes six, on a busy machine more
)
_BRIDGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bridge.py")
_VIBE = Cli(
    name="vibe",
    program="vibe-acp",
    install="uv tool install mistral-vibe",
    env=("MISTRAL_*", "VIBE_*"),
    keys=("MISTRAL_API_KEY",),
    signs=(".env",),
    login="vibe --setup",
    certain=False,
    folders=(
        Folder(
            ".vibe",
            "VIBE_HOME",
            files=("config.toml", ".env", "trusted_folders.toml"),
            shown=("agents", "prompts", "skills", "tools"),
        ),
    ),
)


class AcpAgent(Struct, frozen=True, kw_only=True):
    """How one agent is started as a server of the protocol."""

    words: tuple[str, ...] = ()
    adapter: str = ""  # module whose environment, login and settings it has
    program: str = ""  # where it is another than that adapter's
    install: str = ""
    model: str = ""  # flag that names the model; "" = the protocol's own request does
    model_variable: str = ""
    with_key: tuple[str, ...] = ()  # a variable, and the words it needs where that is set
    asks: tuple[tuple[str, str], ...] = ()  # variables without a box, so that it asks for permission
    by_variables: bool = False  # its module has `acp_environ`: login, permissions, provider and model
    features: tuple[str, ...] = ()


ROWS: dict[str, AcpAgent] = {
    "gemini": AcpAgent(adapter="gemini", words=("--acp", "--skip-trust"), model="-m", features=("tokens",)),
    "goose": AcpAgent(
        adapter="goose",
        words=("acp", "--with-builtin", "developer"),
        model_variable="GOOSE_MODEL",
        asks=(("GOOSE_MODE", "approve"),),
        features=("resume",),
    ),
    "opencode": AcpAgent(adapter="opencode", words=("acp",), features=("resume",)),
    "qwen": AcpAgent(
        adapter="qwen", words=("--acp",), model="-m", with_key=("OPENAI_API_KEY", "--auth-type", "openai")
    ),
    "copilot": AcpAgent(adapter="copilot", words=("--acp",), model="--model", features=("tokens",)),
    "claude": AcpAgent(
        adapter="claude",
        program="claude-agent-acp",
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        features=("tokens", "resume"),
    ),
    "codex": AcpAgent(
        adapter="codex",
        program="codex-acp",
        by_variables=True,
        install="npm install -g @agentclientprotocol/codex-acp",
        features=("tokens", "resume"),
    ),
    "vibe": AcpAgent(),
}


class Named(Struct, frozen=True):
    """The adapter of one agent over the protocol; "" = a command of the user's."""

    name: str

    def probe(self, environ: Mapping[str, str]) -> Probe:
        if not self.name:
            hint = 'any other: [agents.NAME] command = "my-agent --acp", settings.protocol = "acp"'
            return Probe(installed=True, hint=hint, features=FEATURES)
        found = cli_.probe(_cli(self.name), environ)
        return replace(found, features=(*FEATURES, *ROWS[self.name].features), places=())

    def launch(self, order: Order, call: CallContext) -> Launch:
        made = self._inner(order, replace(call, session=None))
        script, given = (os.path.join(call.scratch, name) for name in ("acp_bridge.py", "acp.json"))
        with open(_BRIDGE, encoding="utf-8") as file:
            bridge = file.read()
        # A copy for each call: a loop on Ralph itself could otherwise change the bridge it talks through.
        python = os.path.realpath(sys.executable)
        before = (python, "-I", "-S", script, given)
        return replace(
            made,
            argv=(*before, *made.argv),
            program=len(before),
            tools=(python, *made.tools),
            stdin="prompt",
            files={**made.files, script: bridge, given: json.dumps(self._order(order, call))},
            outputs=(),
            session="",
        )

    def stream(self, order: Order, session: AgentSession | None = None) -> Parser:  # noqa: ARG002
        return StreamParser(FORMAT, session, login=_cli(self.name).login if self.name else "")

    def _order(self, order: Order, call: CallContext) -> dict[str, Any]:
        """What the bridge must know."""
        row = ROWS.get(self.name, AcpAgent())
        by_request = not (row.model or row.model_variable or row.by_variables)
        return {
            "version": __version__,
            "workspace": call.workspace,
            "session": call.session.id if call.session else "",
            "allow": "all" if call.boxed else "edits",
            "auth": order.agent.settings.get("auth", ""),
            "model": order.agent.model if by_request else "",
            "patience": TIMEOUT_SECONDS,
        }

    def _inner(self, order: Order, call: CallContext) -> Launch:
        """The agent as its own adapter starts it, with the words that make it a server."""
        if not self.name:
            return command.launch(order, call)
        row, cli = ROWS[self.name], _cli(self.name)
        adapter = import_module(f"ralph.agents.{row.adapter}") if row.adapter else None
        made: Launch = adapter.launch(order, call) if adapter else cli_.launch(cli, order, call)
        words = cli_.model_words(order, row.model) if row.model else ()
        if row.with_key and call.environ.get(row.with_key[0]):
            words = (*row.with_key[1:], *words)
        env = dict(() if call.boxed else row.asks)
        if row.by_variables:  # what its CLI is told by words
            env |= import_module(f"ralph.agents.{row.adapter}").acp_environ(order, call)
        if order.agent.model and row.model_variable:
            env[row.model_variable] = order.agent.model
        return replace(
            made,
            argv=(cli.program, *row.words, *words, *cli_.setting_lines(order.agent.settings, "args")),
            env={**made.env, **env},
            tools=(cli.program,),
        )


def for_agent(name: str) -> Named:
    return Named(name)


def _cli(name: str) -> Cli:
    row = ROWS[name]
    if not row.adapter:
        return _VIBE
    cli: Cli = import_module(f"ralph.agents.{row.adapter}").CLI
    if not row.program:
        return cli
    return replace(cli, program=row.program, install=row.install)
