"""Where a bracket closes in a source text of the C family: strings and comments are stepped over. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSERS = frozenset(_PAIRS.values())
_RAW = re.compile(r'b?c?r(#*)"')
_CHAR = re.compile(r"b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'")
_BEFORE_REGEX = re.compile(
    r"(?:[(,=:\[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|do|else|void|delete))\s*\Z"
)
_REGEX = re.compile(r"/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")


def closing(text: str, at: int, kind: str) -> int:
    """The index after the bracket that closes the one at `at`; -1 = none. `kind`: rs, js, go, zig or d."""
    open_: list[str] = []
    while at < len(text):
        step = skip(text, at, kind)
        if step > at:
            at = step
            continue
        char = text[at]
        if char in _PAIRS:
            open_.append(_PAIRS[char])
        elif char in _CLOSERS:
            if not open_ or open_.pop() != char:
                return -1
            if not open_:
                return at + 1
        at += 1
    return -1


def split_arguments(text: str, begin: int, end: int, kind: str) -> Iterator[tuple[int, int]]:
    """Where the parts between commas stand."""
    at = first = begin
    while at < end:
        step = skip(text, at, kind)
        if step == at and text[at] in "{[(":
            step = max(closing(text, at, kind), at + 1)
        elif step == at and text[at] == ",":
            yield first, at
            first = at + 1
        at = max(step, at + 1)
    if text[first:end].strip():
        yield first, end


def skip(text: str, at: int, kind: str) -> int:
    """The index after the string or comment that begins here; `at` itself when none does."""
    char = text[at]
    if (char == "/" and text.startswith("//", at)) or (
        char == "\\" and kind == "zig" and text.startswith("\\\\", at)
    ):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if char == "/" and text.startswith("/*", at):
        return _comment(text, at, nested=kind == "rs")
    if kind == "rs" and char in "rbc" and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_")):
        raw = _RAW.match(text, at)
        if raw:
            end = text.find('"' + raw.group(1), raw.end())
            return len(text) if end < 0 else end + 1 + len(raw.group(1))
    if char == "'" and kind in ("rs", "zig", "d"):  # in Rust it may be a lifetime
        match = _CHAR.match(text, at)
        return match.end() if match else at
    if char == "`" and kind == "js":
        return _template(text, at)
    if char == '"' or (char == "'" and kind == "js") or (char == "`" and kind in ("go", "d")):
        return _string(text, at, many=kind in ("rs", "d"))
    if char == "/" and kind == "js" and (at == 0 or _BEFORE_REGEX.search(text, max(0, at - 40), at)):
        match = _REGEX.match(text, at)
        return match.end() if match else at
    return at


def _string(text: str, at: int, *, many: bool) -> int:
    quote, at = text[at], at + 1
    while at < len(text):
        if text[at] == "\\" and quote != "`":
            at += 2
            continue
        if text[at] == quote or (text[at] == "\n" and not many):
            return at + 1
        at += 1
    return at


def _comment(text: str, at: int, *, nested: bool) -> int:
    depth = 0
    while at < len(text):
        if text.startswith("/*", at) and (nested or not depth):
            depth, at = depth + 1, at + 2
        elif text.startswith("*/", at):
            depth, at = depth - 1, at + 2
            if not depth:
                return at
        else:
            at += 1
    return at


def _template(text: str, at: int) -> int:
    at += 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == "`":
            return at + 1
        elif text.startswith("${", at):
            end = closing(text, at + 1, "js")
            if end < 0:
                return len(text)
            at = end
        else:
            at += 1
    return at
