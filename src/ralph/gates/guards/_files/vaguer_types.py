"""Annotations that became `Any`: a type checker looks away there, and no comment says so."""

from __future__ import annotations

import ast
import re

from msgspec import Struct

from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import pairs
from ralph.gates.guards._breaks.break_function import all_functions
from ralph.gates.guards._tests.py_syntax import TROUBLE, Function, last_name, parse_once

_ANY = {"Any", "object"}
_CALLED = re.compile(r"\bAny as (\w+)|^(?:type )?(\w+)\s*(?::[^=\n]+)?=\s*(?:\w+\.)?Any\s*$", re.MULTILINE)


class Vague(Struct, frozen=True):
    path: str
    line: int
    function: str


def find_vaguer(facts: GuardFacts) -> list[Vague]:
    """Functions of the base with an annotation that said something and is `Any` now."""
    found = []
    for pair in pairs(facts):
        if not pair.path.endswith(".py") or "Any" not in pair.new:
            continue
        old, new = (
            parse_once(facts, side, pair.path, text) for side, text in (("old", pair.old), ("new", pair.new))
        )
        if old is None or new is None:
            continue
        try:
            before = dict(all_functions(old))
            called = {"Any"} | {name for row in _CALLED.findall(pair.new) for name in row if name}
            found += [
                Vague(pair.path, node.lineno, name)
                for name, node in all_functions(new)
                if name in before and _became_any(before[name], node, called)
            ]
        except TROUBLE:
            continue
    return found


def _became_any(before: Function, after: Function, called: set[str]) -> bool:
    old, new = _notes(before), _notes(after)
    return any(
        note is not None
        and last_name(note) not in _ANY | called
        and new.get(name) is not None
        and last_name(new[name]) in called
        for name, note in old.items()
    )


def _notes(function: Function) -> dict[str, ast.expr | None]:
    """What is annotated, by place: parameters may get other names."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return {str(at): each.annotation for at, each in enumerate(given)} | {"return": function.returns}
