"""Every kind of finding: its weight, what it says, and the way out. docs/guards.md is held against it.

A kind that accuses speaks of intent: twice in a loop ends it for a human's review. One that asks cannot be
told from honest work: a user's word settles it, nobody is accused. Hygiene only says not yet. "accuses or
asks": accuses where a red check was bent, asks where what was green is expected otherwise (`Finding.asks`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts

Weight = Literal["accuses", "accuses or asks", "asks", "not yet"]


class Kind(Struct, frozen=True):
    weight: Weight
    says: str
    way: str  # what to change, so that there is nothing to find

    @property
    def integrity(self) -> bool:
        return self.weight.startswith("accuses")

    @property
    def grantable(self) -> bool:
        """May a user grant it before it is seen? Never what accuses."""
        return self.weight != "accuses"


_Row = tuple[Weight, str] | tuple[Weight, str, str]  # the third: a way out of its own


def _kinds(guard: str, way: str, rows: dict[str, _Row]) -> dict[str, Kind]:
    return {f"{guard}.{name}": Kind(*row) if len(row) == 3 else Kind(*row, way) for name, row in rows.items()}


_PUT_BACK = "put back what the base had and change the source instead"
_TAKE_OUT = "take it out"
KINDS: dict[str, Kind] = {
    **_kinds("inventory", "put the test back as it was, and make the source pass it", {
        "deleted": ("accuses or asks", "a test of the base is gone"),
        "skipped": ("accuses or asks", "a test that ran at the base is skipped now", "take the skip out"),
        "weakened": (
            "accuses or asks", "a changed test passes, its version from the base fails on the new source"),
        "fewer": ("asks", "fewer tests ran than at the base (where only counts are known)"),
        "unknown": ("accuses", "the tests were known at the base and are not known now",
            "let the check report its tests as it did at the base"),
    }),
    **_kinds("base_tests", "make the source pass the base's tests and settings as they were", {
        "red": ("accuses or asks", "red with the base's tests and configs over the new source"),
        "missing": ("accuses", "the base's tests were not run over the new source",
            "let the check run as it did at the base"),
    }),
    **_kinds("protected", _PUT_BACK, {
        "ralph": ("accuses", "`ralph.toml` or `[tool.ralph]` changed", "put it back as it was"),
        "ci": ("asks", "a workflow of continuous integration changed", "put it back as it was"),
        "gate": ("accuses", "a file that a gate's command is made of changed"),
        "path": ("accuses", "a path under the user's `protect` globs changed", "put it back as it was"),
    }),
    **_kinds("pinned", "leave commands and tools of the checks alone", {
        "command": ("accuses", "the command executed is not the sealed one"),
        "tool": ("accuses", "the tool is not the one that was sealed"),
        "unseen": ("accuses", "what was executed is not recorded"),
    }),
    **_kinds("assertions", "let the test ask what it asked at the base", {
        "removed": ("accuses or asks", "an assertion of a base test is gone"),
        "tautology": ("accuses", "an assertion can no longer fail"),
        "weakened": ("accuses or asks", "an assertion now accepts more than it did"),
        "expected": ("accuses or asks", "the value a test expects was changed"),
        "dead": ("accuses", "an assertion is no longer reached, or its failure is swallowed"),
        "widened": ("accuses or asks", "a test expects a broader exception, or no longer its message"),
        "cases": ("accuses or asks", "cases of a parametrised or looping test are gone"),
        "skip": ("accuses or asks", "a skip, xfail, todo or only was added to a base test"),
        "shadowed": ("accuses", "the name of a base test is defined again and hides it",
            "give the new one another name"),
        "hook": ("accuses", "a pytest hook was added that changes what tests report", _TAKE_OUT),
    }),
    **_kinds("suppressions", "do what the checker asks for instead of silencing it", {
        "silenced": ("accuses", "comments that silence the tool of a proof gate grew"),
        "baseline": ("accuses", "an ignore file or baseline of a checker grew"),
        "grown": ("not yet", "comments that silence a checker of another gate grew"),
    }),
    **_kinds("environment", _TAKE_OUT, {
        "customize": ("accuses", "`sitecustomize.py` or `usercustomize.py`: Python runs it at every start"),
        "startup": ("accuses", "a `.pth` file with code: Python runs it at every start"),
        "entry_point": ("accuses", "package metadata in the tree registers a pytest plugin"),
        "shadow": ("accuses", "a local module takes the place of the test runner", "give it another name"),
        "shim": ("accuses", "an executable is named like a tool of the gates", "give it another name"),
        "variables": ("accuses", "a file sets variables or options that steer a runner"),
        "patch": ("accuses", "code replaces parts of a test runner or of an assertion library"),
        "builtins": ("accuses", "code replaces a builtin that every check relies on"),
        "exit": ("accuses", "importing a module ends the process as a success"),
        "stdlib": ("not yet", "a local module takes the place of one of the standard library or of a tool",
            "give it another name"),
        "path": ("not yet", "a `.pth` file adds to the import path"),
        "internals": ("not yet", "source that is no test reaches into a test runner"),
        "detects": ("not yet", "source asks whether it is being tested"),
        "frames": ("not yet", "source looks into the frames of its callers"),
        "equal": ("not yet", "a class is equal to everything"),
        "tracing": ("not yet", "source hooks into tracing or the import system"),
        "tests": ("not yet", "source reads test files"),
        "attributes": ("not yet", "`.gitattributes` or `.gitmodules` make git change or run something"),
        "submodule": ("not yet", "a submodule points at another commit, which nobody judged", "put it back"),
    }),
    **_kinds("canary", "take out what changes how tests are run or reported", {
        "silent": ("accuses", "a test that must fail did not fail"),
        "unseen": ("accuses", "a test that must fail was not run, although it was at the base"),
        "runner": ("accuses", "a part of the test runner is not what it was at the base"),
    }),
    **_kinds("altered", "compute the answer instead of taking it from the test", {
        "green": ("not yet", "a test that turned green stays green when it expects something else"),
    }),
    **_kinds("repeat", "make it come out the same each time", {
        "flaky": ("not yet", "green once and red once on the same tree"),
    }),
    **_kinds("caches", "delete it and let .gitignore leave it out", {
        "poisoned": ("accuses", "byte code that Python would load without comparing it with its source"),
        "left": ("not yet", "a tool's cache or data was left in the tree"),
    }),
    **_kinds("dependencies", "take that dependency back", {
        "plugin": ("accuses", "a new dependency retries or hides failing tests"),
        "runner": ("accuses", "a test runner or checker now comes from somewhere else"),
    }),
    **_kinds("secrets", "take it out and read it from the environment", {
        "key": ("not yet", "an added line holds what looks like a key or token"),
        "private": ("not yet", "a private key was added"),
        "password": ("not yet", "an added line holds what looks like a real password"),
    }),
    **_kinds("stubs", "finish it", {
        "comment": ("not yet", "an added comment says that something is still to do",
            "do it, or name its issue in the comment"),
        "body": ("not yet", "a new function does nothing"),
        "emptied": ("not yet", "a function lost its body",
            "put the body back, or delete the function and its uses"),
        "placeholder": ("not yet", "new code raises or returns a placeholder"),
    }),
    **_kinds("junk", "delete it, or keep it out of the repository", {
        "large": ("not yet", "a file over 1 MB was added"),
        "binary": ("not yet", "a binary file of a kind the base does not have"),
        "ignored": ("not yet", "a file that the base's .gitignore leaves out"),
        "leftover": ("not yet", "a leftover of an editor, a merge or the system"),
        "installed": ("not yet", "a virtual environment or installed packages"),
        "repository": ("not yet", "a repository inside the repository"),
        "link": ("not yet", "a symbolic link that leads out of the tree"),
    }),
    **_kinds("substance", "do what the task asks for", {
        "nothing": ("not yet", "only blank lines, white space or layout changed"),
        "code": ("not yet", "a refactoring changed no code, only documents, comments or layout",
            "change the code as the task asks"),
        "documents": ("not yet", "a task about documentation changed no document, docstring or comment",
            "change the documents as the task asks"),
    }),
    **_kinds("criteria", "write a test for the criterion that fails without the work", {
        "lost": ("not yet", "no test of a criterion fails without the work any more"),
        "idle": ("not yet", "every test of a criterion passes on the base source too"),
    }),
}  # fmt: skip
# Kinds whose questions are about one test, or all of one file: a word for one of them is a word for all.
ABOUT_TESTS = frozenset(name for name, kind in KINDS.items() if kind.weight == "accuses or asks")


def kind_of(finding: Finding) -> str:
    return finding.key.split(":", 1)[0]


def is_accusing(finding: Finding, *, otherwise: bool) -> bool:
    """`otherwise`: for a kind that is not listed here."""
    kind = KINDS.get(kind_of(finding))
    if kind is None:
        return otherwise
    return kind.weight == "accuses" or (kind.weight == "accuses or asks" and not finding.asks)


def accuses(result: GuardResult) -> bool:
    """Is one of the findings an accusation? Kinds not listed here are what their guard says."""
    if not result.findings:
        return result.integrity
    return any(is_accusing(finding, otherwise=result.integrity) for finding in result.findings)


def with_way_out(finding: Finding) -> Finding:
    """The finding with what to do about it; a kind that always asks is marked as a question."""
    kind = KINDS.get(kind_of(finding))
    if kind is None:
        return finding
    name, _, subject = finding.key.partition(":")
    way = f"{kind.way}; or answer BLOCKED with ALLOW: {name} {subject} because …"
    asks = kind.weight == "asks" or (finding.asks and kind.weight == "accuses or asks")
    return replace(finding, way=way, asks=asks)


def guard_result(
    guard: str, facts: GuardFacts, findings: Iterable[Finding], *, good: str, bad: str, blind: str = ""
) -> GuardResult:
    """A guard's result. `blind` says what it should have looked at and could not; one finding a key.

    Accusations stand first: what is shown may be cut.
    """
    each = {finding.key: finding for finding in findings}.values()
    unique = tuple(sorted(each, key=lambda finding: not is_accusing(finding, otherwise=True)))
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
    return replace(result, integrity=accuses(result))
