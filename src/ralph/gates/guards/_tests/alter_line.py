"""The claim at which a test failed at the base, made to fail whatever it looks at, wherever it stands: in a
helper of another file, in a method of an object that the test hands over. Who comes to it is noted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ralph.gates.guards._tests.py_syntax import Function, last_name, parse
from ralph.gates.programs import program_text


def alter_line(text: str, line: int, marks: str) -> tuple[str, str] | None:
    """The file, and the function that claims something there without condition; None where none does."""
    tree = parse(text)
    owners = [node for node in ast.walk(tree) if isinstance(node, Function)] if tree is not None else []
    for owner in owners:
        left = [one.lineno for one in ast.walk(owner) if isinstance(one, ast.Return)]
        for claim in _unconditional(owner.body):
            end = claim.end_lineno or claim.lineno
            lines = text.split("\n")
            lead = lines[claim.lineno - 1][: claim.col_offset]
            if claim.lineno <= line <= end and _claims(claim):
                if lead.strip() or (left and min(left) < line):
                    return None
                program = program_text("alter_line.py") % {"marks": marks}
                lines[claim.lineno - 1 : end] = [f"{lead}exec({program!r})", *[""] * (end - claim.lineno)]
                return "\n".join(lines), owner.name
    return None


def _unconditional(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.With | ast.AsyncWith):
            yield from _unconditional(statement.body)
        else:
            yield statement


def _claims(statement: ast.stmt) -> bool:
    """Does it look at something? Where it says `assert False`, nobody should come."""
    if isinstance(statement, ast.Assert):
        return not isinstance(statement.test, ast.Constant)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call).startswith("assert")


def calls_for_certain(text: str, test: str, name: str) -> bool:
    """Does the one test of this name call that function without condition, and may not end before?"""
    tree = parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, Function)] if tree is not None else []
    tests = [node for node in found if node.name == test]
    return (
        len(tests) == 1
        and not any(isinstance(node, ast.Return) for node in ast.walk(tests[0]))
        and any(
            isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and last_name(one.value) == name
            for one in tests[0].body
        )
    )
