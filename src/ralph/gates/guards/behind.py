"""What stands behind a gate's command at the base: the recipe, the script, the task it calls.

Only as far as needed to tell which checkers a gate may run; a text to look for words in, nothing more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from ralph.core.model import Gate

_RULE = re.compile(r"^([\w.%/ -]+?)\s*::?(?!=)([^\n]*(?:\n[ \t]+[^\n]*)*)", re.MULTILINE)
_STEPS = 50  # targets and scripts followed at most


def behind(gate: Gate, read: Callable[[str], bytes | None]) -> str:
    """The command itself, and what its own files say about it."""
    texts = [gate.run]
    for path in gate.own_files:
        text = (read(path) or b"")[:500_000].decode("utf-8", "replace")
        name = path.rsplit("/", 1)[-1].lower()
        if name == "package.json":
            texts.append(_scripts(gate.run, text))
        elif name.endswith("makefile"):
            texts.append(_recipes(gate.run, text))
        else:
            texts.append(text)
    return "\n".join(texts)


def _scripts(run: str, text: str) -> str:
    """The scripts that npm and its like call for this command, and those they call in turn."""
    try:
        scripts = msgspec.json.decode(text, type=dict[str, Any]).get("scripts", {})
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text
    if not isinstance(scripts, dict):
        return text
    found: dict[str, str] = {}
    todo = run.split()
    while todo and len(found) < _STEPS:
        word = todo.pop()
        for name in (word, f"pre{word}", f"post{word}"):
            if name in scripts and name not in found:
                found[name] = str(scripts[name])
                todo += found[name].split()
    return "\n".join(found.values())


def _recipes(run: str, text: str) -> str:
    """The recipes of the targets in this command and what they depend on; the first one without a target."""
    rules: dict[str, str] = {}
    for match in _RULE.finditer(text):
        for target in match.group(1).split():
            rules.setdefault(target, match.group(2))
    wanted = [word for word in run.split() if word in rules]
    todo = wanted or [name for name in rules if not name.startswith(".")][:1]
    found: dict[str, str] = {}
    while todo and len(found) < _STEPS:
        target = todo.pop()
        if target in rules and target not in found:
            found[target] = rules[target]
            todo += found[target].split()
    return "\n".join(found.values())
