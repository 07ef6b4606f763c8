"""droid (Factory): `droid exec -o stream-json`, the prompt as a file. Verified with 0.215 and an own model.

Its last word is `completion`, with what the call has used; it names no cost, because its maker sells credits.
Without a box it gets the level that edits files and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph.agents import AgentFact, CallContext, Closed, Launch, Said, Spent, ToolUsed
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.faults import fault_in_words
from ralph.agents._kit.fields import Fields, count_of, table, text, words
from ralph.agents._kit.folders import Folder
from ralph.agents._kit.stream import Account, Format
from ralph.core.model.order import Order

CLI = Cli(
    name="droid",
    program="droid",
    install="npm install -g droid",
    env=("FACTORY_*",),
    keys=("FACTORY_API_KEY",),
    signs=("auth.v2.file", "auth.encrypted"),
    login="droid, then /login",
    certain=False,
    folders=(
        Folder(
            ".factory",
            files=("settings.json", "settings.local.json", "config.json", "AGENTS.md", "mcp.json", "auth.*"),
            shown=("commands", "droids", "skills", "hooks", "plugins"),
            programs={
                "mcp.json": {"": "mcp"},
                "settings*.json": {"hooks": "hooks", "enabledPlugins": "plugins"},
            },
            starting={"plugins": "plugins"},
        ),
    ),
    features=("tokens", "resume", "allow-list"),
    effort=("-r", "{}"),
    efforts=("minimal", "low", "medium", "high", "xhigh", "max"),
)


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["exec", "-o", "stream-json", *cli_.model_words(order, "-m"), "-f", call.prompt_file]
    argv += ["--skip-permissions-unsafe"] if call.boxed else ["--auto", "low"]
    if call.session:
        argv += ["-s", call.session.id]
    return cli_.launch(CLI, order, call, *argv, stdin="none")


def _message(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    if fields.get("role") == "assistant":
        yield Said(text(fields, "text"))


def _tool(_account: Account, fields: Fields) -> Iterator[ToolUsed]:
    yield blocks.tool_use(words(fields, "toolName", 80), table(fields, "parameters"))


def _completion(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    usage = table(fields, "usage")
    fresh = count_of(usage, "input_tokens", "cache_creation_input_tokens")
    cached, written = count_of(usage, "cache_read_input_tokens"), count_of(usage, "output_tokens")
    yield Spent(
        sum(count or 0 for count in (fresh, cached, written)) if usage else None, None, fresh, cached, written
    )
    yield Closed(ok=True, words=text(fields, "finalText") or None)


def _error(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    if fields.get("source") == "cli" and (account.fault or account.limit):
        return  # "Exec failed": the error before it said why
    told = text(fields, "message") or text(table(fields, "error"), "message")
    yield fault_in_words(words({"told": told}, "told") or "the agent reported an error without words", told)


FORMAT = Format(
    events={
        "system": blocks.began,
        "message": _message,
        "tool_call": _tool,
        "completion": _completion,
        "error": _error,
    },
    quiet=frozenset({"tool_result", "reasoning"}),
)
