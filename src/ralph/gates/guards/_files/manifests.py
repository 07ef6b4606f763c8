"""Which packages a dependency file asks for, and from where. Names and sources only; versions as text.

Lockfiles are read by name as far as their lines tell; what cannot be parsed gives nothing.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)")
_FILE = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.cfg|Pipfile|[^/]*requirements[^/]*\.(?:txt|in)|requirements/[^/]+\.(?:txt|in)"
    r"|constraints[^/]*\.txt|package\.json|environment\.ya?ml)\Z"
)
_LOCK = re.compile(
    r"(?:^|/)(?:uv\.lock|poetry\.lock|pdm\.lock|Pipfile\.lock|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock"
    r"|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|go\.sum|Gemfile\.lock|composer\.lock|pylock[^/]*\.toml)\Z"
)
_LOCKED = re.compile(
    r"^name = \"([\w.-]+)\"$|^ {2,8}\"(?:node_modules/)?((?:@[\w.-]+/)?[\w.-]+)\": \{$"
    r"|^\"?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:$|^  /?'?((?:@[\w.-]+/)?[\w.-]+)@[^\n]*:$",
    re.MULTILINE,
)
# What such a table or list is called, whatever tool reads it.
_TABLE = re.compile(r"(?:[dD]ependencies|dependency-groups|requires|overrides|resolutions|sources)\Z")
Wanted = dict[str, str]  # package -> what is said of it: version, url, path


def is_manifest(path: str) -> bool:
    return bool(_FILE.search(path))


def is_lock(path: str) -> bool:
    return bool(_LOCK.search(path))


def wanted_packages(path: str, text: str) -> Wanted:
    name = path.rsplit("/", 1)[-1]
    try:
        if name == "Pipfile":
            data = tomllib.loads(text)
            return _packages(
                {f"{key}.dependencies": data.get(key, {}) for key in ("packages", "dev-packages")}
            )
        if name == "pyproject.toml":
            return _packages(tomllib.loads(text))
        if name == "package.json":
            return _packages(msgspec.json.decode(text, type=dict[str, Any]))
        if name.endswith((".txt", ".in")):
            return _lines(text.split("\n"))
        return _lines(line.lstrip(" -\t") for line in text.split("\n") if line[:1].isspace())
    except (ValueError, TypeError, AttributeError, RecursionError, msgspec.DecodeError):
        return {}


def locked_packages(text: str) -> frozenset[str]:
    return frozenset(
        _plain(next(part for part in found if part)) for found in _LOCKED.findall(text) if any(found)
    )


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower() if not name.startswith("@") else name.lower()


def _lines(lines: Any) -> Wanted:
    found: Wanted = {}
    for line in lines:
        bare = line.split(" #")[0].strip()
        if not bare or bare.startswith(("#", "-", "[")):
            continue
        match = _REQUIREMENT.match(bare)
        if match:
            found[_plain(match.group(1))] = match.group(2)[:200]
    return found


def _packages(data: dict[str, Any], *, wanted: bool = False) -> Wanted:
    """Those of tables and lists that are called so, at any depth; where each comes from goes last."""
    found: Wanted = {}
    for key, value in sorted(data.items(), key=lambda item: item[0] in ("tool", "sources")):
        here = wanted or bool(_TABLE.search(key))
        if isinstance(value, list) and here:
            found |= _lines(item for item in value if isinstance(item, str))
        elif wanted:
            found[_plain(key)] = _source_text(value)
        elif isinstance(value, dict):
            found |= _packages(value, wanted=here)
    return found


def _source_text(value: Any) -> str:
    said = " ".join(f"{key}={item}" for key, item in value.items()) if isinstance(value, dict) else str(value)
    return said[:200]
