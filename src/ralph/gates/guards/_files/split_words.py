"""Telling words that are texts: put together from pieces, or handed to getattr as a whole.

`"_py" + "test"`, `"".join(("f_", "locals"))`: whoever writes like that does not want to be found. Constants
only: what is computed from numbers or decoded is not followed here.
"""

from __future__ import annotations

import ast
import re

_FRAME_WORDS = ("_getframe", "f_locals", "f_back", "tb_frame")
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("frames", re.compile(r"_getframe\Z|f_(?:locals|back|code)\Z|__traceback__\Z|tb_frame\Z")),
    ("equal", re.compile(r"__(?:eq|ne)__\Z")),
    (
        "internals",
        re.compile(
            r"_?pytest(?:\.|\Z)|unittest(?:\.|\Z)|(?:node:)?assert/strict\Z|Test(?:Case|Report|Result)\Z"
            r"|TextTestResult\Z|assert(?:Equal|ListEqual|True)\Z|addFailure\Z|runtest\Z|CallInfo\Z"
            r"|from_item_and_call\Z|PytestPluginManager\Z|_exit\Z"
        ),
    ),
)


def find_split_word(node: ast.AST) -> tuple[str, str]:
    """(kind, word) when this expression stands for a telling word; ("", "") for anything else."""
    if isinstance(node, ast.Constant):  # whole, but as a text: for getattr and its like
        return ("frames", str(node.value)) if node.value in _FRAME_WORDS else ("", "")
    if not isinstance(node, (ast.BinOp, ast.Call, ast.JoinedStr)):
        return "", ""
    word = _fold_constants(node)
    if not word or len(word) > 100:
        return "", ""
    return next(((kind, word) for kind, pattern in _WORDS if pattern.match(word)), ("", ""))


def _fold_constants(node: ast.AST) -> str:
    """The text this expression stands for; "" when it holds anything but constants."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bytes):
            return node.value.decode("latin-1")
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _fold_constants(node.left), _fold_constants(node.right)
        return left + right if left and right else ""
    if isinstance(node, ast.JoinedStr):
        parts = [
            _fold_constants(part.value if isinstance(part, ast.FormattedValue) else part)
            for part in node.values
        ]
        return "".join(parts) if len(parts) > 1 and all(parts) else ""
    return _fold_join(node)


def _fold_join(node: ast.AST) -> str:
    """`"".join(("a", "b"))`"""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"):
        return ""
    between, given = node.func.value, node.args[0] if len(node.args) == 1 else None
    if not isinstance(between, ast.Constant) or not isinstance(given, (ast.Tuple, ast.List)):
        return ""
    parts = [_fold_constants(part) for part in given.elts]
    return str(between.value).join(parts) if len(parts) > 1 and all(parts) else ""
