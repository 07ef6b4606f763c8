"""Python functions that do nothing yet; protocols, overloads, hooks and null objects are empty on purpose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from msgspec import Struct

from ralph.gates.guards._tests.py_syntax import Function, last_name

_PURPOSE = re.compile(
    r"noop|no_op|do_nothing|nothing|ignore|dummy|fake|mock|null|stub|empty|pass|blank|sentinel", re.IGNORECASE
)
_OPEN_CLASS = re.compile(
    r"Null|No[A-Z_]|Dummy|Fake|Mock|Stub|Base|Abstract|Mixin|Interface|Protocol|Hook|Plugin|Backend|Handler|Visitor"
)
_EXPLAINED = re.compile(
    r"nothing|no-?op|intentional|deliberate|on purpose|overrid|subclass|hook|optional|compat|never",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"^\s*(?:placeholder|not[ _-]?(?:yet )?implemented|todo\b|fixme\b|stub\b|dummy (?:value|result))",
    re.IGNORECASE,
)


class Stub(Struct, frozen=True):
    kind: str
    name: str
    says: str
    line: int
    inner: int  # the line of its only statement


def stub_functions(tree: ast.Module, before: ast.Module | None, *, is_tests: bool) -> Iterator[Stub]:
    """In tests only empty tests count."""
    had = {name: node for name, node, _ in _functions(before)} if before is not None else {}
    subclassed = {
        last_name(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases
    }
    for name, node, owner in _functions(tree):
        if is_tests and not node.name.startswith("test"):
            continue
        found = _emptiness(node)
        if found is None:
            continue
        kind, says = found
        if _on_purpose(node, owner, subclassed, kind):
            continue
        old = had.get(name)
        if old is not None:
            if _emptiness(old) is not None:
                continue
            kind, says = "emptied", "had a body at the base and has none now"
        yield Stub(kind, name, says, node.lineno, node.body[-1].lineno)


def _functions(tree: ast.Module | None) -> Iterator[tuple[str, Function, ast.ClassDef | None]]:
    """Functions of modules and classes; those inside functions are their owner's business."""
    stack: list[tuple[str, ast.stmt, ast.ClassDef | None]] = [
        ("", node, None) for node in (tree.body if tree else [])
    ]
    while stack:
        prefix, node, owner = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node, owner
        elif isinstance(node, ast.ClassDef):
            stack += [(f"{prefix}{node.name}.", inner, node) for inner in node.body]
        elif isinstance(node, ast.If) and last_name(node.test) != "TYPE_CHECKING":
            stack += [(prefix, inner, owner) for inner in node.body]


def _emptiness(node: Function) -> tuple[str, str] | None:
    said = ast.get_docstring(node, clean=False)
    rest = node.body[said is not None :]
    if len(rest) != 1 or (said is not None and _EXPLAINED.search(said)):
        return None
    only = rest[0]
    if isinstance(only, ast.Pass) or (isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant)):
        return "body", "does nothing"
    if isinstance(only, ast.Raise) and last_name(only.exc) == "NotImplementedError":
        return "placeholder", "only says that it is not implemented"
    match only:
        case ast.Return(value=ast.Constant(value=str(words))) if _WORDS.match(words):
            return "placeholder", "returns a placeholder"
    return None


def _on_purpose(node: Function, owner: ast.ClassDef | None, subclassed: set[str], kind: str) -> bool:
    # What decorates a function often is its whole meaning: abstract, overload, a command group, a fixture.
    if node.decorator_list or _PURPOSE.search(node.name):
        return True
    if node.name.startswith("test"):
        return False
    if owner is None:
        return kind == "body" and node.name.startswith("__")
    if owner.bases or owner.keywords or owner.decorator_list:
        return True  # an override, or a class that says what it is
    dunder = node.name.startswith("__") and node.name.endswith("__")
    return dunder or owner.name in subclassed or bool(_OPEN_CLASS.search(owner.name))
