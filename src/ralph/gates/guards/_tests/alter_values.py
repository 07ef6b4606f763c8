"""Values that are written down in a test, and others of their kind in their place."""

from __future__ import annotations

import ast

from ralph.gates.guards._tests.py_syntax import Function, last_name
from ralph.gates.guards._tests.spans import Span

WRITTEN = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set)
NOTHING = "object()"
_UNKNOWN = (ast.Call, ast.JoinedStr, ast.Await, ast.Yield, ast.Lambda)  # no value that can be read off


def altered_column(function: Function, name: str) -> list[Span]:
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
        spans = [altered_constant(cell) for cell in cells if isinstance(cell, WRITTEN)]
        found = [span for span in spans if span is not None]
        return found if len(found) == len(rows) else []
    return []


def born_at(
    tree: ast.Module, body: ast.AST, expected: ast.expr, *, same_kind: bool
) -> tuple[Span, ...] | None:
    """Another value for a name where it gets it, so that whoever looks it up there finds the other one: in
    the test, at the top of the file, in the cases that a loop or a parametrised test goes through. None where
    the test does more with it than expect it: `loads(dumps(x)) == x` holds for every x."""
    name = expected.id if isinstance(expected, ast.Name) else ""
    if not name or not _is_only_expected(body, name):
        return None
    column = _column_of(body, name)
    if column is None:
        own = _given_once(body, name)
        argument = any(isinstance(one, ast.arg) and one.arg == name for one in ast.walk(body))
        find = _given_by_fixture if argument else _given_once
        everywhere = None if own else find(tree, name)
        value = own or (everywhere if _is_only_expected(tree, name) else None)
        other = altered_constant(value) if same_kind and isinstance(value, WRITTEN) else None
        return None if value is None else (other or in_place(value, NOTHING),)
    if same_kind and isinstance(body, Function) and (cells := altered_column(body, name)):
        return tuple(cells)
    cases, at, count = column
    given = isinstance(cases, ast.Name) and (_given_once(body, cases.id) or _given_once(tree, cases.id))
    kept = given if isinstance(given, ast.expr) else cases
    opened, closed = "[]" if given or isinstance(kept, ast.List | ast.Tuple | ast.ListComp) else "()"
    cut = f"(*[*_row][:{at}], {NOTHING}, *[*_row][{at + 1}:])" if count else NOTHING
    marked = cut.replace("*_row", "*_row.values") if count else f"({NOTHING},)"  # by `param(…)`
    row = f"(_row._replace(values={marked}) if hasattr(_row, 'marks') else {cut})"
    end = kept.end_lineno or 0, kept.end_col_offset or 0
    lead = f"{opened}{row} for _row in ("
    return (kept.lineno, kept.col_offset, kept.lineno, kept.col_offset, lead), (*end, *end, f"){closed}")


def _is_only_expected(body: ast.AST, name: str) -> bool:
    """Is every use of it a side of a comparison?"""
    sides: list[ast.expr] = []
    for part in ast.walk(body):
        if isinstance(part, ast.Compare):
            sides += part.left, *part.comparators
        elif isinstance(part, ast.Call) and last_name(part).startswith("assert"):
            sides += part.args
    used = [one for one in ast.walk(body) if isinstance(one, ast.Name) and one.id == name]
    return all(one in sides for one in used if isinstance(one.ctx, ast.Load))


def _column_of(body: ast.AST, name: str) -> tuple[ast.expr, int, int] | None:
    """The cases that give it its value, which part of a case, of how many (0: the case itself)."""
    for part in ast.walk(body):
        parts = getattr(part.target, "elts", [part.target]) if isinstance(part, ast.For) else []
        if isinstance(part, ast.For) and name in (names := [getattr(one, "id", "") for one in parts]):
            return part.iter, names.index(name), len(names) if isinstance(part.target, ast.Tuple) else 0
    for mark in getattr(body, "decorator_list", []):
        if isinstance(mark, ast.Call) and len(mark.args) > 1 and last_name(mark) == "parametrize":
            names = _names(mark.args[0])
            if name in names:
                return mark.args[1], names.index(name), len(names) if len(names) > 1 else 0
    return None


def _given_once(body: ast.AST, name: str) -> ast.expr | None:
    """The value that is put under this name here, and no other one anywhere in it."""
    stored = [
        one
        for one in ast.walk(body)
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
    ]
    given = (one for one in getattr(body, "body", []) if isinstance(one, ast.Assign))
    return next((one.value for one in given if one.targets == stored), None)


def _given_by_fixture(tree: ast.AST, name: str) -> ast.expr | None:
    """What the one fixture of this name gives tests, where it says so once."""
    made = [one for one in ast.walk(tree) if isinstance(one, Function) and one.name == name]
    ends = [one for each in made for one in ast.walk(each) if isinstance(one, ast.Return | ast.Yield)]
    known = len(made) == len(ends) == 1 and "fixture" in "".join(map(ast.unparse, made[0].decorator_list))
    return ends[0].value if known else None


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


def altered_constant(expected: ast.expr) -> Span | None:
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
        return repr(value[:-1] + ("y" if value.endswith(("x", "X")) else "x"))
    if isinstance(value, bytes):
        return repr(value[:-1] + (b"y" if value.endswith((b"x", b"X")) else b"x"))
    return None


def in_place(part: ast.expr, new: str) -> Span:
    return part.lineno, part.col_offset, part.end_lineno or 0, part.end_col_offset or 0, new


def is_computed(side: ast.expr) -> bool:
    return any(isinstance(part, _UNKNOWN) for part in ast.walk(side))


def other_differences(*sides: ast.expr) -> list[tuple[Span, ...]]:
    """`f() - 1.5` with nothing in place of the number, and `approx(1.5)` of one that is far away."""
    found: list[tuple[Span, ...]] = []
    for part in (part for side in sides for part in ast.walk(side)):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            pair = (part.left, part.right)
            if sum(map(is_computed, pair)) == 1:
                found += [(in_place(one, NOTHING),) for one in pair if not is_computed(one)]
        elif isinstance(part, ast.Call) and ast.unparse(part.func).endswith("approx"):
            numbers = [one for one in part.args[:1] if isinstance(one, ast.Constant)]
            found += [(in_place(one, f"({one.value!r} * 3 + 12345)"),) for one in numbers]
    return found


def other_examples(body: Function | ast.Module, lines: list[bytes]) -> list[Span]:
    """What its examples show, with a letter more. Of an error the kind alone may be looked at."""
    shown = body.body[0] if ast.get_docstring(body, clean=False) else None
    begin, end = (shown.lineno, shown.end_lineno or 0) if shown is not None else (0, 0)
    spans, asked = [], False
    for number in range(begin, end):
        line, after = lines[number - 1].strip(), lines[number].strip()
        asked = line.startswith((b">>>", b"...")) or (asked and line != b"" and b"Traceback" not in line)
        last = after.startswith((b">>>", b'"""', b"'''")) or not after
        if asked and last and not line.startswith((b">>>", b"...")):
            at = len(lines[number - 1].rstrip())
            spans.append((number, at, number, at, "x"))
    return spans
