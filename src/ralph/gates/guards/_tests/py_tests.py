"""One function of a Python test file: its assertions, skips and cases, each with what makes it void.

Which of this is worse than at the base is for `compare_tests` to say.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec import Struct

from ralph.gates.guards._tests.py_asserts import BROAD, Assertion, Place, from_assert, from_call, from_raise
from ralph.gates.guards._tests.py_module import PyFunction
from ralph.gates.guards._tests.py_skips import Skip, skips_in, skips_on
from ralph.gates.guards._tests.py_syntax import (
    Function,
    Scope,
    constant_truth,
    dotted_name,
    last_name,
    scope_of,
    shape,
)

_ENDS = (
    "pytest.skip",
    "pytest.fail",
    "pytest.exit",
    "pytest.xfail",
    "self.skipTest",
    "self.fail",
    "sys.exit",
)
_SWALLOWED = "its failure is swallowed"
_AFTER = "it comes after the end of the test"
_NEVER = "it is under a condition that is never true"
_UNCALLED = "it is in a function that is never called"
_NO_ITEMS = "it is in a loop over nothing"


class Test(Struct, frozen=True):
    """A function of a test file, a test or a helper."""

    name: str  # with its classes: "TestA.test_x"
    line: int
    asserts: tuple[Assertion, ...]
    skips: tuple[Skip, ...] = ()
    cases: tuple[tuple[str, ...], ...] = ()  # literal cases, each as its parts
    loops: int = 0  # parametrisations and loops whose cases are known
    calls: frozenset[str] = frozenset()
    is_test: bool = True  # else a helper


def read_test(entry: PyFunction) -> Test:
    function = entry.node
    nodes = list(ast.walk(function))
    walk = _Walk(function, nodes, entry.data)
    walk.block(function.body, Place(walk.scope))
    for decorator in function.decorator_list:
        walk.count_parameters(decorator)
    inner = [node for node in nodes if isinstance(node, ast.stmt) and node is not function]
    return Test(
        entry.name,
        function.lineno,
        tuple(walk.found),
        (*entry.skips, *skips_on(function.decorator_list), *skips_in(inner)),
        tuple(walk.cases),
        walk.loops,
        frozenset(last_name(node.func) for node in nodes if isinstance(node, ast.Call)),
        is_test=entry.is_test,
    )


class _Walk:
    """Goes through a function's statements in order and notes what is asserted where."""

    def __init__(self, function: Function, nodes: list[ast.AST], data: dict[str, ast.expr]) -> None:
        self.scope: Scope = scope_of(function, nodes)
        self.data = data
        self.found: list[Assertion] = []
        self.cases: list[tuple[str, ...]] = []
        self.loops = 0
        self.used = frozenset(
            node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )

    def block(self, body: Sequence[ast.stmt], place: Place) -> bool:
        """True when the end of the block is never reached."""
        for node in body:
            ended, leaves = self.statement(node, place)
            if ended:
                place = Place(place.scope, place.dead or _AFTER, place.when)
            elif leaves:
                place = Place(place.scope, place.dead, (*place.when, leaves))
        return place.dead == _AFTER

    def statement(self, node: ast.stmt, place: Place) -> tuple[bool, str]:
        """(nothing after it is reached, condition under which what follows is still reached)."""
        if isinstance(node, ast.Assert):
            self.found += from_assert(node.test, place, node.lineno)
        elif isinstance(node, (ast.Return, ast.Continue, ast.Break)):
            return True, ""
        elif isinstance(node, ast.Raise):
            self.found += from_raise(node, place)
            return True, ""
        elif isinstance(node, ast.If):
            return self.branch(node, place)
        elif isinstance(node, (ast.Try, ast.TryStar)):
            self.attempt(node, place)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            return self.within(node, place), ""
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            self.loop(node, place)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            uncalled = node.name not in self.used and not node.decorator_list
            self.block(
                node.body, Place(place.scope, place.dead or (_UNCALLED if uncalled else ""), place.when)
            )
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.block(case.body, Place(place.scope, place.dead, (*place.when, "case")))
        elif isinstance(node, ast.Expr):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(call, ast.Call):
                self.found += from_call(call, place)
                return dotted_name(call.func) in _ENDS, ""
        return False, ""

    def branch(self, node: ast.If, place: Place) -> tuple[bool, str]:
        always = constant_truth(node.test)
        condition = shape(node.test, place.scope)
        sides = []
        for body, taken, word in ((node.body, True, ""), (node.orelse, False, "not ")):
            dead = place.dead or (_NEVER if always is (not taken) else "")
            when = place.when if always is not None else (*place.when, word + condition)
            sides.append(self.block(body, Place(place.scope, dead, when)))
        yes = sides[0] and always is not False
        no = bool(node.orelse) and sides[1] and always is not True
        if (yes and (no or always is True)) or (no and always is False):
            return True, ""
        return False, f"not {condition}" if yes else condition if no else ""

    def attempt(self, node: ast.Try | ast.TryStar, place: Place) -> None:
        swallows = any(_swallows(handler) for handler in node.handlers) or any(
            isinstance(inner, ast.Return) for inner in node.finalbody
        )
        dead = place.dead or (_SWALLOWED if swallows else "")
        self.block(node.body, Place(place.scope, dead, place.when))
        for handler in node.handlers:
            self.block(
                handler.body,
                Place(place.scope, place.dead, (*place.when, f"except {last_name(handler.type)}")),
            )
        self.block(node.orelse, place)
        self.block(node.finalbody, place)

    def within(self, node: ast.With | ast.AsyncWith, place: Place) -> bool:
        dead = place.dead
        for item in node.items:
            call = item.context_expr
            if not isinstance(call, ast.Call):
                continue
            self.found += from_call(call, place)
            broad = any(last_name(arg) in BROAD for arg in call.args)
            if broad and last_name(call.func) in ("suppress", "raises", "assertRaises"):
                dead = dead or _SWALLOWED
        return self.block(node.body, Place(place.scope, dead, place.when)) and not place.dead

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, place: Place) -> None:
        dead = place.dead
        if isinstance(node, ast.While):
            dead = dead or (_NEVER if constant_truth(node.test) is False else "")
        else:
            items = self.items(node.iter)
            if items is not None:
                self.note(items)
                dead = dead or ("" if items else _NO_ITEMS)
        self.block(node.body, Place(place.scope, dead, place.when))
        self.block(node.orelse, place)

    def count_parameters(self, decorator: ast.expr) -> None:
        if isinstance(decorator, ast.Call) and last_name(decorator.func) in ("parametrize", "expand"):
            at = 1 if last_name(decorator.func) == "parametrize" else 0
            values = [keyword.value for keyword in decorator.keywords if keyword.arg == "argvalues"]
            values += decorator.args[at : at + 1]
            items = self.items(values[0]) if values else None
            if items is not None:
                self.note(items)

    def items(self, node: ast.expr) -> list[ast.expr] | None:
        """The members of a literal list, perhaps behind a name; None when they are not written there."""
        if isinstance(node, ast.Name):
            known = self.scope.values.get(node.id) or self.data.get(node.id)
            return self.items(known) if isinstance(known, (ast.List, ast.Tuple, ast.Set, ast.Dict)) else None
        if isinstance(node, ast.Dict):
            return [key for key in node.keys if key is not None]
        if (
            isinstance(node, ast.Call)
            and last_name(node.func) in ("items", "enumerate")
            and dotted_name(node.func)
        ):
            if isinstance(node.func, ast.Attribute):
                return self.items(node.func.value)
            return self.items(node.args[0]) if node.args else None
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return None if any(isinstance(item, ast.Starred) for item in node.elts) else list(node.elts)
        return None

    def note(self, items: list[ast.expr]) -> None:
        self.loops += 1
        self.cases += [_parts(item, self.scope) for item in items]


def _parts(item: ast.expr, scope: Scope) -> tuple[str, ...]:
    if isinstance(item, ast.Call) and last_name(item.func) == "param":
        return tuple(shape(arg, scope) for arg in item.args)
    if isinstance(item, ast.Tuple):
        return tuple(shape(part, scope) for part in item.elts)
    return (shape(item, scope),)


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Would a failing assertion end here, and nobody hear of it?"""
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    if not any(item is None or last_name(item) in BROAD for item in types):
        return False
    for node in ast.walk(handler):
        if isinstance(node, (ast.Raise, ast.Assert)):
            return False
        if isinstance(node, ast.Call) and (
            last_name(node.func) in ("fail", "exit") or last_name(node.func).startswith("assert")
        ):
            return False
    return True
