"""Which base files are put back over the result, so that the base's own tests judge the new source."""

from __future__ import annotations

from ralph.gates.command import simple_commands
from ralph.gates.guards.behind import goes_before, made_of
from ralph.gates.guards.facts import Change, Facts, Overlay
from ralph.gates.guards.paths import is_config, is_hijack, is_test
from ralph.gates.guards.semantic import settings_changed


def overlay_request(facts: Facts) -> Overlay | None:
    """None when no test, test config or gate file changed: then the final readings say it all."""
    known = {
        path for reading in (*facts.base.values(), *facts.final.values()) for path in reading.files.values()
    }
    own = {*made_of(facts), *(change.path for change in facts.changes if goes_before(change.path, facts))}
    named = _named(facts)
    restore: set[str] = set()
    drop: set[str] = set()
    for change in facts.changes:
        old = change.old_path or change.path
        if change.status == "A":
            if change.path not in named and (judges(change.path, known, own) or is_hijack(change.path)):
                drop.add(change.path)
        elif change.status == "R":
            if judges(old, known, own) and changed_settings(facts, change):
                restore.add(old)
            if judges(change.path, known, own) or is_hijack(change.path):
                drop.add(change.path)
        elif judges(old, known, own) and changed_settings(facts, change):
            restore.add(old)
    drop -= restore
    if not restore and not drop:
        return None
    return Overlay(tuple(sorted(restore)), tuple(sorted(drop)))


def judges(path: str, known: set[str], own: set[str]) -> bool:
    """Is this path part of the judging: a test, a runner's config, a file of a gate's command?"""
    return path in known or path in own or is_test(path) or is_config(path)


def changed_settings(facts: Facts, change: Change) -> bool:
    """False for a pyproject.toml and the like whose change has nothing to do with any runner."""
    old = change.old_path or change.path
    result = facts.read_result(change.path) if change.status != "D" else None
    return settings_changed(old, facts.read_base(old), result) is not False


def _named(facts: Facts) -> set[str]:
    """Words of the gates' commands: a file that the user's own check asks for is not taken away."""
    found: set[str] = set()
    for gate in facts.gates:
        commands = simple_commands(gate.run) if gate.argv[:1] == ("/bin/sh",) else [list(gate.argv)]
        for word in (word for command in commands for word in command):
            plain = word.split("::")[0].removeprefix("./")
            found |= {plain, f"{gate.cwd.removeprefix('./').rstrip('/')}/{plain}"}
    return found
