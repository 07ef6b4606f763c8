"""Breaking a function: its body replaced by one that does nothing and returns nothing, or something foreign.

Only functions that the change adds or alters are broken, and only where the broken file still parses, so
that a test notices missing behaviour and not a syntax error. Python by `ast`, JavaScript and TypeScript by
ast-grep where the extra is there; `wrap_source.broken_versions` has Go and Rust as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from ralph.gates.guards._parts.script_language import language
from ralph.gates.guards._tests.py_syntax import parse

JS_FUNCTIONS = (
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "arrow_function",
    "function_expression",
)
_EXPRESSIONS = ("object", "parenthesized_expression")  # an arrow's body that only looks like a block


Broken = tuple[int, str, dict[str, bytes]]  # its length, its name, the files with it broken


def break_python(path: str, old: bytes | None, new: bytes, *, other: bool) -> list[Broken]:
    text = new.decode("utf-8-sig")
    lines = LINE.findall(text)
    found = []
    for name, node in changed_functions(old, ast.parse(text)):
        if other and node.name == "__init__":
            continue
        broken = _with_body(lines, node, other=other)
        try:
            ast.parse(broken)
        except SyntaxError:
            continue
        made = new[: len(new) - len(text.encode())] + broken.encode()
        found.append(((node.end_lineno or node.lineno) - node.lineno, name, {path: made}))
    return found


_Function = ast.FunctionDef | ast.AsyncFunctionDef
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")  # as Python counts: a form feed ends no line


def changed_functions(old: bytes | None, tree: ast.Module) -> list[tuple[str, _Function]]:
    """Functions of a Python file that differ from those of the base and do something."""
    known = parse(old) if old is not None else None  # a base that does not parse: everything is new
    # A name may stand there more than once: a property and its setter, the branches of an `if`.
    before = {(name, ast.dump(node)) for name, node in all_functions(known)} if known is not None else set()
    return [
        (name, node)
        for name, node in all_functions(tree)
        if (name, ast.dump(node)) not in before and not _is_empty(node)
    ]


def all_functions(tree: ast.AST, lead: str = "") -> list[tuple[str, _Function]]:
    """Functions of the module and methods of its classes; what is inside a function belongs to it."""
    found: list[tuple[str, _Function]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            found.append((lead + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += all_functions(node, f"{lead}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found += all_functions(node, lead)
    return found


def _is_empty(node: _Function) -> bool:
    """Nothing to break: only a docstring, pass, ... or a return of nothing; or a mere declaration."""
    marks = {ast.unparse(mark).rsplit(".", 1)[-1] for mark in node.decorator_list}
    return bool(marks & {"overload", "abstractmethod"}) or all(
        isinstance(part, ast.Pass)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        or (isinstance(part, ast.Return) and (part.value is None or ast.unparse(part.value) == "None"))
        for part in node.body
    )


def _with_body(lines: list[str], node: _Function, *, other: bool) -> str:
    """The text with the body between its first statement and its end replaced."""
    told = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    first, last = node.body[1 if told else 0], node.body[-1]  # examples in its docstring are tests
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    marks = first.decorator_list if isinstance(first, _Function | ast.ClassDef) else []
    start = min([first.lineno, *(mark.lineno for mark in marks)])  # a decorator stands above its function
    start_line = lines[start - 1].encode()
    end_line = lines[last.end_lineno - 1].encode()
    head, tail = start_line[: first.col_offset].decode(), end_line[last.end_col_offset :].decode()
    body = "return object()" if other else "return None"
    if _yields(node) and other:
        body = "yield object()"
    elif _yields(node):
        body = "return\n" + head + "yield" if not head.strip() else "return; yield"
    return "".join([*lines[: start - 1], head + body + tail, *lines[last.end_lineno :]])


def _yields(node: ast.AST) -> bool:
    """Is it a generator? Its own yields only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function | ast.Lambda):
            continue
        if isinstance(child, ast.Yield | ast.YieldFrom) or _yields(child):
            return True
    return False


def break_javascript(path: str, old: bytes | None, new: bytes, *, other: bool) -> list[Broken]:
    text, found = new.decode(), []
    for body in changed_bodies(language(path), JS_FUNCTIONS, old, text):
        value = "(Object.freeze({}))" if other else "undefined"
        instead = f"{{ return {value}; }}" if body.block else value
        made = text[: body.start] + instead + text[body.end :]
        found.append((body.end - body.start, body.name, {path: made.encode()}))
    return found


class FunctionBody(Struct, frozen=True):
    """Where in a text the body of a function stands, with its brackets."""

    name: str
    start: int
    end: int
    block: bool = True  # else an expression
    head: str = ""  # what stands before the body
    last: int = 0  # where its last statement begins; 0: not known


def changed_bodies(tongue: str, kinds: Iterable[str], old: bytes | None, text: str) -> list[FunctionBody]:
    """The outermost functions that differ from those of the base, by ast-grep; [] without that extra."""
    try:
        from ast_grep_py import SgRoot  # an extra: absent in a plain installation
    except ImportError:
        return []
    kinds = tuple(kinds)
    before = (
        set()
        if old is None
        else {_described_node(node) for node in _nodes(SgRoot, tongue, kinds, old.decode())}
    )
    found: list[FunctionBody] = []
    taken: list[tuple[int, int]] = []
    for node in _nodes(SgRoot, tongue, kinds, text):
        body = node.field("body")
        at, end = body.range().start.index, body.range().end.index
        if _described_node(node) in before or any(first <= at and end <= last for first, last in taken):
            continue
        taken.append((at, end))
        if text[at:end] != body.text() or not body.text().strip("{} \n\t"):
            continue  # the parser counts in other units than characters, or there is nothing to break
        block = body.kind() not in _EXPRESSIONS and body.text().startswith("{")
        head = text[node.range().start.index : at]
        last = _last_statement(body) if block else 0
        found.append(FunctionBody(_node_name(node), at, end, block, head, last))
    return found


def _last_statement(body: Any) -> int:
    parts = body.children()
    parts = next((part.children() for part in parts if part.kind() == "statement_list"), parts)  # Go
    parts = [part for part in parts if part.is_named() and "comment" not in part.kind()]
    marked = len(parts) > 1 and parts[-2].kind() == "attribute_item"  # Rust: it belongs to what follows
    return 0 if not parts or marked else parts[-1].range().start.index


def _nodes(root: Any, tongue: str, kinds: tuple[str, ...], text: str) -> list[Any]:
    top = root(text, tongue).root()
    nodes = [node for kind in kinds for node in top.find_all(kind=kind) if node.field("body")]
    return sorted(nodes, key=lambda node: (node.range().start.index, -node.range().end.index))


def _described_node(node: Any) -> str:
    return f"{_node_name(node)}\n{node.text()}"


def _node_name(node: Any) -> str:
    name = node.field("name")
    if name is None and (parent := node.parent()) is not None:
        name = parent.field("name") or parent.field("key") or parent.field("left")
    return name.text() if name is not None else "function"
