"""Amp: `amp -x --stream-json`, the prompt on stdin. Written by its documentation; never tried here.

It works only with its maker's server. Its events are those of Claude Code; models are chosen by a mode, and
threads are its conversations. Without a box nothing bounds it: there is no list of allowed commands by words.
"""

from __future__ import annotations

from ralph.agents import CallContext, Launch
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.folders import Folder
from ralph.core.model.order import Order

CLI = Cli(
    name="amp",
    program="amp",
    install="npm install -g @ampcode/cli",
    env=("AMP_*",),
    keys=("AMP_API_KEY",),
    signs=("secrets.json",),
    login="amp login",
    folders=(
        Folder(".local/share/amp", "XDG_DATA_HOME", "amp", files=("secrets.json",)),
        Folder(
            ".config/amp",
            "XDG_CONFIG_HOME",
            "amp",
            files=("settings.json", "AGENTS.md"),
            shown=("commands", "skills", "tools", "plugins"),
            programs={"settings.json": {"amp.mcpServers": "mcp", "amp.hooks": "hooks"}},
            starting={"tools": "plugins", "plugins": "plugins"},
        ),
    ),
    quiet={"AMP_SKIP_UPDATE_CHECK": "1"},
    features=("tokens", "resume", "untested"),
)


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["threads", "continue", call.session.id] if call.session else []
    argv += ["-x", "--stream-json", *cli_.model_words(order, "--mode")]
    if call.boxed:
        argv.append("--dangerously-allow-all")
    return cli_.launch(CLI, order, call, *argv)


FORMAT = blocks.plain_format()
