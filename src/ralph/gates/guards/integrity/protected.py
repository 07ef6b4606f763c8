"""Guard "protected": what judges the work was not edited by the work.

Ralph's own config, CI, the files a gate's command is made of (followed into the scripts that a recipe calls),
runner configs of the base and the user's `protect` globs. Changed tests are no finding here: the overlay
judges those. Files that hold other things too (pyproject.toml, package.json, …) count only when a runner's
settings in them changed; what only adds to a conftest.py or a Makefile is welcome (`additions`).
"""

from __future__ import annotations

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._files.additions import adds_fixtures, adds_targets
from ralph.gates.guards._files.behind_command import files_behind_gates, gate_it_overrides
from ralph.gates.guards._files.overlay import changed_settings
from ralph.gates.judging_paths import is_ci, is_config, is_ralph, matches

NAME = "protected"
_VERBS = {"A": "was added", "M": "was changed", "D": "was deleted", "R": "was moved", "T": "was replaced"}


def check(facts: GuardFacts) -> GuardResult:
    findings = tuple(finding for change in facts.changes for finding in _findings(change, facts))
    return GuardResult(
        NAME,
        facts.tree,
        applied=True,
        summary=f"{len(findings)} protected files changed" if findings else "no protected file changed",
        findings=findings,
    )


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
    if is_ralph(path):
        return "ralph", "it says how work here is judged"
    if is_ci(path):
        return "ci", "it belongs to continuous integration"
    if not existed and (gate := gate_it_overrides(path, facts)):
        return "gate", f"gate {gate} would read it in place of its own file"
    owner = files_behind_gates(facts).get(path)
    if not existed or (owner is None and not is_config(path)):
        return None
    if not _differs(change, facts) or _only_adds(change, facts):
        return None
    if owner is not None:
        return "gate", f"gate {owner} is made of it"
    return "config", "it configures a test runner or a checker"


def _only_adds(change: Change, facts: GuardFacts) -> bool:
    """A fixture more in conftest.py, a target more in a Makefile: nothing of the base is judged otherwise."""
    if change.status != "M":
        return False
    old, new = decode(facts.read_base(change.path)), decode(facts.read_result(change.path))
    name = change.path.rsplit("/", 1)[-1]
    if name == "conftest.py":
        return adds_fixtures(facts, change.path, old, new)
    return name in ("Makefile", "makefile", "GNUmakefile") and adds_targets(old, new, facts.base_paths)


def _differs(change: Change, facts: GuardFacts) -> bool:
    if not changed_settings(facts, change):
        return False
    old = change.old_path or change.path
    if change.status != "M":
        return True
    return facts.read_base(old) != facts.read_result(change.path)
