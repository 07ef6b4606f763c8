"""Guard "suppressions": comments that silence a checker do not grow where a gate relies on that checker.

Counted over the whole change and per kind: a suppression that moved is none that was added. Where the tool is
that of a proof gate the growth accuses; where another gate may run the tool it is only "not yet"; where no
gate runs it, it is a note in the summary.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.core.model import Finding, Gate, GuardResult
from ralph.gates.guards.facts import Facts
from ralph.gates.guards.kinds import settled
from ralph.gates.guards.paths import is_test
from ralph.gates.guards.texts import Pair, comments, pairs

NAME = "suppressions"


class _Mark(Struct, frozen=True):
    name: str
    pattern: re.Pattern[str]
    tools: re.Pattern[str]  # words in a gate's command that say it relies on this
    anywhere: bool = False  # an attribute of the language, no comment
    files: str = ""  # only in files with these endings


def _mark(name: str, pattern: str, tools: str, *, anywhere: bool = False, files: str = "") -> _Mark:
    flags = re.IGNORECASE if not anywhere else 0
    return _Mark(
        name, re.compile(pattern, flags), re.compile(rf"\b(?:{tools})", re.IGNORECASE), anywhere, files
    )


_TYPES = "mypy|pyright|basedpyright|pyre|pytype|ty check|typecheck|type-check"
_LINT = "ruff|flake8|pycodestyle|pyflakes|lint"
_JS_TYPES = "tsc|tsd|typecheck|type-check|vue-tsc|svelte-check|attw"
MARKS = (
    _mark("noqa", r"#\s*(?:(?:ruff|flake8)\s*:\s*)?noqa\b|#\s*ruff\s*:\s*(?:ignore|disable)", _LINT),
    _mark("type: ignore", r"#\s*type\s*:\s*ignore\b|#\s*mypy\s*:\s*(?:ignore|disable|allow)", _TYPES),
    _mark(
        "pyright: ignore", r"#\s*(?:based)?pyright\s*:\s*(?:ignore|basic|off|report\w+\s*=\s*false)", _TYPES
    ),
    _mark("ty: ignore", r"#\s*(?:ty|pyre|pytype)(?:-|\s*:\s*)(?:ignore|fixme|disable)", _TYPES),
    _mark("pylint: disable", r"#\s*pylint\s*:\s*(?:disable|skip)", "pylint|lint"),
    _mark("pragma: no cover", r"#\s*pragma\s*:\s*no\s*(?:cover|branch)", "coverage|cov|--cov"),
    _mark("nosec", r"(?:#|//)\s*nosec\b", "bandit|gosec|security"),
    _mark("nosemgrep", r"(?:#|//)\s*nosem(?:grep)?\b", "semgrep|security"),
    _mark(
        "gitleaks: allow",
        r"(?:#|//)\s*gitleaks\s*:\s*allow|pragma\s*:\s*allowlist secret",
        "gitleaks|secrets",
    ),
    _mark(
        "eslint-disable",
        r"(?://|/\*)\s*(?:eslint|oxlint|tslint)[-:]disable|biome-ignore|deno-lint-ignore",
        "eslint|oxlint|tslint|biome|xo|standard|lint",
    ),
    _mark("ts-ignore", r"(?://|/\*)\s*@ts-(?:ignore|nocheck|expect-error)", _JS_TYPES),
    _mark(
        "coverage ignore",
        r"(?://|/\*)\s*(?:istanbul|c8|v8|node:coverage)\s+(?:ignore|disable)",
        "c8|nyc|istanbul|coverage",
    ),
    _mark("nolint", r"//\s*nolint\b|//\s*lint:ignore", "golangci|staticcheck|lint|vet"),
    _mark(
        "allow(…)",
        r"#!?\[(?:cfg_attr\([^\]]*)?(?:allow|expect)\(",
        "clippy|cargo (?:build|check)|rustc",
        anywhere=True,
        files=".rs",
    ),
    _mark("#[ignore]", r"#\[ignore\b", "cargo (?:test|nextest)", anywhere=True, files=".rs"),
    _mark("rubocop:disable", r"#\s*rubocop\s*:\s*(?:disable|todo)", "rubocop|lint"),
    _mark("shellcheck disable", r"#\s*shellcheck\s+disable", "shellcheck|lint"),
    _mark(
        "SuppressWarnings",
        r"@(?:Suppress|SuppressWarnings|SuppressLint)\(",
        "gradle|mvn|detekt|lint",
        anywhere=True,
        files=".java .kt .kts",
    ),
)
# Cheap to look for: no line without one of these can hold any mark.
_HINTS = (
    *(
        "noqa",
        "ignore",
        "disable",
        "pragma",
        "nosec",
        "nosem",
        "gitleaks",
        "@ts-",
        "nolint",
        "allow(",
        "expect(",
    ),
    *("todo", "suppress", "pyright", "mypy:", "fixme", "pylint"),
)
# Commands behind which any checker may stand.
_OPEN = re.compile(
    r"\b(?:make|just|task|tox|nox|poe|invoke|pre-commit|prek|npm|pnpm|yarn|bun|gradle\w*|mvn\w*|rake|hatch)\b|\.sh\b|^/bin/sh",
)
_BASELINE = re.compile(
    r"(?:^|/)(?:\.semgrepignore|\.gitleaksignore|\.trivyignore|\.secrets\.baseline|\.bandit|\.snyk|osv-scanner\.toml"
    r"|mypy-baseline\.txt|\.mypy-baseline\.txt|\.?basedpyright/baseline\.json|\.eslintignore|eslint-suppressions\.json"
    r"|\.stylelintignore|\.rubocop_todo\.yml|phpstan-baseline\.(?:neon|php)|detekt-baseline\.xml|lint-baseline\.xml"
    r"|\.betterer\.results|ruff-baseline\.json|\.pylint-baseline)\Z"
)
_COVERED = re.compile(r"--cov-fail-under")  # in addopts: then plain pytest judges coverage
_COVERAGE_FILES = ("pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", ".coveragerc")


def check(facts: Facts) -> GuardResult:
    findings = [*_baselines(facts)]
    notes = []
    for mark, path, line, more in _grown(facts):
        word = f'"{mark.name}"'
        kind, gate = _weight(mark, facts)
        if kind == "note":
            notes.append(f"{more} more {word} in {path}")
            continue
        text = (
            f"{path} has {more} more {word} than at the base, and gate {gate} may rely on what that silences"
        )
        findings.append(Finding(f"suppressions.{kind}:{path} {mark.name}", text, path=path, line=line))
    good = "no suppression was added that a gate could be fooled by"
    if notes:
        good += f" (noted: {', '.join(notes[:5])})"
    return settled(
        NAME, facts, findings, good=good, bad="checkers are silenced in more places than at the base"
    )


def _baselines(facts: Facts) -> list[Finding]:
    found = []
    for pair in pairs(facts):
        if not _BASELINE.search(pair.path) or pair.change.status == "D":
            continue
        had = {line.strip() for line in pair.old.split("\n")}
        added = [
            line
            for line in pair.new.split("\n")
            if line.strip() not in had and not line.lstrip().startswith("#")
        ]
        if added and pair.new.count("\n") >= pair.old.count("\n"):
            text = f"{pair.path} leaves out more than at the base: a checker no longer looks there"
            found.append(Finding(f"suppressions.baseline:{pair.path}", text, path=pair.path))
    return found


def _grown(facts: Facts) -> list[tuple[_Mark, str, int, int]]:
    """(kind, file, a line of it, how many more): only what the change as a whole has more of."""
    rows: dict[str, list[tuple[str, int, int]]] = {}
    for pair in pairs(facts):
        if pair.change.status == "D" and not pair.old:
            continue
        for mark, before, lines in _counted(pair):
            rows.setdefault(mark.name, []).append((pair.path, lines[-1] if lines else 0, len(lines) - before))
    found = []
    for mark in MARKS:
        counted = rows.get(mark.name, ())
        total = sum(more for _, _, more in counted)
        for path, line, more in counted:
            if total > 0 and more > 0:
                found.append((mark, path, line, min(more, total)))
                total -= more
    return found


def _counted(pair: Pair) -> list[tuple[_Mark, int, list[int]]]:
    """Per kind: how many at the base, and the lines of those in the result. Strings do not count."""
    sides = [_suspects(text) for text in (pair.old, pair.new)]
    rough = _rows(pair, sides)
    if all(len(lines) <= before for _, before, lines in rough):
        return rough
    remarks = [
        comments(pair.path, text) if lines else {}
        for text, lines in zip((pair.old, pair.new), sides, strict=True)
    ]
    return _rows(pair, sides, remarks)


def _suspects(text: str) -> dict[int, str]:
    low = text.lower()
    if not any(hint in low for hint in _HINTS):
        return {}
    return {
        number: line
        for number, line in enumerate(text.split("\n"), 1)
        if any(hint in line.lower() for hint in _HINTS)
    }


def _rows(
    pair: Pair, sides: list[dict[int, str]], remarks: list[dict[int, str]] | None = None
) -> list[tuple[_Mark, int, list[int]]]:
    """By whole lines, or by the comments in them when those are given."""
    found = []
    for mark in MARKS:
        if mark.files and not pair.path.endswith(tuple(mark.files.split())):
            continue
        if mark.name == "pragma: no cover" and is_test(pair.path):
            continue  # how much of the tests is covered says nothing about the source
        numbers = [
            [
                number
                for number, text in (side if mark.anywhere or remarks is None else remarks[at]).items()
                if mark.pattern.search(text)
            ]
            for at, side in enumerate(sides)
        ]
        if numbers[0] or numbers[1]:
            found.append((mark, len(numbers[0]), numbers[1]))
    return found


def _weight(mark: _Mark, facts: Facts) -> tuple[str, str]:
    """silenced, grown or note; and the gate that makes it so."""
    verdicts = [(_relies(mark, gate, facts), gate) for gate in facts.gates]
    for wanted, kind in (("proof", "silenced"), ("other", "grown")):
        for verdict, gate in verdicts:
            if verdict == wanted:
                return kind, gate.name
    return "note", ""


def _relies(mark: _Mark, gate: Gate, facts: Facts) -> str:
    words = f"{gate.run} {gate.read}"
    named = bool(mark.tools.search(words))
    if named:
        return "proof" if gate.proof else "other"
    if mark.name == "pragma: no cover" and gate.read == "pytest":
        texts = (facts.read_base(path) or b"" for path in _COVERAGE_FILES)
        if any(_COVERED.search(text[:200_000].decode("utf-8", "replace")) for text in texts):
            return "other"
    return "other" if _OPEN.search(gate.run) else ""
