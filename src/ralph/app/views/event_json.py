"""Events as JSON lines: the public schema of `--json`, described in docs/json.md.

{"v": 1, "seq": 7, "loop": "fix-auth-7f3a91c2", "at": "2026-01-31T…Z", "kind": "GateEnded", "body": …}
`v` is the version of the line and its bodies; it is raised when a field changes its meaning or goes away,
never when one is added. Strings are cleaned and redacted: raw bytes stay in the state directory.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph.app.words.format import iso, safe_lines
from ralph.core.model import events as e
from ralph.core.model.parts import flat_fields
from ralph.shell.journal.entries import decode_row
from ralph.shell.journal.store import JournalRow

VERSION = 1


def event_line(seq: int, loop: str, event: e.AnyEvent) -> bytes:
    return _line(seq, loop, event.at, e.kind_of(event), _full(event))


def row_line(row: JournalRow) -> bytes:
    """The same from a journal row, also of a kind that this Ralph does not know."""
    event = decode_row(row)
    if event is not None:
        return event_line(row.seq, row.loop, event)
    try:
        body = msgspec.json.decode(row.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = {}
    if not isinstance(body, dict):
        body = {}
    at = body.get("at")
    return _line(row.seq, row.loop, at if isinstance(at, int | float) else row.at / 1000, row.kind, body)


def _line(seq: int, loop: str, at: float, kind: str, body: dict[str, Any]) -> bytes:
    inner = {key: _safe(value) for key, value in body.items() if key not in ("kind", "at")}
    return msgspec.json.encode(
        {"v": VERSION, "seq": seq, "loop": loop, "at": iso(at), "kind": kind, "body": inner}
    )


def _full(value: Any) -> Any:
    """Every field, also those that the journal leaves out because they have their default."""
    if isinstance(value, msgspec.Struct):
        return {name: _full(part) for name, part in flat_fields(value).items()}
    if isinstance(value, list | tuple):
        return [_full(item) for item in value]
    if isinstance(value, dict):
        return {key: _full(item) for key, item in value.items()}
    return value


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return safe_lines(value)
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    if isinstance(value, dict):
        return {safe_lines(str(key)): _safe(item) for key, item in value.items()}
    return value
