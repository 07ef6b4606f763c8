"""Cursor: `cursor-agent -p --output-format stream-json`. Written by its documentation; never tried here.

Its installer is not on a package registry, and the packages of that name there are other programs. Messages
are Claude Code's, tools have events of their own; when a call fails it prints no result, only words.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph.agents import AgentFact, CallContext, Launch
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.fields import Fields, table
from ralph.agents._kit.folders import Folder
from ralph.agents._kit.stream import Account
from ralph.core.model.order import Order

CLI = Cli(
    name="cursor",
    program="cursor-agent",
    install="curl https://cursor.com/install -fsS | bash",
    env=("CURSOR_*",),
    keys=("CURSOR_API_KEY",),
    signs=("auth.json",),
    login="cursor-agent login",
    certain=False,
    folders=(
        Folder(".config/cursor", "XDG_CONFIG_HOME", "cursor", files=("auth.json",)),
        Folder(
            ".cursor",
            "CURSOR_CONFIG_DIR",
            files=("cli-config.json", "mcp.json", "hooks.json"),
            shown=("rules", "commands", "skills"),
            programs={"mcp.json": {"": "mcp"}, "hooks.json": {"": "hooks"}},
        ),
    ),
    features=("resume", "untested"),
)


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["-p", "--output-format", "stream-json", *cli_.model_words(order, "--model")]
    if call.boxed:
        argv.append("--force")
    if call.session:
        argv += ["--resume", call.session.id]
    return cli_.launch(CLI, order, call, *argv)


def _tool(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    """Told at its beginning, by a key that is the tool's name: `writeToolCall`, `shellToolCall`, …"""
    if fields.get("subtype") != "started":
        return
    for name, call in table(fields, "tool_call").items():
        if isinstance(call, dict):
            yield blocks.tool_use(name.removesuffix("ToolCall")[:80], table(call, "args"))


FORMAT = blocks.plain_format({"tool_call": _tool}, quiet=frozenset({"thinking"}))
