"""Small wrong changes of a Python module, one at a time.

`sites` names every change that can be made, `mutated` makes one of them. Docstrings, annotations,
imports and type casts are left alone: changing them changes no behaviour.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple

Path = tuple[tuple[str, int | None], ...]
Change = Callable[[ast.AST], ast.AST]

COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "tuple"}
UNTOUCHED = {"annotation", "returns", "decorator_list", "type_params", "bases"}
QUIET_CALLS = {"cast", "TypeVar"}


class Site(NamedTuple):
    path: Path
    label: str
    line: int
    change: Change


def sites(tree: ast.Module) -> list[Site]:
    """Every change, in the order of the source."""
    return [
        Site(path, label, getattr(node, "lineno", 0), change)
        for path, node in _walk(tree, ())
        for label, change in _changes(node)
    ]


def mutated(tree: ast.Module, site: Site) -> ast.Module:
    """A copy of the module with this one change in it."""
    new: ast.AST = copy.deepcopy(tree)
    holder = new
    for field, index in site.path[:-1]:
        holder = _get(holder, field, index)
    field, index = site.path[-1]
    fresh = site.change(_get(holder, field, index))
    if index is None:
        setattr(holder, field, fresh)
    else:
        getattr(holder, field)[index] = fresh
    assert isinstance(new, ast.Module)
    return ast.fix_missing_locations(new)


def _get(node: ast.AST, field: str, index: int | None) -> ast.AST:
    value = getattr(node, field)
    child = value if index is None else value[index]
    assert isinstance(child, ast.AST)
    return child


def _walk(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if field in UNTOUCHED:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST) and not _is_silent(node, field, index, child):
                here = (*path, (field, index))
                yield here, child
                yield from _walk(child, here)


def _is_silent(parent: ast.AST, field: str, index: int | None, child: ast.AST) -> bool:
    """Docstrings, imports, type aliases: nothing that behaves."""
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return field == "body" and index == 0
    if isinstance(child, ast.Import | ast.ImportFrom):
        return True
    if isinstance(child, ast.Subscript) and isinstance(child.value, ast.Name) and child.value.id == "Literal":
        return True
    if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id in QUIET_CALLS:
        return True
    return isinstance(parent, ast.ClassDef) and field == "keywords"


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare(ops=[op]):
            for other in COMPARE[type(op)]:
                yield f"{type(op).__name__} -> {other.__name__}", _set("ops", [other()])
        case ast.BoolOp(op=ast.And()):
            yield "and -> or", _set("op", ast.Or())
        case ast.BoolOp():
            yield "or -> and", _set("op", ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield "not dropped", lambda old: old.operand  # type: ignore[attr-defined]
        case ast.UnaryOp(op=ast.USub()):
            yield "minus dropped", lambda old: old.operand  # type: ignore[attr-defined]
        case ast.BinOp(op=op) if type(op) in BINARY:
            other_op = BINARY[type(op)]
            yield f"{type(op).__name__} -> {other_op.__name__}", _set("op", other_op())
        case ast.Constant(value=value):
            yield from _constants(value)
        case ast.If() | ast.IfExp() | ast.While():
            yield "condition negated", _negate
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "returns None", _set("value", ast.Constant(None))
        case ast.Call():
            yield from _calls(node)
        case ast.Name(id=name) if name in NAMES:
            yield f"{name} -> {NAMES[name]}", _set("id", NAMES[name])
        case ast.Break():
            yield "break -> continue", lambda _: ast.Continue()
        case ast.Continue():
            yield "continue -> break", lambda _: ast.Break()
    if isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Assert) or _rebinds(node):
        yield "statement deleted", lambda _: ast.Pass()


def _rebinds(node: ast.AST) -> bool:
    """`loop = replace(loop, ...)`: without it the name is still bound, so the change can be noticed late."""
    if not (
        isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    ):
        return False
    name = node.targets[0].id
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.value))


def _constants(value: object) -> Iterator[tuple[str, Change]]:
    if isinstance(value, bool):
        yield f"{value} -> {not value}", _set("value", not value)
    elif isinstance(value, int | float):
        yield f"{value} -> {value + 1}", _set("value", value + 1)
    elif isinstance(value, str):
        yield f"{value[:30]!r} changed", _set("value", value + "XX")


def _calls(node: ast.Call) -> Iterator[tuple[str, Change]]:
    for index, keyword in enumerate(node.keywords):
        yield f"argument {keyword.arg} dropped", _without("keywords", index)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("strip", "rstrip", "upper", "lower"):
        yield f".{node.func.attr}() dropped", lambda old: old.func.value  # type: ignore[attr-defined]


def _set(field: str, value: object) -> Change:
    def change(old: ast.AST) -> ast.AST:
        setattr(old, field, value)
        return old

    return change


def _without(field: str, index: int) -> Change:
    def change(old: ast.AST) -> ast.AST:
        del getattr(old, field)[index]
        return old

    return change


def _negate(old: ast.AST) -> ast.AST:
    old.test = ast.UnaryOp(ast.Not(), old.test)  # type: ignore[attr-defined]
    return old
