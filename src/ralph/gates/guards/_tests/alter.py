"""Tests that ask for the wrong answer: the expected values are altered, so that they must fail.

Only where that is certain: an equality, an order, a membership or a beginning that is claimed in the test's
own body, in loops too, or in a function of the same file that it calls for that. The side of an equality that
is written down there, or in the cases of a parametrised test, gets another value of its kind; otherwise one
side becomes an object that is equal to nothing, in no order and in nothing. Where a test claims several
things, in one statement or in many, each of them must fail. Pure text work on Python's syntax tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from itertools import islice, product

from msgspec import Struct

from ralph.gates.guards._breaks.break_function import LINE
from ralph.gates.guards._tests.alter_values import (
    NOTHING,
    WRITTEN,
    altered_constant,
    born_at,
    in_place,
    is_computed,
    other_differences,
    other_examples,
)
from ralph.gates.guards._tests.py_syntax import last_name
from ralph.gates.guards._tests.spans import Span, is_alone, place_of, replace_spans, segment

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Body = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
_EQUAL = frozenset(
    {f"assert{kind}Equal" for kind in ("", "List", "Tuple", "Dict", "Set", "Sequence", "MultiLine")}
    | {"assertIs"}
)
_ORDERS = dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), "<")
_KINDS: dict[type[ast.cmpop], str] = {ast.Eq: "=", ast.Is: "=", ast.In: "in", **_ORDERS}
_DENIED: dict[type[ast.cmpop], str] = {ast.NotEq: "=", ast.IsNot: "=", ast.NotIn: "in"}
_OTHERWISE = {ast.Lt: "< >=", ast.LtE: "<= >", ast.Gt: "> <=", ast.GtE: ">= <"}
_METHODS = {"assertIn": "in", "assertAlmostEqual": "<", "assertCountEqual": "<"} | {
    f"assert{word}{more}": "<" for word in ("Less", "Greater") for more in ("", "Equal")
}
_CALLED_WITH = re.compile(r"assert_(?:called|awaited)(?:_once)?_with|assert_any_(?:call|await)")
_FOREIGN = "raise type('Foreign', (Exception,), {})()"
_MAX_WAYS = 16  # of one statement
_Way = tuple[Span, ...]  # put in together, so that one claim must fail


class _AlteredFile(Struct):
    tree: ast.Module
    lines: list[bytes]
    helpers: dict[str, ast.FunctionDef]  # by a name that only one function has
    copies: dict[str, list[Span]]  # of helpers, altered, under another name


def alter_tests(text: str, tests: Collection[str]) -> tuple[str, frozenset[str]]:
    """The file with the named functions altered, and which of them could be ("": the file as a script).

    Raises ValueError.
    """
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    names = [node.name for node in nodes if isinstance(node, _Function)]
    helpers = {
        node.name: node
        for node in nodes
        if isinstance(node, ast.FunctionDef) and names.count(node.name) == 1 and _only_claims(node)
    }
    file = _AlteredFile(tree, [line.encode() for line in LINE.findall(text)], helpers, {})
    named = [node for node in nodes if isinstance(node, _Body) and getattr(node, "name", "") in tests]
    found = {
        node: spans for node in named if (spans := _alter(node, file) or other_examples(node, file.lines))
    }
    changed = replace_spans(
        file.lines, [span for spans in (*found.values(), *file.copies.values()) for span in spans]
    )
    ast.parse(changed)
    left = {getattr(node, "name", "") for node in named if node not in found}  # in another class, perhaps
    return changed, frozenset(getattr(node, "name", "") for node in found) - left


def _only_claims(function: ast.FunctionDef) -> bool:
    """Can a call of it only end well or fail? One that returns may have looked at nothing."""
    return not function.decorator_list and not any(
        isinstance(one, ast.Return | ast.Yield | ast.YieldFrom) for one in _own_nodes(function)
    )


def _own_nodes(body: _Body) -> Iterator[ast.AST]:
    """Everything in it but for what stands in functions of its own."""
    todo: list[ast.AST] = list(body.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _Function | ast.Lambda):
            todo += ast.iter_child_nodes(node)


def _alter(body: _Body, file: _AlteredFile, *, helper: bool = False) -> list[Span]:
    """What to replace: the cases of a parametrised test, or what is claimed, each claim by itself."""
    found = {one: ways for one in _claims(body.body) if (ways := _ways(body, one, file))}
    tops = [one for one in body.body if one in found]
    first = list(found[tops[0]][0]) if tops else []
    returns = [one for one in _own_nodes(body) if isinstance(one, ast.Return) and one not in body.body]
    if tops and any(one.lineno < tops[0].lineno for one in returns):
        return []  # some of its cases may end before they claim anything
    if not found and isinstance(body, _Function):  # what it hands over may claim, and has to be called
        used = {one.id for one in _own_nodes(body) if isinstance(one, ast.Name)}
        inner = [one for one in body.body if isinstance(one, _Function) and one.name in used]
        told = [ways for one in inner for claim in _claims(one.body) if (ways := _ways(one, claim, file))]
        return list(told[0][0]) if told else []
    if not found or (tops and sum(map(len, found.values())) == 1):
        return first
    if _may_end(body) or not all(is_alone(one, file.lines) for one in found):
        return first
    leave = "raise SystemExit(0)" if isinstance(body, ast.Module) else "return"
    tried = [span for one, ways in found.items() for span in _try_claim(one, ways, file.lines, leave)]
    return [*tried, _end_in_red(body, () if helper else found, file.lines)]


def _may_end(body: _Body) -> bool:
    """Before what is put at its end?"""
    words = (one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in _own_nodes(body))
    if isinstance(body, ast.Module):
        return any("exit" in word.lower() or word in ("quit", "unittest") for word in words)
    return any(isinstance(one, ast.Return) for one in _own_nodes(body))


def _claims(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that may claim something, also those in loops and contexts; what is conditional is none."""
    for statement in body:
        if isinstance(statement, ast.With) and _wanted_error(statement.items[0].context_expr):
            yield statement
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith) or (
            isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'"
        ):
            yield from _claims(statement.body)
        elif isinstance(statement, ast.Assert | ast.Expr) or _fails_if(statement):
            yield statement


def _fails_if(statement: ast.stmt) -> bool:
    """`if …: raise AssertionError`, and nothing else."""
    if not isinstance(statement, ast.If) or statement.orelse or len(statement.body) != 1:
        return False
    only = statement.body[0]
    call = only.value if isinstance(only, ast.Expr) else None
    return isinstance(only, ast.Raise) or (isinstance(call, ast.Call) and last_name(call) == "fail")


def _ways(body: _Body, statement: ast.stmt, file: _AlteredFile) -> list[_Way]:
    """What can be put into a statement, so that it must fail: each of them by itself."""
    if isinstance(statement, ast.Assert):
        return _ways_of(body, statement.test, file)[:_MAX_WAYS]
    if isinstance(statement, ast.If):
        return _as_claims(body, statement, file)
    if isinstance(statement, ast.With):
        return _other_error(body, statement, statement.items[0].context_expr)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return []
    if _wanted_error(call):
        return _other_error(body, statement, call)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if _CALLED_WITH.fullmatch(name):
        given = [*call.args, *(one.value for one in call.keywords)]
        return [(in_place(one, NOTHING),) for one in given if not ast.unparse(one).endswith("ANY")]
    if name in ("assertTrue", "assertFalse") and call.args:
        return _ways_of(body, call.args[0], file, denied=name == "assertFalse")[:_MAX_WAYS]
    pair = _pair(statement)
    return _other_sides(body, *pair, file) if pair else _other_helper(call, file)


def _as_claims(body: _Body, statement: ast.If, file: _AlteredFile) -> list[_Way]:
    """`if a > b: fail()` claims that it is not so."""
    begin, end = place_of(statement)
    first, last = place_of(statement.test)
    found: list[_Way] = []
    for way in _ways_of(body, statement.test, file, denied=True)[:_MAX_WAYS]:
        inside = [span for span in way if first <= span[:2] < last]
        claim = f"assert not ({segment(file.lines, first, last, inside)})"
        found.append(((*begin, *end, claim), *(span for span in way if span not in inside)))
    return found


def _ways_of(
    body: _Body, claim: ast.expr, file: _AlteredFile, *, either: bool = False, denied: bool = False
) -> list[_Way]:
    """`either`: others are claimed beside it, so no value of its kind will do: it might be theirs.
    `denied`: it is claimed that this is not so."""
    if isinstance(claim, ast.UnaryOp) and isinstance(claim.op, ast.Not):
        return _ways_of(body, claim.operand, file, either=either, denied=not denied)
    if isinstance(claim, ast.BoolOp):
        any_of = isinstance(claim.op, ast.Or) != denied
        parts = [_ways_of(body, part, file, either=either or any_of, denied=denied) for part in claim.values]
        each = islice(product(*parts), _MAX_WAYS) if any_of else ((way,) for part in parts for way in part)
        return [tuple(span for way in ways for span in way) for ways in each]
    if denied:
        return _alter_denied(body, claim, file, either=either)
    if isinstance(claim, ast.Compare):
        sides = [claim.left, *claim.comparators]
        links = [
            (_KINDS.get(type(op), ""), left, right)
            for op, left, right in zip(claim.ops, sides, sides[1:], strict=False)
        ]
        if len(links) == 1:
            return _other_sides(body, *links[0], file, either=either) if links[0][0] else []
        seen: set[ast.expr] = set()
        return [
            (in_place(claim, ast.unparse(_link(claim, at, side, new, seen))),)
            for at, link in enumerate(links)
            for side, new in (_foreign_sides(*link) if link[0] else ())
        ]
    if isinstance(claim, ast.Call) and claim.args:
        only = claim.args[0]
        if isinstance(claim.func, ast.Attribute) and claim.func.attr in ("startswith", "endswith"):
            return [(in_place(only, NOTHING),)]
        if ast.unparse(claim.func) == "all" and isinstance(only, ast.GeneratorExp):
            ends = _around(only, "[", "] or [False]")  # of nothing at all nothing is claimed
            return [(*way, *ends) for way in _ways_of(body, only.elt, file, either=either)]
    return []


def _alter_denied(body: _Body, claim: ast.expr, file: _AlteredFile, *, either: bool) -> list[_Way]:
    """It must not hold: `a != b`, and `a > b`, which no number is that is not `a <= b` either."""
    if not isinstance(claim, ast.Compare) or len(claim.ops) != 1:
        return []
    op, left, right = claim.ops[0], claim.left, claim.comparators[0]
    if kind := _DENIED.get(type(op)):
        return _other_sides(body, kind, left, right, file, either=either)
    if type(op) not in _OTHERWISE:
        return []
    sign, otherwise = _OTHERWISE[type(op)].split()
    ordered = f"a {sign} b or a {otherwise} b or isinstance(a, (set, frozenset))"
    return [(in_place(claim, f"(lambda a, b: {ordered})({ast.unparse(left)}, {ast.unparse(right)})"),)]


def _other_sides(
    body: _Body, kind: str, left: ast.expr, right: ast.expr, file: _AlteredFile, *, either: bool = False
) -> list[_Way]:
    expected = next(_expected_side(kind, left, right), None)
    if not either and expected is not None and (constant := altered_constant(expected)):
        return [(constant,)]
    if any(ast.unparse(side).endswith("ANY") for side in (left, right)):
        return []  # the test itself takes everything
    plain = [side for side in (left, right) if not is_computed(side)]
    if kind != "in" and len(plain) == 1:
        born = born_at(file.tree, body, plain[0], same_kind=kind == "=" and not either)
        ways: list[_Way] = [born or (in_place(plain[0], NOTHING),)]
        if any(isinstance(one, ast.Name) and one.id not in _own_names(body) for one in ast.walk(plain[0])):
            ways += [(in_place(side, NOTHING),) for side in (left, right) if side is not plain[0]]
        return ways + other_differences(left, right)
    foreign: list[_Way] = [(in_place(side, new),) for side, new in _foreign_sides(kind, left, right)]
    return foreign + other_differences(left, right)


def _own_names(body: _Body) -> set[str]:
    """What the test itself gives a value; every other name may be the product's, and lie."""
    names = (one for one in ast.walk(body) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return {one.id for one in names} | {one.arg for one in ast.walk(body) if isinstance(one, ast.arg)}


def _foreign_sides(kind: str, left: ast.expr, right: ast.expr) -> list[tuple[ast.expr, str]]:
    """The sides that may lie, or else the first: each is held against what nothing is equal to."""
    others = [(left, NOTHING), (right, "[object()]" if kind == "in" else NOTHING)]
    lying = [
        other for other, side in zip(others, (right, left), strict=True) if not isinstance(side, WRITTEN)
    ]
    return lying or others[:1]


def _link(claim: ast.Compare, at: int, side: ast.expr, new: str, seen: set[ast.expr]) -> ast.Compare:
    """One of several comparisons in a row, with another side."""
    put_in = ast.parse(new, mode="eval").body
    sides = (claim.left, *claim.comparators)[at : at + 2]
    pair = [put_in if one is side else _evaluated_once(one, seen) for one in sides]
    return ast.Compare(pair[0], [claim.ops[at]], [pair[1]])


def _evaluated_once(side: ast.expr, seen: set[ast.expr]) -> ast.expr:
    """The middle of `0 < next(c) < 3` is in two links: the second one takes what the first one got."""
    if not is_computed(side):
        return side
    name = ast.Name(f"_side_{side.lineno}_{side.col_offset}")
    if side in seen:
        return name
    seen.add(side)
    return ast.NamedExpr(name, side)


def _wanted_error(call: ast.expr) -> ast.expr | None:
    """The class of errors that is expected, when it says something."""
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if ast.unparse(call.func) not in ("pytest.raises", "raises", "self.assertRaises"):
        return None
    plain = isinstance(call.args[0], ast.Name | ast.Attribute) and ast.unparse(call.args[0])
    return call.args[0] if plain not in (False, "Exception", "BaseException") else None


def _other_error(body: _Body, statement: ast.stmt, call: ast.expr) -> list[_Way]:
    """A foreign error comes in place of what the test does there: whoever expects that expects all."""
    wanted = _wanted_error(call)
    if wanted is None or not isinstance(call, ast.Call):
        return []
    if ast.unparse(wanted) in _own_names(body):
        return []
    (begin, end) = place_of(statement)
    text = f"{ast.unparse(call.func)}({ast.unparse(wanted)}, exec, {_FOREIGN!r})"
    return [((*begin, *end, text),)]


def _other_helper(call: ast.Call, file: _AlteredFile) -> list[_Way]:
    """A function of this file that claims something: a copy of it, altered, is called."""
    callee = call.func
    if isinstance(callee, ast.Attribute) and ast.unparse(callee.value) not in ("self", "cls"):
        return []
    name = getattr(callee, "attr", getattr(callee, "id", ""))
    helper = file.helpers.get(name)
    if helper is None:
        return []
    if name not in file.copies:
        file.copies[name] = []  # a helper that calls itself
        file.copies[name] = _copy(helper, file)
    line, end = callee.end_lineno or 0, callee.end_col_offset or 0
    return [((line, end - len(name.encode()), line, end, f"altered_{name}"),)] if file.copies[name] else []


def _copy(helper: ast.FunctionDef, file: _AlteredFile) -> list[Span]:
    begin, end = place_of(helper)
    spans = _alter(helper, file, helper=True)
    written = segment(file.lines, begin, end, spans) if spans else ""
    head, _, rest = written.partition(f"def {helper.name}")
    if head or not rest:
        return []
    lead = file.lines[begin[0] - 1][: begin[1]].decode()
    return [(*end, *end, f"\n\n{lead}def altered_{helper.name}{rest}")]


def _try_claim(statement: ast.stmt, ways: list[_Way], lines: list[bytes], leave: str) -> list[Span]:
    """In place of a claim: when it fails altered, as it must, the test goes on; when not it ends green."""
    lead = lines[statement.lineno - 1][: statement.col_offset].decode()
    begin, end = place_of(statement)
    inside = [[span for span in way if begin <= span[:2] < end] for way in ways]
    tries = [
        f"try: {text}\n{lead}except Exception: _failed = True\n{lead}else: {leave}"
        for text in (segment(lines, begin, end, spans) for spans in inside)
    ]
    if isinstance(statement, ast.With):  # what comes after may go by the error that it names
        tries.append(segment(lines, begin, end, ()))
    outside = [span for way in ways for span in way if not begin <= span[:2] < end]
    return [(*begin, *end, f"\n{lead}".join(tries)), *outside]


def _end_in_red(body: _Body, found: Collection[ast.stmt], lines: list[bytes]) -> Span:
    """Behind the test: red, unless all that it claims stands in loops, and they came to none of it."""
    last = body.body[-1]
    lead = "\n" + lines[last.lineno - 1][: last.col_offset].decode()
    place = (last.end_lineno or 0, last.end_col_offset or 0) * 2
    looped = {one for loop in body.body if isinstance(loop, ast.For) for one in loop.body}
    if not found or not looped.issuperset(found):
        return *place, f"{lead}raise AssertionError"
    return *place, f"{lead}try: _failed{lead}except NameError: pass{lead}else: raise AssertionError"


def _around(part: ast.expr, before: str, after: str) -> _Way:
    """Inside of the brackets of an expression."""
    (line, at), (end_line, end) = place_of(part)
    return (line, at + 1, line, at + 1, before), (end_line, end - 1, end_line, end - 1, after)


def _pair(statement: ast.stmt) -> tuple[str, ast.expr, ast.expr] | None:
    """What one statement claims of two values: =, < or in."""
    if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
        kind = _KINDS.get(type(statement.test.ops[0]))
        if kind and len(statement.test.ops) == 1:
            return kind, statement.test.left, statement.test.comparators[0]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and len(call.args) >= 2:
            kind = "=" if call.func.attr in _EQUAL else _METHODS.get(call.func.attr)
            if kind:
                return kind, call.args[0], call.args[1]
    return None


def _expected_side(kind: str, left: ast.expr, right: ast.expr) -> Iterator[ast.expr]:
    """The side of an equality that is written down, when it is clear which one that is."""
    plain = [side for side in (right, left) if kind == "=" and not is_computed(side)]
    written = [side for side in plain if isinstance(side, WRITTEN)]
    if len(written) == 1:
        yield written[0]
    elif not written and len(plain) == 1 and isinstance(plain[0], ast.Name):
        yield plain[0]
