"""Where each key stands in a TOML text, and how deep the text nests, without parsing it.

`tomllib` tells no line numbers and recurses as deep as a hostile file wants; this pass is linear, and
comes first. It never judges: what is not TOML is left for the parser to complain about.
"""

from __future__ import annotations

import re

from msgspec import Struct

MAX_DEPTH = 32

_PART = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\n]*')[ \t]*(\.?)""")
_BLANK = re.compile(r"[ \t\r\n]*")
_NOTABLE = re.compile(r"""["'#\[\]{}\n]""")


class Map(Struct, frozen=True):
    lines: dict[tuple[str, ...], int]  # key path -> line, from 1
    depth: int

    def line(self, path: tuple[str, ...]) -> int:
        """The line of a key; keys inside an inline table stand where the table begins."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def scan(text: str) -> Map:
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    depth = counted = at = 0
    line = 1
    while True:
        match = _BLANK.match(text, at)
        at = match.end() if match else at
        if at >= len(text):
            return Map(lines, depth)
        line += text.count("\n", counted, at)
        counted = at
        if text[at] == "[":
            table, at = _key(text, at + (2 if text.startswith("[[", at) else 1))
            path, nested = table, 0
            at = _line_end(text, at)
        elif text[at] == "#":
            at = _line_end(text, at)
            continue
        else:
            key, at = _key(text, at)
            path = table + key
            at, nested = _value_end(text, at)
        for end in range(len(table) + 1, len(path)):  # a.b.c = 1 is also where a and a.b begin
            lines.setdefault(path[:end], line)
        lines.setdefault(path, line)
        depth = max(depth, len(path) + nested)
        if depth > MAX_DEPTH:  # enough to refuse it; the rest is not worth reading
            return Map(lines, depth)


def _key(text: str, at: int) -> tuple[tuple[str, ...], int]:
    parts: list[str] = []
    while len(parts) <= MAX_DEPTH:
        match = _PART.match(text, at)
        if match is None:
            break
        at = match.end()
        parts.append(match[1][1:-1] if match[1][0] in "\"'" else match[1])
        if not match[2]:
            break
    return tuple(parts), at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _value_end(text: str, at: int) -> tuple[int, int]:
    """Where the statement ends, and the deepest nesting of brackets in it."""
    depth = deepest = 0
    while True:
        match = _NOTABLE.search(text, at)
        if match is None:
            return len(text), deepest
        char, at = match[0], match.end()
        if char in "\"'":
            at = _string_end(text, match.start())
        elif char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MAX_DEPTH:
                return at, deepest
        elif char in "]}":
            depth -= 1
        elif depth <= 0:
            return at, deepest


def _string_end(text: str, start: int) -> int:
    mark = text[start]
    quote = mark * 3 if text.startswith(mark * 3, start) else mark
    begin = at = start + len(quote)
    while True:
        end = text.find(quote, at)
        if end < 0:
            return len(text)
        slashes = end - len(text[begin:end].rstrip("\\")) - begin if mark == '"' else 0
        if slashes % 2 == 0:
            break
        at = begin = end + 1
    end += len(quote)
    while len(quote) == 3 and text.startswith(mark, end):  # """a"""" ends with a quote of its own
        end += 1
    return end
