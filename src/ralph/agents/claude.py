"""Claude Code: `claude -p --output-format stream-json`, the prompt on stdin.

Its `result` says "success" on API errors too, so `is_error` decides; one call may print several results.
Totals of a resumed conversation include what came before. Verified with 2.1.x (design/agents.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ralph.agents import (
    AgentFact,
    CallContext,
    Closed,
    FaultSeen,
    Launch,
    LimitHit,
    SessionSeen,
    Spent,
)
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.faults import fault_fact, is_limit, kind_of, retry_fact
from ralph.agents._kit.fields import Fields, count_of, epoch_seconds, number, rows, status, table, text, words
from ralph.agents._kit.folders import Folder, Login
from ralph.agents._kit.stream import Account, Format, Total
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="claude",
    program="claude",
    install="npm install -g @anthropic-ai/claude-code",
    env=("ANTHROPIC_*", "CLAUDE_*", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "BASH_*_TIMEOUT_MS"),
    keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    signs=(".credentials.json",),
    login="claude auth login",
    folders=(
        Folder(
            ".claude",
            "CLAUDE_CONFIG_DIR",
            files=("settings.json", "settings.local.json", "CLAUDE.md", "keybindings.json"),
            # An old place of .claude.json, which goes before it. Both hold servers and projects too.
            parts={".config.json": ("oauthAccount", "primaryApiKey")},
            beside={".claude.json": ("oauthAccount", "primaryApiKey")},
            shown=("hooks", "plugins", "commands", "agents", "skills", "rules", "output-styles"),
            programs={
                "settings*.json": {"hooks": "hooks", "enabledPlugins": "plugins", "statusLine": "hooks"},
                ".claude.json": {"mcpServers": "mcp"},
            },
            starting={"plugins": "plugins"},
            logins=(
                Login(
                    file=".credentials.json",
                    tokens=("claudeAiOauth.accessToken", "claudeAiOauth.refreshToken"),
                    when="claudeAiOauth.expiresAt",
                    same=("claudeAiOauth.clientId", "organizationUuid"),
                    keys=("claudeAiOauth", "organizationUuid"),
                    account=(".claude.json", "oauthAccount.accountUuid"),
                ),
            ),
        ),
    ),
    quiet={
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    features=("cost", "tokens", "resume", "turns", "budget", "allow-list"),
    provider="https://api.anthropic.com",
    moved_by=("ANTHROPIC_BASE_URL",),
    effort=("--effort", "{}"),
    efforts=("low", "medium", "high", "xhigh", "max"),
    elsewhere=("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
)
_EDITS = ("Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS", "TodoWrite")
_NO_MODEL = "<synthetic>"
_REASONS: dict[str, FaultKind] = {
    "max_turns": "turns",
    "budget_exhausted": "budget",
    "prompt_too_long": "context",
    "error_max_turns": "turns",
    "error_max_budget_usd": "budget",
}


def launch(order: Order, call: CallContext) -> Launch:
    settings = order.agent.settings
    argv = ["-p", "--output-format", "stream-json", "--verbose", *cli_.model_words(order, "--model")]
    if call.boxed:
        argv.append("--dangerously-skip-permissions")
    else:
        allowed = (*_EDITS, *(f"Bash({run})" for run in cli_.visible_checks(order)))
        argv += ["--permission-mode", "acceptEdits", "--allowedTools"]
        argv += [*allowed, *cli_.setting_lines(settings, "allow")]
        # A project's hooks and servers are its own programs: without a box nothing would hold them.
        argv += ["--strict-mcp-config", "--settings", '{"disableAllHooks":true}']
    if call.session:
        argv += ["--resume", call.session.id]
    if "max_turns" in settings:
        argv += ["--max-turns", settings["max_turns"]]
    if call.cost_left is not None:
        argv += ["--max-budget-usd", f"{max(0.01, call.cost_left):.2f}"]
    # Root may bypass permissions only where this says that something else holds it.
    return cli_.launch(CLI, order, call, *argv, env={"IS_SANDBOX": "1"} if call.boxed else None)


def _system(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    kind = text(fields, "subtype")
    if kind == "init":
        session = words(fields, "session_id", 100)
        if session:
            yield SessionSeen(session)
    elif kind == "api_retry":
        yield from _retry(fields)


def _retry(fields: Fields) -> Iterator[AgentFact]:
    code = words(fields, "error", 60)
    found: FaultKind = kind_of(status(fields.get("error_status")), code) or "network"
    delay = (number(fields, "retry_delay_ms") or 0.0) / 1000
    message = f"the provider answered {fields.get('error_status') or 'nothing'} ({code or 'no reason'})"
    yield retry_fact(found, message, delay)


def _rate_limit(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    info = table(fields, "rate_limit_info")
    if info.get("status") == "rejected":
        kind = words(info, "rateLimitType", 40).replace("_", " ")
        yield LimitHit(
            f"usage limit reached ({kind or 'no kind named'})", epoch_seconds(info.get("resetsAt"))
        )


def _assistant(account: Account, fields: Fields) -> Iterator[AgentFact]:
    message = table(fields, "message")
    account.seen["stop"] = words(message, "stop_reason", 40)
    if fields.get("is_api_error_message") is True or message.get("model") == _NO_MODEL:
        # The CLI's own words in the agent's place.
        account.seen["own"] = "".join(text(block, "text") for block in rows(message, "content"))
        return
    account.seen["model"] = words(message, "model", 100)
    if used := table(message, "usage"):
        counts = (
            count_of(used, "input_tokens", "cache_creation_input_tokens"),
            count_of(used, "output_tokens"),
        )
        cached = count_of(used, "cache_read_input_tokens")
        account.seen[f"used {words(message, 'id', 100)}"] = json.dumps([counts[0], cached, counts[1]])
    yield from blocks.assistant_facts(fields)


def _broken_off(account: Account) -> Iterator[AgentFact]:
    """Without a result: what its messages told, each of which is told again as it grows."""
    told = [json.loads(value) for key, value in account.seen.items() if key.startswith("used ")]
    if told:
        fresh, cached, written = (sum(count or 0 for count in counts) for counts in zip(*told, strict=True))
        yield Spent(fresh + cached + written, None, fresh, cached, written)


def _result(account: Account, fields: Fields) -> Iterator[AgentFact | Total]:
    yield _totals(fields)
    yield from blocks.denials(fields)
    said = text(fields, "result")
    reason = words(fields, "terminal_reason", 40) or words(fields, "subtype", 40)
    capped = _REASONS.get(reason) or _REASONS.get(words(fields, "subtype", 40))
    own = said != "" and account.seen.get("own") == said and is_limit(said)  # some versions call it a success
    if fields.get("is_error") is not True and capped is None and not own:
        yield Closed(ok=True, words=said or None)
        return
    yield Closed(ok=False)
    message = words(fields, "result") or "; ".join(map(str, fields.get("errors") or ())) or reason
    if capped is not None:
        yield FaultSeen(capped, message)
        return
    if "refusal" in (words(fields, "stop_reason", 40), account.seen.get("stop")):
        yield FaultSeen("request", f"the model refused to continue: {message}")
        return
    found = fault_fact(
        status(fields.get("api_error_status")),
        message,
        code=words(fields, "error", 60) or words(fields, "api_error", 60),
        told=said,
        otherwise="network" if reason == "api_error" else "crash",
    )
    if not isinstance(found, LimitHit) or account.limit is None or account.limit.reset_at is None:
        yield found  # else its own event has said when it is lifted


def _totals(fields: Fields) -> Total:
    """Of the whole conversation: `usage` is of one turn, and a call may have several results."""
    models = [row for row in table(fields, "modelUsage").values() if isinstance(row, dict)]
    cost = number(fields, "total_cost_usd")
    if not isinstance(fields.get("modelUsage"), dict):
        return Total(cost=cost)
    fresh = sum(count_of(model, "inputTokens", "cacheCreationInputTokens") or 0 for model in models)
    cached = sum(count_of(model, "cacheReadInputTokens") or 0 for model in models)
    written = sum(count_of(model, "outputTokens") or 0 for model in models)
    return Total(fresh + cached + written, cost, fresh, cached, written)


FORMAT = Format(
    events={"system": _system, "assistant": _assistant, "result": _result, "rate_limit_event": _rate_limit},
    broken_off=_broken_off,
    quiet=frozenset(
        {"user", "stream_event", "tool_progress", "auth_status", "tool_use_summary", "keep_alive"}
    ),
)
