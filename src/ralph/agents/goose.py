"""goose: `goose run -i - --output-format stream-json`, the prompt on stdin.

It reports failures as assistant text and exits with 0. What tells its own words from the model's is
structured: a message of the model carries `metadata.inference`, one of goose itself does not. Totals are of
the whole conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.agents import AgentFact, CallContext, Closed, FaultSeen, Launch, Said
from ralph.agents._kit import blocks
from ralph.agents._kit import cli as cli_
from ralph.agents._kit.cli import Cli
from ralph.agents._kit.environ import PROVIDERS
from ralph.agents._kit.faults import fault_fact
from ralph.agents._kit.fields import Fields, count_of, number, rows, status, table, text, words
from ralph.agents._kit.folders import Folder
from ralph.agents._kit.stream import Account, Format, Total
from ralph.core.model.agent import FaultKind
from ralph.core.model.order import Order

CLI = Cli(
    name="goose",
    program="goose",
    install="npm install -g @aaif/goose-binary-linux-x64",
    env=("GOOSE_*", *PROVIDERS),
    keys=("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"),
    signs=("secrets.yaml", "config.yaml"),
    login="goose configure",
    certain=False,
    folders=(
        Folder(
            ".config/goose",
            "XDG_CONFIG_HOME",
            "goose",
            files=("config.yaml", "secrets.yaml", "profiles.yaml", ".goosehints"),
            shown=("custom_providers", "memory", "recipes"),
        ),
    ),
    quiet={
        "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_ENABLED": "false",
        # Retries stay, the waits between them go: it would sit out an hour without a word.
        "GOOSE_PROVIDER_SKIP_BACKOFF": "true",
    },
    features=("tokens", "resume", "turns"),
    moved_by=("OPENAI_HOST", "ANTHROPIC_HOST", "OLLAMA_HOST"),
)
_STATUS = re.compile(r"\((\d{3})\b|\bStatus: (\d{3})\b")
_KINDS: dict[str, FaultKind] = {"authentication": "auth", "credits_exhausted": "credit"}
# Beginnings of its own messages: the only place where it says what went wrong.
_OWN: tuple[tuple[str, FaultKind], ...] = (
    ("Ran into this error: Authentication error", "auth"),
    ("Ran into this error: Rate limit", "limit"),
    ("Ran into this error: Server error: Overloaded", "overload"),
    ("Ran into this error: Server error", "server"),
    ("Ran into this error: Credits exhausted", "credit"),
    ("Ran into this error: Context length", "context"),
    ("Ran into this error: Request failed", "request"),
    ("Ran into this error", "crash"),
    ("Network error", "network"),
    ("I've reached the maximum number of actions", "turns"),
    ("Unable to continue: Context limit", "context"),
)


def launch(order: Order, call: CallContext) -> Launch:
    argv = ["run", "-i", "-", "--output-format", "stream-json", "--quiet"]
    argv += ["--no-profile", "--with-builtin", "developer", *cli_.model_words(order, "--model")]
    session = call.session.id if call.session else f"ralph-{call.token}"
    argv += [*(("-r",) if call.session else ()), "-n", session]
    if "max_turns" in order.agent.settings:
        argv += ["--max-turns", order.agent.settings["max_turns"]]
    return cli_.launch(CLI, order, call, *argv, session=session)


def _message(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    message = table(fields, "message")
    if message.get("role") != "assistant":
        return
    own = "inference" not in table(message, "metadata")
    for block in rows(message, "content"):
        match block.get("type"):
            case "text" if own and own_fault_kind(text(block, "text")):
                yield failure_fact(words(block, "text"))
            case "text":
                yield Said(text(block, "text"), words(message, "id", 100))
            case "toolRequest":
                call = table(block, "toolCall", "value")
                yield blocks.tool_use(words(call, "name", 80), table(call, "arguments"))
            case "error":
                kind = _KINDS.get(words(block, "kind", 60))
                told = words(block, "message")
                yield FaultSeen(kind, told) if kind else failure_fact(told)
            case "systemNotification" if own_fault_kind(words(block, "msg")):
                yield failure_fact(words(block, "msg"))
            case _:
                pass


def own_fault_kind(said: str) -> FaultKind | None:
    """What a message of goose itself reports; None for any other words."""
    return next((kind for beginning, kind in _OWN if said.startswith(beginning)), None)


def failure_fact(message: str) -> AgentFact:
    found = _STATUS.search(message)
    code = status(next(filter(None, found.groups()))) if found else None
    kind = own_fault_kind(message)
    if kind in ("limit", None) or (code is not None and kind in ("server", "request")):
        return fault_fact(code or (429 if kind == "limit" else None), message)
    return FaultSeen(kind, message)


def _complete(account: Account, fields: Fields) -> Iterator[AgentFact | Total]:
    total = count_of(fields, "total_tokens")
    yield Total(
        total,
        number(fields, "cost_usd"),
        count_of(fields, "input_tokens", "cache_write_input_tokens"),
        count_of(fields, "cache_read_input_tokens"),
        count_of(fields, "output_tokens"),
    )
    failed = account.fault is not None or account.limit is not None or not total
    yield Closed(ok=not failed)


def _error(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    if account.fault is None and account.limit is None:
        yield failure_fact(words(fields, "error"))


FORMAT = Format(
    events={"message": _message, "complete": _complete, "error": _error}, quiet=frozenset({"notification"})
)
