"""The ceiling: 400 lines a module, 60 a function. Beyond it a room is missing. And a sum for all of src.

The sum is a promise about growth (design/house.md says what is in it): whoever needs more cuts something, or
says there why the number rises.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

MODULE, FUNCTION = 400, 60
ALL = 90_321


def too_large(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    found = [f"{path}: {lines} lines, at most {MODULE}"] if lines > MODULE else []
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION}")
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those inside it, however deep; there is none inside an expression, and most nodes are of one."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield inner
            yield from _statements(inner)


def main() -> int:
    gc.disable()
    paths = sorted(Path("src").rglob("*.py"))
    problems = [problem for path in paths for problem in too_large(path)]
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
    if lines > ALL:
        problems.append(f"src: {lines} lines of Python, at most {ALL} (design/house.md)")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
