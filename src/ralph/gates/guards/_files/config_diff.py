"""Configuration files that hold much besides a runner's settings: did the settings themselves change?

A dependency added to pyproject.toml or package.json is ordinary work; a changed test script or pytest
table is not. What cannot be parsed counts as changed.
"""

from __future__ import annotations

import configparser
import posixpath
import re
import tomllib
from collections.abc import Callable, Collection
from itertools import product
from typing import Any

import msgspec

from ralph.gates.command import word_set

_TOML_TOOLS = word_set(
    "pytest coverage ralph mypy ruff tox pyright basedpyright pylint flake8 bandit poe taskipy nox"
)
_TOML_INNER = (("pdm", "scripts"), ("hatch", "envs"), ("rye", "scripts"))
_INI_SECTIONS = word_set("pytest tool:pytest tox testenv coverage mypy flake8 pylint pycodestyle")
PACKAGE_KEYS = word_set("jest mocha vitest ava nyc c8 tap eslintConfig")
_Read = Callable[[str], bytes | None]
_LEADING = ("imports", "exports", "main", "module", "browser")


def settings_changed(path: str, base: bytes | None, result: bytes | None) -> bool | None:
    """None when this kind of file is judged as a whole."""
    name = path.rsplit("/", 1)[-1]
    if name.startswith("vite.config."):  # a build's config, and vitest's when it has a test table
        return base != result and bool(re.search(rb"\btest\b", (base or b"") + (result or b"")))
    look = {"pyproject.toml": _toml, "package.json": _json, "setup.cfg": _ini, "tox.ini": _ini}.get(name)
    if look is None:
        return None
    try:
        before, after = look(base), look(result)
    except (ValueError, TypeError, configparser.Error, msgspec.DecodeError, RecursionError, AttributeError):
        return base != result
    if name == "package.json":
        return _scripts_changed(before.pop("scripts"), after.pop("scripts")) or before != after
    return before != after


def ralph_changed(path: str, base: bytes | None, result: bytes | None) -> bool:
    """Did Ralph's own table in a pyproject.toml change?"""
    if path.rsplit("/", 1)[-1] != "pyproject.toml":
        return False
    try:
        old, new = (tomllib.loads((data or b"").decode("utf-8")) for data in (base, result))
        return bool(old.get("tool", {}).get("ralph") != new.get("tool", {}).get("ralph"))
    except (ValueError, AttributeError, RecursionError):
        return any(b"tool.ralph" in (data or b"") for data in (base, result))


def _toml(data: bytes | None) -> dict[str, Any]:
    parsed = tomllib.loads((data or b"").decode("utf-8"))
    tool = parsed.get("tool", {})
    seen = {name: tool[name] for name in _TOML_TOOLS if name in tool}
    seen |= {
        f"{outer}.{inner}": tool[outer][inner] for outer, inner in _TOML_INNER if inner in tool.get(outer, {})
    }
    plugins = parsed.get("project", {}).get("entry-points", {}).get("pytest11")
    return seen | ({"pytest11": plugins} if plugins else {})


def _ini(data: bytes | None) -> dict[str, Any]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string((data or b"").decode("utf-8"))
    seen: dict[str, Any] = {}
    for section in parser.sections():
        if section.split(":")[0] in _INI_SECTIONS or section in _INI_SECTIONS or section.startswith("mypy-"):
            seen[section] = dict(parser.items(section))
    if parser.has_option("options.entry_points", "pytest11"):
        seen["pytest11"] = parser.get("options.entry_points", "pytest11")
    return seen


def _json(data: bytes | None) -> dict[str, Any]:
    parsed = msgspec.json.decode(data or b"{}", type=dict[str, Any])
    scripts = parsed.get("scripts", {})
    if not isinstance(scripts, dict):
        raise TypeError("scripts is not a table")
    return {"scripts": scripts} | {key: parsed[key] for key in PACKAGE_KEYS if key in parsed}


def _scripts_changed(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """A new script is harmless, unless npm calls it by itself before or after an old one."""
    if any(after.get(name) != text for name, text in before.items()):
        return True
    called = {f"{when}{name}" for name in before for when in ("pre", "post")}
    return bool((after.keys() - before.keys()) & called)


def lead_as_before(path: str, base: _Read, result: _Read, at_base: Collection[str]) -> bytes | None:
    """A package.json whose names lead where they led, as long as all of that is left; None: they do."""
    try:
        old, new = (msgspec.json.decode(read(path) or b"{}", type=dict[str, Any]) for read in (base, result))
    except msgspec.DecodeError:
        return None

    def stays(to: object) -> bool:
        found = [_files_at(posixpath.join(posixpath.dirname(path), one), at_base) for one in _texts_in(to)]
        return all(files and all(result(one) is not None for one in files) for files in found)

    made = {key: _lead_back(old[key], new[key], stays) for key in _LEADING if key in old and key in new}
    return msgspec.json.encode(new | made) if any(new[key] != to for key, to in made.items()) else None


def _lead_back(old: Any, new: Any, stays: Callable[[object], bool]) -> Any:
    """By names; conditions have an order, and are taken as a whole. A new name may hide an old pattern."""
    if not all(isinstance(one, dict) and all(name[:1] in ".#" for name in one) for one in (old, new)):
        return old if stays(old) else new
    kept = dict(new)
    for name, (lead, star, end) in product(new.keys() - old.keys(), [one.partition("*") for one in old]):
        middle = name.removeprefix(lead).removesuffix(end)
        asked = [text.replace("*", middle) for text in _texts_in(old[lead + star + end])]
        if star and lead + middle + end == name and stays(asked):
            kept.pop(name, None)
    return kept | {name: to for name, to in old.items() if stays(to)}


def _texts_in(target: Any) -> list[str]:
    inner = target.values() if isinstance(target, dict) else target or ()
    return [target] if isinstance(target, str) else [text for one in inner for text in _texts_in(one)]


def _files_at(target: str, at_base: Collection[str]) -> list[str]:
    text = re.escape(posixpath.normpath(target)).replace(r"\*", ".+")
    return list(filter(re.compile(rf"{text}(?:\.js|\.json|/index\.js)?").fullmatch, at_base))
