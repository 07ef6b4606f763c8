"""JSON as text: change some values and leave every other byte as its author wrote it.

Values are found by their spans, which the standard library's own scanner tells, so that indentation, order of
keys, escapes, numbers and duplicate keys of all that is not changed stay. The text must be valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import msgspec

_DECODER = json.JSONDecoder(strict=False, parse_int=str)  # only spans matter: a number may have any length
_SPACE = re.compile(r"[ \t\r\n]*")
_BEGIN = re.compile(r"\ufeff?[ \t\r\n]*")
_INDENT = re.compile(r"\n([ \t]+)\S")

Path = tuple[str | int, ...]


class Span(NamedTuple):
    start: int
    end: int


class JsonEdit(NamedTuple):
    """Set the value at `path`; with `append`, add it to the end of the array there. Made if missing."""

    path: Path
    value: Any
    append: bool = False


class Style(NamedTuple):
    """How a document is written."""

    unit: str  # one step of indentation; "" = all on one line
    newline: str
    ascii_only: bool


def style_of(data: bytes) -> Style:
    head = data[:20_000].decode("utf-8", "ignore")
    found = _INDENT.search(head)
    newline = "\r\n" if "\r\n" in head else "\n"
    return Style(found[1] if found else "", newline, data.isascii() and b"\\u" in data)


class _Splice(NamedTuple):
    start: int
    end: int
    text: str


def first_value(text: str) -> int:
    """Where the document's value begins."""
    found = _BEGIN.match(text)
    return found.end() if found else 0


def members(text: str, start: int, sizes: Mapping[str, int] | None = None) -> dict[str, Span]:
    """The values of the object that begins at `start`, by key; of a key that is there twice, the last.

    `sizes` are lengths of large values that are known, so that they need not be scanned."""
    found: dict[str, Span] = {}
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        end = at + sizes[key] if sizes and key in sizes else value_end(text, at)
        found[key] = Span(at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def elements(text: str, start: int, sizes: Iterable[int] = ()) -> list[Span]:
    """The values of the array that begins at `start`; `sizes` as for `members`."""
    found: list[Span] = []
    known = iter(sizes)
    at = _skip(text, start + 1)
    while text[at] != "]":
        size = next(known, None)
        end = value_end(text, at) if size is None else at + size
        found.append(Span(at, end))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def element_starts(data: bytes, key: str) -> list[int]:
    """Where the elements of the list under `key`, or that the document is, begin: for many megabytes."""
    text = data.decode("utf-8", "surrogatepass")
    body, at = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"), first_value(text)
    if key:
        body = bytes(msgspec.json.decode(body, type=dict[str, msgspec.Raw])[key])
        at = _find_member(text, key, body.decode("utf-8", "surrogatepass")).start
    raws = msgspec.json.decode(body, type=list[msgspec.Raw])
    sizes = (len(bytes(raw).decode("utf-8", "surrogatepass")) for raw in raws)
    starts = [span.start for span in elements(text, at, sizes)]
    if data.isascii():
        return starts
    gaps = (text[old:new] for old, new in pairwise([0, *starts]))
    return [*accumulate(len(gap.encode("utf-8", "surrogatepass")) for gap in gaps)]


def edit_element(
    data: bytes, start: int, stop: int, edits: Sequence[JsonEdit], style: Style
) -> tuple[str, Span]:
    """The value that begins at `start` and ends before `stop`, with all edits, and the span it replaces."""
    line = data[data.rfind(b"\n", 0, start) + 1 : start]
    lead = line.decode("utf-8", "replace")[: len(line) - len(line.lstrip(b" \t"))]  # of the lines below it
    text = data[start:stop].decode("utf-8", "surrogatepass")
    end = value_end(text, 0)
    made = apply_edits(lead + text[:end], edits, style)[len(lead) :]
    return made, Span(start, start + len(text[:end].encode("utf-8", "surrogatepass")))


def _find_member(text: str, key: str, body: str) -> Span:
    try:
        found = members(text, first_value(text), {key: len(body)})[key]
        if text.startswith(body, found.start):
            return found
    except (ValueError, IndexError, TypeError):  # the key is there twice; the first value has another size
        pass
    return members(text, first_value(text))[key]


def value_end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def apply_edits(text: str, edits: Sequence[JsonEdit], style: Style | None = None) -> str:
    """The text with all edits, written as the document is of which it is a part."""
    style = style or style_of(text.encode("utf-8", "surrogatepass"))
    for edit in edits:
        splice = _splice(text, edit, style)
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def remove_member(text: str, path: Path) -> str:
    """The text without one member of an object, and without the comma that it had."""
    parent = _find(text, path[:-1])
    spans = members(text, parent)
    names = list(spans)
    at, end = names.index(str(path[-1])), spans[str(path[-1])].end
    if at:
        return text[: spans[names[at - 1]].end] + text[end:]
    behind = _skip(text, end)
    if text[behind] == ",":
        return text[: _skip(text, parent + 1)] + text[_skip(text, behind + 1) :]
    return text[: parent + 1] + text[behind:]


def _splice(text: str, edit: JsonEdit, style: Style) -> _Splice:
    key = edit.path[-1]
    try:
        parent = _find(text, edit.path[:-1])
    except KeyError:
        parent = -1
    if parent < 0 or text[parent] not in "{[":  # the object around it is missing, or null
        value = [edit.value] if edit.append else edit.value
        return _splice(text, JsonEdit(edit.path[:-1], {key: value}), style)
    spans: dict[Any, Span] = (
        members(text, parent) if text[parent] == "{" else dict(enumerate(elements(text, parent)))
    )
    there = spans.get(key)
    if there is None:
        value = [edit.value] if edit.append else edit.value
        lead = f"{json.dumps(key, ensure_ascii=False)}: " if text[parent] == "{" else ""
        return _insert(text, parent, list(spans.values()), value, lead, style)
    if edit.append and text[there.start] == "[":
        return _insert(text, there.start, elements(text, there.start), edit.value, "", style)
    value = [edit.value] if edit.append else edit.value
    return _Splice(there.start, there.end, _write_value(value, _depth(text, there.start), style))


def _insert(text: str, parent: int, spans: list[Span], value: Any, lead: str, style: Style) -> _Splice:
    """A new last member, written as those before it are."""
    if spans:
        at = spans[-1].end
        first = spans[0].start
        flat = "\n" not in text[parent:first]
        indent = _depth(text, first)
        gap = " " if flat else f"{style.newline}{indent}"
        return _Splice(at, at, f",{gap}{lead}{_write_value(value, indent, style, flat=flat)}")
    end = value_end(text, parent)
    outer = _depth(text, parent)
    unit, line = style.unit, style.newline
    if not unit:
        return _Splice(parent + 1, end - 1, f"{lead}{_write_value(value, '', style, flat=True)}")
    body = _write_value(value, outer + unit, style)
    return _Splice(parent + 1, end - 1, f"{line}{outer}{unit}{lead}{body}{line}{outer}")


def _find(text: str, path: Path) -> int:
    at = first_value(text)
    for part in path:
        if isinstance(part, int):
            at = elements(text, at)[part].start
        elif text[at] == "{":
            at = members(text, at)[part].start
        else:
            raise KeyError(part)
    return at


def _write_value(value: Any, indent: str, style: Style, *, flat: bool = False) -> str:
    if flat or not style.unit:
        return json.dumps(value, ensure_ascii=style.ascii_only)
    made = json.dumps(value, ensure_ascii=style.ascii_only, indent=style.unit)
    return made.replace("\n", f"{style.newline}{indent}")


def _depth(text: str, at: int) -> str:
    """The white space with which the line of a place begins."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin : begin + len(text[begin:at]) - len(text[begin:at].lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
