"""pi: `pi -p --mode json`, the prompt on stdin. Verified with 0.74.

It exits with 0 also when its provider refused: the last message of the agent says whether it ended well. Each
message tells what it has used by itself, with a cost by the prices of its own list. It has no permissions to
ask for: without a box it gets the tools that read and edit, and no shell.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph.agents import (
    AgentFact,
    CallContext,
    Closed,
    FaultSeen,
    Launch,
    Said,
    SessionSeen,
    Spent,
)
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.environ import PROVIDERS
from ralph.agents._kit.faults import fault_in_words, retry_fact
from ralph.agents._kit.fields import Fields, count_of, number, rows, table, text, words
from ralph.agents._kit.folders import Folder, Login
from ralph.agents._kit.stream import Account, Format
from ralph.core.model.order import Order

CLI = Cli(
    name="pi",
    program="pi",
    install="npm install -g @earendil-works/pi-coding-agent",
    env=("PI_*", *PROVIDERS),
    keys=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
    signs=("auth.json", "models.json"),
    login="pi, then /login",
    certain=False,
    folders=(
        Folder(
            ".pi/agent",
            "PI_CODING_AGENT_DIR",
            files=("settings.json", "models.json", "AGENTS.md", "SYSTEM.md", "APPEND_SYSTEM.md"),
            shown=("prompts", "skills", "themes", "extensions", "bin"),
            logins=(
                Login(
                    file="auth.json", tokens=("access", "refresh"), when="expires", same=("type",), each=True
                ),
            ),
            programs={"settings.json": {"packages": "plugins", "extensions": "plugins"}},
            starting={"extensions": "plugins"},
        ),
    ),
    quiet={"PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
    features=("tokens", "cost", "resume", "allow-list"),
    effort=("--thinking", "{}"),
    efforts=("minimal", "low", "medium", "high", "xhigh"),
)


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["-p", "--mode", "json", *cli_.model_words(order, "--model")]
    if not call.boxed:
        argv += ["--tools", "read,edit,write,grep,find,ls", "--no-extensions"]
    if call.session:
        argv += ["--session", call.session.id]
    return cli_.launch(CLI, order, call, *argv)


def _session(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    if found := words(fields, "id", 100):
        yield SessionSeen(found)


def _message(account: Account, fields: Fields) -> Iterator[AgentFact]:
    message = table(fields, "message")
    if message.get("role") != "assistant":
        return
    account.seen["model"] = words(message, "model", 100)
    said = "".join(text(block, "text") for block in rows(message, "content") if block.get("type") == "text")
    if said:
        yield Said(said)
    for block in rows(message, "content"):
        if block.get("type") == "toolCall":
            yield blocks.tool_use(words(block, "name", 80), table(block, "arguments"))
    usage = table(message, "usage")
    if usage:
        yield Spent(
            count_of(usage, "totalTokens"),
            number(table(usage, "cost"), "total"),
            count_of(usage, "input", "cacheWrite"),
            count_of(usage, "cacheRead"),
            count_of(usage, "output"),
        )
    account.seen["stop"] = words(message, "stopReason", 40)
    account.seen["error"] = text(message, "errorMessage")[:4000]


def _retry(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    delay = (number(fields, "delayMs") or 0.0) / 1000
    message = words(fields, "errorMessage") or "the provider did not answer as it should"
    found = fault_in_words(message)
    yield retry_fact(found.kind if isinstance(found, FaultSeen) else "limit", message, delay)


def _end(account: Account, _fields: Fields) -> Iterator[AgentFact]:
    stop, error = account.seen.get("stop", ""), account.seen.get("error", "")
    yield Closed(ok=stop not in ("error", "aborted", ""))
    if stop == "error":
        yield fault_in_words(error or "the agent reported an error without words")
    elif stop == "length":
        yield FaultSeen("crash", "the model's answer was cut at its longest")


FORMAT = Format(
    events={"session": _session, "message_end": _message, "auto_retry_start": _retry, "agent_end": _end},
    quiet=frozenset(
        {
            *("agent_start", "turn_start", "turn_end", "message_start", "message_update", "queue_update"),
            *("tool_execution_start", "tool_execution_update", "tool_execution_end", "auto_retry_end"),
            *("compaction_start", "compaction_end", "session_info_changed", "thinking_level_changed"),
        }
    ),
)
