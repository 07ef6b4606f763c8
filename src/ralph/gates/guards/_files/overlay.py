"""Which base files are put back over the result, so that the base's own tests judge the new source."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from ralph.gates.command import simple_commands
from ralph.gates.guards._base.facts import Change, GuardFacts, Overlay
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._files.behind_command import files_behind_gates, gate_it_overrides
from ralph.gates.guards._files.config_diff import lead_as_before, settings_changed
from ralph.gates.guards._files.known_tests import changed_tests, runs_doctests, with_tests_of
from ralph.gates.judging_paths import is_config, is_hijack, is_test
from ralph.gates.programs import program_text


def overlay_request(facts: GuardFacts) -> Overlay | None:
    """None when no test, test config or gate file changed: then the final readings say it all."""
    tests = changed_tests(facts)
    known = set(tests.whole)
    own = {
        *files_behind_gates(facts),
        *(change.path for change in facts.changes if gate_it_overrides(change.path, facts)),
    }
    named = _command_words(facts)

    def judges(path: str) -> bool:
        return is_judging_path(path, known, own) or is_hijack(path)

    restore: set[str] = set()
    drop: set[str] = set()
    edit: dict[str, bytes] = {}
    for change in facts.changes:
        old = change.old_path or change.path
        if old in tests.mixed and old not in own:
            _take_back(facts, change, restore, drop, edit)
        elif change.status == "A":
            if change.path not in named and judges(change.path):
                drop.add(change.path)
        elif change.status == "R":
            if is_judging_path(old, known, own) and changed_settings(facts, change):
                restore.add(old)
            if judges(change.path):
                drop.add(change.path)
        elif is_hijack(change.path) and (change.status == "D" or change.path.endswith(".py")):
            pass  # a module of a runner that the base has is what is developed here; byte code went
        elif judges(old) and changed_settings(facts, change):
            restore.add(old)
    drop -= restore
    edit |= leads_of_base(facts, restore)
    if not restore and not drop and not edit:
        return None
    for change in facts.changes:
        renamed = change.status == "R" and not judges(change.before) and not judges(change.path)
        if renamed and change.before not in restore and (made := _old_name_of(facts, change)) is not None:
            edit[change.before] = made
    return Overlay(tuple(sorted(restore)), tuple(sorted(drop)), edit)


def leads_of_base(facts: GuardFacts, restored: Collection[str] = ()) -> dict[str, bytes]:
    """Changed package.json files by whose names tests come to other files than at the base, as they were."""
    paths = [change.path for change in facts.changes if change.status == "M" and change.path not in restored]
    made = {
        path: lead_as_before(path, facts.read_base, facts.read_result, facts.base_paths)
        for path in paths
        if posixpath.basename(path) == "package.json"
    }
    return {path: text for path, text in made.items() if text is not None}


def _take_back(
    facts: GuardFacts, change: Change, restore: set[str], drop: set[str], edit: dict[str, bytes]
) -> None:
    """A file that holds the product as well: the new source with the tests of the base in it."""
    if change.status == "A":
        return  # its tests are new, and its source is needed
    if change.status == "D":
        restore.add(change.before)
        return
    new, old = facts.read_result(change.path), facts.read_base(change.before)
    made = with_tests_of(change.before, new, old, doctests=runs_doctests(facts, change.before))
    if made is None:  # it cannot be taken apart: then the base's version as a whole
        restore.add(change.before)
        if change.path != change.before:
            drop.add(change.path)
    elif made != new:
        edit[change.path] = made


def _old_name_of(facts: GuardFacts, change: Change) -> bytes | None:
    """A module under its old name that is the renamed one, so that the base's tests still find it."""
    new, ending = change.path, change.path.rsplit(".", 1)[-1]
    if ending != change.before.rsplit(".", 1)[-1]:
        return None
    if ending == "py":
        parts = new.removesuffix(".py").removesuffix("/__init__").split("/")
        at = len(parts) - 1
        while at and facts.read_result("/".join([*parts[:at], "__init__.py"])) is not None:
            at -= 1
        name = ".".join(parts[at:])
        return (program_text("renamed_module.py") % {"name": name}).encode()
    if ending in ("js", "mjs", "cjs", "ts", "mts", "cts"):
        where = posixpath.relpath(new, posixpath.dirname(change.before) or ".")
        where = where if where.startswith(".") else f"./{where}"
        text = decode(facts.read_result(new))
        if ending == "cjs" or re.search(r"\bmodule\.exports\b|^exports\.", text, re.MULTILINE):
            return f"module.exports = require({where!r});\n".encode()
        default = f"export {{ default }} from {where!r};\n" if "export default" in text else ""
        return f"export * from {where!r};\n{default}".encode()
    return None


def is_judging_path(path: str, known: set[str], own: set[str]) -> bool:
    """Is this path part of the judging: a test, a runner's config, a file of a gate's command?"""
    return path in known or path in own or is_test(path) or is_config(path)


def changed_settings(facts: GuardFacts, change: Change) -> bool:
    """False for a pyproject.toml and the like whose change has nothing to do with any runner."""
    old = change.old_path or change.path
    result = facts.read_result(change.path) if change.status != "D" else None
    return settings_changed(old, facts.read_base(old), result) is not False


def _command_words(facts: GuardFacts) -> set[str]:
    """Words of the gates' commands: a file that the user's own check asks for is not taken away."""
    found: set[str] = set()
    for gate in facts.gates:
        commands = simple_commands(gate.run) if gate.argv[:1] == ("/bin/sh",) else [list(gate.argv)]
        for word in (word for command in commands for word in command):
            plain = word.split("::")[0].removeprefix("./")
            found |= {plain, f"{gate.cwd.removeprefix('./').rstrip('/')}/{plain}"}
    return found
