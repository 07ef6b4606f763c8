"""The same for Python, by its syntax tree: test functions and classes, the call that runs them, doctests."""

from __future__ import annotations

import ast
import re

from msgspec import Struct

from ralph.core.toolchains.load import toolchains
from ralph.gates.guards._breaks.wrap_python import first_free_line

_RUNS = re.compile(r"\b(?:unittest|doctest|nose)\b|\btest\w*\(|\brun_tests?\b")
_TROUBLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class _PartSpan(Struct, frozen=True):
    first: int  # lines, from 1
    last: int
    text: str


def is_test_node(node: ast.stmt) -> bool:
    """A test function, or a class of tests, at the top of a module."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name.startswith("test")
    if not isinstance(node, ast.ClassDef):
        return False
    bases = [ast.unparse(base).rsplit(".", 1)[-1] for base in node.bases]
    methods = [item.name for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))]
    tests = any(name.startswith("test") for name in methods)
    return any(base.endswith("TestCase") for base in bases) or (node.name.startswith("Test") and tests)


def python_spliced(into: str, tests_of: str, *, doctests: bool) -> str | None:
    """`into` with the tests of the other version; None when Python cannot read them or it."""
    try:
        new, old = ast.parse(into), ast.parse(tests_of)
        text = _with_parts(into, new, tests_of, old)
        made = _with_doctests(text, old) if doctests else text
        ast.parse(made)
        return made
    except _TROUBLE:
        return None


def _key(node: ast.stmt, text: str) -> str:
    if is_test_node(node):
        return str(getattr(node, "name", ""))
    guard = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
    runs = guard and (_RUNS.search(text) or any(word in text for word in toolchains().test_words))
    return "__main__" if runs else ""


def _spans(text: str, tree: ast.Module) -> dict[str, _PartSpan]:
    lines = text.split("\n")
    found: dict[str, _PartSpan] = {}
    for node in tree.body:
        marks = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(mark.lineno for mark in marks)])
        last = node.end_lineno or node.lineno
        body = "\n".join(lines[first - 1 : last])
        key = _key(node, body)
        while key and key in found:
            key += "'"
        if key:
            found[key] = _PartSpan(first, last, body)
    return found


def _with_parts(into: str, new: ast.Module, tests_of: str, old: ast.Module) -> str:
    here, there = _spans(into, new), _spans(tests_of, old)
    lines = into.split("\n")
    missing = [span.text for key, span in there.items() if key not in here and key != "__main__"]
    last = [there["__main__"].text] if "__main__" in there and "__main__" not in here else []
    edits: dict[int, tuple[int, str]] = {}
    for key, span in here.items():
        text = there[key].text if key in there else ""
        if key == "__main__":
            text = "\n\n".join([*missing, text])
            missing = []
        edits[span.first] = (span.last, text)
    out: list[str] = []
    number = 1
    while number <= len(lines):
        if number in edits:
            end, text = edits[number]
            out += [text] if text else []
            number = end + 1
        else:
            out.append(lines[number - 1])
            number += 1
    out += [part for text in (*missing, *last) for part in ("", text)]
    lost = _lost_imports(new, old, "\n".join(span.text for span in there.values()))
    at = first_free_line(new)  # before anything that could be replaced
    return "\n".join([*out[:at], *lost, *out[at:]]) + ("\n" if missing or last else "")


def _bound_names(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(item.asname or item.name).split(".")[0] for item in node.names}
    return set()


def _lost_imports(new: ast.Module, old: ast.Module, tests: str) -> list[str]:
    """Imports that the tests need and that went away together with them."""
    have = {name for node in new.body for name in _bound_names(node)}
    words = set(re.findall(r"\w+", tests))
    return [ast.unparse(node) for node in old.body if (_bound_names(node) - have) & words]


_Holder = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _holders(node: _Holder, name: str = "") -> dict[str, _Holder]:
    found: dict[str, _Holder] = {name: node}
    for item in node.body:
        if isinstance(item, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found |= _holders(item, f"{name}.{item.name}")
    return found


def _with_doctests(text: str, old: ast.Module) -> str:
    """Every docstring with examples as it was, where its function still stands."""
    lines = text.split("\n")
    now = _holders(ast.parse(text))
    edits: list[tuple[int, int, str]] = []
    for name, node in _holders(old).items():
        said = ast.get_docstring(node, clean=False)
        if name not in now or not said or ">>>" not in said:
            continue
        here = now[name]
        first = here.body[0] if here.body else None
        if first is None:
            continue
        indent = lines[first.lineno - 1][: first.col_offset]
        if indent.strip():
            continue  # all on one line: there is no place for it
        literal = f"{indent}{said!r}"
        if ast.get_docstring(here, clean=False) == said:
            continue
        if ast.get_docstring(here, clean=False) is not None:
            edits.append((first.lineno, first.end_lineno or first.lineno, literal))
        else:
            edits.append((first.lineno, first.lineno - 1, literal))
    for begin, end, literal in sorted(edits, reverse=True):
        lines[begin - 1 : end] = [literal]
    return "\n".join(lines)
