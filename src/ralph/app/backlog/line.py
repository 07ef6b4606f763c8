"""One line on the backlog for `ralph status`: light, because that must start in milliseconds."""

from __future__ import annotations

import os
from collections import Counter

import msgspec

from ralph.shell.backlog.folders import FOLDERS, NAME


class _StatusOnly(msgspec.Struct):
    status: str = ""


class _ListOnly(msgspec.Struct):
    items: list[_StatusOnly] = []


def backlog_line(top: str | None) -> str:
    """How many items pass; "" without a backlog in one of its usual places, or with one that is torn."""
    for folder in FOLDERS if top else ():
        try:
            with open(os.path.join(top or "", folder, NAME), "rb") as file:
                found = msgspec.json.decode(file.read().removeprefix(b"\xef\xbb\xbf"), type=_ListOnly)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue
        counts = Counter(one.status for one in found.items)
        total = len(found.items) - counts["CANCELLED"]
        blocked = f", {counts['BLOCKED']} blocked" if counts["BLOCKED"] else ""
        return f"backlog: {counts['PASSING']} of {total} passing{blocked}" if found.items else ""
    return ""
