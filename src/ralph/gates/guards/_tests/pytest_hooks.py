"""pytest hooks that change what tests report, wherever in the change they were added."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ralph.core.model.verdict import Finding
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import new_numbers, pairs
from ralph.gates.guards._tests.py_syntax import TROUBLE, Function, last_name, parse_once
from ralph.gates.judging_paths import is_config

_DEFINED = re.compile(r"^[ \t]*(?:async )?def pytest_", re.MULTILINE)
_REPORTS = ("outcome", "exitstatus", "wasxfail", "testsfailed")
_FORCED = ("force_result", "force_exception", "_exit")
_COLLECTS = ("pytest_collection_modifyitems", "pytest_itemcollected", "pytest_collection_finish")
_REPLACES = ("pytest_pyfunc_call", "pytest_runtest_protocol", "pytest_runtestloop", "pytest_runtest_call")


def hook_findings(facts: GuardFacts) -> list[Finding]:
    found = []
    for pair in pairs(facts):
        if not pair.path.endswith(".py") or not _DEFINED.search(pair.new):
            continue
        if not is_config(pair.path) and _DEFINED.search(pair.old):
            continue  # a plugin is what is being developed here
        new = new_numbers(facts, pair.path)
        tree = parse_once(facts, "new", pair.path, pair.new) if new else None
        for node in _hooks(tree.body if tree is not None else []):
            line = _bends(node, new)
            if line:
                key = f"assertions.hook:{pair.path}::{node.name}"
                text = f"{node.name} changes what tests report, or which are run"
                found.append(Finding(key, text, path=pair.path, line=line))
    return found


def _hooks(body: Sequence[ast.stmt]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if node.name.startswith("pytest_"):
                yield node
            else:
                yield from _hooks(node.body)  # a plugin made while running
        elif isinstance(node, (ast.ClassDef, ast.If, ast.Try)):
            yield from _hooks(node.body)


def _bends(hook: Function, new: frozenset[int]) -> int:
    """The new line on which this hook decides an outcome; 0 when it only looks on."""
    try:
        # A choice that the caller makes by an option is no secret one.
        optional = any(
            isinstance(node, ast.Attribute) and node.attr in ("getoption", "option")
            for node in ast.walk(hook)
        )
        for node in ast.walk(hook):
            line = getattr(node, "lineno", 0)
            if line in new and _decides(node, hook.name) and not (optional and hook.name in _COLLECTS):
                return int(line)
    except TROUBLE:
        return 0
    return 0


def _decides(node: ast.AST, hook: str) -> bool:
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Attribute) and target.attr in _REPORTS for target in targets):
            return not (isinstance(node.value, ast.Constant) and node.value.value == "failed")
        sliced = any(
            isinstance(target, ast.Subscript) and last_name(target.value) == "items" for target in targets
        )
        return hook in _COLLECTS and sliced and _drops(node.value)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _FORCED:
            return "runtest" in hook or hook in _REPLACES or name == "_exit"
        if name == "setattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            return node.args[1].value in _REPORTS
        owner = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        return hook in _COLLECTS and owner == "items" and name in ("clear", "remove", "pop")
    if isinstance(node, ast.Delete):
        subscripts = [target for target in node.targets if isinstance(target, ast.Subscript)]
        return hook in _COLLECTS and any(last_name(target.value) == "items" for target in subscripts)
    if isinstance(node, ast.Return) and hook in _REPLACES:
        return isinstance(node.value, ast.Constant) and bool(node.value.value)
    return False


def _drops(value: ast.expr) -> bool:
    """`items[:] = sorted(items)` only orders them."""
    return not (isinstance(value, ast.Call) and last_name(value.func) in ("sorted", "reversed"))
