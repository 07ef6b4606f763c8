"""Every kind of finding the guards know: does it accuse, and what it says. docs/guards.md is held against it.

An integrity kind accuses: twice in a loop ends it for a human's review. A hygiene kind only says not yet,
because an honest change could look the same. A guard may have both; its result accuses when one finding does.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts


class Kind(Struct, frozen=True):
    integrity: bool
    says: str


def _accuse(says: str) -> Kind:
    return Kind(integrity=True, says=says)


def _not_yet(says: str) -> Kind:
    return Kind(integrity=False, says=says)


KINDS: dict[str, Kind] = {
    "inventory.deleted": _accuse("a test of the base is gone"),
    "inventory.skipped": _accuse("a test that ran at the base is skipped now"),
    "inventory.weakened": _accuse("a changed test passes, its version from the base fails on the new source"),
    "inventory.fewer": _accuse("fewer tests ran than at the base (where only counts are known)"),
    "inventory.unknown": _accuse("the tests were known at the base and are not known now"),
    "base_tests.red": _accuse("red with the base's tests and configs over the new source"),
    "base_tests.missing": _accuse("the base's tests were not run over the new source"),
    "protected.ralph": _accuse("`ralph.toml` changed"),
    "protected.ci": _accuse("a file of continuous integration changed"),
    "protected.gate": _accuse("a file that a gate's command is made of changed"),
    "protected.config": _accuse("a runner's or checker's settings changed"),
    "protected.path": _accuse("a path under the user's `protect` globs changed"),
    "pinned.command": _accuse("the command executed is not the sealed one"),
    "pinned.tool": _accuse("the tool is not the one that was sealed"),
    "pinned.unseen": _accuse("what was executed is not recorded"),
    "assertions.removed": _accuse("an assertion of a base test is gone"),
    "assertions.tautology": _accuse("an assertion can no longer fail"),
    "assertions.weakened": _accuse("an assertion now accepts more than it did"),
    "assertions.expected": _accuse("the value a test expects was changed"),
    "assertions.dead": _accuse("an assertion is no longer reached, or its failure is swallowed"),
    "assertions.widened": _accuse("a test expects a broader exception, or no longer its message"),
    "assertions.cases": _accuse("cases of a parametrised or looping test are gone"),
    "assertions.skip": _accuse("a skip, xfail, todo or only was added to a base test"),
    "assertions.shadowed": _accuse("the name of a base test is defined again and hides it"),
    "assertions.hook": _accuse("a pytest hook was added that changes what tests report"),
    "suppressions.silenced": _accuse("comments that silence the tool of a proof gate grew"),
    "suppressions.baseline": _accuse("an ignore file or baseline of a checker grew"),
    "suppressions.grown": _not_yet("comments that silence a checker of another gate grew"),
    "environment.customize": _accuse(
        "`sitecustomize.py` or `usercustomize.py`: Python runs it at every start"
    ),
    "environment.startup": _accuse("a `.pth` file with code: Python runs it at every start"),
    "environment.entry_point": _accuse("package metadata in the tree registers a pytest plugin"),
    "environment.shadow": _accuse("a local module takes the place of the test runner"),
    "environment.shim": _accuse("an executable is named like a tool of the gates"),
    "environment.variables": _accuse("a file sets variables or options that steer a runner"),
    "environment.patch": _accuse("code replaces parts of a test runner or of an assertion library"),
    "environment.builtins": _accuse("code replaces a builtin that every check relies on"),
    "environment.exit": _accuse("importing a module ends the process as a success"),
    "environment.stdlib": _not_yet(
        "a local module takes the place of one of the standard library or of a tool"
    ),
    "environment.path": _not_yet("a `.pth` file adds to the import path"),
    "environment.internals": _not_yet("source that is no test reaches into a test runner"),
    "environment.detects": _not_yet("source asks whether it is being tested"),
    "environment.frames": _not_yet("source looks into the frames of its callers"),
    "environment.equal": _not_yet("a class is equal to everything"),
    "environment.tracing": _not_yet("source hooks into tracing or the import system"),
    "environment.tests": _not_yet("source reads test files"),
    "environment.attributes": _not_yet("`.gitattributes` or `.gitmodules` make git change or run something"),
    "environment.submodule": _not_yet("a submodule points at another commit, which nobody judged"),
    "canary.silent": _accuse("a test that must fail did not fail"),
    "canary.unseen": _accuse("a test that must fail was not run, although it was at the base"),
    "canary.runner": _accuse("a part of the test runner is not what it was at the base"),
    "altered.green": _not_yet("a test that turned green stays green when it expects something else"),
    "repeat.flaky": _not_yet("green once and red once on the same tree"),
    "caches.poisoned": _accuse("byte code that Python would load without comparing it with its source"),
    "caches.left": _not_yet("a tool's cache or data was left in the tree"),
    "dependencies.plugin": _accuse("a new dependency retries or hides failing tests"),
    "dependencies.runner": _accuse("a test runner or checker now comes from somewhere else"),
    "secrets.key": _not_yet("an added line holds what looks like a key or token"),
    "secrets.private": _not_yet("a private key was added"),
    "secrets.password": _not_yet("an added line holds what looks like a real password"),
    "stubs.comment": _not_yet("an added comment says that something is still to do"),
    "stubs.body": _not_yet("a new function does nothing"),
    "stubs.emptied": _not_yet("a function lost its body"),
    "stubs.placeholder": _not_yet("new code raises or returns a placeholder"),
    "junk.large": _not_yet("a file over 1 MB was added"),
    "junk.binary": _not_yet("a binary file of a kind the base does not have"),
    "junk.ignored": _not_yet("a file that the base's .gitignore leaves out"),
    "junk.leftover": _not_yet("a leftover of an editor, a merge or the system"),
    "junk.installed": _not_yet("a virtual environment or installed packages"),
    "junk.repository": _not_yet("a repository inside the repository"),
    "junk.link": _not_yet("a symbolic link that leads out of the tree"),
    "criteria.lost": _not_yet("no test of a criterion fails without the work any more"),
    "criteria.idle": _not_yet("every test of a criterion passes on the base source too"),
}


def kind_of(finding: Finding) -> str:
    return finding.key.split(":", 1)[0]


def _is_hygiene(finding: Finding) -> bool:
    kind = KINDS.get(kind_of(finding))
    return kind is not None and not kind.integrity


def accuses(result: GuardResult) -> bool:
    """Is one of the findings an accusation? Kinds not listed here are what their guard says."""
    if not result.findings:
        return result.integrity
    known = (KINDS.get(kind_of(finding)) for finding in result.findings)
    return any(result.integrity if kind is None else kind.integrity for kind in known)


def guard_result(
    guard: str, facts: GuardFacts, findings: Iterable[Finding], *, good: str, bad: str, blind: str = ""
) -> GuardResult:
    """A guard's result. `blind` says what it should have looked at and could not; one finding a key.

    Accusations stand first: what is shown may be cut.
    """
    unique = tuple(sorted({finding.key: finding for finding in findings}.values(), key=_is_hygiene))
    summary = f"{bad} ({len(unique)})" if unique else good
    hygiene = all(not kind.integrity for name, kind in KINDS.items() if name.startswith(f"{guard}."))
    result = GuardResult(
        guard,
        facts.tree,
        applied=not blind,
        summary=f"{summary}; {blind}" if blind else summary,
        findings=unique,
        integrity=not hygiene,
    )
    return GuardResult(
        result.guard, result.tree, result.applied, result.summary, unique, integrity=accuses(result)
    )
