"""Did a base test merely move, or lose a neighbour? Same body, and it passes where it stands now."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ralph.core.model.verdict import Reading
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._tests.py_syntax import parse

Bodies = dict[str, str]  # function name -> its syntax tree without positions; "" when it stands there twice


def find_moves(base: Reading, final: Reading, facts: GuardFacts) -> Callable[[str], bool]:
    """A question to ask of base tests that are gone: does the same test pass under another id?"""
    old: dict[str, Bodies] = {}
    new: dict[str, Bodies] = {}
    candidates: dict[str, list[str]] = {}
    for name, state in (final.tests or {}).items():
        if state == "pass" and name not in (base.tests or {}) and name in final.files:
            candidates.setdefault(_last(name), []).append(final.files[name])

    def is_moved(name: str) -> bool:
        last = _last(name)
        path = base.files.get(name, "")
        if last not in candidates:
            return False
        function = last.split("[", 1)[0]
        body = _bodies(path, facts.read_base, old).get(function)
        places = candidates[last]
        return bool(body) and any(_bodies(at, facts.read_result, new).get(function) == body for at in places)

    return is_moved


def only_lost(path: str, facts: GuardFacts) -> bool:
    """Is this Python file what it was at the base, but for statements and imported names that are gone?

    Then its other tests are the base's, although the base's file can no longer be loaded as a whole.
    """
    old, new = (parse(read(path) or b"") for read in (facts.read_base, facts.read_result))
    if old is None or new is None:
        return False
    return bool(new.body) and _statements_of(new) <= _statements_of(old)


def _statements_of(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lead = f"{node.level} {node.module}" if isinstance(node, ast.ImportFrom) else ""
            found |= {f"{lead} {item.name} {item.asname}" for item in node.names}
        else:
            found.add(ast.dump(node))
    return found


def _last(name: str) -> str:
    """Function and parameters: the part of an id that a move keeps; not the module's name before it."""
    place, bracket, parameters = name.partition("[")
    return place.rsplit("::", 1)[-1].rsplit(".", 1)[-1] + bracket + parameters


def _bodies(path: str, read: Callable[[str], bytes | None], cache: dict[str, Bodies]) -> Bodies:
    if path not in cache:
        tree = parse(read(path) or b"") if path.endswith(".py") else None
        cache[path] = {}
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                cache[path][node.name] = "" if node.name in cache[path] else ast.dump(node)
    return cache[path]
