"""Parts of a text and what is put in their place, by lines and bytes as Python's syntax trees count."""

from __future__ import annotations

import ast
from collections.abc import Iterable

Span = tuple[int, int, int, int, str]  # line, byte, end line, end byte, new text
Place = tuple[int, int]  # line, byte


def is_alone(statement: ast.stmt, lines: list[bytes]) -> bool:
    after = lines[(statement.end_lineno or 0) - 1][statement.end_col_offset or 0 :].strip()
    return not lines[statement.lineno - 1][: statement.col_offset].strip() and after[:1] in (b"", b"#")


def place_of(node: ast.stmt | ast.expr) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def segment(lines: list[bytes], begin: Place, end: Place, spans: Iterable[Span]) -> str:
    """The text from one place to another, with spans in it replaced."""
    part = lines[begin[0] - 1 : end[0]]
    part[-1] = part[-1][: end[1]]
    up = begin[0] - 1
    moved = [(line - up, at, end_line - up, to, new) for line, at, end_line, to, new in spans]
    return replace_spans(part, moved).encode()[begin[1] :].decode()


def replace_spans(lines: list[bytes], spans: Iterable[Span]) -> str:
    lines = list(lines)
    for line, begin, end_line, end, new in sorted(set(spans), reverse=True):
        tail = lines[end_line - 1][end:]
        lines[line - 1 : end_line] = [lines[line - 1][:begin] + new.encode() + tail]
    return b"".join(lines).decode()
