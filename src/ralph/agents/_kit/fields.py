"""Reading values out of foreign JSON: each either has the expected shape and a sane size, or is not there.

Every adapter's stream is hostile: it may hold what a model, a tool or a test printed. Nothing here raises.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from ralph.core.text.clean import one_line

WIDTH = 400  # characters of a value that is shown on one line
MAX_NUMBER = 10**15  # of anything that is counted
_FIRST_MILLISECONDS = 1e11  # as seconds this is the year 5138: such a time is in milliseconds
_LAST_MOMENT = 1e14

Fields = dict[str, Any]


def parse_object(line: bytes) -> Fields | None:
    """The object on a line; None for anything else."""
    try:
        found = _decode_line(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _decode_line(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError):  # once more with bad bytes replaced: few lines have any
        return msgspec.json.decode(line.decode("utf-8", "replace"))


def table(fields: Fields, *keys: str) -> Fields:
    """The object found by going down these keys; an empty one where there is none."""
    found: Any = fields
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def rows(fields: Fields, key: str) -> list[Fields]:
    """The objects in a list."""
    found = fields.get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def words(fields: Fields, key: str, width: int = WIDTH) -> str:
    """A text on one line, cut."""
    value = fields.get(key, "")
    return one_line(value[: 8 * width], width) if isinstance(value, str) else ""


def text(fields: Fields, key: str) -> str:
    """A text as it is."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def number(fields: Fields, key: str, most: float = MAX_NUMBER) -> float | None:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None


def count_of(fields: Fields, *keys: str) -> int | None:
    """A count; of several keys the sum of those that are there."""
    found = [value for key in keys if (value := number(fields, key)) is not None]
    return int(sum(found)) if found else None


def status(value: object) -> int | None:
    """An HTTP status, as a number or as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 100 <= value <= 599:
        return None
    return value


def epoch_seconds(value: object) -> float | None:
    """Epoch seconds from seconds, milliseconds or ISO 8601 (without a zone: UTC)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
            zoned = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
            return zoned.timestamp()
        except (ValueError, OverflowError):
            pass
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not 0 < value <= _LAST_MOMENT:
        return None
    return value / 1000 if value >= _FIRST_MILLISECONDS else float(value)


def size_of(old: str, new: str) -> tuple[int, int]:
    """Lines added and removed when one text takes the place of another; equal ends do not count."""
    before, after = old.splitlines(), new.splitlines()
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return len(after) - head - tail, len(before) - head - tail


def patch_size(patch: str) -> tuple[int, int]:
    """Lines added and removed in a patch of any of the usual forms."""
    added = removed = 0
    for line in patch.splitlines():
        if line.startswith("+") and not line.startswith("+++"):
            added += 1
        elif line.startswith("-") and not line.startswith("---"):
            removed += 1
    return added, removed
