"""One assertion in a Python test: what it compares, how strictly, and whether it can fail at all.

pytest's `assert`, unittest's methods, `pytest.raises` and mocks are brought to one form, so that a test may
change its style without being accused. Strength: 3 an exact value, 2 a range, membership or kind,
1 mere truth, 0 it cannot fail.
"""

from __future__ import annotations

import ast

from msgspec import Struct

from ralph.gates.guards._tests.py_syntax import (
    Scope,
    constant_truth,
    constants,
    dotted_name,
    is_literal,
    last_name,
    shape,
)

EXACT, LOOSE, TRUTH, NOTHING = 3, 2, 1, 0
BROAD = ("Exception", "BaseException", "AssertionError")
_SYMMETRIC = ("Eq", "NotEq", "Is", "IsNot")
_UNITTEST = {
    "assertEqual": "Eq",
    "assertEquals": "Eq",
    "assertNotEqual": "NotEq",
    "assertIs": "Is",
    "assertIsNot": "IsNot",
    "assertIn": "In",
    "assertNotIn": "NotIn",
    "assertGreater": "Gt",
    "assertGreaterEqual": "GtE",
    "assertLess": "Lt",
    "assertLessEqual": "LtE",
    "assertCountEqual": "Eq",
    "assertDictEqual": "Eq",
    "assertListEqual": "Eq",
    "assertTupleEqual": "Eq",
    "assertSetEqual": "Eq",
    "assertSequenceEqual": "Eq",
    "assertMultiLineEqual": "Eq",
    "assertAlmostEqual": "Eq",
}
_NONE = {"assertIsNone": "Is", "assertIsNotNone": "IsNot"}
_RAISES = ("raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns", "assertWarnsRegex")
_OPERATORS = {"Eq": EXACT, "Is": EXACT}
_PREDICATES = ("isinstance", "issubclass", "hasattr", "all", "any", "callable", "len", "bool")


class Assertion(Struct, frozen=True):
    op: str
    left: str  # what is looked at
    right: str  # what it is held against
    strength: int
    line: int
    values: tuple[str, ...] = ()  # literal values on the expected side
    called: frozenset[str] = frozenset()  # functions that the left side calls
    dead: str = ""  # why it cannot fail where it stands
    when: tuple[str, ...] = ()  # the conditions around it

    @property
    def same(self) -> tuple[str, str, str]:
        return (self.op, self.left, self.right)


class Place(Struct, frozen=True):
    scope: Scope
    dead: str = ""
    when: tuple[str, ...] = ()


def from_assert(test: ast.expr, place: Place, line: int) -> list[Assertion]:
    """`assert a and b` is two assertions, `assert a == b == c` as well."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [found for value in test.values for found in from_assert(value, place, line)]
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        return [
            _compare_assertion(type(op).__name__, sides[at], sides[at + 1], place, line)
            for at, op in enumerate(test.ops)
        ]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        strength = NOTHING if constant_truth(test) else _truth_strength(test.operand)
        return [_make_assertion("Not", test.operand, None, strength, place, line)]
    if isinstance(test, ast.BoolOp):
        strength = NOTHING if constant_truth(test) or _covers_all(test, place.scope) else TRUTH
        return [_make_assertion("Or", test, None, strength, place, line)]
    strength = NOTHING if constant_truth(test) or _sure(test, place.scope) else _truth_strength(test)
    return [_make_assertion("Truth", test, None, strength, place, line)]


def from_call(call: ast.Call, place: Place) -> list[Assertion]:
    """[] when this call asserts nothing by its name."""
    name, args, line = last_name(call.func), call.args, call.lineno
    if name in _UNITTEST and len(args) >= 2:
        return [_compare_assertion(_UNITTEST[name], args[0], args[1], place, line)]
    if name in _NONE and args:
        return [_compare_assertion(_NONE[name], args[0], ast.Constant(None), place, line)]
    if name == "assertTrue" and args:
        return from_assert(args[0], place, line)
    if name == "assertFalse" and args:
        return from_assert(ast.UnaryOp(ast.Not(), args[0]), place, line)
    if name in ("assertIsInstance", "assertNotIsInstance") and len(args) >= 2:
        test = ast.Call(ast.Name("isinstance", ast.Load()), [args[0], args[1]], [])
        return from_assert(test, place, line)
    if name in _RAISES and (args or call.keywords):
        return [_raises_assertion(name, call, place)]
    if name == "fail" and dotted_name(call.func) in ("pytest.fail", "self.fail"):
        return [_stated("Fail", place, line)]
    if name.startswith(("assert", "check_", "verify", "expect")) and name != "assert_":
        return [_by_name(name, call, place)]
    return []


def from_raise(statement: ast.Raise, place: Place) -> list[Assertion]:
    """`if wrong: raise AssertionError` is an assertion too."""
    if last_name(statement.exc) != "AssertionError" or not place.when:
        return []
    return [_stated("Fail", place, statement.lineno)]


def _stated(op: str, place: Place, line: int) -> Assertion:
    return Assertion(op, "|".join(place.when), "", LOOSE, line, dead=place.dead)


def _by_name(name: str, call: ast.Call, place: Place) -> Assertion:
    """A mock's or a library's own assertion: its arguments are what it expects."""
    expected = ast.Tuple([*call.args, *(keyword.value for keyword in call.keywords)], ast.Load())
    owner = call.func.value if isinstance(call.func, ast.Attribute) else ast.Constant(name)
    has_values = bool(call.args or call.keywords)
    strength = EXACT if has_values else LOOSE
    if name in ("assert_called", "assert_any_call"):
        strength = LOOSE if has_values else TRUTH
    return _make_assertion(f"call {name}", owner, expected, strength, place, call.lineno)


def _raises_assertion(name: str, call: ast.Call, place: Place) -> Assertion:
    expected: ast.expr = call.args[0] if call.args else ast.Constant(None)
    types = expected.elts if isinstance(expected, ast.Tuple) else [expected]
    broad = any(last_name(item) in BROAD[:2] for item in types)
    pattern = any(keyword.arg in ("match", "expected_regex", "check") for keyword in call.keywords)
    pattern = pattern or (name.endswith("Regex") and len(call.args) > 1)
    strength = (TRUTH if broad else LOOSE) + (1 if pattern else 0)
    kind = "warns" if "arn" in name else "raises"
    wanted = "|".join(sorted(last_name(item) for item in types))
    return Assertion(
        kind, wanted, "match" if pattern else "", strength, call.lineno, dead=place.dead, when=place.when
    )


def _compare_assertion(op: str, one: ast.expr, two: ast.expr, place: Place, line: int) -> Assertion:
    scope = place.scope
    if op in _SYMMETRIC and is_literal(one, scope) and not is_literal(two, scope):
        one, two = two, one
    strength = _OPERATORS.get(op, LOOSE)
    if op == "IsNot" and isinstance(two, ast.Constant) and two.value is None:
        strength = TRUTH
    fixed = is_literal(one, scope) and is_literal(two, scope)
    if fixed or (op in ("Eq", "Is", "GtE", "LtE", "In") and _itself(one, two, scope)):
        strength = NOTHING
    elif op == "Eq" and last_name(two) == "ANY":
        strength = TRUTH
    elif op == "GtE" and last_name(one) == "len" and isinstance(two, ast.Constant) and two.value == 0:
        strength = NOTHING
    return _make_assertion(op, one, two, strength, place, line)


def _itself(one: ast.expr, two: ast.expr, scope: Scope) -> bool:
    """`f(x) == f(x)`. Two variables set by the same call may well differ: that is a fair question."""
    if isinstance(one, ast.Name) and isinstance(two, ast.Name):
        return one.id == two.id
    named = Scope(values=scope.values)
    return shape(one, named) == shape(two, named)


def _make_assertion(
    op: str, one: ast.expr, two: ast.expr | None, strength: int, place: Place, line: int
) -> Assertion:
    scope = place.scope
    called = frozenset(last_name(node.func) for node in ast.walk(one) if isinstance(node, ast.Call))
    for node in ast.walk(one):
        if isinstance(node, ast.Name) and node.id in scope.values:
            value = scope.values[node.id]
            called |= {last_name(inner.func) for inner in ast.walk(value) if isinstance(inner, ast.Call)}
    return Assertion(
        op=op,
        left=shape(one, scope),
        right=shape(two, scope) if two is not None else "",
        strength=strength,
        line=line,
        values=constants(two, scope) if two is not None else (),
        called=called,
        dead=place.dead,
        when=place.when,
    )


def _truth_strength(node: ast.expr) -> int:
    if isinstance(node, ast.Compare):
        return LOOSE
    if isinstance(node, ast.Call):
        predicate = last_name(node.func)
        return LOOSE if node.args or predicate in _PREDICATES else TRUTH
    return TRUTH


def _sure(node: ast.expr, scope: Scope) -> bool:
    """`isinstance(x, type(x))`, `isinstance(x, object)`, a variable that holds a truthy literal."""
    if isinstance(node, ast.Name) and node.id in scope.values:
        return bool(constant_truth(scope.values[node.id]))
    if not (isinstance(node, ast.Call) and last_name(node.func) == "isinstance" and len(node.args) == 2):
        return False
    subject, wanted = node.args
    if last_name(wanted) == "object":
        return True
    own = isinstance(wanted, ast.Call) and last_name(wanted.func) == "type" and len(wanted.args) == 1
    return own and shape(wanted.args[0], scope) == shape(subject, scope)  # type: ignore[attr-defined]


def _covers_all(test: ast.BoolOp, scope: Scope) -> bool:
    """`x or not x`."""
    shapes = {shape(value, scope) for value in test.values}
    return any(
        isinstance(value, ast.UnaryOp)
        and isinstance(value.op, ast.Not)
        and shape(value.operand, scope) in shapes
        for value in test.values
    )
