"""What makes a spec fit to be worked by: found with file and line, before any agent reads it.

P1: nobody could prove the spec (no id, no clause, two criteria with one id, words that no check can decide).
P2: advice (implementation detail, the file's name). Words in quotes or code are what users see, so they may
be anything. Nothing here knows whether a criterion is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ralph.core.model.gate import Severity
from ralph.core.model.verdict import Finding
from ralph.core.specs.parse import Spec, SpecCriterion, SpecLine

EDGE_CASES = 2
_QUOTED = re.compile(
    r"`[^`]*`|\"[^\"]*\"|\u201c[^\u201d]*\u201d|\u00ab[^\u00bb]*\u00bb|\u300c[^\u300d]*\u300d"
)
_FILL_IN = re.compile(r"<fill in\b", re.IGNORECASE)
_UNFINISHED = re.compile(r"\b(?:TBD|TODO|FIXME|XXX)\b|\?\?\?")
_AND = re.compile(r"\band\b|&", re.IGNORECASE)
_SENTENCES = re.compile(r"[.!?]\s+\S")
_NONE = re.compile(r"\W*(?:none|n/?a|nothing)\W*", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|never|always|no|every|all|none)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
# Words of degree say something once a number stands beside them.
_DEGREE = re.compile(
    r"\b(?:fast(?:er)?|quick(?:ly)?|slow(?:ly)?|many|few|several|efficient(?:ly)?|scalable|minimal(?:ly)?"
    r"|responsive|highly available|lightweight|frequent(?:ly)?|soon)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:easy|easily|simple|simply|user[- ]friendly|intuitive(?:ly)?|appropriate(?:ly)?|adequate(?:ly)?"
    r"|sufficient(?:ly)?|reasonabl[ey]|robust(?:ly)?|flexib(?:le|ly)|seamless(?:ly)?|graceful(?:ly)?"
    r"|proper(?:ly)?|correct(?:ly)?|good|nice(?:ly)?|better|best|clean(?:ly)?|modern|sensibl[ey]|suitabl[ey]"
    r"|as needed|if possible|as expected|and so on|etc|various|works? (?:well|fine)|state of the art)\b",
    re.IGNORECASE,
)
_TOOLS = (
    "react redux vue angular django flask fastapi express spring rails laravel postgres postgresql mysql"
    " mongodb redis sqlite kafka rabbitmq webpack usestate useeffect"
)
_PARTS = (
    "singleton|subclass(?:es)?|decorators?|refactor\\w*|design pattern|foreign key|database table|hash ?map"
    "|mutex|microservices?"
)
_DETAIL: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b\w{1,60}\.(?:py|js|jsx|ts|tsx|go|rs|java|rb|php|c|cpp|cs|vue|sql)\b",
        r"(?<![\w/])(?:src|lib|app|internal|pkg)/\w",
        r"\b\w{2,60}\(\)",
        r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b.{1,200}\b(?:FROM|INTO|SET|WHERE)\b",
        rf"(?i)\b(?:{_TOOLS.replace(' ', '|')})\b",
        rf"(?i)\b(?:{_PARTS})\b",
        r"(?i)\b(?:using|via|with) (?:the |a )?\w{1,40} (?:library|framework|package|class|function)\b",
    )
)
_FILE = re.compile(r"\d{2,4}-[a-z0-9]+(?:-[a-z0-9]+)*\.md")
_WANT = re.compile(r"\bwants?\b|\bneeds?\b|\bwould like\b", re.IGNORECASE)
_GAIN = re.compile(r"\bso\b|\bin order to\b", re.IGNORECASE)


def check_specs(specs: Sequence[Spec]) -> tuple[Finding, ...]:
    """Everything that is wrong with a set of specs, by file and line."""
    found: list[Finding] = []
    for spec in specs:
        found += _check_one(spec)
    found += _duplicates(specs)
    return tuple(sorted(found, key=lambda one: (one.path, one.line, one.key)))


def clarity_of(specs: Sequence[Spec], findings: Iterable[Finding]) -> dict[str, int]:
    """Criterion -> how clear it is, 0 to 4: one point each for Given, When and Then, one for no finding."""
    troubled = [(one.path, one.line) for one in findings]
    points: dict[str, int] = {}
    for spec in specs:
        lines = {line for path, line in troubled if path == spec.path}
        for one in spec.criteria:
            if one.id:
                clean = lines.isdisjoint(range(one.line, one.end + 1))
                points.setdefault(one.id, bool(one.given) + bool(one.when) + bool(one.then) + clean)
    return points


class _Findings:
    def __init__(self, path: str) -> None:
        self.path = path
        self.all: list[Finding] = []

    def add(self, rule: str, line: int, message: str, severity: Severity = "P1", about: str = "") -> None:
        key = f"{rule}:{self.path}" + (f":{about}" if about else "")
        self.all.append(Finding(key=key, message=message, path=self.path, line=line, severity=severity))


def _check_one(spec: Spec) -> list[Finding]:
    found = _Findings(spec.path)
    if not _FILE.fullmatch(spec.path.rpartition("/")[2]):
        found.add("spec-name", 1, "the file's name is not like '01-log-in.md'", "P2")
    _check_head(spec, found)
    if not spec.criteria:
        found.add("spec-criteria", 1, "there is no criterion, expected '### ID-1: …' with Given, When, Then")
    for one in spec.criteria:
        _check_criterion(one, found)
    if len(spec.edge_cases) < EDGE_CASES:
        line = spec.edge_cases[0].line if spec.edge_cases else 1
        found.add(
            "spec-edges",
            line,
            f"expected at least {EDGE_CASES} criteria under 'Edge cases', found {len(spec.edge_cases)}",
        )
    for need in spec.requirements:
        text = need.text
        if not (_NONE.fullmatch(text) or _FILL_IN.search(text) or _NUMBER.search(text)):
            found.add(
                "spec-measure",
                need.line,
                f"not measurable: '{_short(text)}' has no number",
                about=_short(text),
            )
    for said in (*spec.statements, *spec.requirements, *((spec.topic,) if spec.topic else ())):
        _check_words(said, found)
    return found.all


def _check_head(spec: Spec, found: _Findings) -> None:
    topic, job = spec.topic, spec.job
    if topic is None or not topic.text:
        found.add("spec-topic", 1, "there is no topic, expected '# Name' and 'Topic: one sentence'")
    else:
        words = _QUOTED.sub("", topic.text)
        if _AND.search(words):
            found.add(
                "spec-topic-and",
                topic.line,
                "the topic joins two things with 'and': two specs would be clearer",
            )
        if _SENTENCES.search(words):
            found.add("spec-topic-long", topic.line, "the topic is more than one sentence")
    if job is None:
        found.add("spec-job", 1, "there is no job statement, expected 'Job: When …, … wants to …, so that …'")
    elif _FILL_IN.search(job.text):
        found.add("spec-unfinished", job.line, "text of the template is still there", about="job")
    elif not _WANT.search(job.text) or not _GAIN.search(job.text):
        found.add(
            "spec-job", job.line, "the job statement does not say who wants what ('wants to … so that …')"
        )


def _check_criterion(one: SpecCriterion, found: _Findings) -> None:
    shown = one.id or one.title or "a criterion"
    if not one.id:
        found.add(
            "spec-id", one.line, f"'{_short(shown)}' has no id, expected one like AUTH-1", about=_short(shown)
        )
    empty = [
        name
        for name, clauses in (("Given", one.given), ("When", one.when), ("Then", one.then))
        if not clauses
    ]
    if empty:
        found.add("spec-clauses", one.line, f"'{_short(shown)}' has no {' and no '.join(empty)}", about=shown)


def _check_words(one: SpecLine, found: _Findings) -> None:
    if _FILL_IN.search(one.text):
        found.add("spec-unfinished", one.line, "text of the template is still there", about=_short(one.text))
        return
    words = _QUOTED.sub("", one.text)
    if hit := _UNFINISHED.search(words):
        found.add("spec-unfinished", one.line, f"'{hit[0]}' is still there", about=_short(one.text))
    if one.section in ("data", "outside"):
        return
    degree = None if _DIGIT.search(words) or one.section in ("topic", "quality") else _DEGREE.search(words)
    vague = None if one.section == "topic" else _VAGUE.search(words)
    for hit in (vague, degree):
        if hit:
            found.add(
                "spec-vague",
                one.line,
                f"no check can decide '{hit[0]}'",
                about=f"{hit[0]}:{_short(one.text)}",
            )
    for pattern in _DETAIL if one.section != "quality" else ():
        if hit := pattern.search(words):
            found.add(
                "spec-detail",
                one.line,
                f"'{_short(hit[0])}' tells how, a spec tells what",
                "P2",
                about=_short(hit[0]),
            )
            break


def _duplicates(specs: Sequence[Spec]) -> list[Finding]:
    first: dict[str, tuple[str, int]] = {}
    found = []
    for spec in specs:
        for one in spec.criteria:
            if not one.id:
                continue
            if one.id in first:
                path, line = first[one.id]
                message = f"criterion '{one.id}' is also at {path}:{line}"
                found.append(
                    Finding(
                        key=f"spec-duplicate:{spec.path}:{one.id}:{one.line}",
                        message=message,
                        path=spec.path,
                        line=one.line,
                    )
                )
            first.setdefault(one.id, (spec.path, one.line))
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
