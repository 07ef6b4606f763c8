"""Copilot CLI: `copilot --output-format json`, the prompt on stdin.

Tokens stand only in a file that it leaves, its conversation's id only in the last event; so the id is chosen
before. Without permission for a tool it goes on and exits with 0.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator

from ralph.agents import (
    AgentFact,
    CallContext,
    Closed,
    Denied,
    Launch,
    Said,
    SessionSeen,
)
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.faults import fault_fact, kind_of, retry_fact
from ralph.agents._kit.fields import Fields, count_of, number, rows, status, table, text, words
from ralph.agents._kit.folders import Folder
from ralph.agents._kit.stream import Account, Format, Total
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="copilot",
    program="copilot",
    install="npm install -g @github/copilot",
    env=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"),
    keys=("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    signs=("config.json",),
    login="copilot login",
    certain=False,
    folders=(
        Folder(
            ".copilot",
            "COPILOT_HOME",
            # Its tokens are GitHub's, which stay as they are until somebody logs in again.
            files=("config.json", "settings.json", "mcp-config.json", "copilot-instructions.md"),
            shown=("hooks", "agents", "skills", "plugins", "installed-plugins", "instructions"),
            programs={
                "mcp-config.json": {"": "mcp"},
                "config.json": {"hooks": "hooks", "mcpServers": "mcp"},
                "settings.json": {"hooks": "hooks", "mcpServers": "mcp"},
            },
            starting={"hooks": "hooks", "plugins": "plugins", "installed-plugins": "plugins"},
        ),
    ),
    effort=("--reasoning-effort", "{}"),
    efforts=("minimal", "low", "medium", "high", "xhigh", "max"),
    features=("tokens", "resume", "allow-list"),
    moved_by=("COPILOT_PROVIDER_BASE_URL",),
)
USAGE = "copilot-usage.json"
MAX_OPEN_TOOLS = 200  # tools in work that are remembered at once


def launch(order: Order, call: CallContext) -> Launch:
    session = call.session.id if call.session else call.token
    argv = ["--output-format", "json", "--no-auto-update", "--session-id", session]
    argv += ["--usage-output-file", os.path.join(call.tmp, USAGE), *cli_.model_words(order, "--model")]
    if call.boxed:
        argv += ["--allow-all-tools", "--allow-all-paths"]
    else:
        allowed = ["write", *(f"shell({run})" for run in cli_.visible_checks(order))]
        for tool in (*allowed, *cli_.setting_lines(order.agent.settings, "allow")):
            argv += ["--allow-tool", tool]
    return cli_.launch(CLI, order, call, *argv, outputs=(USAGE,), session=session)


def _message(account: Account, fields: Fields) -> Iterator[AgentFact]:
    data = table(fields, "data")
    if data.get("parentToolCallId") is None and text(data, "content"):
        yield Said(text(data, "content"))
    for call in rows(data, "toolRequests"):
        tool = blocks.tool_use(words(call, "name", 80), table(call, "arguments"))
        if len(account.seen) < MAX_OPEN_TOOLS:
            account.seen[words(call, "toolCallId", 100)] = f"{tool.tool} {tool.path or tool.detail}".strip()
        yield tool


def _tool_ended(account: Account, fields: Fields) -> Iterator[AgentFact]:
    data = table(fields, "data")
    error = table(data, "error")
    what = account.seen.pop(words(data, "toolCallId", 100), "")
    if data.get("success") is False and words(error, "code", 40) in ("denied", "rejected"):
        yield Denied(what or words(error, "message", 200))


def _retry(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    data = table(fields, "data")
    code = status(data.get("statusCode"))
    message = words(data, "message") or f"the provider answered {code or 'nothing'}"
    yield retry_fact(kind_of(code) or "network", message, (number(data, "delayMs") or 0.0) / 1000)


def _failure(account: Account, fields: Fields) -> Iterator[AgentFact]:
    """One request failed; whether that is the end, a later event says."""
    data = table(fields, "data")
    account.seen["status"] = str(data.get("statusCode") or "")
    yield from _retry(account, fields)


def _error(account: Account, fields: Fields) -> Iterator[AgentFact]:
    data = table(fields, "data")
    code = status(data.get("statusCode")) or status(account.seen.get("status"))
    kind = words(data, "errorType", 60)
    message = words(data, "message") or kind or "the agent reported a failure"
    yield Closed(ok=False)
    otherwise: FaultKind = "network" if kind == "query" else "crash"
    yield fault_fact(code, message, code=kind, told=text(data, "message"), otherwise=otherwise)


def _result(account: Account, fields: Fields) -> Iterator[AgentFact]:
    session = words(fields, "sessionId", 100)
    if session:
        yield SessionSeen(session)
    failed = account.fault is not None or account.limit is not None
    yield Closed(ok=fields.get("exitCode") == 0 and not failed)


def _file(_account: Account, _name: str, fields: Fields) -> Iterator[Total]:
    usages = [table(row, "usage") for row in table(fields, "modelMetrics").values() if isinstance(row, dict)]
    if not usages:
        return
    read = sum(count_of(usage, "inputTokens") or 0 for usage in usages)
    cached = sum(count_of(usage, "cacheReadTokens") or 0 for usage in usages)
    written = sum(count_of(usage, "outputTokens") or 0 for usage in usages)
    yield Total(read + written, None, max(0, read - cached), cached, written)


FORMAT = Format(
    events={
        "assistant.message": _message,
        "tool.execution_complete": _tool_ended,
        "assistant.turn_retry": _retry,
        "model.call_failure": _failure,
        "session.error": _error,
        "result": _result,
    },
    quiet=frozenset(
        {
            *("abort", "agent.interrupted", "assistant.idle", "assistant.intent"),
            *("assistant.message_delta", "assistant.message_start", "assistant.reasoning"),
            *("assistant.reasoning_delta", "assistant.streaming_delta", "assistant.tool_call_delta"),
            *("assistant.turn_end", "assistant.turn_start", "assistant.usage"),
            *("model.call_final_result", "model.call_finished", "model.call_start"),
            *("session.background_tasks_changed", "session.idle", "session.info"),
            *("session.mcp_servers_loaded", "session.skills_loaded", "session.start"),
            *("session.tools_updated", "session.usage_info", "tool.execution_partial_result"),
            *("tool.execution_start", "tool.shell_output", "user.message"),
        }
    ),
    file=_file,
)
