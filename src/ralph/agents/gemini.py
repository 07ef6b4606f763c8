"""Gemini CLI: `gemini --output-format stream-json`, the prompt on stdin.

Its settings for a call are the user's and a few of ours, in its private copy of the folder. It exits with the
HTTP status modulo 256, and with numbers of its own for set-up, input and turns. Figures are of one process.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ralph.agents import (
    AgentFact,
    CallContext,
    Closed,
    Denied,
    FaultSeen,
    Launch,
    Said,
    SessionSeen,
    Spent,
)
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.faults import fault_fact, kind_of
from ralph.agents._kit.fields import Fields, count_of, status, table, text, words
from ralph.agents._kit.folders import Folder, Login
from ralph.agents._kit.programs import read_relaxed
from ralph.agents._kit.stream import Account, Format
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order
from ralph.errors import SetupError

CLI = Cli(
    name="gemini",
    program="gemini",
    install="npm install -g @google/gemini-cli",
    env=("GEMINI_*", "GOOGLE_*"),
    keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    signs=("oauth_creds.json",),
    login="gemini",
    folders=(
        Folder(
            ".gemini",
            "GEMINI_CLI_HOME",
            ".gemini",
            files=("settings.json", ".env", "GEMINI.md", "trustedFolders.json", "google_accounts.json"),
            shown=("extensions", "commands", "skills", "policies", "agents"),
            programs={"settings.json": {"mcpServers": "mcp", "hooks": "hooks"}},
            starting={"extensions": "plugins"},
            logins=(
                Login(
                    file="oauth_creds.json",
                    tokens=("access_token", "refresh_token", "id_token"),
                    when="expiry_date",
                    same=("token_type",),
                    account=("google_accounts.json", "active"),
                ),
            ),
        ),
    ),
    quiet={"GEMINI_CLI_NO_RELAUNCH": "true"},
    features=("tokens", "resume", "turns", "allow-list"),
    provider="https://generativelanguage.googleapis.com",
    moved_by=("GOOGLE_GEMINI_BASE_URL",),
    elsewhere=("GOOGLE_GENAI_USE_VERTEXAI",),
)
_EXITS: dict[int, FaultKind] = {41: "auth", 42: "request", 44: "missing", 52: "request", 53: "turns"}
_HTTP = re.compile(r"\bstatus:? (\d{3})\b|\"code\":\s*(\d{3})\b|\[API Error: .*?\b([45]\d\d)\b")
# A tool that its approval mode does not allow is not even offered: calling it is asking for it.
_REFUSED = frozenset({"tool_not_registered", "policy_violation", "execution_denied"})
_GONE = ("fetch failed", "[API Error: terminated]", "ECONNREFUSED", "ECONNRESET", "Model stream ended")


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["--output-format", "stream-json", "--skip-trust", *cli_.model_words(order, "-m")]
    argv += ["--approval-mode", "yolo" if call.boxed else "auto_edit"]
    if call.session:
        argv += ["--resume", call.session.id]
    if not call.boxed:
        allowed = [f"run_shell_command({run})" for run in cli_.visible_checks(order)]
        for tool in (*allowed, *cli_.setting_lines(order.agent.settings, "allow")):
            argv += ["--allowed-tools", tool]
        argv += cli_.NO_SERVERS
        _refuse_hooks(os.path.join(call.workspace, order.prefix))
    theirs = [os.path.join(folder, "settings.json") for folder in cli_.folders(CLI, call.environ)]
    known = _read(theirs[0]) if theirs else {}
    settings = _merge_settings(known, _settings(order, call, known))
    # As the system's settings it takes none but those of root: they stand in its private copy of the user's.
    return cli_.launch(CLI, order, call, *argv, instead={"settings.json": json.dumps(settings)})


def _settings(order: Order, call: CallContext, known: Fields) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "general": {"maxAttempts": 2, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    chosen = words(table(known, "security", "auth"), "selectedType", 60)
    if call.environ.get("GEMINI_API_KEY") and not chosen:
        # A base URL alone selects a login that only a screen can do.
        settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    if "max_turns" in order.agent.settings:
        settings["model"] = {"maxSessionTurns": int(order.agent.settings["max_turns"])}
    return settings


def _refuse_hooks(folder: str) -> None:
    """A project's hooks are its own programs, and it can turn them on over the user's settings."""
    path = os.path.join(folder, ".gemini", "settings.json")
    if os.path.lexists(path) and not {"hooks", "hooksConfig"}.isdisjoint(_read(path) or {"hooks": "unread"}):
        raise SetupError(
            'the project has hooks of gemini (".gemini/settings.json"), and no sandbox holds here',
            code="E-AGENT-HOOKS",
            why="they would run with your own rights; expected a sandbox, or a project without them",
            next="ralph doctor",
        )


def _read(path: str) -> Fields:
    """The user's own settings; the CLI allows comments in them."""
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 20)
    except OSError:
        return {}
    return read_relaxed(data) or {}


def _merge_settings(theirs: Fields, ours: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(theirs)
    for name, value in ours.items():
        before = merged.get(name)
        deeper = isinstance(value, dict) and isinstance(before, dict)
        merged[name] = _merge_settings(before, value) if deeper and isinstance(before, dict) else value
    return merged


def _init(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    session = words(fields, "session_id", 100)
    if session:
        yield SessionSeen(session)


def _message(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    if fields.get("role") == "assistant":
        yield Said(text(fields, "content"), "delta" if fields.get("delta") is True else "")


def _tool(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield blocks.tool_use(words(fields, "tool_name", 80), table(fields, "parameters"))


def _tool_result(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    error = table(fields, "error")
    kind = words(error, "type", 60).lower()
    if kind in _REFUSED:
        yield Denied(words(error, "message", 200) or words(fields, "tool_id", 80))


def _notice(account: Account, fields: Fields) -> Iterator[AgentFact]:
    """A warning, or what went wrong where the result itself does not say."""
    if fields.get("severity") == "error":
        account.seen["failure"] = words(fields, "message")
    yield from ()


def _result(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield _spent_tokens(table(fields, "stats"))
    if fields.get("status") == "success":
        yield Closed(ok=True)
        return
    yield Closed(ok=False)
    error = table(fields, "error")
    message = words(error, "message") or account.seen.get("failure", "the agent reported a failure")
    yield _failure(account, message, words(error, "type", 60), text(error, "message"))


def _failure(account: Account, message: str, kind: str, told: str) -> AgentFact:
    """Its error types are names of classes, its status stands in the message that the provider sent."""
    account.seen["failure"] = message
    if kind == "FatalTurnLimitedError":
        return FaultSeen("turns", message)
    if kind == "FatalAuthenticationError":
        return FaultSeen("auth", message)
    found = _HTTP.search(message)
    code = status(next(filter(None, found.groups()))) if found else None
    gone = any(words_ in message for words_ in _GONE)
    return fault_fact(code, message, told=told, otherwise="network" if gone else "crash")


def _spent_tokens(stats: Fields) -> Spent:
    cached = count_of(stats, "cached")
    fresh = count_of(stats, "input_tokens")
    return Spent(
        count_of(stats, "total_tokens"),
        None,
        None if fresh is None else max(0, fresh - (cached or 0)),
        cached,
        count_of(stats, "output_tokens"),
    )


def _ending(account: Account, exit_code: int | None) -> Iterator[AgentFact]:
    """The exit code is the status of the provider's answer, modulo 256, or one of its own."""
    if not exit_code or exit_code < 0 or (account.fault is not None and account.fault.kind != "crash"):
        return
    if account.limit is not None:
        return
    said = account.seen.get("failure", "")
    if exit_code in _EXITS:
        yield FaultSeen(_EXITS[exit_code], said or f"the agent exited with {exit_code}")
        return
    code = next((number for number in range(400, 600) if number % 256 == exit_code), None)
    if kind_of(code) is not None and exit_code != 1:
        yield fault_fact(code, said or f"the provider answered {code}")


FORMAT = Format(
    events={
        "init": _init,
        "message": _message,
        "tool_use": _tool,
        "tool_result": _tool_result,
        "error": _notice,
        "result": _result,
    },
    ending=_ending,
)
