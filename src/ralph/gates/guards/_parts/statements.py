"""Which changed lines can be executed at all, and to which statement each of them belongs.

Heads of functions and classes, imports, docstrings, comments and types are left out: loading a file
executes them, or nothing does. Python by `ast`, JavaScript and TypeScript by ast-grep.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from ralph.gates.command import word_set
from ralph.gates.executed.watched import PYTHON, ChangedStatement
from ralph.gates.guards._parts.script_language import language

EXTRA = "tamper"
_SILENT = (
    ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    | ast.Global | ast.Nonlocal | ast.Pass | ast.Break | ast.Continue | ast.Try
)  # fmt: skip
_JS_STATEMENTS = word_set(
    "expression_statement variable_declaration lexical_declaration return_statement throw_statement "
    "if_statement for_statement for_in_statement while_statement do_statement switch_statement"
)
_JS_BLOCKS = ("statement_block", "class_body", "switch_body")
_JS_VALUES = ("arrow_function", "function_expression", "generator_function", "class")
_Row = tuple[int, int, int]  # first line, last line, offset
_Silent = Callable[[int], bool]


def changed_statements(path: str, text: str, new: Collection[int]) -> tuple[ChangedStatement, ...] | str:
    """The statements that hold these new lines; else why they are not known."""
    try:
        if path.endswith(PYTHON):
            return _assemble(_python(ast.parse(text)), new, _python_blank(text))
        return _javascript(path, text, new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "it could not be parsed"


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _assemble(
    rows: list[_Row], new: Collection[int], silent: Callable[[int], bool]
) -> tuple[ChangedStatement, ...]:
    """Each new line goes to the smallest statement around it."""
    owned: dict[_Row, list[int]] = {}
    for line in sorted(new):
        around = [row for row in rows if row[0] <= line <= row[1]]
        if around and not silent(line):
            inner = min(around, key=lambda row: (row[1] - row[0], -row[2]))
            owned.setdefault(inner, []).append(line)
    return tuple(
        ChangedStatement(first, last, tuple(lines), offset)
        for (first, last, offset), lines in sorted(owned.items())
    )


def _python(tree: ast.AST) -> list[_Row]:
    found: list[_Row] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        found += _python(node)
        if isinstance(node, ast.stmt) and not isinstance(node, _SILENT) and not _says_nothing(node):
            last = node.end_lineno or node.lineno
            inner = getattr(node, "body", None) or getattr(node, "cases", None)
            if inner:
                head = inner[0].pattern.lineno if isinstance(inner[0], ast.match_case) else inner[0].lineno
                last = max(node.lineno, head - 1)
            found.append((node.lineno, last, node.col_offset))
    return found


def _says_nothing(node: ast.stmt) -> bool:
    """A docstring, `...`, or a name with a type and no value."""
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _python_blank(text: str) -> _Silent:
    lines = text.split("\n")
    return lambda line: lines[line - 1].strip().startswith("#") or not any(map(str.isalnum, lines[line - 1]))


def _javascript(path: str, text: str, new: Collection[int]) -> tuple[ChangedStatement, ...] | str:
    try:
        from ast_grep_py import SgRoot  # an extra: absent in a plain installation
    except ImportError:
        return f'that needs the extra "{EXTRA}" (pip install ralphloop[{EXTRA}])'
    try:
        top = SgRoot(text, language(path)).root()
        rows, edges = _js_rows(top, text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of the parser is no Exception
        return "it could not be parsed"
    lines, starts = text.split("\n"), {row[0] for row in rows}

    def silent(line: int) -> bool:
        said = lines[line - 1].strip()
        return not any(map(str.isalnum, said)) or said.startswith(("//", "/*", "*")) or (
            line in edges and line not in starts
        )  # fmt: skip

    return _assemble(rows, new, silent)


def _js_rows(top: Any, text: str) -> tuple[list[_Row], set[int]]:
    """The statements, and the lines on which a block opens or closes."""
    wide = utf16(text) != len(text)
    rows: list[_Row] = []
    edges: set[int] = set()
    for kind in _JS_BLOCKS:
        for node in top.find_all(kind=kind):
            edges |= {node.range().start.line + 1, node.range().end.line + 1}
    nodes = [node for kind in _JS_STATEMENTS for node in top.find_all(kind=kind) if not _only_names(node)]
    for node in top.find_all(kind="arrow_function"):
        body = node.field("body")
        if body is not None and body.kind() != "statement_block":
            nodes.append(body)
    for node in nodes:
        span = node.range()
        at = span.start.index
        rows.append((span.start.line + 1, span.end.line + 1, utf16(text[:at]) if wide else at))
    return rows, edges


def _only_names(node: Any) -> bool:
    """A declaration that only gives something a name when the file is loaded."""
    if node.kind() == "expression_statement":
        return node.text().strip("'\"; ") in ("use strict", "use client", "use server")
    if node.kind() not in ("variable_declaration", "lexical_declaration"):
        return False
    parts = [part for part in node.children() if part.kind() == "variable_declarator"]
    values = [part.field("value") for part in parts]
    return all(
        value is not None and (value.kind() in _JS_VALUES or value.text().startswith("require("))
        for value in values
    )
