"""Guard "protected": what judges the work was not edited by the work.

Ralph's own config, the files a gate's command is made of (followed into the scripts that a recipe calls, and
only what the gate reads in them), and the user's `protect` globs. Tests and settings of runners are no
finding here: the overlay judges the new source by those of the base. A changed workflow asks, unless the task
names it.
"""

from __future__ import annotations

import re

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.asked_for import names_path, wants_other_ci
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.kinds import PUT_BACK, guard_kinds, guard_result
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._calls.rewritten import find_rewritten
from ralph.gates.guards._files.behind_command import (
    files_behind_gates,
    gate_it_overrides,
    is_task_file,
    may_be_product,
    what_gate_reads,
)
from ralph.gates.guards._files.config_diff import ralph_changed
from ralph.gates.guards._files.overlay import changed_settings
from ralph.gates.guards._parts.ci_versions import only_versions_moved
from ralph.gates.judging_paths import is_ci, is_ralph, matches

NAME = "protected"
KINDS = guard_kinds(NAME, PUT_BACK, {
    "ralph": ("accuses", "`ralph.toml` or `[tool.ralph]` changed", "restore it"),
    "ci": ("asks", "a workflow of continuous integration changed", "restore it"),
    "gate": ("accuses or asks", "a file that a gate's command is made of changed"),
    "path": ("accuses", "a path under the user's `protect` globs changed", "restore it"),
    "rewritten": ("accuses or asks", "a check wrote over a tracked file, which it did not at the base",
        "let the check, and what it builds, leave tracked files as they are"),
})  # fmt: skip
_SETTINGS = (".toml", ".ini", ".cfg", ".json", ".json5", ".yml", ".yaml")
_SHELL = re.compile(r"#!.*sh\b")
_ENDS = re.compile(
    r"\b(?:exit|exec|return|trap|alias|kill)\b|\|\|\s*(?:true\b|:)|^\s*(?:@?true\b|:)"
    r"|set\s+\+|\(\)\s*\{|<<|PATH=",
    re.MULTILINE,
)
ADDED = "continuous integration that the base does not have: "
_VERBS = {"A": "was added", "M": "was changed", "D": "was deleted", "R": "was moved", "T": "was replaced"}


def check(facts: GuardFacts) -> GuardResult:
    findings = [finding for change in facts.changes for finding in _findings(change, facts)]
    findings += find_rewritten(facts)
    added = [change.path for change in facts.changes if change.status == "A" and is_ci(change.path)]
    good = f"{ADDED}{', '.join(added[:3])}" if added else "no protected file changed"
    return guard_result(NAME, facts, findings, good=good, bad="protected files changed")


def _findings(change: Change, facts: GuardFacts) -> list[Finding]:
    paths = [change.old_path, change.path] if change.status == "R" else [change.path]
    found = []
    for path in paths:
        existed = change.status != "A" and (change.status != "R" or path == change.old_path)
        kind = _kind(path, existed, change, facts)
        if kind:
            what, why = kind
            verb = _VERBS[change.status]
            asks = what == "gate" and existed and (may_be_product(path, facts) or _only_adds(change, facts))
            found.append(Finding(f"protected.{what}:{path}", f"{path} {verb}: {why}", path=path, asks=asks))
    return found


def _kind(path: str, existed: bool, change: Change, facts: GuardFacts) -> tuple[str, str] | None:
    pattern = next((pattern for pattern in facts.protect if matches(path, pattern)), None)
    if pattern is not None:
        return "path", f"it is protected by {pattern}"
    if is_ralph(path) or ralph_changed(path, *_both(path, change, facts)):
        return "ralph", "it says how work here is judged"
    if not existed and (gate := gate_it_overrides(path, facts)):
        return "gate", f"gate {gate} would read it in place of its own file"
    owner = files_behind_gates(facts).get(path)
    if existed and owner is not None and _read_otherwise(path, owner, change, facts):
        return "gate", f"gate {owner} is made of it"
    named = names_path(facts.task, path) or wants_other_ci(facts.task)
    if existed and owner is None and is_ci(path) and not named:
        if change.status == "M" and only_versions_moved(*map(decode, _both(path, change, facts))):
            return None
        return "ci", "it belongs to continuous integration, and the task does not name it"
    return None


def _both(path: str, change: Change, facts: GuardFacts) -> tuple[bytes | None, bytes | None]:
    new = facts.read_result(change.path) if change.status != "D" else None
    return facts.read_base(path) if change.status != "A" else None, new


def _read_otherwise(path: str, owner: str, change: Change, facts: GuardFacts) -> bool:
    """Does the gate that is made of this file find something else in it now?"""
    if change.status != "M":
        return True
    if path.endswith(_SETTINGS) and not is_task_file(path):
        return False  # the overlay judges the new source by the base's settings
    both = _both(path, change, facts)
    old, new = map(decode, both)
    if not old or not new:
        return both[0] != both[1]
    before, after = _parts(owner, change, facts)
    return before != after and changed_settings(facts, change)


def _parts(owner: str, change: Change, facts: GuardFacts) -> list[object]:
    old, new = map(decode, _both(change.path, change, facts))
    gate = next(gate for gate in facts.gates if gate.name == owner)
    return [what_gate_reads(gate, change.path, text, old, facts.base_paths) for text in (old, new)]


def _only_adds(change: Change, facts: GuardFacts) -> bool:
    """Is every command of a script or recipe still there, and nothing added that ends or softens them?

    One step more in a check may be the work, or swallow the exit code of the step before it: a question.
    """
    path = change.path
    shell = path.endswith((".sh", ".bash")) or _SHELL.match(decode(facts.read_base(path)))
    if change.status != "M" or not (shell or is_task_file(path)):
        return False
    before, after = _parts(files_behind_gates(facts)[path], change, facts)
    if isinstance(before, tuple) and isinstance(after, tuple) and before[1:] == after[1:]:
        before, after = before[0], after[0]
    if not isinstance(before, str) or not isinstance(after, str):
        return False
    lines, added = iter(after.split("\n")), ""
    for old in before.split("\n"):
        for new in lines:
            if new.rstrip() == old.rstrip():
                break
            added += new.removeprefix(old) + "\n"
            if new.startswith(f"{old} && "):
                break
        else:
            return False
    return not _ENDS.search(added + "\n".join(lines))
