"""Behaviour-preserving refactorings, made by rule: what an agent does all day and no guard may mistrust.

Each takes a module's source and returns it changed, or unchanged when it finds nothing to do. The rules are
narrow on purpose: a rule that is not sure that behaviour stays leaves the code alone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator

Function = ast.FunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_TRICKY = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Starred)
_SPECIAL = frozenset({"locals", "eval", "exec", "super", "vars", "dir", "globals"})


def rename_locals(source: str) -> str:
    """Local variables get other names."""
    spans: list[tuple[int, int, int, str]] = []
    for function in _functions(ast.parse(source)):
        if _has_inner_scope(function) or _calls_special(function):
            continue
        stored = {
            n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        caught = {n.name for n in ast.walk(function) if isinstance(n, ast.ExceptHandler) and n.name}
        mine = stored - caught - {argument.arg for argument in _arguments(function)}
        spans += [
            (node.lineno, node.col_offset, node.end_col_offset or 0, f"{node.id}_value")
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and node.id in mine
        ]
    return _replaced(source, spans)


def name_results(source: str) -> str:
    """What is returned gets a name first."""
    spans = []
    lines = source.splitlines()
    for function in _functions(ast.parse(source)):
        if _has_inner_scope(function) or _calls_special(function):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and isinstance(node.value, (ast.Call, ast.BinOp, ast.BoolOp)):
                value, line = node.value, lines[node.lineno - 1]
                if node.lineno == value.end_lineno and line.strip().startswith("return ") and "#" not in line:
                    text = ast.get_source_segment(source, value)
                    pad = line[: len(line) - len(line.lstrip())]
                    if line.strip() == f"return {text}":
                        new = f"outcome = {text}\n{pad}return outcome"
                        spans.append((node.lineno, node.col_offset, node.end_col_offset or 0, new))
    return _replaced(source, spans)


def extract_functions(source: str) -> str:
    """Returned expressions move into functions of their own at the end of the module."""
    tree = ast.parse(source)
    known = {name for node in tree.body for name in _defined(node)} | set(dir(builtins))
    spans, made = [], []
    for number, function in enumerate(_functions(tree)):
        if _has_inner_scope(function) or _calls_special(function) or function.decorator_list:
            continue
        last = function.body[-1]
        if not isinstance(last, ast.Return) or not isinstance(last.value, (ast.BinOp, ast.Call, ast.Compare)):
            continue
        names = list(dict.fromkeys(n.id for n in ast.walk(last.value) if isinstance(n, ast.Name)))
        given = {argument.arg for argument in _arguments(function)}
        if any(isinstance(n, (*_SCOPES, ast.comprehension)) for n in ast.walk(last.value)):
            continue
        if any(name.startswith("__") for n in ast.walk(last.value) if (name := getattr(n, "attr", ""))):
            continue  # inside a class these may be mangled
        if not all(name in given or name in known for name in names) or last.lineno != last.end_lineno:
            continue
        words = ", ".join(name for name in names if name in given)
        called = f"_result_of_{function.name.strip('_')}_{number}"
        spans.append((last.lineno, last.col_offset, last.end_col_offset or 0, f"return {called}({words})"))
        made.append(f"\n\ndef {called}({words}):\n    return {ast.get_source_segment(source, last.value)}\n")
    return _replaced(source, spans) + "".join(made) if made else source


def reorder(source: str) -> str:
    """Functions that stand beside one another change places."""
    lines = source.splitlines(keepends=True)
    tree = ast.parse(source)
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for body in bodies:
        for run in _beside(body):
            texts = ["".join(lines[node.lineno - 1 : node.end_lineno]).rstrip("\n") + "\n" for node in run]
            for node, text in zip(run, reversed(texts), strict=True):
                lines[node.lineno - 1] = text
                for at in range(node.lineno, node.end_lineno or 0):
                    lines[at] = ""
    return "".join(lines)


def reformat(source: str) -> str:
    """The whole module as another formatter would write it."""
    return ast.unparse(ast.parse(source)) + "\n"


def annotate(source: str) -> str:
    """Functions that return nothing say so."""
    tree = ast.parse(source)
    changed = False
    for function in _functions(tree):
        returns = [n for n in ast.walk(function) if isinstance(n, (ast.Return, ast.Yield, ast.YieldFrom))]
        if function.returns is None and not returns and not function.decorator_list:
            function.returns, changed = ast.Constant(None), True
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if changed else source


def invert_conditions(source: str) -> str:
    """`if a: x else: y` becomes `if not a: y else: x`."""
    tree = ast.parse(source)
    changed = False
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If):
            inner = node.test
            plain = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not)
            node.test = inner.operand if plain else ast.UnaryOp(ast.Not(), inner)  # type: ignore[attr-defined]
            node.body, node.orelse, changed = node.orelse, node.body, True
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n" if changed else source


KINDS: dict[str, Callable[[str], str]] = {
    "rename-locals": rename_locals,
    "name-results": name_results,
    "extract-functions": extract_functions,
    "reorder": reorder,
    "reformat": reformat,
    "annotate": annotate,
    "invert-conditions": invert_conditions,
}


def _functions(tree: ast.Module) -> Iterator[Function]:
    """Functions of the module and methods of its classes, none inside another."""
    for node in tree.body:
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                yield each


def _arguments(function: Function) -> list[ast.arg]:
    found = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return found + [each for each in (function.args.vararg, function.args.kwarg) if each]


def _has_inner_scope(function: Function) -> bool:
    inner = (node for node in ast.walk(function) if node is not function)
    return any(
        isinstance(node, (*_SCOPES, *_TRICKY, ast.comprehension, ast.Import, ast.ImportFrom))
        for node in inner
    )


def _calls_special(function: Function) -> bool:
    return any(isinstance(node, ast.Name) and node.id in _SPECIAL for node in ast.walk(function))


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(item.asname or item.name).split(".")[0] for item in node.names]
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _beside(body: list[ast.stmt]) -> Iterator[list[Function]]:
    """Runs of plain functions without decorators and defaults, and with at least two members."""
    run: list[Function] = []
    for node in [*body, None]:
        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list and not node.args.defaults
        if plain and not any(each.name == node.name for each in run):  # type: ignore[union-attr]
            run.append(node)  # type: ignore[arg-type]
            continue
        if len(run) > 1:
            yield run
        run = []


def _replaced(source: str, spans: list[tuple[int, int, int, str]]) -> str:
    """Spans are (line, first byte, last byte, text), none of them over more than one line."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for line, begin, end, text in sorted(set(spans), reverse=True):
        lines[line - 1] = lines[line - 1][:begin] + text.encode() + lines[line - 1][end:]
    return b"".join(lines).decode()
