"""Messages made of content blocks, as Claude Code prints them and others copied it: to facts.

Words of sub-agents are theirs, not the agent's: only messages without a parent count as said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ralph.agents import AgentFact, Closed, Denied, Said, SessionSeen, ToolUsed
from ralph.agents._kit.faults import fault_in_words
from ralph.agents._kit.fields import Fields, count_of, patch_size, rows, size_of, table, text, words
from ralph.agents._kit.stream import Account, Format, Made, Total

_PATHS = ("file_path", "absolute_path", "notebook_path", "path", "filePath", "dir_path")
_DETAILS = ("command", "pattern", "query", "url", "description")
_OLD = ("old_string", "oldString", "old_str", "before")
_NEW = ("new_string", "newString", "new_str", "after")


def assistant_facts(fields: Fields) -> Iterator[AgentFact]:
    """What one `assistant` event says and does."""
    own = fields.get("parent_tool_use_id") is None
    for block in rows(table(fields, "message"), "content"):
        if block.get("type") == "text" and own:
            yield Said(text(block, "text"))
        elif block.get("type") == "tool_use":
            yield tool_use(words(block, "name", 80), table(block, "input"))


def tool_use(name: str, given: Fields) -> ToolUsed:
    """A tool with the file it is about, and how much it changes there."""
    edits = rows(given, "edits") or [given]
    pairs = [(_first(edit, *_OLD), _first(edit, *_NEW)) for edit in edits]
    whole, patch = _first(given, "content", "file_text"), text(given, "patch")
    added = removed = None
    if any(new for _, new in pairs) or any(old for old, _ in pairs):
        sizes = [size_of(old, new) for old, new in pairs]
        added, removed = sum(size[0] for size in sizes), sum(size[1] for size in sizes)
    elif whole or patch:
        added, removed = size_of("", whole) if whole else patch_size(patch)
    path = next((found for key in _PATHS if (found := words(given, key))), "")
    detail = next((found for key in _DETAILS if (found := words(given, key))), "")
    return ToolUsed(name or "tool", path, detail, added, removed)


def denials(fields: Fields) -> Iterator[Denied]:
    """The permissions that a result says were refused."""
    for denial in rows(fields, "permission_denials"):
        tool = tool_use(words(denial, "tool_name", 80), table(denial, "tool_input"))
        yield Denied(" ".join(filter(None, (tool.tool, tool.path or tool.detail))))


def _first(fields: Fields, *keys: str) -> str:
    return next((found for key in keys if (found := text(fields, key))), "")


def plain_format(
    more: Mapping[str, Callable[[Account, Fields], Made]] | None = None, quiet: frozenset[str] = frozenset()
) -> Format:
    """The events of Claude Code as others copied them: how it began, messages, one result."""
    events = {"system": began, "assistant": _said, "result": _result, **(more or {})}
    return Format(events=events, quiet=quiet | {"user", "stream_event"})


def began(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    if text(fields, "subtype") == "init" and (session := words(fields, "session_id", 100)):
        yield SessionSeen(session)


def _said(_account: Account, fields: Fields) -> Iterator[AgentFact]:
    yield from assistant_facts(fields)


def _result(_account: Account, fields: Fields) -> Iterator[AgentFact | Total]:
    usage = table(fields, "usage")
    if usage:
        cached = count_of(usage, "cache_read_input_tokens")
        fresh = count_of(usage, "input_tokens", "cache_creation_input_tokens")
        written = count_of(usage, "output_tokens")
        yield Total((fresh or 0) + (cached or 0) + (written or 0), None, fresh, cached, written)
    yield from denials(fields)
    if fields.get("is_error") is not True and text(fields, "subtype") in ("", "success"):
        yield Closed(ok=True, words=text(fields, "result") or None)
        return
    yield Closed(ok=False)
    told = text(fields, "error") or text(fields, "result") or words(fields, "subtype", 60)
    yield fault_in_words(told[:400], told)
