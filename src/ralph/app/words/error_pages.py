"""A page for each error code, read from where Ralph raises it: the words stand there and nowhere else."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

import ralph
from ralph import errors

_CODE = re.compile(r"E-[A-Z0-9]+(?:-[A-Z0-9]+)*")
_Assigned = tuple[int, str, str]  # line, name, words: a module is walked once for all of its names


class ErrorPage(NamedTuple):
    """What one place in Ralph says under a code; values that are only known then are in braces."""

    code: str
    exit_code: int | None  # None: the same code is raised with different ones, or by a table
    what: str
    why: str
    next: str


def error_pages(code: str = "") -> list[ErrorPage]:
    """Every place that raises `code`, or any code; ordered by code, each page once."""
    top = os.path.dirname(ralph.__file__)
    found: set[ErrorPage] = set()
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                if (f'"{code}"' if code else '"E-') in text:
                    found |= {page for page in _pages_in(text) if not code or page.code == code}
    told = {page.code for page in found if page.what}
    kept = (page for page in found if page.what or page.code not in told)
    return sorted(kept, key=lambda page: (page.code, page.what, page.why, page.next, page.exit_code or 0))


def _pages_in(text: str) -> Iterator[ErrorPage]:
    nodes = list(ast.walk(ast.parse(text)))
    names = list(_assigned(nodes))
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _page_of_call(node, names)
        elif isinstance(node, ast.Tuple):
            yield from _page_of_row(node, names)


def _page_of_call(node: ast.Call, names: list[_Assigned]) -> Iterator[ErrorPage]:
    if not any(_CODE.fullmatch(_words(one)) for one in (*node.args, *(word.value for word in node.keywords))):
        return
    given = {word.arg: _text(word.value, names) for word in node.keywords if word.arg}
    texts = [_text(arg, names) for arg in node.args]
    codes = [one for one in (given.get("code", ""), *texts) if _CODE.fullmatch(one)]
    if codes:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        kind = getattr(errors, name, None)
        what = next((text for text in texts if " " in text), given.get("what", ""))
        yield ErrorPage(
            codes[0], getattr(kind, "exit_code", None), what, given.get("why", ""), given.get("next", "")
        )


def _page_of_row(node: ast.Tuple, names: list[_Assigned]) -> Iterator[ErrorPage]:
    """A row of a table: a code, words, perhaps a command."""
    texts = [_text(one, names) for one in node.elts]
    codes = [text for text in texts if _CODE.fullmatch(text)]
    if len(codes) == 1:
        said = [text for text in texts if " " in text]
        command = next((text for text in said if text.split()[0] in ("git", "ralph")), "")
        what = next((text for text in said if text != command), "")
        yield ErrorPage(codes[0], None, what, "", command)


def _assigned(nodes: list[ast.AST]) -> Iterator[_Assigned]:
    for one in nodes:
        if isinstance(one, ast.Assign):
            value, target = one.value, one.targets[0]
            texts, names = (side.elts if isinstance(side, ast.Tuple) else [side] for side in (value, target))
            for name, text in zip(names, texts, strict=False):
                if isinstance(name, ast.Name):
                    yield one.lineno, name.id, _words(text)


def _text(node: ast.expr, names: list[_Assigned]) -> str:
    """Its words; those of a name from the nearest assignment above its use."""
    if not isinstance(node, ast.Name):
        return _words(node)
    found = [(line, words) for line, name, words in names if name == node.id and line < node.lineno]
    return max(found, default=(0, ""))[1]


def _words(node: ast.expr) -> str:
    """A text as it stands in the code; what is filled in later by the name that it has there."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_words(part) for part in parts)
        case ast.FormattedValue(value=ast.Name(id="AGAIN")):
            return "ralph {typed}"
        case ast.FormattedValue(value=inner):
            return f"{{{_name(inner)}}}"
        case ast.BinOp(left=left, right=right):
            return _words(left) + _words(right)
        case ast.IfExp(body=body, orelse=other):
            return _words(body) or _words(other)
        case _:
            return ""


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return name
        case ast.Call(args=[first, *_]):
            return _name(first)
        case ast.Call(func=function) | ast.Subscript(value=function):
            return _name(function)
        case _:
            return "…"
