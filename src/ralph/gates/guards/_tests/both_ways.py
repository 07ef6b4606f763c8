"""Claims that are no equalities, in JavaScript and Rust: what no honest answer can be at once.

A claim and its opposite are asked for together, so nothing has to be known of any type. Of none at all every
one is as wanted, so every one is to be none; and a text is to hold four other numbers, or it holds them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph.gates.guards._parts.brackets import closing, skip

Span = tuple[int, int, str]
_ORDER = re.compile(r"(?<![<>=!|-])(<=|>=|<|>)(?![<>=])")
_OTHER = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}
_ANSWERS = {"is_ok": "is_err", "is_err": "is_ok", "is_some": "is_none", "is_none": "is_some"}
_ANSWER = re.compile(rf"\.({'|'.join(_ANSWERS)})\( *\)\s*\Z")
_EACH = re.compile(r"\.(?:every|some|all|any)\s*(\( *\))\s*\Z")
_HOLDS = re.compile(r"\.(?:includes|contains)\s*\( *\)\s*\Z")
_MAYBE = re.compile(r"&&|\|\||\?|=>")
_DIGITS = [
    str.maketrans("0123456789", row) for row in ("1234567891", "3456789123", "4567891234", "7891234567")
]


def other_numbers(text: str) -> list[str]:
    """The same text with other numbers, four times; none where that may be there by chance."""
    return [text.translate(row) for row in _DIGITS] if len(re.findall(r"\d", text)) > 2 else []


def both_ways(text: str, begin: int, end: int, kind: str, *, join: str = "&&") -> Iterator[Span]:
    """What to put in for a condition that has to hold, so that it cannot; with `||` that it must."""
    shown = _outline(text, begin, end, kind)
    denied = re.fullmatch(r"\s*!\s*(\( *\))\s*", shown)
    if denied is not None:
        at, to = begin + denied.start(1) + 1, begin + denied.end(1) - 1
        yield from both_ways(text, at, to, kind, join="||" if join == "&&" else "&&")
        return
    signs = list(_ORDER.finditer(shown))
    if len(signs) == 1 and not _MAYBE.search(shown):
        left, right = text[begin : begin + signs[0].start()], text[begin + signs[0].end() : end]
        sign, other = signs[0][0], _OTHER[signs[0][0]]
        yield begin, end, _bind_sides(kind, f"left_ {sign} right_ {join} left_ {other} right_", left, right)
    if signs or join != "&&" or _MAYBE.search(shown) or shown.lstrip()[:1] == "!":
        return
    if each := _EACH.search(shown):
        at, to = (begin + one for one in each.span(1))
        yield at + 1, to - 1, "() => false" if kind == "js" else "|_| false"
    elif kind == "rs" and (answer := _ANSWER.search(shown)):
        of = text[begin : begin + answer.start()]
        yield begin, end, _bind_sides(kind, f"left_.{answer[1]}() && left_.{_ANSWERS[answer[1]]}()", of)
    elif (holds := _HOLDS.search(shown)) and (asked := text[begin + holds.start() : end].strip())[
        -2:-1
    ] in "\"'":
        others = " && ".join(f"left_{one}" for one in other_numbers(asked))
        if others:
            yield begin, end, _bind_sides(kind, others, text[begin : begin + holds.start()])


def _bind_sides(kind: str, condition: str, *sides: str) -> str:
    """Each side is computed once."""
    names = ", ".join(["left_", "right_"][: len(sides)])
    if kind == "js":
        return f"(({names}) => {condition})({','.join(sides)})"
    given = ", ".join(f"&({side.strip()})" for side in sides)
    return f"match ({given},) {{ ({names},) => {condition} }}"


def _outline(text: str, begin: int, end: int, kind: str) -> str:
    """As long as it is, with nothing in its strings and brackets."""
    shown, at = "", begin
    while at < end:
        step = skip(text, at, kind)
        if step == at and text[at] in "([{":
            step = closing(text, at, kind)
        step = min(max(step, at + 1), end)
        shown += text[at] if step == at + 1 else f"{text[at]}{' ' * (step - at - 2)}{text[step - 1]}"
        at = step
    return shown
