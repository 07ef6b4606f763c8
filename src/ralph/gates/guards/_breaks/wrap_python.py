"""Python's functions, wrapped by a decorator of our own; the file's own line ends its loading."""

from __future__ import annotations

import ast

from ralph.gates.guards._breaks.break_function import LINE, changed_functions
from ralph.gates.guards._tests.py_syntax import parse
from ralph.gates.programs import program_text

_NAME = "__broken_on_purpose__"


def wrap(path: str, old: bytes | None, new: bytes, mode: str, marks: str) -> dict[str, bytes]:
    text = new.decode("utf-8-sig")
    tree = ast.parse(text)
    lines = LINE.findall(text)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    # Executed at the top of the file, before its own code could replace what is used there.
    program = program_text("wrap_python.py") % {
        "marks": marks,
        "mode": mode,
        "path": path,
        "kept": _kept_classes(old, tree),
    }
    helper = f"exec({program!r}, {_NAME} := {{}})\n"
    if mode in ("module", "unloaded"):
        fails = f"{_NAME}['end_of_module']()\n"
        lines.insert(len(lines) if mode == "module" else first_free_line(tree), fails)
    else:
        chosen = [node for _, node in changed_functions(old, tree)]
        unnamed = _made_functions(old, tree)
        if not chosen and not unnamed and mode != "trace":
            return {}
        lines.append(f"{_NAME}['end_of_file'](globals(), {unnamed!r})\n")
        for node in sorted(chosen, key=lambda one: -one.lineno):
            lead = lines[node.lineno - 1][: node.col_offset]
            if not lead.strip():  # else it shares its line with something: left as it is
                lines.insert(node.lineno - 1, f"{lead}@{_NAME}['broken']\n")
    lines.insert(first_free_line(tree), helper)
    made = "".join(lines)
    ast.parse(made)
    return {path: made.encode()}


def _made_functions(old: bytes | None, tree: ast.Module) -> list[str]:
    """Names that may be functions without a `def`: lambdas, parts of functions, texts that are executed."""
    known = parse(old) if old is not None else None
    before = {ast.dump(node) for node in known.body} if known is not None else set()
    new = [node for node in tree.body if ast.dump(node) not in before]
    makes = [node for node in new if any(isinstance(one, ast.Lambda | ast.Call) for one in ast.walk(node))]
    given = (one for node in makes for one in getattr(node, "targets", ()) if isinstance(one, ast.Name))
    calls = [
        ast.unparse(node.value.func)
        for node in makes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ]
    return [*(one.id for one in given), *(name for name in calls if name == "exec")]


def _kept_classes(old: bytes | None, tree: ast.Module) -> list[str]:
    """Those that are as they were at the base."""
    known = parse(old) if old is not None else None
    before = {ast.dump(node) for node in _classes(known)} if known is not None else set()
    return [node.name for node in _classes(tree) if ast.dump(node) in before]


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def first_free_line(tree: ast.Module) -> int:
    """How many lines stay above: a docstring, imports of the future, comments such as the coding."""
    above = 0
    for node in tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and above == 0
        if not text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            marks = getattr(node, "decorator_list", [])
            return above or min([node.lineno, *(mark.lineno for mark in marks)]) - 1
        above = node.end_lineno or node.lineno
    return above
