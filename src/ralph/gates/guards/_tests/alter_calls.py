"""The same for Rust and JavaScript: an assertion of equality that stands unconditionally in a test's own
body, one side of which is written down. Pure text work with brackets."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ralph.gates.guards._parts.brackets import closing, skip, split_arguments

_CALLS = {
    "rs": re.compile(r"\bassert_eq!\s*(?=\()"),
    "js": re.compile(
        r"\bassert(?:\.strict)?\.(?:equal|strictEqual|deepEqual|deepStrictEqual)\s*(?=\()"
        r"|\.(?:toBe|toEqual|toStrictEqual)\s*(?=\()"
    ),
}
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_NUMBER = r"(?<![\w.])\d+(?:\.\d+)?"
_LITERAL = re.compile(rf"(?P<string>{_STRING})|(?P<number>{_NUMBER})|\b(?P<truth>true|false)\b")
_WRITTEN = {
    "rs": re.compile(
        rf"(?:{_STRING}|{_NUMBER}(?:_?[iuf](?:\d+|size))?|true|false|Some|Ok|vec!|\.to_string\(\)|[-&\[\](),\s])+"
    ),
    "js": re.compile(rf"(?:{_STRING}|{_NUMBER}|true|false|null|\w+\s*:|[-\[\]{{}},:\s])+"),
}


def alter_calls(text: str, tests: Collection[str], kind: str) -> tuple[str, frozenset[str]]:
    """The file with the named tests altered, and which of them could be. `kind`: rs or js."""
    done: set[str] = set()
    for name in tests:
        for begin, end in _bodies(text, name, kind):
            place = _first_literal(text, begin, end, kind)
            if place is not None:
                at, to, new = place
                text = text[:at] + new + text[to:]
                done.add(name)
                break
    return text, frozenset(done)


def _bodies(text: str, name: str, kind: str) -> Iterator[tuple[int, int]]:
    if not name:
        yield 0, len(text)
        return
    word = re.escape(name)
    heads = rf"\bfn\s+{word}\s*(?=\()" if kind == "rs" else rf"\b(?:test|it)\s*\(\s*([\"'`]){word}\1"
    hits = list(re.finditer(heads, text))
    for hit in hits if len(hits) == 1 else ():  # of two with one name it is not known which is which
        at = closing(text, hit.end(), kind) if kind == "rs" else hit.end()
        begin = text.find("{", at) if at > 0 else -1
        if begin < 0 or "}" in text[at:begin] or ";" in text[at:begin]:
            continue
        end = closing(text, begin, kind)
        if end > 0:
            yield begin + 1, end - 1


def _first_literal(text: str, begin: int, end: int, kind: str) -> tuple[int, int, str] | None:
    at = begin
    while at < end:
        call = _CALLS[kind].match(text, at)
        if call is not None:
            close = closing(text, call.end(), kind)
            found = _alter_side(text, call.end() + 1, close - 1, kind, one=call[0].startswith("."))
            if close < 0 or found is not None:
                return found
            at = close
            continue
        step = skip(text, at, kind)
        if step == at and text[at] in "{[(":
            step = closing(text, at, kind)
            if step < 0:
                return None
        at = max(step, at + 1)
    return None


def _alter_side(text: str, begin: int, end: int, kind: str, *, one: bool) -> tuple[int, int, str] | None:
    """The side that is written down, when it is clear which one that is."""
    sides = [(begin, end)] if one else list(split_arguments(text, begin, end, kind))[:2]
    written = [side for side in sides if _WRITTEN[kind].fullmatch(text[slice(*side)])]
    if len(written) != 1 or (len(sides) != 2 and not one):
        return None
    hit = _LITERAL.search(text, *written[0])
    if hit is None:
        return None
    if hit["string"]:
        last = "y" if hit[0][-2:-1] == "x" else "x"
        keep = hit[0][:-2] if len(hit[0]) > 2 and "\\" not in hit[0] else hit[0][:-1]
        return hit.start(), hit.end(), f"{keep}{last}{hit[0][-1]}"
    if hit["truth"]:
        return hit.start(), hit.end(), "false" if hit[0] == "true" else "true"
    other = str(int(hit[0]) + 1) if hit[0].isdigit() else f"{hit[0]}1"
    return hit.start(), hit.end(), other
