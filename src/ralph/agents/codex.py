"""Codex: `codex exec --json -`, the prompt on stdin.

Its totals are of the whole thread, resumed parts included. An `error` may be a plain warning; only
`turn.failed` ends a turn badly. With a base URL in the environment a provider of our own is declared, because
the built-in one retries in ways that no setting turns down.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ralph.agents import (
    AgentFact,
    CallContext,
    Closed,
    FaultSeen,
    Launch,
    Said,
    SessionSeen,
    ToolUsed,
)
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.faults import fault_fact, kind_of, retry_fact
from ralph.agents._kit.fields import (
    Fields,
    count_of,
    epoch_seconds,
    number,
    parse_object,
    rows,
    status,
    table,
    text,
    words,
)
from ralph.agents._kit.folders import Folder, Login
from ralph.agents._kit.stream import Account, Format, Total
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="codex",
    program="codex",
    install="npm install -g @openai/codex",
    env=("OPENAI_*", "CODEX_*", "AZURE_OPENAI_*"),
    keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
    signs=("auth.json",),
    login="codex login",
    folders=(
        Folder(
            ".codex",
            "CODEX_HOME",
            files=("config.toml", "*.config.toml", ".env", "hooks.json", "AGENTS.md", "AGENTS.override.md"),
            shown=("prompts", "skills", "rules", "plugins"),
            programs={
                "*config.toml": {
                    "mcp_servers": "mcp",
                    "hooks": "hooks",
                    "notify": "hooks",
                    "plugins": "plugins",
                },
                "hooks.json": {"": "hooks"},
            },
            starting={"plugins": "plugins"},
            logins=(
                Login(
                    file="auth.json",
                    tokens=("tokens.access_token", "tokens.refresh_token", "tokens.id_token"),
                    when="last_refresh",
                    same=("auth_mode", "tokens.account_id"),
                ),
            ),
        ),
    ),
    features=("tokens", "resume", "allow-list"),
    moved_by=("OPENAI_BASE_URL",),
    effort=("-c", 'model_reasoning_effort="{}"'),
    efforts=("minimal", "low", "medium", "high", "xhigh"),
)
_WAITING = "waiting for network"
# Its failed turns carry a sentence of its own and no code: these are the ones it has.
_SENTENCES: tuple[tuple[str, FaultKind], ...] = (
    ("Selected model is at capacity", "overload"),
    ("experiencing high demand", "server"),
    ("hit your usage limit", "limit"),
    ("Quota exceeded", "credit"),
    ("out of credits", "credit"),
    ("ran out of room in the model's context window", "context"),
    ("stream disconnected before completion", "network"),
)
_STATUS = re.compile(r"\b(?:status|error)\s*:?\s+(\d{3})\b")


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["exec", "resume", call.session.id] if call.session else ["exec"]
    argv += ["--json", "--skip-git-repo-check", *cli_.model_words(order, "-m")]
    for part in ("plugins", "apps", "remote_plugin"):
        argv += ["--disable", part]
    argv += ["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"]
    if call.boxed:
        argv.append("--dangerously-bypass-approvals-and-sandbox")
    else:
        argv += ["-c", 'approval_policy="never"', "-c", 'sandbox_mode="workspace-write"']
    argv += _provider(call.environ)
    return cli_.launch(
        CLI,
        order,
        call,
        *argv,
        *cli_.effort_words(CLI, order),
        *cli_.setting_lines(order.agent.settings, "args"),
        "-",
        bare=True,
    )


def _provider(environ: Mapping[str, str]) -> list[str]:
    table_ = _provider_table(environ)
    if not table_:
        return []
    words_ = ",".join(f"{name}={json.dumps(value)}" for name, value in table_.items())
    return ["-c", "model_provider=ralph", "-c", f"model_providers.ralph={{{words_}}}"]


def _provider_table(environ: Mapping[str, str]) -> dict[str, str | int]:
    """A provider of our own, where the environment names another address."""
    url = environ.get("OPENAI_BASE_URL", "")
    if not url:
        return {}
    key = "CODEX_API_KEY" if environ.get("CODEX_API_KEY") else "OPENAI_API_KEY"
    told = {"name": "ralph", "base_url": url, "env_key": key, "wire_api": "responses"}
    return {**told, "request_max_retries": 0, "stream_max_retries": 1}


def acp_environ(order: Order, call: CallContext) -> dict[str, str]:
    """The same for `codex-acp`, which takes no words: permissions, login, provider, model."""
    provider = _provider_table(call.environ)
    given: dict[str, object] = {"analytics": {"enabled": False}, "check_for_update_on_startup": False}
    if provider:
        given |= {"model_provider": "ralph", "model_providers": {"ralph": provider}}
    if order.agent.model:
        given["model"] = order.agent.model
    env = {"CODEX_CONFIG": json.dumps(given), "NO_BROWSER": "1"}
    env["INITIAL_AGENT_MODE"] = "agent-full-access" if call.boxed else "agent"
    if provider:
        env["MODEL_PROVIDER"] = "ralph"
    if any(call.environ.get(name) for name in CLI.keys):
        env["DEFAULT_AUTH_REQUEST"] = json.dumps({"methodId": "api-key"})
    return env


def _thread(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    thread = words(fields, "thread_id", 100)
    if thread:
        yield SessionSeen(thread)


def _item(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    item = table(fields, "item")
    match item.get("type"):
        case "agent_message":
            yield Said(text(item, "text"))
        case "command_execution":
            yield ToolUsed("shell", detail=words(item, "command"))
        case "file_change":
            for change in rows(item, "changes"):
                yield ToolUsed(f"file {words(change, 'kind', 20)}".strip(), words(change, "path"))
        case "mcp_tool_call" | "web_search" | "collab_tool_call":
            yield ToolUsed(words(item, "tool", 80) or text(item, "type"), detail=words(item, "query"))
        case _:
            pass


def _notice(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    """A warning, or one of its own attempts to connect again; that it waits for a network has no end."""
    message = words(fields, "message")
    if _WAITING in message:
        yield FaultSeen("network", message, stop=True)
    elif message.startswith("Reconnecting"):
        found = _STATUS.search(message)
        yield retry_fact((kind_of(status(found[1])) if found else None) or "network", message)


def _turn_failed(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    error = table(fields, "error")
    message = words(error, "message")
    body = _body(text(error, "message"))
    code = words(error, "code", 60) or words(body, "code", 60) or words(body, "type", 60)
    found = status(body.get("status")) or status(error.get("status_code"))
    if found is None and (told := _STATUS.search(message)):
        found = status(told[1])
    sentence: FaultKind = next((kind for words_, kind in _SENTENCES if words_ in message), "crash")
    yield fault_fact(
        found,
        message,
        code=code,
        told=text(error, "message"),
        reset_at=epoch_seconds(body.get("resets_at")),
        after=number(body, "resets_in_seconds"),
        otherwise=sentence,
    )


def _body(message: str) -> Fields:
    """The provider's own error object, which it puts into the message."""
    start = message.find("{")
    body = parse_object(message[start : message.rfind("}") + 1].encode()) if start >= 0 else None
    return (table(body, "error") or body) if body else {}


def _turn_completed(_account: Account, fields: Fields) -> Iterator[AgentFact | Total]:
    usage = table(fields, "usage")
    total = count_of(usage, "input_tokens", "output_tokens")
    cached = count_of(usage, "cached_input_tokens")
    fresh = count_of(usage, "input_tokens")
    yield Total(
        total,
        None,
        None if fresh is None else fresh - (cached or 0),
        cached,
        count_of(usage, "output_tokens"),
    )
    yield Closed(ok=True)


FORMAT = Format(
    events={
        "thread.started": _thread,
        "item.completed": _item,
        "error": _notice,
        "turn.failed": _turn_failed,
        "turn.completed": _turn_completed,
    },
    quiet=frozenset({"turn.started", "item.started", "item.updated"}),
)
