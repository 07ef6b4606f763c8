"""Quarantine: a flaky test that somebody owns, until a day. After that day it counts again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime

WORDS = re.compile(r"(?P<owner>[^\n]{1,80}?) until (?P<day>\d{4}-\d{2}-\d{2}): (?P<reason>[^\n]{1,400})")


def checked(said: str) -> str:
    """The entry as it was written. Raises ValueError when owner, day or reason is missing."""
    match = WORDS.fullmatch(said.strip())
    if match is None or not match["owner"].strip():
        raise ValueError("no owner, day or reason")
    date.fromisoformat(match["day"])
    return said.strip()


def in_quarantine(entries: Mapping[str, str], now: float) -> tuple[dict[str, str], tuple[str, ...]]:
    """What holds today, and a warning for each that has expired."""
    today = datetime.fromtimestamp(now, UTC).date()
    held, warnings = {}, []
    for test, said in sorted(entries.items()):
        match = WORDS.fullmatch(said)
        if match is not None and date.fromisoformat(match["day"]) >= today:
            held[test] = said
        else:
            warnings.append(f'the quarantine of "{test}" has expired ({said}), so it counts again')
    return held, tuple(warnings)
