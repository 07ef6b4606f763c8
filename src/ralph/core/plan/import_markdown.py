"""Documents of others as plan items: PRDs and task lists in Markdown, stories in JSON (`import_json`).

What becomes an item: a heading that is a story ("### US-001: …"), else every box, else every list line
outside of the sections that say what is not to be built. Whatever was not understood is named with its line,
so that nobody believes it was taken over. Nothing raises, whatever the text is.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ralph.core.model.plan.items import MEDIUM, Item, declared_reason
from ralph.core.model.verdict import Finding
from ralph.core.plan.file import parse_item, parse_plan
from ralph.core.plan.import_json import looks_like_json, read_stories
from ralph.core.plan.import_words import (
    Imported,
    depends_in,
    finish_import,
    priority_word,
    size_word,
    state_word,
    unread_line,
)
from ralph.core.specs.parse import CRITERION_ID
from ralph.core.text.markdown import MarkdownLine, plain, rows

_STORY = re.compile(
    r"(?:(?P<id>[A-Z]{1,8}-?\d{1,5}(?:\.\d{1,3}){0,2})[:.)\u2014\u2013-]*\s+"
    r"|(?:user )?(?:story|task|feature|requirement|item)\s*#?(?P<number>\d{0,5}(?:\.\d{1,3}){0,2})"
    r"\s*[:.)\u2014\u2013-]+\s*)"
    r"(?P<title>\S.*)$",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?P<name>priority|size|estimate|effort|status|depends on|dependencies|dependency|blocked by"
    r"|description)\s?:\s*(?P<value>\S.*)$",
    re.IGNORECASE,
)
_OUTSIDE = re.compile(
    r"^(?:\W|\d)*(?:(?:non-?goals?|out of scope|background|overview|introduction|summary|context|goals?"
    r"|objectives?|(?:success )?metrics?|risks?|assumptions?|(?:open )?questions?|personas?|users?|target"
    r"|references?|appendix"
    r"|glossary|(?:design|technical) considerations|constraints|timeline|milestones?|stakeholders?)\b)",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"^(?:\W|\d)*(?:optional|future|nice[ -]to[ -]have|later|won't have|could)\b", re.IGNORECASE
)
_TODO = re.compile(r"(?:TODO|TASK)\s?:\s*(\S.*)$")
_LABEL = re.compile(r"(.{1,60}):$")


def import_plan(text: str, path: str) -> Imported:
    """A document as a plan; its form is found from the text itself."""
    if looks_like_json(text):
        return read_stories(text, path)
    found = list(rows(text))
    if any(row.kind == "heading" and _STORY.match(plain(row.text)) for row in found):
        return _from_stories(found, path)
    if any(row.kind == "box" for row in found):
        return _from_boxes(text, path)
    return _from_lists(found, path)


def _from_boxes(text: str, path: str) -> Imported:
    parsed = parse_plan(text, path)
    unread = list(parsed.problems)
    where = {plain(row.text): row.line for row in reversed(list(rows(text))) if row.text}
    unread += [unread_line(path, where.get(plain(note), 0), note) for note in parsed.plan.notes]
    made = finish_import(parsed.plan.items, unread, path)
    return replace(made, plan=replace(made.plan, missing=parsed.plan.missing))


class _Story:
    def __init__(self, row: MarkdownLine, found: re.Match[str]) -> None:
        self.level = row.level
        item, _ = parse_item(found["title"], row.line)
        number = found["number"]
        self.item = replace(item, id=found["id"] or (f"story-{number}" if number else item.id))
        self.notes: list[str] = []
        self.boxes: list[str] = []

    def to_item(self) -> Item:
        criteria = tuple(
            found[0]
            for note in self.notes
            if (found := CRITERION_ID.match(note.removeprefix("acceptance: ")))
        )
        ticked = bool(self.boxes) and all(mark in ("x", "X") for mark in self.boxes)
        return replace(
            self.item,
            notes=(*self.item.notes, *self.notes),
            serves=(*self.item.serves, *criteria),
            state="done" if ticked and self.item.state == "open" else self.item.state,
        )


def _from_stories(found: list[MarkdownLine], path: str) -> Imported:
    stories: list[_Story] = []
    unread: list[Finding] = []
    current: _Story | None = None
    for row in found:
        words = plain(row.text, 1000)
        if row.kind == "heading":
            match = _STORY.match(words)
            if match:
                current = _Story(row, match)
                stories.append(current)
            elif current is not None and row.level <= current.level:
                current = None
        elif row.kind in ("blank", "comment") or set(words) <= set("-=*_ "):
            continue
        elif current is None:
            unread.append(unread_line(path, row.line, row.text))
        elif (reason := declared_reason(words)) is not None:
            current.item = replace(current.item, no_proof=reason)
            unread += [] if reason else [unread_line(path, row.line, "'Proof: none' without a reason")]
        elif field := _FIELD.match(words):
            current.item = _with_field(current.item, field["name"].lower(), field["value"])
        elif row.kind in ("box", "bullet"):
            current.boxes += [row.mark] if row.kind == "box" else []
            current.notes.append(f"acceptance: {words}")
        elif not re.fullmatch(r"acceptance criteria\s?:?", words, re.IGNORECASE):
            current.notes.append(words)
    return finish_import([story.to_item() for story in stories], unread, path)


def _with_field(item: Item, name: str, value: str) -> Item:
    if name == "priority" and (rank := priority_word(value)) is not None:
        return replace(item, priority=rank)
    if name in ("size", "estimate", "effort") and (size := size_word(value)):
        return replace(item, size=size)
    if name == "status" and (state := state_word(value)):
        return replace(item, state=state)
    if name in ("depends on", "dependencies", "dependency", "blocked by"):
        return replace(item, after=(*item.after, *depends_in(value)))
    return replace(item, notes=(*item.notes, f"{name}: {value}" if name != "description" else value))


def _from_lists(found: list[MarkdownLine], path: str) -> Imported:
    items: list[Item] = []
    unread: list[Finding] = []
    outside, optional, priority = False, False, MEDIUM
    for row in found:
        words = plain(row.text, 1000)
        label = _LABEL.match(words) if row.kind == "text" else None
        todo = _TODO.match(words) if row.kind == "text" else None
        if row.kind == "heading" or label:
            name = label[1] if label else words
            outside = bool(_OUTSIDE.match(name)) or (outside and label is not None)
            optional = bool(_LATER.match(name))
            rank = priority_word(name)
            priority = MEDIUM if rank is None else rank
        elif (reason := declared_reason(words)) is not None and items and not outside:
            items[-1] = replace(items[-1], no_proof=reason)
            unread += [] if reason else [unread_line(path, row.line, "'Proof: none' without a reason")]
        elif row.kind == "bullet" and row.indent >= 2 and items and not outside:
            items[-1] = replace(items[-1], notes=(*items[-1].notes, words))
        elif (row.kind == "bullet" and words and not outside) or todo:
            item, problems = parse_item(todo[1] if todo else row.text, row.line, path)
            unread += problems
            items.append(
                replace(
                    item,
                    priority=priority if item.priority == MEDIUM else item.priority,
                    optional=item.optional or optional,
                )
            )
        elif row.kind not in ("blank", "comment") and set(words) - set("-=*_ "):
            unread.append(unread_line(path, row.line, row.text))
    return finish_import(items, unread, path)
