"""Tests that ask for the wrong answer: one expected value of each is altered, so that they must fail.

Only where that is certain: an equality, an order or a membership that is claimed in the test's own body, in
loops too. The side of an equality that is written down there, or in the cases of a parametrised test, gets
another value of its kind; otherwise one side becomes an object that is equal to nothing, in no order and in
nothing. Where a test claims several things each of them must fail. Pure text work on Python's syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ralph.gates.guards._breaks.break_function import LINE

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EQUAL = frozenset({f"assert{kind}Equal" for kind in ("", "List", "Tuple", "Dict", "Set", "Sequence")})
_KINDS: dict[type[ast.cmpop], str] = {
    ast.Eq: "=",
    ast.In: "in",
    ast.Lt: "<",
    ast.LtE: "<",
    ast.Gt: "<",
    ast.GtE: "<",
}
_METHODS = {"assertIn": "in", "assertAlmostEqual": "<"} | {
    f"assert{word}{more}": "<" for word in ("Less", "Greater") for more in ("", "Equal")
}
_WRITTEN = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set)
_UNKNOWN = (ast.Call, ast.JoinedStr, ast.Await, ast.Yield, ast.Lambda)  # no value that can be read off
_Span = tuple[int, int, int, int, str]  # line, byte, end line, end byte, new text


def alter_tests(text: str, tests: Collection[str]) -> tuple[str, frozenset[str]]:
    """The file with the named functions altered, and which of them could be ("": the file as a script).

    Raises ValueError.
    """
    lines = [line.encode() for line in LINE.findall(text)]
    spans: list[_Span] = []
    done: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _Function | ast.Module) and (name := getattr(node, "name", "")) in tests:
            found = _first(node, lines)
            spans += found
            if found:
                done.add(name)
    changed = _replace_spans(text, spans)
    ast.parse(changed)
    return changed, frozenset(done)


def _first(function: _Function | ast.Module, lines: list[bytes]) -> list[_Span]:
    """What to replace: the cases of a parametrised test, or what is claimed, each claim by itself."""
    found = {one: spans for one in _claims(function.body) if (spans := _other_sides(function, one))}
    tops = [one for one in function.body if one in found]
    first = found[tops[0]][:1] if tops else []
    if isinstance(function, ast.Module) or not found:
        return first
    if tops and (column := _expected_column(function, tops[0])):
        return column
    ends = any(isinstance(one, ast.Return) for one in ast.walk(function))  # before what is put at the end
    if ends or found == dict.fromkeys(tops, first) or not all(_is_alone(one, lines) for one in found):
        return first
    tried = [span for one, spans in found.items() for span in _try_claim(one, spans, lines)]
    return [*tried, _end_in_red(function, found, lines)]


def _claims(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that claim something, also those in loops and contexts; what is conditional is none."""
    for statement in body:
        if isinstance(statement, ast.For | ast.With):
            yield from _claims(statement.body)
        elif _sides(statement)[0]:
            yield statement


def _other_sides(function: _Function | ast.Module, statement: ast.stmt) -> list[_Span]:
    """What can be put in place of one side, so that the claim must fail: each of them by itself."""
    kind, sides = _sides(statement)
    if kind == "=" and (constant := next(map(_constant, _expected_side(statement)), None)):
        return [constant]
    if kind == "in":
        item, container = sides
        answers = _is_computed(item) and not _is_computed(container)
        return [_nothing_equal(container, "[object()]") if answers else _nothing_equal(item)]
    plain = [side for side in sides if not _is_computed(side)]
    return (
        [_nothing_equal(_value_of(function, plain[0]))]
        if len(plain) == 1
        else list(map(_nothing_equal, sides))
    )


def _expected_column(function: _Function, statement: ast.stmt) -> list[_Span]:
    expected = next(_expected_side(statement), None)
    return _column(function, expected.id) if isinstance(expected, ast.Name) else []


def _is_alone(statement: ast.stmt, lines: list[bytes]) -> bool:
    after = lines[(statement.end_lineno or 0) - 1][statement.end_col_offset or 0 :].strip()
    return not lines[statement.lineno - 1][: statement.col_offset].strip() and after[:1] in (b"", b"#")


def _try_claim(statement: ast.stmt, spans: list[_Span], lines: list[bytes]) -> list[_Span]:
    """In place of a claim: when it fails altered, as it must, the test goes on; when not it ends green."""
    lead = lines[statement.lineno - 1][: statement.col_offset].decode()
    begin, end = (
        (statement.lineno, statement.col_offset),
        (statement.end_lineno or 0, statement.end_col_offset or 0),
    )
    inside = [span for span in spans if begin <= span[:2] < end]
    texts = [
        _between(lines, begin, span[:2]) + span[4] + _between(lines, span[2:4], end) for span in inside
    ] or [_between(lines, begin, end)]
    tries = [f"try: {text}\n{lead}except Exception: _failed = True\n{lead}else: return" for text in texts]
    return [(*begin, *end, f"\n{lead}".join(tries)), *(span for span in spans if span not in inside)]


def _between(lines: list[bytes], begin: tuple[int, int], end: tuple[int, int]) -> str:
    part = lines[begin[0] - 1 : end[0]]
    part[-1] = part[-1][: end[1]]
    part[0] = part[0][begin[1] :]
    return b"".join(part).decode()


def _end_in_red(function: _Function, found: Collection[ast.stmt], lines: list[bytes]) -> _Span:
    """Behind the test: red, unless all that it claims stands in loops, and they came to none of it."""
    last = function.body[-1]
    lead = "\n" + lines[last.lineno - 1][: last.col_offset].decode()
    place = (last.end_lineno or 0, last.end_col_offset or 0) * 2
    looped = {one for loop in function.body if isinstance(loop, ast.For) for one in loop.body}
    if not looped.issuperset(found):
        return *place, f"{lead}raise AssertionError"
    return *place, f"{lead}try: _failed{lead}except NameError: pass{lead}else: raise AssertionError"


def _value_of(function: _Function | ast.Module, expected: ast.expr) -> ast.expr:
    """What a name was given in the test, once and for this claim only: whoever reads the test's names sees
    the altered value."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name)]
    used = [one for one in names if isinstance(expected, ast.Name) and one.id == expected.id]
    given = [one for one in used if isinstance(one.ctx, ast.Store)]
    for statement in function.body if len(used) == 2 else ():
        if isinstance(statement, ast.Assign) and statement.targets == given:
            return statement.value
    return expected


def _nothing_equal(part: ast.expr, new: str = "object()") -> _Span:
    return part.lineno, part.col_offset, part.end_lineno or 0, part.end_col_offset or 0, new


def _is_computed(side: ast.expr) -> bool:
    return any(isinstance(part, _UNKNOWN) for part in ast.walk(side))


def _sides(statement: ast.stmt) -> tuple[str, list[ast.expr]]:
    """What is claimed of two values (=, <, in), the one first that is more often the expected one."""
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        left, right = statement.test.left, statement.test.comparators[0]
        kind = _KINDS.get(type(statement.test.ops[0]))
        if kind is not None and (kind != "=" or len(statement.test.ops) == 1):
            return kind, [left, right] if kind == "in" else [right, left]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and len(call.args) >= 2:
            kind = "=" if call.func.attr in _EQUAL else _METHODS.get(call.func.attr)
            if kind is not None:
                return kind, call.args[:2] if kind == "in" else call.args[1::-1]
    return "", []


def _expected_side(statement: ast.stmt) -> Iterator[ast.expr]:
    """The side of an equality that is written down, when it is clear which one that is."""
    kind, sides = _sides(statement)
    plain = [side for side in sides if kind == "=" and not _is_computed(side)]
    written = [side for side in plain if isinstance(side, _WRITTEN)]
    if len(written) == 1:
        yield written[0]
    elif not written and len(plain) == 1 and isinstance(plain[0], ast.Name):
        yield plain[0]


def _column(function: _Function, name: str) -> list[_Span]:
    """This parameter's value in every case of `parametrize`; nothing when one of them is not written down."""
    for mark in function.decorator_list:
        if not isinstance(mark, ast.Call) or len(mark.args) < 2:
            continue
        if not ast.unparse(mark.func).endswith("parametrize"):
            continue
        names, rows = _names(mark.args[0]), getattr(mark.args[1], "elts", [])
        if name not in names or not rows:
            continue
        cells = [_cell(row, names.index(name), len(names)) for row in rows]
        spans = [_constant(cell) for cell in cells if isinstance(cell, _WRITTEN)]
        found = [span for span in spans if span is not None]
        return found if len(found) == len(rows) else []
    return []


def _names(written: ast.expr) -> list[str]:
    try:
        words = ast.literal_eval(written)
    except ValueError:
        return []
    return [word.strip() for word in words.split(",")] if isinstance(words, str) else list(map(str, words))


def _cell(row: ast.expr, at: int, count: int) -> ast.expr | None:
    cells: list[ast.expr] = [row]
    if isinstance(row, ast.Call):  # a row made by `param(…)`
        cells = row.args
    elif count > 1:
        cells = getattr(row, "elts", [])
    return cells[at] if len(cells) > at else None


def _constant(expected: ast.expr) -> _Span | None:
    """The first constant in it, replaced by another one of its kind; of a row the first two that differ
    change places, so that what only looks at sums or sizes shows too."""
    if isinstance(expected, ast.List | ast.Tuple):
        for first, second in zip(expected.elts, expected.elts[1:], strict=False):
            if not isinstance(first, ast.Constant) or not isinstance(second, ast.Constant):
                continue
            if first.value != second.value and first.lineno == second.end_lineno:
                text = f"{second.value!r}, {first.value!r}"
                return (first.lineno, first.col_offset, first.lineno, second.end_col_offset or 0, text)
    for node in ast.walk(expected):
        if isinstance(node, ast.Constant) and node.end_lineno and node.end_col_offset is not None:
            other = _other(node.value)
            if other is not None:
                return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, other)
    return None


def _other(value: object) -> str | None:
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int) or (isinstance(value, float) and value + 1 != value):
        return repr(value + 1)
    if isinstance(value, str):
        return repr(value[:-1] + ("y" if value.endswith("x") else "x"))
    if isinstance(value, bytes):
        return repr(value[:-1] + (b"y" if value.endswith(b"x") else b"x"))
    return None


def _replace_spans(text: str, spans: list[_Span]) -> str:
    lines = [line.encode() for line in LINE.findall(text)]
    for line, begin, end_line, end, new in sorted(set(spans), reverse=True):
        tail = lines[end_line - 1][end:]
        lines[line - 1 : end_line] = [lines[line - 1][:begin] + new.encode() + tail]
    return b"".join(lines).decode()
