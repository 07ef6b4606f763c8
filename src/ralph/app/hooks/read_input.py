"""What a host says on stdin, whichever of them it is: at most 100 KB, snake_case or camelCase."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_BYTES = 100_000
EVENTS = (
    *("Stop", "SubagentStop", "TaskCompleted", "TeammateIdle", "SubagentStart", "PreToolUse"),
    *("PostToolUse", "SessionStart"),
)
# What the hosts call the same.
_OTHER_NAMES = {
    "afteragent": "Stop",
    "agentstop": "Stop",
    "beforetool": "PreToolUse",
    "aftertool": "PostToolUse",
}
_KNOWN = {
    "toolargs": "tool_input",
    "toolresult": "tool_response",
    "prompt_response": "last_assistant_message",
}
_FIELD = re.compile(
    r'"(session_?[iI]d|cwd|tool_?[nN]ame|file_?[pP]ath|path|agent_?[iI]d)"\s*:\s*("(?:[^"\\]|\\.)*")'
)


def event_name(text: str) -> str:
    """One of EVENTS for any spelling of it; "" for what is none."""
    bare = re.sub(r"[^a-z]", "", text.lower())
    return next((one for one in EVENTS if one.lower() == bare), _OTHER_NAMES.get(bare, ""))


def read_hook_input(data: bytes) -> dict[str, Any]:
    """The fields by their snake_case names; of an input that is cut, those that stand in its beginning."""
    text = data[:MAX_BYTES].decode("utf-8", "replace")
    try:
        found = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        if len(data) <= MAX_BYTES:
            raise
        return _salvage(text)
    return _plain(found) if isinstance(found, dict) else {}


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    named = {re.sub(r"(?<=[a-z])([A-Z])", lambda one: "_" + one.group().lower(), key): key for key in found}
    fields = {
        _KNOWN.get(name.replace("_", ""), _KNOWN.get(name, name)): found[key] for name, key in named.items()
    }
    if isinstance(fields.get("tool_input"), str):  # one host hands its arguments over as text
        try:
            fields["tool_input"] = json.loads(fields["tool_input"])
        except (ValueError, RecursionError):
            fields["tool_input"] = {"command": fields["tool_input"]}
    return fields


def _salvage(text: str) -> dict[str, Any]:
    """Long inputs hold long contents behind short names; the first of each name is the field itself."""
    found: dict[str, Any] = {}
    for name, value in _FIELD.findall(text):
        try:
            found.setdefault(name, json.loads(value))
        except ValueError:
            continue
    fields = _plain(found)
    paths = {key: fields.pop(key) for key in ("file_path", "path") if key in fields}
    return {**fields, **({"tool_input": paths} if paths else {})}


def text_field(fields: dict[str, Any], name: str, most: int = 4000) -> str:
    value = fields.get(name)
    return value[:most] if isinstance(value, str) else ""


def background_work(fields: dict[str, Any]) -> int:
    """How many background tasks go on, by the host's own list: it will wake the agent when they end."""
    tasks = fields.get("background_tasks")
    over = ("completed", "failed", "stopped", "killed", "cancelled", "done")
    listed = tasks if isinstance(tasks, list) else []
    return sum(1 for one in listed if isinstance(one, dict) and one.get("status", "running") not in over)
