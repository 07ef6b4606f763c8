"""SQL that is put together from values in added Python: an injection waits there (CWE-89)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_SQL = re.compile(
    r"\s*(?:SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s.+\sSET\s|DELETE\s+FROM\s|DROP\s+TABLE\s|ALTER\s+TABLE\s)",
    re.IGNORECASE | re.DOTALL,
)
_EXECUTES = frozenset({"execute", "executemany", "executescript", "raw", "exec_driver_sql", "text"})


def built_queries(tree: ast.AST) -> Iterator[int]:
    """Lines of SQL texts with values in them that go straight into a call which executes them."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _EXECUTES and _SQL.match(_text(node.args[0]) or ""):
            yield node.args[0].lineno


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
