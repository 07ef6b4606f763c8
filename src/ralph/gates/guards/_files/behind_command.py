"""What stands behind a gate's command at the base: the recipe, the script, the task it calls.

Only as far as needed to tell which checkers a gate may run (a text to look for words in), and which files of
the repository it is made of in the end.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any

import msgspec

from ralph.core.model.gate import Gate
from ralph.gates.command import simple_commands
from ralph.gates.guards._base.asked_for import names_path
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._breaks.wrap_shell import FUNCTION
from ralph.gates.own_files import is_checklike, own_files

_RULE = re.compile(r"^([\w.%/ -]+?)\s*::?(?!=)([^\n]*(?:\n[ \t]+[^\n]*)*)", re.MULTILINE)
_MAX_STEPS = 50  # targets and scripts followed at most
_FAMILIES = (
    ("GNUmakefile", "makefile", "Makefile"),
    ("justfile", "Justfile", ".justfile"),
    ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"),
)
_LISTS = (".toml", ".ini", ".cfg", ".json5", ".yml", ".yaml", ".py", ".js", ".ts")


def text_behind(gate: Gate, read: Callable[[str], bytes | None]) -> str:
    """The command itself, and what its own files say about it."""
    return "\n".join([gate.run, *(text_about(gate.run, path, read) for path in gate.own_files)])


def files_behind_gates(facts: GuardFacts) -> dict[str, str]:
    """Every file that a gate's command leads to at the base -> that gate's name.

    A script that a recipe calls is as much a part of the check as the recipe. Gates that prove go first.
    """
    return facts.once(
        "made of",
        lambda: {
            path: gate.name
            for gate in sorted(facts.gates, key=lambda gate: gate.proof and gate.required)
            for path in follow_files(gate, facts.read_base, facts.base_paths)
            if path in gate.own_files or not _is_worked_on(path, facts)
        },
    )


def _is_worked_on(path: str, facts: GuardFacts) -> bool:
    """Does the task name it, or a function in it? The check of a project in shell calls its product."""
    listed = _is_task_file(path) or path.endswith((".ini", ".yml", ".yaml"))
    if listed or is_checklike(path.replace("bin/", "")):
        return False
    text = (facts.read_base(path) or b"").decode("utf-8", "replace")
    names = {match["word"] or match["name"] for match in FUNCTION.finditer(text)}
    return names_path(facts.task, path) or any(f"{name}()" in facts.task for name in names)


def gate_it_overrides(path: str, facts: GuardFacts) -> str:
    """The gate that would read this file in place of the one it was sealed with; "" = none.

    `make` looks for a GNUmakefile before a Makefile.
    """
    folder, _, name = path.rpartition("/")
    for family in _FAMILIES:
        if name in family and path not in facts.base_paths:
            others = {f"{folder}/{other}".lstrip("/") for other in family} - {path}
            return next((gate for known, gate in files_behind_gates(facts).items() if known in others), "")
    return ""


def follow_files(gate: Gate, read: Callable[[str], bytes | None], paths: frozenset[str]) -> list[str]:
    """Files that a gate's command leads to in a tree: its own, and what scripts and recipes in them call."""

    def exists(path: str) -> bool:
        return path in paths if paths else read(path) is not None

    found: list[str] = []
    todo = list(gate.own_files)
    while todo and len(found) < _MAX_STEPS:
        path = todo.pop()
        if path in found:
            continue
        found.append(path)
        if not path.endswith(_LISTS):  # one that lists settings calls nothing
            lines = (line.lstrip("\t @-+") for line in text_about(gate.run, path, read).split("\n"))
            folder = posixpath.dirname(path) if _is_task_file(path) else gate.cwd
            commands = simple_commands("\n".join(line for line in lines if not line.startswith("#")))
            todo += own_files(commands, folder or ".", exists)
    return found


def _is_task_file(path: str) -> bool:
    name = path.rsplit("/", 1)[-1].lower()
    return name == "package.json" or name.endswith("makefile")


def text_about(run: str, path: str, read: Callable[[str], bytes | None]) -> str:
    """What a file says about this command."""
    text = (read(path) or b"")[:500_000].decode("utf-8", "replace")
    if not _is_task_file(path):
        return text
    return _scripts(run, text) if path.endswith("package.json") else _follow_targets(run, _rules(text))


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
    while todo and len(found) < _MAX_STEPS:
        word = todo.pop()
        for name in (word, f"pre{word}", f"post{word}"):
            if name in scripts and name not in found:
                found[name] = str(scripts[name])
                todo += found[name].split()
    return "\n".join(found.values())


def _rules(text: str) -> dict[str, str]:
    """Target -> all that is said of it: of two recipes make takes the last one."""
    rules: dict[str, str] = {}
    for match in _RULE.finditer(text):
        for target in match.group(1).split():
            rules[target] = f"{rules[target]}\n{match.group(2)}" if target in rules else match.group(2)
    return rules


def _follow_targets(run: str, rules: dict[str, str]) -> str:
    """The recipes of the targets in this command and what they depend on; the first one without a target."""
    wanted = [word for word in run.split() if word in rules]
    todo = wanted or [name for name in rules if not name.startswith(".")][:1]
    found: dict[str, str] = {}
    while todo and len(found) < _MAX_STEPS:
        target = todo.pop()
        if target in rules and target not in found:
            found[target] = rules[target]
            todo += found[target].split()
    return "\n".join(found.values())
