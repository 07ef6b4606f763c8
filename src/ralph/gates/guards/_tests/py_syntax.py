"""Python source as a syntax tree, whatever the bytes; and expressions as text that survives renaming.

`shape` writes an expression so that two of them compare equal when only the names of local variables
differ, or when a value took the way through a variable.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterable
from typing import cast

from msgspec import Struct

from ralph.gates.guards._base.facts import GuardFacts

Function = ast.FunctionDef | ast.AsyncFunctionDef
TROUBLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, AttributeError, TypeError)
_INLINE = 4  # how far a value is followed back through local variables
_SIZE = 2000  # characters; what is longer is not followed any further


class Scope(Struct, frozen=True):
    """The local variables of a function, and the values of those that are set once."""

    names: frozenset[str] = frozenset()
    values: dict[str, ast.expr] = {}


def parse(text: str) -> ast.Module | None:
    """None when this Python cannot read it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of judged code are not ours to print
        try:
            return ast.parse(text)
        except TROUBLE:
            return None


def parse_once(facts: GuardFacts, side: str, path: str, text: str) -> ast.Module | None:
    """As `parse`, once for all guards."""
    key = f"tree:{side}:{path}"
    if key not in facts.memo:
        facts.memo[key] = parse(text)
    return cast(ast.Module | None, facts.memo[key])


def dotted_name(node: ast.AST | None) -> str:
    """`a.b.c` for names and attributes; a call in between is left out; "" for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(parts)])
        else:
            return ".".join(["?", *reversed(parts)]) if parts else ""


def last_name(node: ast.AST | None) -> str:
    return dotted_name(node).rsplit(".", 1)[-1]


def scope_of(function: Function, nodes: Iterable[ast.AST]) -> Scope:
    """`nodes`: everything in the function."""
    counts: Counter[str] = Counter()
    values: dict[str, ast.expr] = {}
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        counts[argument.arg] += 2  # given from outside: never followed back
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            counts[extra.arg] += 2
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] += 1
        elif (
            isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ):
            values[node.targets[0].id] = node.value
        elif isinstance(node, (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension)):
            for target in ast.walk(node.target):
                if isinstance(target, ast.Name):
                    counts[target.id] += 2
    return Scope(frozenset(counts), {name: value for name, value in values.items() if counts[name] == 1})


def shape(node: ast.AST, scope: Scope, depth: int = _INLINE) -> str:
    """An expression as text without the names of local variables."""
    if isinstance(node, ast.Name):
        value = scope.values.get(node.id)
        if value is not None and depth > 0:
            return shape(value, scope, depth - 1)
        return "_" if node.id in scope.names else node.id
    if isinstance(node, ast.Constant):
        return repr(node.value)[:_SIZE]
    if isinstance(node, ast.Await):
        return shape(node.value, scope, depth)
    parts: list[str] = []
    size = 0
    for name, field in ast.iter_fields(node):
        if name in ("ctx", "type_comment", "kind"):
            continue
        for item in field if isinstance(field, list) else (field,):
            text = shape(item, scope, depth) if isinstance(item, ast.AST) else str(item)
            size += len(text)
            if size > _SIZE:
                return f"{type(node).__name__}({','.join(parts)},…)"
            parts.append(text)
    return f"{type(node).__name__}({','.join(parts)})"


def constants(node: ast.AST, scope: Scope) -> tuple[str, ...]:
    """The literal values an expression is made of; () when it has none."""
    found: list[str] = []
    stack: list[tuple[ast.AST, int]] = [(node, _INLINE)]
    while stack and len(found) < 200:
        item, depth = stack.pop()
        if isinstance(item, ast.Constant):
            found.append(repr(item.value)[:200])
        elif isinstance(item, ast.Name) and item.id in scope.values and depth > 0:
            stack.append((scope.values[item.id], depth - 1))
        else:
            stack.extend((child, depth) for child in ast.iter_child_nodes(item))
    return tuple(sorted(found))


def is_literal(node: ast.AST, scope: Scope, depth: int = _INLINE) -> bool:
    """Made of constants alone, as far as can be seen: nothing in it could ever differ."""
    if isinstance(node, ast.Name):
        value = scope.values.get(node.id)
        return value is not None and depth > 0 and is_literal(value, scope, depth - 1)
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp)):
        return all(
            is_literal(child, scope, depth)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr)
        )
    return False


def constant_truth(node: ast.AST) -> bool | None:
    """What a condition always is; None when it depends."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts) if not any(isinstance(item, ast.Starred) for item in node.elts) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = constant_truth(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        known = [constant_truth(value) for value in node.values]
        wanted = isinstance(node.op, ast.Or)
        if wanted in known:
            return wanted
        return None if None in known else not wanted
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        sides = (node.left, node.comparators[0])
        if all(isinstance(side, ast.Constant) for side in sides):
            return cast(ast.Constant, sides[0]).value == cast(ast.Constant, sides[1]).value
    if isinstance(node, ast.Name) and node.id == "TYPE_CHECKING":
        return False
    return None
