"""Guard "suppressions": comments that silence a checker do not grow where a gate relies on that checker.

Counted over the whole change and per kind: a suppression that moved is none that was added. Where the tool is
that of a proof gate the growth accuses; where another gate may run the tool you are asked; where no gate runs
it, it is a note in the summary.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.toolchains.load import toolchains
from ralph.gates.command import word_set
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.tables import read_table
from ralph.gates.guards._base.texts import Pair, label, pairs, remarks
from ralph.gates.guards._files.behind_command import text_behind
from ralph.gates.guards._files.vaguer_types import find_vaguer
from ralph.gates.judging_paths import is_test

NAME = "suppressions"
KINDS = guard_kinds(NAME, "fix what the checker reports instead of silencing it", {
    "silenced": ("accuses", "there are more comments that silence the tool of a proof gate"),
    "grown": ("asks", "there are more comments that silence a checker of another gate"),
})  # fmt: skip
_BARE = "bare "  # without a code: it silences everything on its line
_Sides = tuple[dict[int, str], dict[int, str]]  # line -> text, at the base and in the result


class _Mark(Struct, frozen=True):
    """Something that silences a checker."""

    tools: str  # words in a gate's command that say it relies on this, or a row of such words
    pattern: str = ""
    name: str = ""
    anywhere: bool = False  # an attribute of the language, no comment
    files: tuple[str, ...] = ()  # only in files with these endings

    def is_in(self, line: str) -> bool:
        return bool(re.search(self.pattern, line, 0 if self.anywhere else re.IGNORECASE))

    def is_relied_on(self, command: str) -> bool:
        words = _table().tools.get(self.tools, self.tools)
        return bool(re.search(rf"\b(?:{words})", command, re.IGNORECASE))


class _MarkTable(Struct, frozen=True):
    tools: dict[str, str]
    mark: tuple[_Mark, ...]


@cache
def _table() -> _MarkTable:
    return read_table(__package__, "suppressions", _MarkTable)


_ANY = _Mark("python types")
# Cheap to look for: no line without one of these can hold any mark.
_HINTS = word_set(
    "noqa ignore disable pragma nosec nosem gitleaks @ts- nolint allow( expect( todo suppress pyright mypy: "
    "fixme pylint"
)
# Commands behind which any checker may stand, and nobody can look.
_OPEN = re.compile(r"\b(?:lint|check|style|quality|verify|pre-commit|prek|ci|all)\b")
_COVERED = re.compile(r"--cov-fail-under")  # in addopts: then the plain runner judges coverage


def check(facts: GuardFacts) -> GuardResult:
    notes: list[str] = []
    findings = _vague(facts)
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
        text = f"{path} has {more} more {word} than at the base, which may silence gate {gate}"
        findings.append(Finding(f"suppressions.{kind}:{path}:{label(mark.name)}", text, path=path, line=line))
    good = "no suppression was added that a gate could be fooled by"
    if notes:
        good += f" (noted: {', '.join(notes[:5])})"
    return guard_result(
        NAME, facts, findings, good=good, bad="checkers are silenced in more places than at the base"
    )


def _vague(facts: GuardFacts) -> list[Finding]:
    """Where a gate relies on types, one that became Any is a place where it no longer looks."""
    gate = next((gate for gate in facts.gates if _ANY.is_relied_on(f"{gate.run} {gate.read}")), None)
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
    for mark in _table().mark:
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
    if mark.files and not pair.path.endswith(mark.files):
        return None
    if mark.name == "pragma: no cover" and is_test(pair.path):
        return None  # how much of the tests is covered says nothing about the source
    before, after = ([number for number, text in side.items() if mark.is_in(text)] for side in sides)
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
    if mark.is_relied_on(f"{gate.run} {gate.read}"):
        return "proof" if gate.proof else "other"
    if mark.name == "pragma: no cover" and _reports_coverage(gate.read):
        texts = (facts.read_base(path) or b"" for path in toolchains().paths.settings)
        if any(_COVERED.search(text[:200_000].decode("utf-8", "replace")) for text in texts):
            return "other"
    if mark.is_relied_on(text_behind(gate, facts.read_base)):
        return "other"
    known = gate.own_files or any(other.is_relied_on(gate.run) for other in _table().mark)
    return "other" if not known and _OPEN.search(gate.run) else ""
