"""OpenCode: `opencode run --format json`, the prompt on stdin.

It has no last event: the end is a finished step with the reason "stop", and exit code 0. Tokens and cost are
those of each step, so they are added up. A provider of one's own stands in OPENCODE_CONFIG_CONTENT.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ralph.agents import AgentFact, CallContext, Closed, FaultSeen, Launch, Said, SessionSeen, Spent
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.environ import PROVIDERS
from ralph.agents._kit.faults import fault_fact
from ralph.agents._kit.fields import Fields, count_of, epoch_seconds, number, status, table, text, words
from ralph.agents._kit.folders import Folder, Login
from ralph.agents._kit.stream import Account, Format
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="opencode",
    program="opencode",
    install="npm install -g opencode-ai",
    env=("OPENCODE_*", *PROVIDERS),
    keys=("OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"),
    signs=("auth.json",),
    login="opencode auth login",
    certain=False,
    folders=(
        Folder(
            ".local/share/opencode",
            "XDG_DATA_HOME",
            "opencode",
            shown=("bin",),
            logins=(
                Login(
                    file="auth.json",
                    tokens=("access", "refresh"),
                    when="expires",
                    same=("type", "accountId", "enterpriseUrl"),
                    each=True,
                ),
            ),
        ),
        # A copy: it writes an ignore file and packages of plugins beside its settings, also beside new ones.
        Folder(
            ".config/opencode",
            "XDG_CONFIG_HOME",
            "opencode",
            files=("opencode.json", "opencode.jsonc", "config.json", "AGENTS.md"),
            shown=(
                *("agent", "agents", "command", "commands", "mode", "modes", "prompts", "skill", "skills"),
                *("themes", "tool", "tools", "plugin", "plugins"),
            ),
            programs={
                name: {"mcp": "mcp", "plugin": "plugins", "lsp": "plugins", "formatter": "plugins"}
                for name in ("opencode.json", "opencode.jsonc", "config.json")
            },
            starting={"plugin": "plugins", "plugins": "plugins"},
        ),
    ),
    quiet={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
    effort=("--variant", "{}"),
    efforts=("minimal", "low", "medium", "high", "xhigh", "max"),
    features=("tokens", "cost", "resume", "allow-list"),
)
_NAMES: dict[str, FaultKind] = {
    "ProviderAuthError": "auth",
    "ContextOverflowError": "context",
    "MessageOutputLengthError": "crash",
    "MessageAbortedError": "interrupted",
}


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["run", "--format", "json", *cli_.model_words(order, "-m")]
    if call.boxed:
        argv.append("--auto")
    if call.session:
        argv += ["--session", call.session.id]
    return cli_.launch(CLI, order, call, *argv, env=None if call.boxed else _permission_env(order))


def _permission_env(order: Order) -> dict[str, str]:
    """Without a sandbox: edits, and the commands of the checks. By itself it would execute anything."""
    runs = (*cli_.visible_checks(order), *cli_.setting_lines(order.agent.settings, "allow"))
    bash = {"*": "deny", **dict.fromkeys(runs, "allow")}
    return {"OPENCODE_PERMISSION": json.dumps({"edit": "allow", "bash": bash, "webfetch": "deny"})}


def _session_seen(account: Account, fields: Fields) -> Iterator[AgentFact]:
    session = words(fields, "sessionID", 100)
    if session and session != account.session:
        yield SessionSeen(session)


def _text(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from _session_seen(account, fields)
    yield Said(text(table(fields, "part"), "text"))


def _tool(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from _session_seen(account, fields)
    part = table(fields, "part")
    yield blocks.tool_use(words(part, "tool", 80), table(part, "state", "input"))


def _step_finished(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from _session_seen(account, fields)
    part = table(fields, "part")
    tokens = table(part, "tokens")
    fresh = count_of(tokens, "input")
    cached = count_of(table(tokens, "cache"), "read")
    stored = count_of(table(tokens, "cache"), "write")
    written = count_of(tokens, "output", "reasoning")
    known = [count for count in (fresh, cached, stored, written) if count is not None]
    total = sum(known) if known else None
    yield Spent(
        total, number(part, "cost"), None if fresh is None else fresh + (stored or 0), cached, written
    )
    reason = part.get("reason")
    if reason != "tool-calls":
        yield Closed(ok=reason in ("stop", "length"))  # an answer that was too long is still the agent's


def _error(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from _session_seen(account, fields)
    yield Closed(ok=False)
    error = table(fields, "error")
    data = table(error, "data")
    name = words(error, "name", 60)
    message = words(data, "message") or name or "the agent reported a failure"
    headers = table(data, "responseHeaders")
    wait = epoch_seconds(headers.get("retry-after"))
    found = status(data.get("statusCode"))
    kind = _NAMES.get(name)
    if kind == "context":  # it would compact and try again without end
        yield FaultSeen("context", message, stop=account.seen.get("context") == "yes")
        account.seen["context"] = "yes"
        return
    otherwise = kind or ("network" if data.get("isRetryable") is True else "crash")
    yield fault_fact(found, message, told=text(data, "message"), after=wait, otherwise=otherwise)


FORMAT = Format(
    events={
        "text": _text,
        "tool_use": _tool,
        "step_finish": _step_finished,
        "error": _error,
        "step_start": _session_seen,
    },
    quiet=frozenset({"reasoning"}),
)
