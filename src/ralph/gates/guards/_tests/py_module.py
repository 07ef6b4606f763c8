"""A Python test file in outline: its functions by name, their text, and what surrounds them.

Only functions that differ from the base are read in full (`py_tests`): most of a file stays as it was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ralph.gates.guards._tests.py_skips import Skip, skips_in, skips_on
from ralph.gates.guards._tests.py_syntax import Function, last_name


class PyFunction(Struct, frozen=True):
    """A test, or a helper that tests may call."""

    name: str  # with its classes: "TestA.test_x"
    node: Function
    text: str
    skips: tuple[Skip, ...]  # of its module and classes
    data: dict[str, ast.expr]  # tables with a name: cases often live beside their test

    @property
    def is_test(self) -> bool:
        return self.node.name.lower().startswith("test")


class PyOutline(Struct, frozen=True):
    entries: dict[str, PyFunction]  # of two with one name the later, as Python has it
    doubled: dict[str, int]  # names defined twice in one place -> line of the later one
    tables: dict[str, str]  # the text of each table


def outline(tree: ast.Module, text: str) -> PyOutline:
    found = _Outline(text.split("\n"))
    found.collect(tree.body, "", skips_in(tree.body), {})
    return PyOutline(found.entries, found.doubled, found.tables)


def is_same(before: PyFunction, after: PyFunction, changed: frozenset[str]) -> bool:
    """Nothing about it differs, nor about what surrounds it. `changed`: names of tables that did."""
    return (
        before.text == after.text
        and len(before.skips) == len(after.skips)
        and not any(name in after.text for name in changed)
    )


class _Outline:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.entries: dict[str, PyFunction] = {}
        self.doubled: dict[str, int] = {}
        self.tables: dict[str, str] = {}

    def collect(
        self, body: Sequence[ast.stmt], prefix: str, skips: tuple[Skip, ...], data: dict[str, ast.expr]
    ) -> None:
        data = data | self.named_values(body)
        for node in _definitions(body):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and prefix + target.id in self.entries:
                        self.doubled[prefix + target.id] = node.lineno
                continue
            name = prefix + node.name
            if isinstance(node, ast.ClassDef):
                inner = (*skips, *skips_on(node.decorator_list), *skips_in(node.body))
                self.collect(node.body, f"{name}.", inner, data)
                continue
            several = any(last_name(item) in ("overload", "setter") for item in node.decorator_list)
            if name in self.entries and not several:
                self.doubled[name] = node.lineno
            self.entries[name] = PyFunction(name, node, self.text(node, node.decorator_list), skips, data)

    def named_values(self, body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
        found: dict[str, ast.expr] = {}
        for node in body:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            if isinstance(node.value, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
                found[node.targets[0].id] = node.value
                self.tables[node.targets[0].id] = self.text(node, ())
        return found

    def text(self, node: ast.stmt, decorators: Sequence[ast.expr]) -> str:
        start = min([node.lineno, *(item.lineno for item in decorators)])
        return "\n".join(self.lines[start - 1 : node.end_lineno])


def _definitions(body: Sequence[ast.stmt]) -> Iterator[Function | ast.ClassDef | ast.Assign]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)):
            yield node
        elif isinstance(node, (ast.If, ast.Try)):
            branches = [node.body, node.orelse]
            if isinstance(node, ast.Try):
                branches += [handler.body for handler in node.handlers]
            for branch in branches:
                # Two definitions in two branches are alternatives: the first stands for both.
                yield from _definitions(branch)
                if any(isinstance(item, (ast.FunctionDef, ast.ClassDef)) for item in branch):
                    break
