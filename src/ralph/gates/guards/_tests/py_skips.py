"""What keeps a Python test from running, or its failure from counting: marks, calls, switches."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from msgspec import Struct

from ralph.gates.guards._tests.py_syntax import constant_truth, dotted_name, last_name

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
    depends: bool = False  # on anything at all: it may or may not skip


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
    excused, under = _conditional(body)
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found += _skip_calls(node.value)
        elif isinstance(node, ast.Assign):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if "pytestmark" in names:
                found += _marks(node.value)
            elif "__test__" in names and isinstance(node.value, ast.Constant) and not node.value.value:
                found.append(Skip("__test__", node.lineno))
            elif isinstance(node.value, ast.Call):
                found += _skip_calls(node.value)
        elif isinstance(node, ast.Raise) and last_name(node.exc) in ("SkipTest", "Skipped"):
            found.append(Skip("skip", node.lineno))
    return tuple(
        Skip(
            skip.kind,
            skip.line,
            machine=skip.machine or skip.line in excused,
            depends=skip.depends or skip.line in under,
        )
        for skip in found
    )


def _conditional(body: Sequence[ast.stmt]) -> tuple[frozenset[int], frozenset[int]]:
    """Lines under a condition that speaks of the machine or a failed import; lines under any condition."""
    machine: set[int] = set()
    under: set[int] = set()
    for node in body:
        branches: list[ast.stmt] = []
        if isinstance(node, ast.If) and constant_truth(node.test) is None:
            branches, about = node.body, bool(_MACHINE.search(ast.dump(node.test)))
        elif isinstance(node, ast.Try):
            branches = [inner for handler in node.handlers for inner in handler.body]
            about = any(
                "Import" in last_name(item.type) or "NotFound" in last_name(item.type)
                for item in node.handlers
            )
        else:
            continue
        lines = {
            inner.lineno for branch in branches for inner in ast.walk(branch) if isinstance(inner, ast.stmt)
        }
        under |= lines
        machine |= lines if about else set()
    return frozenset(machine), frozenset(under)


def _has_condition(mark: ast.expr, name: str) -> bool:
    """Is there a condition, and could it be either way?"""
    if name in ("skip", "expectedFailure"):
        return False
    for node in ast.walk(mark):
        if isinstance(node, ast.Call) and last_name(node.func) == name:
            given = [*node.args, *(word.value for word in node.keywords if word.arg == "condition")]
            return bool(given) and constant_truth(given[0]) is None
    return False


def _skip_calls(call: ast.Call) -> list[Skip]:
    name = dotted_name(call.func)
    if name not in _CALLS:
        return []
    optional = "importorskip" in name
    return [Skip(name.rsplit(".", 1)[-1], call.lineno, machine=optional, depends=optional)]


def _marks(node: ast.expr) -> list[Skip]:
    found = []
    for inner in ast.walk(node):
        if not isinstance(inner, (ast.Attribute, ast.Name)):
            continue
        name = inner.attr if isinstance(inner, ast.Attribute) else inner.id
        if name not in _MARKS or (name in ("skip", "xfail") and isinstance(inner, ast.Name)):
            continue
        depends = _has_condition(node, name)
        machine = depends and bool(_MACHINE.search(ast.dump(node)))
        found.append(Skip(name, getattr(inner, "lineno", 0), machine=machine, depends=depends))
    return found
