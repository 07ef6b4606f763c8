"""Qwen Code: `qwen -o stream-json`, the prompt on stdin. Its events copy Claude Code's, its exits Gemini's.

At its own bounds it exits with 53 or 55 and prints no `result`. Tokens are of the whole conversation; no cost
is reported.
"""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterator
from typing import Any

from ralph.agents import AgentFact, CallContext, Closed, FaultSeen, Launch, SessionSeen
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.faults import fault_fact, fault_in_words, kind_of, retry_fact
from ralph.agents._kit.fields import Fields, count_of, number, table, text, words
from ralph.agents._kit.folders import Folder, Login
from ralph.agents._kit.stream import Account, Format, Total
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="qwen",
    program="qwen",
    install="npm install -g @qwen-code/qwen-code",
    env=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "ANTHROPIC_*", "GEMINI_*"),
    keys=("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
    signs=("oauth_creds.json",),
    login="qwen",
    folders=(
        Folder(
            ".qwen",
            "QWEN_HOME",
            files=("settings.json", ".env", "QWEN.md", "trustedFolders.json"),
            shown=("extensions", "commands", "skills", "agents"),
            programs={"settings.json": {"mcpServers": "mcp", "hooks": "hooks"}},
            starting={"extensions": "plugins"},
            logins=(
                Login(
                    file="oauth_creds.json",
                    tokens=("access_token", "refresh_token", "id_token"),
                    when="expiry_date",
                    same=("token_type",),
                ),
            ),
        ),
    ),
    quiet={"QWEN_CODE_NO_RELAUNCH": "true"},
    features=("tokens", "resume", "turns", "allow-list"),
    moved_by=("OPENAI_BASE_URL",),
)
_EXITS: dict[int, FaultKind] = {41: "auth", 42: "request", 52: "request", 53: "turns", 55: "turns"}


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["-o", "stream-json", *cli_.model_words(order, "-m")]
    argv += ["--approval-mode", "yolo" if call.boxed else "auto-edit"]
    if not call.boxed:
        for run in cli_.visible_checks(order):
            argv += ["--allowed-tools", f"run_shell_command({run})"]
        for tool in cli_.setting_lines(order.agent.settings, "allow"):
            argv += ["--allowed-tools", tool]
        argv += cli_.NO_SERVERS
    if call.environ.get("OPENAI_API_KEY"):
        argv += ["--auth-type", "openai"]
    if call.session:
        argv += ["--resume", call.session.id]
    if "max_turns" in order.agent.settings:
        argv += ["--max-session-turns", order.agent.settings["max_turns"]]
    path = os.path.join(call.scratch, "qwen.json")
    return cli_.launch(
        CLI,
        order,
        call,
        *argv,
        env={"QWEN_CODE_SYSTEM_SETTINGS_PATH": path},
        # A project's hooks are its own programs: without a box nothing would hold them.
        files={path: json.dumps(_SETTINGS if call.boxed else {**_SETTINGS, "disableAllHooks": True})},
    )


_SETTINGS: dict[str, Any] = {
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "model": {"generationConfig": {"maxRetries": 1}},
    "security": {"folderTrust": {"enabled": False}},
}


def _system(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    kind = text(fields, "subtype")
    if kind in ("init", "session_start") and (session := words(fields, "session_id", 100)):
        yield SessionSeen(session)
    elif kind == "retry":
        delay = (number(fields, "delayMs") or 0.0) / 1000
        message = words(fields, "message") or "the provider did not answer as it should"
        yield retry_fact("network", message, delay)


def _assistant(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from blocks.assistant_facts(fields)


def _result(_account: Account, fields: Fields) -> Iterator[AgentFact | Total]:
    usage = table(fields, "usage")
    cached = count_of(usage, "cache_read_input_tokens")
    read, written = count_of(usage, "input_tokens"), count_of(usage, "output_tokens")
    fresh = None if read is None else max(0, read - (cached or 0))
    yield Total(count_of(usage, "input_tokens", "output_tokens"), None, fresh, cached, written)
    yield from blocks.denials(fields)
    if fields.get("is_error") is not True:
        yield Closed(ok=True, words=text(fields, "result") or None)
        return
    yield Closed(ok=False)
    error = table(fields, "error")
    message = words(error, "message") or words(fields, "result") or "the agent reported a failure"
    yield fault_in_words(message, text(error, "message") or text(fields, "result"))


def _ending(account: Account, exit_code: int | None) -> Iterator[AgentFact]:
    if exit_code in _EXITS and account.fault is None and account.limit is None:
        yield FaultSeen(_EXITS[exit_code])
    elif exit_code and exit_code > 55 and account.closed is None:
        code = next((number_ for number_ in range(400, 600) if number_ % 256 == exit_code), None)
        if kind_of(code) is not None:
            yield fault_fact(code, f"the provider answered {code}")


FORMAT = Format(
    events={"system": _system, "assistant": _assistant, "result": _result},
    quiet=frozenset({"user", "stream_event"}),
    ending=_ending,
)
