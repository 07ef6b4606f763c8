"""Did a base test merely move? Same body in another Python file, and it passes there."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ralph.core.model import Reading
from ralph.gates.guards.facts import Facts

Bodies = dict[str, str]  # function name -> its syntax tree without positions; "" when it stands there twice


def mover(base: Reading, final: Reading, facts: Facts) -> Callable[[str], bool]:
    """A question to ask of base tests that are gone: does the same test pass under another id?"""
    old: dict[str, Bodies] = {}
    new: dict[str, Bodies] = {}
    candidates: dict[str, list[str]] = {}
    for name, state in (final.tests or {}).items():
        if state == "pass" and name not in (base.tests or {}) and name in final.files:
            candidates.setdefault(_last(name), []).append(final.files[name])

    def moved(name: str) -> bool:
        last = _last(name)
        path = base.files.get(name, "")
        if last not in candidates:
            return False
        function = last.split("[", 1)[0]
        body = _bodies(path, facts.read_base, old).get(function)
        places = candidates[last]
        return bool(body) and any(_bodies(at, facts.read_result, new).get(function) == body for at in places)

    return moved


def _last(name: str) -> str:
    """Function and parameters: the part of an id that a move keeps."""
    place, bracket, parameters = name.partition("[")
    return place.rsplit("::", 1)[-1] + bracket + parameters


def _bodies(path: str, read: Callable[[str], bytes | None], cache: dict[str, Bodies]) -> Bodies:
    if path not in cache:
        cache[path] = _parse(read(path) if path.endswith(".py") else None)
    return cache[path]


def _parse(data: bytes | None) -> Bodies:
    try:
        tree = ast.parse(data or b"")
        found: Bodies = {}
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[node.name] = "" if node.name in found else ast.dump(node)
        return found
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
