"""IMPLEMENTATION_PLAN.md: read strictly, written so that reading it again gives the same plan.

    - [ ] `login-form`: Show the login form (P0, S, serves AUTH-1 AUTH-2, after store)
      - Proof: none because only people can judge its look
      > a note

Boxes: ` ` open, `x` done, `!` blocked, `-` cancelled. Further tags: human, chore, optional. A box below
another one is an item of its own, and the upper one waits for it. What is not understood is kept as a note
and named; nothing is lost and nothing raises. Items without an id get one from their title.
How a laid-out file is changed without writing it anew is in `layout`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.plan.items import (
    HIGH,
    ID,
    LOW,
    MEDIUM,
    NAME,
    TAG_WORDS,
    Item,
    MissingSpec,
    Plan,
    Size,
    State,
    declared_reason,
    id_of,
    line,
    normal,
    normal_item,
)
from ralph.core.model.plan.plan_rules import check_plan
from ralph.core.model.verdict import Finding
from ralph.core.text.markdown import MarkdownLine, plain, rows

_STATES: dict[str, State] = {" ": "open", "x": "done", "X": "done", "!": "blocked", "-": "cancelled"}
_PRIORITIES = {"p0": HIGH, "p1": MEDIUM, "p2": LOW}
_SIZES: dict[str, Size] = {"s": "S", "m": "M", "l": "L"}
_LISTS = (  # words before ids -> the field
    (("serves",), "serves"),
    (("covers",), "serves"),
    (("after",), "after"),
    (("depends", "on"), "after"),
    (("depends-on",), "after"),
    (("needs",), "after"),
)


class Group(NamedTuple):
    kind: str  # items, completed, missing, notes
    priority: int | None = None
    optional: bool = False


_START = r"^(?:\W|\d|priority\b)*"
_LATER = "optional|future|nice[ -]to[ -]have|later|someday|stretch"
_HEADINGS: tuple[tuple[re.Pattern[str], Group], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), group)
    for pattern, group in (
        (rf"{_START}missing spec", Group("missing")),
        (rf"{_START}(?:{_LATER})\b|\((?:optional|future)\)$", Group("items", None, optional=True)),
        (rf"{_START}(?:completed?|done|finished)\b", Group("completed")),
        (rf"{_START}(?:p0|high|critical|blockers?)\b", Group("items", HIGH)),
        (rf"{_START}(?:p1|medium|core)\b", Group("items", MEDIUM)),
        (rf"{_START}(?:p2|low|polish)\b", Group("items", LOW)),
        (rf"{_START}notes?\b", Group("notes")),
        (rf"{_START}found\b", Group("items")),
    )
)
BASIS = re.compile(r"<!-- ralph plan: specs=([0-9a-f]{0,128}) code=([0-9a-f]{0,128}) -->")
_LEADING = re.compile(r"`([^`]{1,60})`:(?:\s+|$)")
_BOLD = re.compile(r"\*\*([A-Za-z0-9][A-Za-z0-9._-]{0,59})(?::\*\*|\*\*:)\s+")
# An id without marks: it must look like one, or every "Fix: …" would be one.
_BARE = re.compile(r"([a-z0-9]+(?:-[a-z0-9]+)+|[A-Z]{1,8}-?\d{1,6}|\d{1,4}(?:\.\d{1,4})+):\s+")
_RANK = re.compile(r"(?:\*\*|\[|\()?(P[0-2])(?:\*\*|\]|\))?(?::|\s)\s*", re.IGNORECASE)
_SQUARE = re.compile(r"\s\[(P[0-2]|S|M|L)\]$", re.IGNORECASE)
_FIELD = re.compile(r"(?:depends[ -]on|after|needs|serves|covers):\s[\w.-]+(?:,\s?[\w.-]+)*$", re.IGNORECASE)
_DASH = re.compile(r"\s+[\u2013\u2014-]\s+")
_MISSING_LINE = re.compile(r"missing specs?:\s+(\S.*)", re.IGNORECASE)
_NAMED = re.compile(r"`([^`]{1,200})`(?::(?:\s+|$)|$)")


class ParsedPlan(Struct, frozen=True):
    """A plan, where its items stand, and everything that was not as it should be."""

    plan: Plan
    problems: tuple[Finding, ...] = ()
    lines: dict[str, int] = {}
    missing_listed: bool = False  # the section is there, if only to say none


class _ItemDraft:
    """An item while it is read; its id may come from its title once all explicit ids are known."""

    def __init__(self, row: MarkdownLine, group: Group) -> None:
        self.line, self.indent = row.line, row.indent
        self.state: State = _STATES.get(row.mark, "open")
        self.optional = group.optional
        self.priority = MEDIUM if group.priority is None else group.priority
        self.id, self.title = "", ""
        self.size: Size = ""
        self.lists: dict[str, list[str]] = {"after": [], "serves": []}
        self.human = self.chore = False
        self.no_proof = ""
        self.notes: list[str] = []
        self.below: list[_ItemDraft] = []


class _PlanReader:
    def __init__(self, path: str) -> None:
        self.path = path
        self.drafts: list[_ItemDraft] = []
        self.missing: list[MissingSpec] = []
        self.notes: list[str] = []
        self.problems: list[Finding] = []
        self.basis = ("", "")
        self.missing_listed = False
        self._groups: list[tuple[int, Group]] = []
        self._items: list[_ItemDraft] = []  # the item that was read last, below those around it

    @property
    def group(self) -> Group:
        return self._groups[-1][1] if self._groups else Group("items")

    def complain(self, row_line: int, rule: str, message: str, severity: str = "P1") -> None:
        self.problems.append(
            Finding(
                key=f"{rule}:{line(message)}",
                message=message,
                path=self.path,
                line=row_line,
                severity="P1" if severity == "P1" else "P2",
            )
        )

    def take(self, row: MarkdownLine) -> None:
        if row.kind == "blank":
            return
        if row.kind == "heading":
            self._heading(row)
        elif row.kind == "comment" and (found := BASIS.fullmatch(row.text)):
            self.basis = (found[1], found[2])
        elif row.kind in ("box", "bullet") and self.group.kind == "missing":
            self._missing(row)
        elif row.kind == "text" and (said := _MISSING_LINE.match(plain(row.text))):
            self.missing_listed = True
            self._missing(replace(row, text=said[1]))
        elif row.kind == "box":
            self._box(row)
        elif self._items and row.indent > self._items[-1].indent:
            self._note(self._items[-1], row)
        else:
            self._items = []
            if row.kind == "bullet" and self.group.kind == "items":
                self.complain(
                    row.line, "plan-no-box", f"a line without a box is no item: '{line(row.text)[:60]}'", "P2"
                )
            self.notes.append(row.text)

    def _heading(self, row: MarkdownLine) -> None:
        self._items = []
        while self._groups and self._groups[-1][0] >= row.level:
            self._groups.pop()
        words = plain(row.text)
        group = next((group for pattern, group in _HEADINGS if pattern.search(words)), None)
        if group is None and row.level > 1:
            self.notes.append(words)
        inherited = self.group
        if group is not None and group.kind == "items" and inherited.optional:
            group = group._replace(optional=True)  # "### High" below "## Future" is still the future
        self._groups.append((row.level, group or inherited))
        self.missing_listed = self.missing_listed or self.group.kind == "missing"

    def _missing(self, row: MarkdownLine) -> None:
        text = row.text.strip()
        if found := _NAMED.match(text):
            self.missing.append(MissingSpec(found[1], text[found.end() :]))
        elif text and text.lower().rstrip(".") not in ("none", "(none)", "nothing"):
            name, colon, why = text.partition(": ")
            self.missing.append(MissingSpec(plain(name), why) if colon else MissingSpec(plain(text)))

    def _note(self, draft: _ItemDraft, row: MarkdownLine) -> None:
        """A line below an item: a field such as "Depends on: a, b", else a note."""
        reason = declared_reason(row.text) if row.kind in ("bullet", "text") else None
        if reason and not draft.no_proof:
            draft.no_proof = reason
            return
        if reason == "":
            message = (
                "an item declares that nothing proves it without a reason, expected 'Proof: none because …'"
            )
            self.complain(row.line, "plan-proof", message)
        said = _FIELD.match(plain(row.text)) if row.kind in ("bullet", "text") else None
        if said is None or self._tags(_ItemDraft(row, self.group), said[0]) != ([], True):
            draft.notes.append(row.text)
        else:
            self._tags(draft, said[0])

    def _box(self, row: MarkdownLine) -> None:
        draft = _ItemDraft(row, self.group)
        if row.mark not in _STATES:
            self.complain(
                row.line, "plan-box", f"a box holds '{row.mark}', expected one of ' ', 'x', '!', '-'"
            )
        if self.group.kind == "completed" and draft.state == "open":
            self.complain(row.line, "plan-open-completed", "an open box is under Completed", "P2")
        self._words(draft, row)
        while self._items and self._items[-1].indent >= row.indent:
            self._items.pop()
        if self._items:
            self._items[-1].below.append(draft)
        self._items.append(draft)
        self.drafts.append(draft)

    def _words(self, draft: _ItemDraft, row: MarkdownLine) -> None:
        text = row.text.strip()
        explicit = _LEADING.match(text)
        if explicit is None and (rank := _RANK.match(text)):
            draft.priority, text = _PRIORITIES[rank[1].lower()], text[rank.end() :]
        found = explicit or _BOLD.match(text) or _BARE.match(text)
        if found:
            text = text[found.end() :]
            if ID.fullmatch(found[1]) and found[1].lower() not in TAG_WORDS:
                draft.id = found[1]
            else:
                self.complain(row.line, "plan-id", f"'{line(found[1])}' is not an id: letters, digits, . _ -")
        while explicit is None and (tag := _SQUARE.search(text)):
            _set_word(draft, tag[1].lower())
            text = text[: tag.start()]
        opened = text.rfind("(") if text.endswith(")") else -1
        if opened >= 0 and ")" not in text[opened:-1]:
            inside, *remarks = _DASH.split(text[opened + 1 : -1], maxsplit=1)
            unknown, known = self._tags(draft, inside)
            if known:
                draft.notes += remarks  # "(P0 — blocks 3 other tasks)": a tag, and a remark
                text = text[:opened]
                for part in unknown:
                    self.complain(row.line, "plan-tag", f"there is no tag '{line(part)[:60]}'")
                    draft.notes.append(f"tag not understood: {part}")
        draft.title = line(text)
        if not draft.title:
            self.complain(row.line, "plan-title", "an item has no title")

    def _tags(self, draft: _ItemDraft, text: str) -> tuple[list[str], bool]:
        """Sets what is known; the parts that are not, and whether anything was."""
        unknown: list[str] = []
        filling = ""
        known = False
        parts = [part.split() for part in text.split(",")]
        if not any(self._tag(None, words, "")[1] for words in parts):
            return [], False
        for words in parts:
            filling, understood = self._tag(draft, words, filling)
            known = known or understood
            if not understood and words:
                unknown.append(" ".join(words))
        return unknown, known

    def _tag(self, draft: _ItemDraft | None, words: list[str], filling: str) -> tuple[str, bool]:
        """One part between commas: the list that further ids would go into, and whether it was understood."""
        lowered = [word.lower().removesuffix(":") for word in words]
        for heads, field in _LISTS:
            rest = words[len(heads) :]
            if tuple(lowered[: len(heads)]) == heads and rest and all(map(ID.fullmatch, rest)):
                if draft:
                    draft.lists[field] += rest
                return field, True
        word = lowered[0] if len(lowered) == 1 else ""
        if word in TAG_WORDS:
            if draft:
                _set_word(draft, word)
            return "", True
        if filling and words and draft and all(map(ID.fullmatch, words)):  # serves
            draft.lists[filling] += words
            return filling, True
        return filling, False


def _set_word(draft: _ItemDraft, word: str) -> None:
    if word in _PRIORITIES:
        draft.priority = _PRIORITIES[word]
    elif word in _SIZES:
        draft.size = _SIZES[word]
    elif word == "optional":
        draft.optional = True
    elif word == "chore":
        draft.chore = True
    else:
        draft.human = True


def parse_plan(text: str, path: str = NAME) -> ParsedPlan:
    """The plan in a text. Never raises; what is wrong with the whole of it is for `plan_rules`."""
    reader = _PlanReader(path)
    for row in rows(text):
        reader.take(row)
    taken = {draft.id for draft in reader.drafts if draft.id}
    lines: dict[str, int] = {}
    last: dict[str, int] = {}
    for draft in reader.drafts:
        if not draft.id:
            draft.id = id_of(draft.title, taken, last)
            taken.add(draft.id)
        lines.setdefault(draft.id, draft.line)
    plan = Plan(
        items=tuple(_item(draft) for draft in reader.drafts),
        missing=tuple(reader.missing),
        notes=tuple(reader.notes),
        specs=reader.basis[0],
        code=reader.basis[1],
    )
    return ParsedPlan(normal(plan), tuple(reader.problems), lines, reader.missing_listed)


def _item(draft: _ItemDraft) -> Item:
    return Item(
        id=draft.id,
        title=draft.title,
        priority=draft.priority,
        size=draft.size,
        after=(*draft.lists["after"], *(child.id for child in draft.below)),
        serves=tuple(draft.lists["serves"]),
        state=draft.state,
        optional=draft.optional,
        human=draft.human,
        chore=draft.chore,
        no_proof=draft.no_proof,
        notes=tuple(draft.notes),
    )


def parse_item(text: str, line_number: int, path: str = "") -> tuple[Item, tuple[Finding, ...]]:
    """One line of any list read as an item; without an id of its own it has the one of its title."""
    reader = _PlanReader(path)
    reader.take(MarkdownLine(line_number, "box", text, mark=" "))
    draft = reader.drafts[0]
    draft.id = draft.id or id_of(draft.title)
    return normal_item(_item(draft)), tuple(reader.problems)


def check_file(parsed: ParsedPlan, criteria: Iterable[str] | None) -> tuple[Finding, ...]:
    """All that is wrong with a plan file. `criteria`: the ids in the specs; None when there are no specs."""
    found = [*parsed.problems, *check_plan(parsed.plan, criteria, parsed.lines, NAME)]
    if criteria is not None and not parsed.missing_listed:
        message = "there is no section 'Missing specs', expected one, if only with '- none'"
        found.append(Finding(key="plan-missing", message=message, path=NAME, line=1))
    return tuple(sorted(found, key=lambda one: (one.line, one.key)))
