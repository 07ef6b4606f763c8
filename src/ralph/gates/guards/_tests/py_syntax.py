"""Python source as a syntax tree, whatever the bytes."""

from __future__ import annotations

import ast
import warnings

from ralph.gates.guards._base.facts import GuardFacts

Function = ast.FunctionDef | ast.AsyncFunctionDef
TROUBLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError, AttributeError, TypeError)


def parse(text: str | bytes) -> ast.Module | None:
    """None when this Python cannot read it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of judged code are not ours to print
        try:
            return ast.parse(text)
        except TROUBLE:
            return None


def parse_once(facts: GuardFacts, side: str, path: str, text: str) -> ast.Module | None:
    """As `parse`, once for all guards."""
    return facts.once(f"tree:{side}:{path}", lambda: parse(text))


def last_name(node: ast.AST | None) -> str:
    """The `c` of `a.b.c`, called or not; "" for anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
