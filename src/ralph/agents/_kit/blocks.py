"""Messages made of content blocks, as Claude Code prints them and others copied it: to facts.

Words of sub-agents are theirs, not the agent's: only messages without a parent count as said.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph.agents import AgentFact, Denied, Said, ToolUsed
from ralph.agents._kit.fields import Fields, rows, size_of, table, text, words

_PATHS = ("file_path", "absolute_path", "notebook_path", "path", "filePath")
_DETAILS = ("command", "pattern", "query", "url", "description")


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
    pairs = [
        (_first(edit, "old_string", "oldString"), _first(edit, "new_string", "newString")) for edit in edits
    ]
    whole = text(given, "content")
    added = removed = None
    if any(new for _, new in pairs) or any(old for old, _ in pairs):
        sizes = [size_of(old, new) for old, new in pairs]
        added, removed = sum(size[0] for size in sizes), sum(size[1] for size in sizes)
    elif whole:
        added, removed = size_of("", whole)
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
