"""Guard "suppressions": comments that silence a checker do not grow where a gate relies on that checker.

Counted over the whole change and per kind: a suppression that moved is none that was added. Where the tool is
that of a proof gate the growth accuses; where another gate may run the tool it is only "not yet"; where no
gate runs it, it is a note in the summary.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.toolchains.load import toolchains
from ralph.gates.command import word_set
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import Pair, label, pairs, remarks
from ralph.gates.guards._files.behind_command import text_behind
from ralph.gates.guards._files.vaguer_types import find_vaguer
from ralph.gates.judging_paths import is_test

NAME = "suppressions"
KINDS = guard_kinds(NAME, "do what the checker asks for instead of silencing it", {
    "silenced": ("accuses", "comments that silence the tool of a proof gate grew"),
    "baseline": ("accuses", "an ignore file or baseline of a checker grew"),
    "grown": ("not yet", "comments that silence a checker of another gate grew"),
})  # fmt: skip
_BARE = "bare "  # without a code: it silences everything on its line
_Sides = tuple[dict[int, str], dict[int, str]]  # line -> text, at the base and in the result


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
    _mark("bare noqa", r"#\s*noqa\b(?!\s*:)", _LINT),
    _mark("bare type: ignore", r"#\s*type\s*:\s*ignore\b(?!\[)", _TYPES),
)
_ANY = _mark("Any", r"\bAny\b", _TYPES)
# Cheap to look for: no line without one of these can hold any mark.
_HINTS = word_set(
    "noqa ignore disable pragma nosec nosem gitleaks @ts- nolint allow( expect( todo suppress pyright mypy: "
    "fixme pylint"
)
# Commands behind which any checker may stand, and nobody can look.
_OPEN = re.compile(r"\b(?:lint|check|style|quality|verify|pre-commit|prek|ci|all)\b")
# Files that list what a checker leaves out, by the tool that reads them.
_BASELINES = tuple(
    (re.compile(rf"(?:^|/)(?:{files})\Z"), _mark("baseline", "", tools))
    for files, tools in (
        (r"\.semgrepignore", "semgrep|security"),
        (r"\.gitleaksignore|\.secrets\.baseline", "gitleaks|detect-secrets|secrets"),
        (r"\.trivyignore|\.snyk|osv-scanner\.toml", "trivy|snyk|osv-scanner|security|audit"),
        (r"\.bandit", "bandit|security"),
        (r"\.?mypy-baseline\.txt|\.?basedpyright/baseline\.json", _TYPES),
        (r"\.eslintignore|eslint-suppressions\.json", "eslint|xo|standard|lint"),
        (r"\.stylelintignore", "stylelint|lint"),
        (r"\.rubocop_todo\.yml", "rubocop|lint"),
        (r"phpstan-baseline\.(?:neon|php)", "phpstan|lint"),
        (r"detekt-baseline\.xml|lint-baseline\.xml", "gradle|detekt|lint"),
        (r"\.betterer\.results", "betterer"),
        (r"ruff-baseline\.json", _LINT),
        (r"\.pylint-baseline", "pylint|lint"),
    )
)
_GENERATED = re.compile(r"(?:json|baseline|txt|xml|neon|php|results)\Z")  # lists of findings, not of patterns
_COVERED = re.compile(r"--cov-fail-under")  # in addopts: then the plain runner judges coverage


def check(facts: GuardFacts) -> GuardResult:
    notes: list[str] = []
    findings = [*_baselines(facts, notes), *_vague(facts)]
    told: set[tuple[str, str]] = set()
    for mark, path, line, more in _grown_marks(facts):
        if (path, mark.name.removeprefix(_BARE)) in told:
            continue  # a bare one more is one more already
        told.add((path, mark.name))
        word = f'"{mark.name}"'
        kind, gate = _weight(mark, facts)
        if kind == "note":
            notes.append(f"{more} more {word} in {path}")
            continue
        text = f"{path} has {more} more {word} than at the base, which may silence what gate {gate} looks for"
        findings.append(Finding(f"suppressions.{kind}:{path}:{label(mark.name)}", text, path=path, line=line))
    good = "no suppression was added that a gate could be fooled by"
    if notes:
        good += f" (noted: {', '.join(notes[:5])})"
    return guard_result(
        NAME, facts, findings, good=good, bad="checkers are silenced in more places than at the base"
    )


def _baselines(facts: GuardFacts, notes: list[str]) -> list[Finding]:
    found = []
    for pair in pairs(facts):
        tool = next((mark for files, mark in _BASELINES if files.search(pair.path)), None)
        if tool is None or pair.change.status == "D":
            continue
        had = {line.strip(" ,\t") for line in pair.old.split("\n")} | {""}
        now = [line.strip(" ,\t") for line in pair.new.split("\n") if not line.lstrip().startswith("#")]
        grown = any(line not in had for line in now)
        if _GENERATED.search(pair.path):  # line numbers in it change with every edit; more lines are more
            grown = pair.new.count("\n") > pair.old.count("\n")
        if grown and _weight(tool, facts)[0] == "note":
            notes.append(f"{pair.path} leaves out more")
        elif grown:
            text = f"{pair.path} leaves out more than at the base: a checker no longer looks there"
            found.append(Finding(f"suppressions.baseline:{pair.path}", text, path=pair.path))
    return found


def _vague(facts: GuardFacts) -> list[Finding]:
    """Where a gate relies on types, one that became Any is a place where it no longer looks."""
    gate = next((gate for gate in facts.gates if _ANY.tools.search(f"{gate.run} {gate.read}")), None)
    if gate is None:
        return []
    return [
        Finding(
            f"suppressions.grown:{each.path}:Any:{each.function}",
            f"an annotation of {each.function} became Any, where gate {gate.name} no longer looks",
            path=each.path,
            line=each.line,
        )
        for each in find_vaguer(facts)
    ]


def _grown_marks(facts: GuardFacts) -> list[tuple[_Mark, str, int, int]]:
    """(kind, file, a line of it, how many more): only what the change as a whole has more of."""
    sides = {pair.path: (_suspects(pair.old), _suspects(pair.new)) for pair in pairs(facts)}
    files = [pair for pair in pairs(facts) if any(sides[pair.path])]
    found = []
    for mark in MARKS:
        rows = [row for pair in files if (row := _count_mark(mark, pair, sides[pair.path])) is not None]
        if sum(len(lines) - before for _, before, lines in rows) <= 0:
            continue
        # What stands in a string silences nothing; looked at closely only where it matters.
        if not mark.anywhere and _weight(mark, facts)[0] != "note":
            asked = [pair for pair, _, _ in rows]
            rows = [
                row for pair in asked if (row := _count_mark(mark, pair, remarks(facts, pair))) is not None
            ]
        total = sum(len(lines) - before for _, before, lines in rows)
        for pair, before, lines in rows:
            more = len(lines) - before
            if total > 0 and more > 0:
                found.append((mark, pair.path, lines[-1], min(more, total)))
                total -= more
    return found


def _count_mark(mark: _Mark, pair: Pair, sides: _Sides) -> tuple[Pair, int, list[int]] | None:
    """How many at the base, and the lines of those in the result."""
    if mark.files and not pair.path.endswith(tuple(mark.files.split())):
        return None
    if mark.name == "pragma: no cover" and is_test(pair.path):
        return None  # how much of the tests is covered says nothing about the source
    before, after = ([number for number, text in side.items() if mark.pattern.search(text)] for side in sides)
    return (pair, len(before), after) if before or after else None


def _suspects(text: str) -> dict[int, str]:
    low = text.lower()
    if not any(hint in low for hint in _HINTS):
        return {}
    return {
        number: line
        for number, line in enumerate(text.split("\n"), 1)
        if any(hint in line.lower() for hint in _HINTS)
    }


def _weight(mark: _Mark, facts: GuardFacts) -> tuple[str, str]:
    """silenced, grown or note; and the gate that makes it so."""
    verdicts = [(_relies(mark, gate, facts), gate) for gate in facts.gates]
    for wanted, kind in (("proof", "silenced"), ("other", "grown")):
        for verdict, gate in verdicts:
            if verdict == wanted:
                return kind, gate.name
    return "note", ""


def _reports_coverage(read: str) -> bool:
    """May a plain call of this runner judge coverage, because its settings say so?"""
    runner = toolchains().runners.get(read)
    return runner is not None and runner.family == "python" and runner.row.chooses == "ids"


def _relies(mark: _Mark, gate: Gate, facts: GuardFacts) -> str:
    if mark.tools.search(f"{gate.run} {gate.read}"):
        return "proof" if gate.proof else "other"
    if mark.name == "pragma: no cover" and _reports_coverage(gate.read):
        texts = (facts.read_base(path) or b"" for path in toolchains().paths.settings)
        if any(_COVERED.search(text[:200_000].decode("utf-8", "replace")) for text in texts):
            return "other"
    if mark.tools.search(text_behind(gate, facts.read_base)):
        return "other"
    known = gate.own_files or any(other.tools.search(gate.run) for other in MARKS)
    return "other" if not known and _OPEN.search(gate.run) else ""
