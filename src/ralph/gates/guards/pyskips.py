"""What keeps a Python test from running, or its failure from counting: marks, calls, switches."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from msgspec import Struct

from ralph.gates.guards.pysyntax import dotted, last

_MARKS = ("skip", "skipif", "xfail", "skipIf", "skipUnless", "expectedFailure")
_CALLS = ("pytest.skip", "pytest.xfail", "pytest.importorskip", "self.skipTest", "unittest.skip")
# Conditions that speak of the machine: a test that still ran here was not silenced by them.
_MACHINE = re.compile(
    r"platform|version|os\.name|importorskip|find_spec|which|machine|endian|implementation|PYPY|WIN|MAC|LINUX|HAS_|has_",
)


class Skip(Struct, frozen=True):
    kind: str
    line: int
    machine: bool = False  # depends on platform, version or what is installed


def skips_on(decorators: Sequence[ast.expr]) -> tuple[Skip, ...]:
    """Marks on a test or class, also those of single cases."""
    found: list[Skip] = []
    for decorator in decorators:
        bare = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(bare, ast.Name) and bare.id in ("skip", "xfail"):
            found.append(Skip(bare.id, decorator.lineno))
        found += _marks(decorator)
    return tuple(found)


def skips_in(body: Sequence[ast.stmt]) -> tuple[Skip, ...]:
    """Skips among these statements themselves: calls, `pytestmark`, `__test__ = False`."""
    found: list[Skip] = []
    excused = _excused(body)
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found += _called(node.value)
        elif isinstance(node, ast.Assign):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if "pytestmark" in names:
                found += _marks(node.value)
            elif "__test__" in names and isinstance(node.value, ast.Constant) and not node.value.value:
                found.append(Skip("__test__", node.lineno))
            elif isinstance(node.value, ast.Call):
                found += _called(node.value)
        elif isinstance(node, ast.Raise) and last(node.exc) in ("SkipTest", "Skipped"):
            found.append(Skip("skip", node.lineno))
    return tuple(Skip(skip.kind, skip.line, machine=skip.machine or skip.line in excused) for skip in found)


def _excused(body: Sequence[ast.stmt]) -> frozenset[int]:
    """Lines under a condition that speaks of the machine, or where an import failed."""
    lines: set[int] = set()
    for node in body:
        if isinstance(node, ast.If) and _MACHINE.search(ast.dump(node.test)):
            branches = node.body
        elif isinstance(node, ast.Try):
            caught = [
                handler
                for handler in node.handlers
                if "Import" in last(handler.type) or "ModuleNotFound" in last(handler.type)
            ]
            branches = [statement for handler in caught for statement in handler.body]
        else:
            continue
        lines |= {
            inner.lineno for branch in branches for inner in ast.walk(branch) if hasattr(inner, "lineno")
        }
    return frozenset(lines)


def _called(call: ast.Call) -> list[Skip]:
    name = dotted(call.func)
    if name not in _CALLS:
        return []
    return [Skip(name.rsplit(".", 1)[-1], call.lineno, machine="importorskip" in name)]


def _marks(node: ast.expr) -> list[Skip]:
    found = []
    for inner in ast.walk(node):
        if not isinstance(inner, (ast.Attribute, ast.Name)):
            continue
        name = inner.attr if isinstance(inner, ast.Attribute) else inner.id
        if name not in _MARKS or (name in ("skip", "xfail") and isinstance(inner, ast.Name)):
            continue
        machine = name in ("skipif", "skipIf", "skipUnless") and bool(_MACHINE.search(ast.dump(node)))
        found.append(Skip(name, getattr(inner, "lineno", 0), machine=machine))
    return found
