"""Changing one key of the user's config.toml; every other line stays as it is, comments too."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from ralph.errors import UserError
from ralph.shell.config.schema import BY_KEY, quote_text
from ralph.shell.config.values import parse, parse_text
from ralph.shell.files.write_whole import write_whole

FILE = "config.toml"
# Bundles of limits: what S2 calls modes.
PRESETS: Mapping[str, Mapping[str, str]] = {
    "quick": {"limits.iterations": "3", "limits.time": "15m"},
    "thorough": {"limits.iterations": "20", "limits.time": "2h"},
    "ci": {"limits.iterations": "5", "limits.time": "30m", "display": "none"},
}
_TABLE = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?$")


def config_path(folder: str) -> str:
    return os.path.join(folder, FILE)


def known_key(key: str) -> str:
    """The key, if it is one that a single value can be given to."""
    option = BY_KEY.get(key)
    if option is None or "*" in key or option.kind in ("waivers", "quarantine", "env", "table"):
        from difflib import get_close_matches

        near = get_close_matches(key, [one for one in BY_KEY if "*" not in one], n=1, cutoff=0.5)
        why = f"did you mean '{near[0]}'?" if near else "ralph config show --all lists every key"
        raise UserError(
            f"'{key}' is no setting with a single value",
            code="E-CONFIG-KEY",
            why=why,
            next="ralph config show --all",
        )
    return key


def set_values(folder: str, values: Mapping[str, str]) -> str:
    """Write these values; the path. What Ralph would not take is refused before anything is written."""
    for key, text in values.items():
        option = BY_KEY[known_key(key)]
        try:
            parse_text(option, text)
        except ValueError as error:
            raise UserError(
                f"{key} is '{text}': expected {error}", code="E-CONFIG-VALUE", next="ralph config show --all"
            ) from None
    return _change(folder, {key: _literal(key, text) for key, text in values.items()})


def reset_keys(folder: str, keys: tuple[str, ...]) -> str:
    """Remove these keys, or the whole content without any; the path. What was there is kept beside it."""
    return _change(folder, {known_key(key): None for key in keys} if keys else None)


def _literal(key: str, text: str) -> str:
    """The value as TOML: as the option's own kind has it in a file, so that Ralph takes what it wrote."""
    option = BY_KEY[key]
    plain = text.strip()
    tries = [quote_text(text), plain, "[" + ", ".join(map(quote_text, filter(None, text.split(":")))) + "]"]
    if option.kind == "switch":
        tries = ["true" if parse_text(option, text) else "false"]
    elif re.fullmatch(r"\d+(?:\.\d+)?", plain):
        tries = [plain, quote_text(text)]
    wanted = parse_text(option, text)
    for literal in tries:
        try:
            if parse(option, tomllib.loads(f"x = {literal}")["x"]) == wanted:
                return literal
        except ValueError:
            continue  # as a file has it, this kind is written in another way
    raise UserError(f"{key} cannot be written as one value", code="E-CONFIG-EDIT", next="ralph config edit")


def _change(folder: str, values: Mapping[str, str | None] | None) -> str:
    path = config_path(folder)
    old = _read(path)
    text = "" if values is None else old
    for key, literal in (values or {}).items():
        text = _with_key(text, key, literal)
    try:
        if values is not None and _without(tomllib.loads(text), values) != _without(
            tomllib.loads(old), values
        ):
            raise ValueError("another setting would change with it")
    except ValueError as error:  # a TOMLDecodeError is one
        raise UserError(
            f"'{path}' cannot be changed line by line",
            code="E-CONFIG-EDIT",
            why=str(error),
            next="ralph config edit",
        ) from None
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if old and values is None:
        write_whole(f"{path}.bak", old.encode(), 0o600)
    write_whole(os.path.realpath(path), text.encode(), 0o600)  # what stands there counts as approved
    return path


def _without(found: dict[str, Any], keys: Mapping[str, object]) -> dict[str, Any]:
    """What is set besides these keys; a table with nothing left in it counts as none."""
    left: dict[str, Any] = {}
    for name, value in found.items():
        below = {key.partition(".")[2]: 0 for key in keys if key.startswith(f"{name}.")}
        if isinstance(value, dict) and (value := _without(value, below)) == {}:
            continue
        if name not in keys:
            left[name] = value
    return left


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        tomllib.loads(text)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise UserError(
            f"'{path}' cannot be read", code="E-CONFIG-EDIT", why=str(error), next="ralph config edit"
        ) from None
    return text


def _with_key(text: str, key: str, literal: str | None) -> str:
    """The text with the key set to a literal, or without it (None); dotted or in its table."""
    table, _, name = key.rpartition(".")
    lines, inside, found, end = text.splitlines(), "", None, None
    for at, line in enumerate(lines):
        head = _TABLE.match(line)
        inside = head[1] if head else inside
        if head is None and inside == table:
            end = at + 1
        wanted = name if inside == table else key if not inside else None
        if wanted and head is None and re.match(rf"\s*{re.escape(wanted)}\s*=", line):
            found = at
        if head and inside == table:
            end = at + 1
    if found is not None:
        lines[found : found + 1] = (
            [] if literal is None else [f"{lines[found].split('=')[0].rstrip()} = {literal}"]
        )
    elif literal is not None and table and end is None:
        lines += [*([""] if lines else []), f"[{table}]", f"{name} = {literal}"]
    elif literal is not None:
        lines.insert(end if end is not None else 0, f"{name} = {literal}")
    return "".join(f"{line}\n" for line in lines)
