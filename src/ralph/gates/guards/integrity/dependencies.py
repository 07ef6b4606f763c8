"""Guard "dependencies": what the change adds to or swaps among the packages it relies on.

Adding or raising a dependency is ordinary work and only told in the summary. Two things accuse, unless the
task's own words ask for them: a plugin that retries or hides failing tests, and a runner or checker that
suddenly comes from somewhere else.
"""

from __future__ import annotations

import re

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.command import word_set
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import name_some, pairs
from ralph.gates.guards._files.manifests import Wanted, is_lock, is_manifest, locked_packages, wanted_packages

NAME = "dependencies"
KINDS = guard_kinds(NAME, "undo that dependency change", {
    "plugin": ("accuses", "a new dependency retries or hides failing tests"),
    "runner": ("accuses", "a test runner or checker is now installed from another source"),
})  # fmt: skip
_PLUGIN = re.compile(
    r"(?:pytest|nose2?|unittest|jest|vitest|mocha|ava|playwright|cypress)-(?:[\w-]*(?:rerun|retr(?:y|ies)|flaky|quarantine|"
    r"ignore-fail|xfail|plugin-retries)[\w-]*)\Z|(?:flaky|pytest-rerunfailures|pytest-flakefighters|retryjest)\Z"
)
_RUNNERS = word_set(
    "pytest pluggy iniconfig coverage pytest-cov unittest2 nose2 mypy ruff flake8 pylint pyright tox nox "
    "jest vitest mocha ava chai c8 nyc eslint typescript tsx ts-node @jest/core "
    "@playwright/test @vitest/runner"
)
_ELSEWHERE = re.compile(
    r"git\+|https?://|\bgit\s*=|\burl\s*=|\bpath\s*=|file:|link:|portal:|\bnpm:|github:|\b\w+/\w+#"
)
_MAX_SHOWN = 5
_ASKED = re.compile(r"flak|retr(?:y|ies)|rerun|quarantine", re.IGNORECASE)


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    before: Wanted = {}
    after: Wanted = {}
    old_locked: set[str] = set()
    new_locked: dict[str, str] = {}
    places: dict[str, str] = {}
    locks = []
    for pair in pairs(facts):
        if is_manifest(pair.path):
            before |= wanted_packages(pair.change.before, pair.old)
            now = wanted_packages(pair.path, pair.new)
            places |= dict.fromkeys(now, pair.path)
            after |= now
        elif is_lock(pair.path):
            locks.append(pair.path)
            old_locked |= locked_packages(pair.old)
            new_locked |= dict.fromkeys(locked_packages(pair.new), pair.path)
    task = facts.task.lower()
    for name, path in {**new_locked, **places}.items():
        if name not in before and name not in old_locked and _PLUGIN.match(name) and not _ASKED.search(task):
            text = f"{name} is new: it makes failing tests look like passing ones"
            findings.append(Finding(f"dependencies.plugin:{name}", text, path=path))
    for name, said in after.items():
        if name not in _RUNNERS or name in task or _ELSEWHERE.search(before.get(name, "")):
            continue
        if _ELSEWHERE.search(said):
            text = f"{name} is installed from another source than at the base"
            findings.append(Finding(f"dependencies.runner:{name}", text, path=places[name]))
    return guard_result(
        NAME,
        facts,
        findings,
        good=_summarise_changes(before, after, locks, new_locked.keys() - old_locked),
        bad="a dependency steers the judgement",
    )


def _summarise_changes(before: Wanted, after: Wanted, locks: list[str], newly_locked: set[str]) -> str:
    added = sorted({*(after.keys() - before.keys()), *newly_locked})
    gone = sorted(before.keys() - after.keys())
    changed = sorted(name for name, said in after.items() if name in before and before[name] != said)
    parts = [
        f"{word} {name_some(names, _MAX_SHOWN)}"
        for word, names in (("added", added), ("changed", changed), ("removed", gone))
        if names
    ]
    if locks:
        parts.append(f"lockfile {name_some(sorted(locks), _MAX_SHOWN)}")
    return f"dependencies: {'; '.join(parts)}" if parts else "no dependency changed"
