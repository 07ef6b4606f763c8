"""The few things Ralph sees in a Markdown text: headings, boxes, list lines, quotes, code and comments.

One pass over the lines, linear in their length, that never raises: specs, plans and imported documents are
read with it. It is no Markdown parser: emphasis, links and tables stay text. Lines are counted as editors
count them, from 1. Code (except in a fence that is marked as Gherkin) and comments are told apart so that a
box shown in an example is not taken for a task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from ralph.core.text.clean import one_line

Kind = Literal["heading", "box", "bullet", "quote", "text", "code", "comment", "blank"]
SPOKEN_FENCES = frozenset({"gherkin", "feature", "cucumber"})

_FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)$")
_HEADING = re.compile(r"(#{1,6})(?:\s+(.*))?$")
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s+(.*))?$")
_BOX = re.compile(r"\[([^\[\]]?)\](?:\s+(.*))?$")
_TIGHT_BOX = re.compile(r"[-*+](\[[ xX!-]?\])(?:\s+(.*))?$")
_QUOTE = re.compile(r">\s?(.*)$")
_MARKS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
TAB = 4


class MarkdownLine(Struct, frozen=True):
    """One line: what it is, how far it is indented, and its words without the mark in front."""

    line: int
    kind: Kind
    text: str
    indent: int = 0
    level: int = 0  # of a heading
    mark: str = ""  # what stands in a box; "" when it is empty or glued: malformed


def rows(text: str) -> Iterator[MarkdownLine]:
    fence, spoken, comment = "", False, False
    for number, raw in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = raw.expandtabs(TAB)
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if comment:
            comment = "-->" not in bare
            yield MarkdownLine(number, "comment", bare, indent)
            continue
        found = _FENCE.match(bare)
        if fence:
            if found and found[1][0] == fence[0] and len(found[1]) >= len(fence) and not found[2].strip():
                fence = ""
                yield MarkdownLine(number, "code", bare, indent)
                continue
            yield _row(number, bare, indent) if spoken else MarkdownLine(number, "code", bare, indent)
            continue
        if found:
            fence, spoken = found[1], found[2].strip().lower() in SPOKEN_FENCES
            yield MarkdownLine(number, "code", bare, indent)
        elif bare.startswith("<!--"):
            comment = "-->" not in bare
            yield MarkdownLine(number, "comment", bare, indent)
        else:
            yield _row(number, bare, indent)


def _row(number: int, bare: str, indent: int) -> MarkdownLine:
    if not bare:
        return MarkdownLine(number, "blank", "")
    if bare[0] == "#" and indent < TAB and (found := _HEADING.match(bare)):
        words = found[2] or ""
        unclosed = words.rstrip("#")
        words = unclosed.rstrip() if unclosed != unclosed.rstrip() else words  # "## Title ##"
        return MarkdownLine(number, "heading", words, indent, len(found[1]))
    if bare[0] == ">" and (found := _QUOTE.match(bare)):
        return MarkdownLine(number, "quote", found[1], indent)
    if found := _TIGHT_BOX.match(bare):
        return MarkdownLine(number, "box", found[2] or "", indent)
    if found := _BULLET.match(bare):
        words = (found[1] or "").strip()
        if box := _BOX.match(words):
            return MarkdownLine(number, "box", box[2] or "", indent, mark=box[1])
        return MarkdownLine(number, "bullet", words, indent)
    return MarkdownLine(number, "text", bare, indent)


def plain(text: str, width: int = 300) -> str:
    """Words on one line without emphasis, cleaned and cut."""
    return one_line(_MARKS.sub("", text), width)


_SLUG = re.compile(r"[a-z0-9]+")


def slug(text: str, words: int = 6, width: int = 40) -> str:
    """The first words of a text as a name: lower case, hyphens; "" when it has no ASCII word."""
    made = ""
    for word in _SLUG.findall(text.lower())[:words]:
        longer = f"{made}-{word}" if made else word[:width]
        if len(longer) > width:
            break
        made = longer
    return made
