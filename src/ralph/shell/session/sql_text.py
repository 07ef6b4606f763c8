"""SQL that is put together from values in added Python: an injection waits there (CWE-89)."""

from __future__ import annotations

import ast
import re
from collections import ChainMap
from collections.abc import Iterator

_SQL = re.compile(
    r"\s*(?:SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s.+\sSET\s|DELETE\s+FROM\s|DROP\s+TABLE\s|ALTER\s+TABLE\s)",
    re.IGNORECASE | re.DOTALL,
)
_EXECUTES = frozenset({"execute", "executemany", "executescript", "raw", "exec_driver_sql", "text"})
_Names = ChainMap[str, list[ast.expr]]  # what is given to a name: here, and in what is around it


def built_queries(tree: ast.AST) -> Iterator[int]:
    """Lines of SQL texts with values in them that go into a call which executes them, at once or by name."""
    return iter(sorted(set(_built_in(tree, ChainMap(), set()))))


def _built_in(scope: ast.AST, outer: _Names, added: set[ast.expr]) -> Iterator[int]:
    """Those of one function or of the module: a name in another function is another name."""
    nodes, inner, named = list[ast.AST](), list[ast.AST](), outer.new_child()
    ahead = [*ast.iter_child_nodes(scope)]
    while ahead:
        node = ahead.pop()
        nodes.append(node)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inner.append(node)
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named.maps[0].setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                named.maps[0].setdefault(name, []).append(value)
                added.add(value)
            case ast.arg(arg=name):
                named.maps[0].setdefault(name, []).append(ast.Name(name))
        ahead.extend(ast.iter_child_nodes(node))
    for one in inner:
        yield from _built_in(one, named, added)
    for node in nodes:
        if not (isinstance(node, ast.Call) and node.args):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0]
        texts = named.get(first.id, []) if isinstance(first, ast.Name) else [first]
        queries = {one for one in texts if _SQL.match(_text(one) or _plain(one))}
        if name in _EXECUTES and queries:
            parts = (one for one in texts if one in queries | added)
            yield from (one.lineno for one in parts if _text(one) and not _is_harmless(one, named))


def _plain(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_harmless(node: ast.expr, named: _Names) -> bool:
    """Are all values that are put in texts of this file, or marks for parameters (`", ".join("?" * n)`)?"""
    if not isinstance(node, ast.JoinedStr):
        return False
    values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    known = [named.get(one.id, [one]) if isinstance(one, ast.Name) else [one] for one in values]
    return all(_plain(one) or _is_marks(one) for ones in known for one in ones)


def _is_marks(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[given]):
            texts = {_plain(one) for one in ast.walk(given) if isinstance(one, ast.Constant)} - {""}
            return bool(texts) and texts <= {"?", "%s"}
    return False


def _text(node: ast.expr) -> str | None:
    """The text, with a blank for each value that is put into it; None when nothing is put into it."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else " ? " for part in node.values]
        return "".join(map(str, parts)) if len(parts) > 1 or parts[:1] == [" ? "] else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add):
        left, right = node.left, node.right
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return None
        start = _text(left) or (left.value if isinstance(left, ast.Constant) else None)
        return f"{start} ? " if isinstance(start, str) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        inner = node.func.value
        return f"{inner.value} " if isinstance(inner, ast.Constant) and isinstance(inner.value, str) else None
    return None
