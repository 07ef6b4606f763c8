"""What a user's settings of a CLI start by themselves: MCP servers, hooks, plugins. Off unless allowed.

They were chosen for a person at a screen. In a loop they would act, unseen, on work that nobody has looked at
yet; a hook may even keep an agent from ending. A project's own ones are part of its work tree and stay.
"""

from __future__ import annotations

import json
import os.path
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from ralph.agents._kit.fields import Fields, parse_object
from ralph.agents._kit.folders import Folder

SETTING = "use"  # of an agent: kinds that are allowed, such as "mcp hooks"
KINDS = {"mcp": "MCP server", "hooks": "hook", "plugins": "plugin"}
MAX_BYTES = 1 << 20
_COMMENT = re.compile(rb'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_-]+)")
_KEY = re.compile(r"\s*([A-Za-z0-9_-]+)\s*[.=]")


def allowed_kinds(settings: Mapping[str, str]) -> frozenset[str]:
    return frozenset(settings.get(SETTING, "").replace(",", " ").split())


def read_relaxed(data: bytes) -> Fields | None:
    """JSON, with the comments that several CLIs allow in it."""
    return parse_object(data) or parse_object(_COMMENT.sub(lambda found: found[1] or b" ", data))


def keep_harmless(folder: Folder, name: str, data: bytes, allowed: frozenset[str]) -> bytes | None:
    """A file of the user's without what starts programs; None when all of it does, or nobody can tell."""
    off = {key for key, kind in _entries(folder, name).items() if kind not in allowed}
    if not off:
        return data
    if "" in off:
        return None
    if name.endswith(".toml"):
        return _toml_without(data, off)
    content = read_relaxed(data)
    if content is None:
        return None
    return json.dumps({key: value for key, value in content.items() if key not in off}).encode()


def harmless_folders(folder: Folder, allowed: frozenset[str]) -> tuple[str, ...]:
    """Of the folders that are shown, those that start nothing by themselves."""
    return tuple(name for name in folder.shown if folder.starting.get(name, "") in {"", *allowed})


def find_programs(folder: Folder, place: str) -> dict[str, list[str]]:
    """Kind -> names of what the user has there."""
    found: dict[str, list[str]] = {}
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        for key, kind in _entries(folder, name).items():
            found.setdefault(kind, []).extend(_names(os.path.join(place, name), key))
        if (kind := folder.starting.get(name, "")) and os.path.isdir(os.path.join(place, name)):
            found.setdefault(kind, []).extend(sorted(os.listdir(os.path.join(place, name))))
    return {kind: list(dict.fromkeys(names)) for kind, names in found.items() if names}


def _entries(folder: Folder, name: str) -> dict[str, str]:
    return {
        key: kind
        for pattern, entries in folder.programs.items()
        if fnmatchcase(name, pattern)
        for key, kind in entries.items()
    }


def _names(path: str, key: str) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES)
        content = tomllib.loads(data.decode()) if path.endswith(".toml") else read_relaxed(data)
    except (OSError, ValueError):
        content = None
    value = content if key == "" else (content or {}).get(key)
    while isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("mcpServers", "hooks"):
        (value,) = value.values()
    if isinstance(value, dict):
        yield from (str(one) for one, on in value.items() if on is not False)
    elif value:
        yield key or os.path.basename(path)


def _toml_without(data: bytes, keys: set[str]) -> bytes | None:
    """Lines are left out, and what is left must then say exactly the rest; else nothing is kept."""
    try:
        whole = tomllib.loads(data.decode())
    except ValueError:
        return None
    kept, skipping, top = [], False, True
    for line in data.decode().splitlines(keepends=True):
        if table := _TABLE.match(line):
            skipping, top = table[1] in keys, False
        elif top and (key := _KEY.match(line)):
            skipping = key[1] in keys
        if not skipping:
            kept.append(line)
    text = "".join(kept)
    try:
        same = tomllib.loads(text) == {key: value for key, value in whole.items() if key not in keys}
    except ValueError:
        same = False
    return text.encode() if same else None
