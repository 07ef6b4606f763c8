"""What the lines of `bridge` mean: updates of the agent, its stop reason, and why there is none.

The protocol's codes decide. Words are read in an error that is marked as one, and in goose's last message
when the usage is missing that it tells after every good turn: that is where it puts its errors. Figures that
are known to be of the last request only are none of the call: unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.agents import AgentFact, Closed, Denied, FaultSeen, Said, SessionSeen, Spent, ToolUsed
from ralph.agents import goose as goose_
from ralph.agents._kit.faults import fault_fact
from ralph.agents._kit.fields import Fields, count_of, number, rows, size_of, status, table, text, words
from ralph.agents._kit.stream import Account, Format, Total
from ralph.core.model.agent import FaultKind

LAST_REQUEST_ONLY = frozenset({"goose", "opencode"})  # whose usage is that of the last request
AUTH_REQUIRED, NO_METHOD = -32000, -32601
BAD_REQUEST = frozenset({-32600, -32602})
_STOPS: dict[str, tuple[FaultKind, str]] = {
    "max_tokens": ("turns", "the model's answer was cut off at its longest"),
    "max_turn_requests": ("turns", "the agent's own bound on requests was reached"),
    "refusal": ("request", "the agent refused to continue"),
    "cancelled": ("interrupted", "the agent says that the turn was cancelled"),
}
_HTTP = re.compile(r"(?:^|status|code|http|error)\W{0,4}([45]\d\d)\b", re.IGNORECASE)
_GONE = re.compile(
    r"^terminated$|fetch failed|ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|Connection error|"
    r"Network error|error sending request|Stream decode error|socket hang up"
)


def _session(account: Account, fields: Fields) -> Iterator[AgentFact]:
    account.seen["agent"] = words(table(fields, "agent"), "name", 60).lower()
    if fields.get("loaded") is True:
        account.seen["loaded"] = "yes"
    yield SessionSeen(words(fields, "id", 200))


def _chunk(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    update = table(fields, "update")
    content = table(update, "content")
    if content.get("type") == "text":
        yield Said(text(content, "text"), words(update, "messageId", 100) or "chunk")


def _tool(account: Account, fields: Fields) -> Iterator[AgentFact]:
    """One fact for a tool, at the first update that says enough; agents spread it over several."""
    update = table(fields, "update")
    key = f"tool {words(update, 'toolCallId', 100)}"
    known = account.seen.get(key, "")
    if known == "told":
        return
    kind = words(update, "kind", 40)
    given, (added, removed) = table(update, "rawInput"), _sizes(update)
    over = update.get("status") in ("completed", "failed")
    title = words(update, "title", 200) or known
    if added is None and not over and not given and kind in ("", "edit"):
        account.seen[key] = title
        return
    account.seen[key] = "told"
    yield ToolUsed(
        kind or title.split(" ")[0] or "tool",
        _path(update, given),
        words(given, "command") or (title if kind not in ("read", "edit") else ""),
        added,
        removed,
    )


def _path(update: Fields, given: Fields) -> str:
    located = next((words(row, "path") for row in rows(update, "locations")), "")
    return located or words(given, "path") or words(given, "file_path")


def _sizes(update: Fields) -> tuple[int | None, int | None]:
    diffs = [row for row in rows(update, "content") if row.get("type") == "diff"]
    given = table(update, "rawInput")
    if not diffs and isinstance(given.get("content"), str):
        diffs = [{"newText": given["content"]}]
    if not diffs and isinstance(given.get("after"), str):
        diffs = [{"oldText": given.get("before"), "newText": given["after"]}]
    if not diffs:
        return None, None
    sizes = [size_of(text(diff, "oldText"), text(diff, "newText")) for diff in diffs]
    return sum(size[0] for size in sizes), sum(size[1] for size in sizes)


def _usage(_account: Account, fields: Fields) -> Iterator[Total]:
    """The cost of the whole conversation so far, where an agent tells it."""
    cost = table(fields, "update", "cost")
    if cost.get("currency") == "USD" and number(cost, "amount") is not None:
        yield Total(cost=number(cost, "amount"))


def _permission(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    if fields.get("allowed") is not True:
        yield Denied(words(fields, "what", 200) or "a tool")


def _file(account: Account, fields: Fields) -> Iterator[AgentFact]:
    """Reading elsewhere got an error for an answer, no more; writing elsewhere is a matter for a person."""
    if fields.get("allowed") is True:
        account.seen["wrote"] = "yes"  # its tool is told by an update, where it tells of one
    elif fields.get("what") == "write":
        yield Denied(f"write {words(fields, 'path', 200)}, outside the workspace")


def _stop(account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from _spent_tokens(account, fields)
    reason = words(fields, "reason", 60)
    if reason == "end_turn":
        failure = _hidden_failure(account, fields)
        yield Closed(ok=failure is None)
        if failure is not None:
            yield failure
        return
    yield Closed(ok=False)
    kind, told = _STOPS.get(reason, ("protocol", "the agent gave a stop reason that ACP does not have"))
    yield FaultSeen(kind, f"{told} (ACP stop reason: {reason or 'none'})")


def _hidden_failure(account: Account, fields: Fields) -> AgentFact | None:
    """The failure behind a good end, where there is a sign of one."""
    if account.seen.get("agent") == "goose" and not table(fields, "usage"):
        if goose_.own_fault_kind(account.message):
            return goose_.failure_fact(account.message.splitlines()[0])
        return FaultSeen("hollow", "the agent ended its turn without having used its model")
    if account.spent.tokens == 0:  # told, and nothing: half an answer that broke off, for one
        return FaultSeen("hollow", "the agent ended its turn, but its model has counted no tokens")
    if not (account.message.strip() or account.tools or account.seen.get("wrote")):
        return FaultSeen("hollow", "the agent ended its turn without a word and without using a tool")
    return None


def _spent_tokens(account: Account, fields: Fields) -> Iterator[Spent]:
    if account.seen.get("agent") in LAST_REQUEST_ONLY or account.seen.get("loaded"):
        return
    usage = table(fields, "usage")
    counted = table(fields, "meta", "quota", "token_count")
    if count_of(counted, "input_tokens") is not None:
        fresh, written = count_of(counted, "input_tokens"), count_of(counted, "output_tokens")
        yield Spent(count_of(counted, "input_tokens", "output_tokens"), None, fresh, None, written)
    elif usage:
        cached = count_of(usage, "cachedReadTokens", "cachedWriteTokens")
        fresh, written = count_of(usage, "inputTokens"), count_of(usage, "outputTokens")
        yield Spent(count_of(usage, "totalTokens"), None, fresh, cached, written)


def _error(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    yield _failure(fields)


def _failure(fields: Fields) -> AgentFact:
    """The agent answered a request with an error: the protocol's code, or the provider's in its place."""
    code, stage = fields.get("code"), words(fields, "stage", 60)
    data = table(fields, "data")
    told = [
        words(fields, "message"),
        words(fields, "data"),
        *(words(data, key) for key in ("details", "message")),
    ]
    message = ": ".join(dict.fromkeys(filter(None, told))) or "the agent answered with an error and no words"
    if code == AUTH_REQUIRED:
        return FaultSeen("auth", message)
    if code == NO_METHOD and stage == "initialize":
        return FaultSeen("missing", f"the agent does not speak ACP: {message}")
    if stage == "session/set_model":
        return FaultSeen("request", f"the agent does not take its model over ACP: {message}")
    if _GONE.search(message):
        return FaultSeen("network", message)
    found = _HTTP.search(message)
    http = status(code) or status(data.get("code")) or status(data.get("status"))
    http = http or (status(found[1]) if found else None)
    return fault_fact(http, message, otherwise="request" if code in BAD_REQUEST else "crash")


def _agent_died(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    stage, code = words(fields, "stage", 60), fields.get("exit")
    how = f"it ended with {code}" if isinstance(code, int) and code >= 0 else f"it was killed ({code})"
    if stage == "initialize" and isinstance(code, int) and code >= 0:
        yield FaultSeen("missing", f"the agent does not speak ACP: {how} before it answered")
    else:
        yield FaultSeen("crash", f"the agent died before it answered {stage}: {how}")


def _silent(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    stage, seconds = words(fields, "stage", 60), number(fields, "seconds")
    doubt = "the agent does not speak ACP, or hangs" if stage == "initialize" else "the agent hangs"
    yield FaultSeen("protocol", f"{doubt}: no answer to {stage} within {seconds or 0:.0f} s")


def _version(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    offered, wanted = fields.get("offered"), fields.get("wanted")
    yield FaultSeen(
        "missing", f"the agent speaks version {offered!r:.20} of ACP, Ralph speaks {wanted!r:.20}"
    )


def _start_failed(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)
    yield FaultSeen("missing", words(fields, "message") or "the agent could not be started")


def _stopped(_account: Account, _fields: Fields) -> Iterator[AgentFact]:
    yield Closed(ok=False)


FORMAT = Format(
    events={
        "session": _session,
        "acp.agent_message_chunk": _chunk,
        "acp.tool_call": _tool,
        "acp.tool_call_update": _tool,
        "acp.usage_update": _usage,
        "permission": _permission,
        "file": _file,
        "stop": _stop,
        "error": _error,
        "gone": _agent_died,
        "silent": _silent,
        "version": _version,
        "unstarted": _start_failed,
        "stopped": _stopped,
    },
    quiet=frozenset(
        {
            *("unloaded", "acp.agent_thought_chunk", "acp.user_message_chunk", "acp.plan"),
            *("acp.available_commands_update", "acp.current_mode_update", "acp.config_option_update"),
            "acp.session_info_update",
        }
    ),
)
