"""Tests that ask for the wrong answer: one expected value of each is altered, so that they must fail.

Only where that is certain: an equality that stands unconditionally in the test's own body. The side that is
written down there, or in the cases of a parametrised test, gets another value of its kind; where both sides
are computed, one becomes an object that equals nothing. Pure text work on Python's syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ralph.gates.guards._breaks.break_function import LINE

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_EQUAL = frozenset({f"assert{kind}Equal" for kind in ("", "List", "Tuple", "Dict", "Set", "Sequence")})
_WRITTEN = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set)
_UNKNOWN = (ast.Call, ast.JoinedStr, ast.Await, ast.Yield, ast.Lambda)  # no value that can be read off
_Span = tuple[int, int, int, int, str]  # line, byte, end line, end byte, new text


def alter_tests(text: str, tests: Collection[str]) -> tuple[str, frozenset[str]]:
    """The file with the named functions altered, and which of them could be ("": the file as a script).

    Raises ValueError.
    """
    spans: list[_Span] = []
    done: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _Function | ast.Module) and (name := getattr(node, "name", "")) in tests:
            found = _first(node)
            spans += found
            if found:
                done.add(name)
    changed = _replace_spans(text, spans)
    ast.parse(changed)
    return changed, frozenset(done)


def _first(function: _Function | ast.Module) -> list[_Span]:
    for statement in function.body:
        for expected in _expected_side(statement):
            if isinstance(expected, ast.Name):
                if isinstance(function, _Function) and (column := _column(function, expected.id)):
                    return column
            elif constant := _constant(expected):
                return [constant]
    for statement in function.body:
        if sides := _sides(statement):
            expected = next((side for side in sides if not _is_computed(side)), sides[0])
            return [_nothing_equal(_value_of(function, expected))]
    return []


def _value_of(function: _Function | ast.Module, expected: ast.expr) -> ast.expr:
    """What a name was given in the test, once: whoever reads the test's names sees the altered value."""
    names = [
        one for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]
    given = [one for one in names if isinstance(expected, ast.Name) and one.id == expected.id]
    for statement in function.body if len(given) == 1 else ():
        if isinstance(statement, ast.Assign) and statement.targets == given:
            return statement.value
    return expected


def _nothing_equal(part: ast.expr) -> _Span:
    return part.lineno, part.col_offset, part.end_lineno or 0, part.end_col_offset or 0, "object()"


def _is_computed(side: ast.expr) -> bool:
    return any(isinstance(part, _UNKNOWN) for part in ast.walk(side))


def _sides(statement: ast.stmt) -> list[ast.expr]:
    """Both sides of an equality that is claimed, the one first that is more often the expected one."""
    sides: list[ast.expr] = []
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        if len(statement.test.ops) == 1 and isinstance(statement.test.ops[0], ast.Eq):
            sides = [statement.test.comparators[0], statement.test.left]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _EQUAL and len(call.args) >= 2:
            sides = [call.args[1], call.args[0]]
    return sides


def _expected_side(statement: ast.stmt) -> Iterator[ast.expr]:
    """The side of an equality that is written down, when it is clear which one that is."""
    plain = [side for side in _sides(statement) if not _is_computed(side)]
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
