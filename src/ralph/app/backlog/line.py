"""One line on the backlog for `ralph status`: light, because that must start in milliseconds."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ralph.errors import RalphError
from ralph.shell.backlog.folders import FOLDERS, NAME
from ralph.shell.state.directory import config_dir

_TABLE = re.compile(rb"^\s*(?:\[\s*(?:tool\.ralph\.)?)?backlog\b", re.MULTILINE)


class _StatusOnly(msgspec.Struct):
    status: str = ""


class _ListOnly(msgspec.Struct):
    items: list[_StatusOnly] = []


def backlog_line(top: str | None, cwd: str, env: Mapping[str, str]) -> str:
    """How many items pass; "" without a backlog, or with one that is torn."""
    if top is None:
        return ""
    named = _named_file(top, cwd, env)
    for path in (named,) if named else tuple(os.path.join(folder, NAME) for folder in FOLDERS):
        try:
            with open(os.path.join(top, path), "rb") as file:
                found = msgspec.json.decode(file.read().removeprefix(b"\xef\xbb\xbf"), type=_ListOnly)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue
        counts = Counter(one.status for one in found.items)
        total = len(found.items) - counts["CANCELLED"]
        blocked = f", {counts['BLOCKED']} blocked" if counts["BLOCKED"] else ""
        return f"backlog: {counts['PASSING']} of {total} passing{blocked}" if found.items else ""
    return ""


def _named_file(top: str, cwd: str, env: Mapping[str, str]) -> str:
    """What `[backlog] file` says; the settings are read only where one of their files speaks of a backlog."""
    files = [os.path.join(folder, name) for folder in {top, cwd} for name in ("ralph.toml", "pyproject.toml")]
    files.append(os.path.join(config_dir(env), "config.toml"))
    try:
        if any(_TABLE.search(Path(path).read_bytes()) for path in files if os.path.isfile(path)):
            from ralph.app.backlog.desk import open_desk

            return open_desk(cwd, env).settings.backlog.file
    except (OSError, RalphError):
        pass
    return ""
