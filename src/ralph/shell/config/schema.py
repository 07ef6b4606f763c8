"""The one table of options, `options.json`, and what is derived from it.

That is everything else: what files may hold, which variables and flags are read, the policy for repositories,
the help texts and (tools/docs_ui.py) the table in docs/config.md. No value is read here (`values`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from ralph.core.model.team.terms import ROLES
from ralph.core.text import units
from ralph.shell.config.settings import Option, Value


def _load() -> Iterator[Option]:
    with open(os.path.join(os.path.dirname(__file__), "options.json"), "rb") as table:
        rows = msgspec.json.decode(table.read(), type=list[Option])
    for row in rows:
        if "ROLE" not in row.key:
            yield row
        for role in ROLES if "ROLE" in row.key else ():
            yield msgspec.structs.replace(row, key=row.key.replace("ROLE", role))
    for row in rows:
        if row.key.startswith("limits."):
            yield Option(f"profiles.*.{row.key}", row.kind, row.doc, project="approve")


OPTIONS: tuple[Option, ...] = tuple(_load())
BY_KEY: dict[str, Option] = {option.key: option for option in OPTIONS}
LIMIT_KEYS: tuple[str, ...] = tuple(key for key in BY_KEY if key.startswith("limits."))
NAMED: frozenset[str] = frozenset({"gates", "agents", "profiles"})
PREFIXES: frozenset[str] = frozenset(
    ".".join(option.key.split(".")[:depth])
    for option in OPTIONS
    for depth in range(1, option.key.count(".") + 1)
)
ENV: dict[str, Option] = {option.env: option for option in OPTIONS if option.env}
FLAGS: dict[str, Option] = {option.flag: option for option in OPTIONS if option.flag}


def pattern(path: tuple[str, ...]) -> str:
    """The key under which the table knows a concrete path: gates.tests.run is gates.*.run."""
    if len(path) > 1 and path[0] in NAMED:
        path = (path[0], "*", *path[2:])
    return ".".join(path)


def option_of(key: str) -> Option:
    return BY_KEY[pattern(tuple(key.split(".")))]


def format_value(option: Option, value: Value) -> str:
    """A value as one would write it."""
    if value is None:
        return "unlimited" if option.kind == "iterations" else ""
    if option.kind == "duration" and isinstance(value, int | float):
        return units.duration_words(value)
    if option.kind == "money" and isinstance(value, int | float):
        return units.money_words(value)
    if option.kind == "size" and isinstance(value, int):
        return units.size_words(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if option.kind == "dimensions" and isinstance(value, tuple):
        return "[" + ", ".join(escape_invisible(part) for part in value) + "]"
    if isinstance(value, tuple):
        return "[" + ", ".join(quote_text(part) for part in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in sorted(value.items())) + "}"
    return value if isinstance(value, str) and value.isprintable() else escape_invisible(str(value))


def quote_text(text: str) -> str:
    return '"' + escape_invisible(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def escape_invisible(text: str) -> str:
    """Nothing invisible: control, bidirectional and other unprintable characters become escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )
