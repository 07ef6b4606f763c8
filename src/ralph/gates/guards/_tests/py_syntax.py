"""Python source as a syntax tree, whatever the bytes."""

from __future__ import annotations

import ast
import warnings
from typing import cast

from ralph.gates.guards._base.facts import GuardFacts

Function = ast.FunctionDef | ast.AsyncFunctionDef
TROUBLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, AttributeError, TypeError)


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
