"""What stands behind a gate's command at the base: the recipe, the script, the task it calls.

Only as far as needed to tell which checkers a gate may run (a text to look for words in), and which files of
the repository it is made of in the end.
"""

from __future__ import annotations

import configparser
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
from ralph.gates.guards._files.config_diff import PACKAGE_KEYS
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
    return "\n".join([gate.run, *(_text_about(gate.run, path, read) for path in gate.own_files)])


def files_behind_gates(facts: GuardFacts) -> dict[str, str]:
    """Every file that a gate's command leads to at the base -> that gate's name.

    A script that a recipe calls is as much a part of the check as the recipe.
    """
    return facts.once(
        "made of",
        lambda: {
            path: gate.name
            for gate in facts.gates
            for path in follow_files(gate, facts.read_base, facts.base_paths)
            if path in gate.own_files or not _is_worked_on(path, facts)
        },
    )


def may_be_product(path: str, facts: GuardFacts) -> bool:
    """A script that the check's own script calls, and that is not called like a part of it."""
    direct = any(path in gate.own_files for gate in facts.gates)
    return not direct and not is_task_file(path) and not is_checklike(path.replace("bin/", ""))


def _is_worked_on(path: str, facts: GuardFacts) -> bool:
    """Does the task name it, or a function in it? The check of a project in shell calls its product."""
    if not may_be_product(path, facts):
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
            lines = (line.lstrip("\t @-+") for line in _text_about(gate.run, path, read).split("\n"))
            folder = posixpath.dirname(path) if _is_task_file(path) else gate.cwd
            commands = simple_commands("\n".join(line for line in lines if not line.startswith("#")))
            todo += own_files(commands, folder or ".", exists)
    return found


def _is_task_file(path: str) -> bool:
    name = path.rsplit("/", 1)[-1].lower()
    return name == "package.json" or name.endswith("makefile")


def is_task_file(path: str) -> bool:
    """Does it say what is executed, and not only how a tool is set?"""
    name = path.rsplit("/", 1)[-1].lower()
    return _is_task_file(path) or name == "tox.ini" or name.startswith("taskfile.")


def _text_about(run: str, path: str, read: Callable[[str], bytes | None]) -> str:
    """What a file says about this command."""
    text = (read(path) or b"")[:500_000].decode("utf-8", "replace")
    if not _is_task_file(path):
        return text
    return _scripts(run, text) if path.endswith("package.json") else _follow_targets(run, _rules(text))


# Before a command of a script: npm looks among what is installed first, with or without being told so.
_INSTALLED = re.compile(r"(^|&&|[;|(])(\s*)(?:npx(?: --no(?:-install)?)? +(?!-)|(?:\./)?node_modules/\.bin/)")


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
    return "\n".join(_INSTALLED.sub(r"\1\2", script) for script in found.values())


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


def what_gate_reads(gate: Gate, path: str, text: str, base: str, paths: frozenset[str]) -> object:
    """The part of one of its own files that matters to a gate, to be held against the base's.

    Of a Makefile: what its targets lead to, all that is no rule, and rules that could join unasked. Of a
    package.json: the scripts that it calls and the settings of the tools in them. Of a tox.ini: its
    environments and the settings of the tools in them. Of anything else the whole.
    """
    name = path.rsplit("/", 1)[-1].lower()
    if name.endswith("makefile"):
        rules = _rules(text)
        others = [line for line in _RULE.sub("", text).split("\n") if line.strip() and line[0] != "#"]
        return _follow_targets(gate.run, rules), others, _joining(rules, base, paths)
    if name == "package.json":
        called = _scripts(gate.run, text)
        settings = _package_settings(text)
        if settings is None or not called:  # a script of the gate's own may call any of them
            return text
        return called, _of_tools(settings, called)
    if name == "tox.ini":
        try:
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
        except configparser.Error:
            return text
        sections = {name: dict(parser.items(name)) for name in parser.sections()}
        some = set(re.findall(r"[\w.-]+", gate.run)) if re.search(r"\s-e", gate.run) else None
        envs = {
            name: said
            for name, said in sections.items()
            if name == "tox"
            or (name.split(":")[0] == "testenv" and (":" not in name or some is None or name[8:] in some))
        }
        return envs, _of_tools({name: said for name, said in sections.items() if name not in envs}, str(envs))
    return text


def _joining(rules: dict[str, str], base: str, paths: frozenset[str]) -> dict[str, str]:
    """Rules that make may use unasked: patterns, special targets, a new name that the base uses otherwise."""
    known, used = _rules(base), set(re.findall(r"[\w./-]+", base))
    return {
        target: said
        for target, said in rules.items()
        if "%" in target
        or (target.startswith(".") and target != ".PHONY")
        or (target not in known and (target in used or target in paths))
    }


def _of_tools(settings: dict[str, Any], text: str) -> dict[str, Any]:
    """Those of tools that a text speaks of."""
    return {name: said for name, said in settings.items() if re.split(r"[:_-]", name)[-1] in text}


def _package_settings(text: str) -> dict[str, Any] | None:
    """Settings of tools in a package.json, by the tool; None when it cannot be read."""
    try:
        parsed = msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return {key.removesuffix("Config"): parsed[key] for key in PACKAGE_KEYS if key in parsed}
