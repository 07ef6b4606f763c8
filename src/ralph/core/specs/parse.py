"""A spec: one topic a file, told as criteria (Given, When, Then) that each have an id.

Text in, `Spec` out, with line numbers; it never raises and judges nothing (`lint` does). Several ways of
writing are understood: criteria as headings, list lines or Gherkin scenarios; clauses on lines of their own
or in one sentence. Which tests name which criterion is found in `find_tests`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources import files
from typing import Literal

from msgspec import Struct

from ralph.core.text.clean import one_line
from ralph.core.text.markdown import MarkdownLine, plain, rows

Section = Literal["", "topic", "job", "criteria", "edge", "data", "quality", "outside"]
ID_TEXT = r"[A-Z][A-Z0-9]{0,15}(?:-[A-Z][A-Z0-9]{0,15}){0,4}-\d{1,5}(?:\.\d{1,3})?"
CRITERION_ID = re.compile(ID_TEXT)
MAX_WIDTH = 1000

_NAMED = re.compile(
    rf"[*`\[(_]{{0,4}}({ID_TEXT})(?![\w-])[*`\])_]{{0,4}}\s?[:.)\u2014\u2013-]?[*_]{{0,2}}(?:\s+(.*))?$"
)
_STARTS = r"^(?:\W|\d)*"
_HEADINGS: tuple[tuple[str, Section], ...] = (
    (r"topic\b", "topic"),
    (r"(?:jobs?|jtbd|user story)\b", "job"),
    (r"edges?\b", "edge"),
    (r"(?:acceptance|criteria|scenarios?|behaviou?rs?)\b", "criteria"),
    (r"(?:data|contracts?|interfaces?)\b", "data"),
    (r"(?:non-?functional|nfrs?\b|quality|performance)", "quality"),
    (r"(?:out of scope|non-?goals?|not included)\b", "outside"),
)
_SECTIONS = tuple((re.compile(_STARTS + pattern, re.IGNORECASE), name) for pattern, name in _HEADINGS)
_FIELD = re.compile(r"(topic|job)(?: statement| to be done)?\s?:\s*(.*)$", re.IGNORECASE)
_CLAUSE = re.compile(r"(given|when|then|and|but)(?:[:,]|\b)\s*(.*)$", re.IGNORECASE)
_NEXT = re.compile(r"[,;.]?\s(?:and\s)?(when|then)\s", re.IGNORECASE)
_GIVEN = re.compile(r"^(?=(?:[Gg]iven|[Ww]hen|[Tt]hen)\s)|\s(?=Given\s)")
_SCENARIO = re.compile(r"(?:scenario(?: outline)?|example)\s?:\s*(.*)$", re.IGNORECASE)
_STORY = re.compile(r"(?:when\b.*|as an?\b.*)\bwant", re.IGNORECASE)


class SpecLine(Struct, frozen=True):
    line: int
    text: str
    section: Section = ""


class SpecCriterion(Struct, frozen=True, omit_defaults=True):
    """What must be true, and by which id tests name it. `id` is "" when the spec forgot it."""

    id: str
    title: str
    line: int
    end: int  # its last line
    given: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    edge: bool = False


class Spec(Struct, frozen=True, omit_defaults=True):
    path: str
    title: str = ""
    topic: SpecLine | None = None
    job: SpecLine | None = None
    criteria: tuple[SpecCriterion, ...] = ()
    edge_cases: tuple[SpecLine, ...] = ()
    requirements: tuple[SpecLine, ...] = ()  # non-functional ones
    statements: tuple[SpecLine, ...] = ()  # every line that says what must be true


class _SpecDraft:
    def __init__(self, name: str, title: str, line: int, *, edge: bool) -> None:
        self.id, self.title, self.line, self.end, self.edge = name, plain(title), line, line, edge
        self.clauses: dict[str, list[str]] = {"given": [], "when": [], "then": []}
        self.last = ""

    def to_criterion(self) -> SpecCriterion:
        given, when, then = (tuple(self.clauses[word]) for word in ("given", "when", "then"))
        return SpecCriterion(self.id, self.title, self.line, self.end, given, when, then, self.edge)


class _SpecReader:
    def __init__(self) -> None:
        self.title = ""
        self.topic: SpecLine | None = None
        self.job: SpecLine | None = None
        self.drafts: list[_SpecDraft] = []
        self.edge_cases: list[SpecLine] = []
        self.requirements: list[SpecLine] = []
        self.statements: list[SpecLine] = []
        self._sections: list[tuple[int, Section]] = []
        self._draft: _SpecDraft | None = None
        self._heading: MarkdownLine | None = (
            None  # a heading that may turn out to be a criterion without an id
        )
        self._tag = ""  # @ID above a scenario
        self._job_open = False

    @property
    def section(self) -> Section:
        return self._sections[-1][1] if self._sections else ""

    def take(self, row: MarkdownLine) -> None:
        if row.kind == "heading":
            self._job_open = False
            self._take_heading(row)
        elif row.kind in ("code", "comment", "blank"):
            self._job_open = False
        else:
            self._take_words(row, plain(row.text, MAX_WIDTH))

    def _take_heading(self, row: MarkdownLine) -> None:
        while self._sections and self._sections[-1][0] >= row.level:
            self._sections.pop()
        self._draft, self._heading = None, None
        words = plain(row.text)
        if row.level == 1 and not self.title:
            self.title = words
            self.topic = self.topic or SpecLine(row.line, words, "topic")
            return
        found = _NAMED.match(row.text)
        if found:
            self._begin(found[1], found[2] or "", row.line)
            self._sections.append((row.level, self.section or "criteria"))
            return
        name = next((name for pattern, name in _SECTIONS if pattern.search(words)), None)
        self._sections.append((row.level, self.section if name is None else name))
        self._heading = row if name is None and self.section in ("criteria", "edge") else None
        if self._heading and self.section == "edge":
            self.edge_cases.append(SpecLine(row.line, words, "edge"))

    def _begin(self, name: str, title: str, line: int) -> _SpecDraft:
        edge = self.section == "edge"
        self._draft = _SpecDraft(name, title, line, edge=edge)
        self._heading = None
        self.drafts.append(self._draft)
        if title:
            self.statements.append(SpecLine(line, plain(title, MAX_WIDTH), self.section or "criteria"))
        if edge:
            self.edge_cases.append(SpecLine(line, plain(title or name), "edge"))
        return self._draft

    def _take_words(self, row: MarkdownLine, words: str) -> None:
        if self._job_open and row.kind == "text" and self.job and not _FIELD.match(words):
            self.job = SpecLine(self.job.line, one_line(f"{self.job.text} {words}", MAX_WIDTH), "job")
            return
        self._job_open = False
        if field := _FIELD.match(words):
            self._set(field[1].lower(), row.line, field[2])
        elif self.section in ("topic", "job"):
            self._set(self.section, row.line, words)
        elif self.section == "" and not self.drafts and _STORY.match(words):
            self._set("job", row.line, words)
        elif self.section in ("data", "outside"):
            self.statements.append(SpecLine(row.line, words, self.section))
        elif self.section == "quality":
            if row.kind in ("bullet", "box", "text"):
                self.requirements.append(SpecLine(row.line, words, "quality"))
        else:
            self._criterion_words(row, words)

    def _set(self, field: str, line: int, text: str) -> None:
        made = SpecLine(line, text, "topic" if field == "topic" else "job")
        if field == "topic" and text and (self.topic is None or self.topic.text == self.title):
            self.topic = made
        elif field == "job" and self.job is None and text:
            self.job, self._job_open = made, True

    def _criterion_words(self, row: MarkdownLine, words: str) -> None:
        if words.startswith("@") and (tagged := CRITERION_ID.search(words)):
            self._tag = tagged[0]
            return
        if scenario := _SCENARIO.match(words):
            named = _NAMED.match(scenario[1])
            name, title = (named[1], named[2] or "") if named else (self._tag, scenario[1])
            self._tag = ""
            self._begin(name, title, row.line)
            return
        named = _NAMED.match(row.text)
        if named and (self.section in ("criteria", "edge") or row.kind in ("bullet", "box")):
            title = plain(named[2] or "", MAX_WIDTH)
            clauses = _GIVEN.search(title)
            inline = _CLAUSE.match(title[clauses.end() :]) if clauses else None
            draft = self._begin(named[1], title[: clauses.start()] if clauses else title, row.line)
            if inline:
                self._clauses(draft, inline, row.line)
            return
        clause = _CLAUSE.match(words)
        if clause and self._clause_here(clause, row):
            return
        if self.section == "edge" and row.kind in ("bullet", "box") and not row.indent:
            self._draft = None
            self.edge_cases.append(SpecLine(row.line, words, "edge"))
        if self.section in ("criteria", "edge"):
            self.statements.append(SpecLine(row.line, words, self.section))
            if self._draft:
                self._draft.end = row.line

    def _clause_here(self, clause: re.Match[str], row: MarkdownLine) -> bool:
        """Adds a clause to the criterion it belongs to; a new one begins where an old one is complete."""
        word, draft = clause[1].lower(), self._draft
        if word in ("and", "but"):
            if draft is None or not draft.last:
                return False
        elif draft is None or (draft.clauses["then"] and word in ("given", "when")):
            if self.section not in ("criteria", "edge"):
                return False
            title = self._heading.text if self._heading else ""
            at_heading = self._heading.line if self._heading else row.line
            if self._heading and self.section == "edge":
                self.edge_cases.pop()  # the heading was counted; the criterion is the same case
            draft = self._begin("", title, at_heading)
        assert draft is not None
        self._clauses(draft, clause, row.line)
        return True

    def _clauses(self, draft: _SpecDraft, clause: re.Match[str], line: int) -> None:
        """One clause, or all three in one sentence."""
        word, rest = clause[1].lower(), clause[2]
        draft.last = draft.last if word in ("and", "but") else word
        pieces = _NEXT.split(rest) if draft.last != "then" else [rest]
        for number in range(0, len(pieces), 2):
            if number:
                draft.last = pieces[number - 1].lower()
            text = one_line(pieces[number], MAX_WIDTH)
            if text:
                draft.clauses[draft.last].append(text)
                self.statements.append(SpecLine(line, text, "edge" if draft.edge else "criteria"))
        draft.end = line


def parse_spec(path: str, text: str) -> Spec:
    reader = _SpecReader()
    for row in rows(text):
        reader.take(row)
    return Spec(
        path=path,
        title=reader.title,
        topic=reader.topic,
        job=reader.job,
        criteria=tuple(draft.to_criterion() for draft in reader.drafts),
        edge_cases=tuple(reader.edge_cases),
        requirements=tuple(reader.requirements),
        statements=tuple(reader.statements),
    )


def criteria_of(specs: Iterable[Spec]) -> dict[str, SpecCriterion]:
    """Every criterion that has an id; the first where two share one."""
    found: dict[str, SpecCriterion] = {}
    for spec in specs:
        for one in spec.criteria:
            if one.id:
                found.setdefault(one.id, one)
    return found


def template(name: str, prefix: str) -> str:
    """A spec to be filled in; `lint` refuses it until that is done."""
    text = files("ralph").joinpath("templates/spec.md").read_text("utf-8")
    return text.format(name=name, prefix=prefix)
