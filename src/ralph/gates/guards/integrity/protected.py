"""Guard "protected": what judges the work was not edited by the work.

Ralph's own config, workflows that the task does not name, and the user's `protect` globs. Tests, settings of
runners and the files that a gate's command is made of are no finding here: the overlay judges the new source
by those of the base. Only where it has nothing to say of a gate are that gate's own files asked about.
"""

from __future__ import annotations

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.asked_for import names_path, wants_other_ci
from ralph.gates.guards._base.facts import NO_TESTS, Change, GuardFacts
from ralph.gates.guards._base.kinds import PUT_BACK, guard_kinds, guard_result
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._calls.rewritten import find_rewritten
from ralph.gates.guards._files.behind_command import files_behind_gates, gate_it_overrides
from ralph.gates.guards._files.config_diff import ralph_changed
from ralph.gates.guards._files.overlay import changed_settings
from ralph.gates.guards._parts.ci_versions import only_versions_moved, versions_told
from ralph.gates.judging_paths import is_ci, is_ralph, matches

NAME = "protected"
KINDS = guard_kinds(NAME, PUT_BACK, {
    "ralph": ("accuses", "`ralph.toml` or `[tool.ralph]` changed", "restore it"),
    "ci": ("asks", "a CI workflow changed", "restore it"),
    "gate": ("asks", "a file that a check is made of changed, and its base version cannot judge the result"),
    "path": ("accuses", "a path under the user's `protect` globs changed", "restore it"),
    "rewritten": ("accuses or asks", "a check overwrote a tracked file, which it did not do on the base",
        "make the check, and whatever it builds, leave tracked files alone"),
})  # fmt: skip
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
            found.append(Finding(f"protected.{what}:{path}", f"{path} {verb}: {why}", path=path))
    return found


def _kind(path: str, existed: bool, change: Change, facts: GuardFacts) -> tuple[str, str] | None:
    pattern = next((pattern for pattern in facts.protect if matches(path, pattern)), None)
    if pattern is not None:
        return "path", f"it is protected by {pattern}"
    if is_ralph(path) or ralph_changed(path, *_both(path, change, facts)):
        return "ralph", "it says how work here is judged"
    owner = files_behind_gates(facts).get(path) if existed else gate_it_overrides(path, facts)
    if owner and not _is_answered(owner, facts) and changed_settings(facts, change):
        return "gate", f"gate {owner} is made of it, and its base version cannot judge the result"
    named = names_path(facts.task, path) or wants_other_ci(facts.task)
    if existed and owner is None and is_ci(path) and not named:
        texts = [decode(text) for text in _both(path, change, facts)]
        if change.status == "M" and (only_versions_moved(*texts) or versions_told(facts.task, *texts)):
            return None
        return "ci", "it belongs to continuous integration, and the task does not name it"
    return None


def _both(path: str, change: Change, facts: GuardFacts) -> tuple[bytes | None, bytes | None]:
    new = facts.read_result(change.path) if change.status != "D" else None
    return facts.read_base(path) if change.status != "A" else None, new


def _is_answered(owner: str, facts: GuardFacts) -> bool:
    """Is there an answer of the base's own version of this gate that the overlay's is held against?"""
    gate = next(gate for gate in facts.gates if gate.name == owner)
    base = facts.base.get(owner)
    if gate.proof and gate.required:  # it has to be green, whatever it was; without tests nothing is claimed
        return base is None or base.cause not in NO_TESTS
    return gate.required and (base is None or base.status == "pass")
