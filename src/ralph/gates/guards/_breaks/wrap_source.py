"""Source wrapped for an experiment: its functions do their work, say so, and then fail.

A check that calls a function which fails must turn red. One that stays green did not come to its end, or its
answer is made elsewhere. The original body is executed first, so that an exit, an exec or a hook inside of it
happens as it would, and shows.

Modes: `after` fails when the body has ended, `instead` fails at once, `module` fails at the end of loading
the file, `trace` does not fail, `foreign` gives something else back than the body did, `valued` fails
where something is given back. Marks are lines in a file: `i NAME` a function was entered, `o` it was left,
`x NAME` the process was ended with success in it, `q NAME` what it gave equals everything (Python). Where
no end can be watched (Go, Rust), `e NAME` and `l NAME` are written by the thread that the program ends with:
what was entered and never left is where it ended.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from ralph.gates.guards._breaks import wrap_go, wrap_javascript, wrap_python, wrap_rust, wrap_shell
from ralph.gates.guards._breaks.break_function import (
    JS_FUNCTIONS,
    LINE,
    Broken,
    all_functions,
    break_javascript,
    break_python,
    changed_bodies,
)
from ralph.gates.guards._parts.script_language import MAX_CHARS, language

Mode = Literal["after", "instead", "module", "unloaded", "trace", "foreign", "valued", "apart", "copied"]
MAX_MARKS = 1 << 20  # bytes
_GENERATED = re.compile(rb"@generated|DO NOT EDIT|do not edit|[Gg]enerated by")


class Marks(Struct, frozen=True):
    """What wrapped code said about itself in one call of a gate."""

    entered: int = 0
    left: int = 0
    exits: tuple[str, ...] = ()  # functions in which a process was ended as a success
    unfinished: tuple[str, ...] = ()  # functions in which a program ended, whatever ended it
    names: frozenset[str] = frozenset()  # functions that were entered
    lies: tuple[str, ...] = ()  # functions that gave what equals everything
    made_plain: frozenset[str] = frozenset()  # classes that did otherwise than their type of the language


def read_marks(data: bytes) -> Marks:
    lines = data[:MAX_MARKS].decode("utf-8", "replace").splitlines()
    count = Counter(line[:1] for line in lines)
    exits = dict.fromkeys(line[2:][:80] for line in lines if line.startswith("x "))
    inside = Counter(line[2:][:80] for line in lines if line.startswith("e "))
    inside.subtract(line[2:][:80] for line in lines if line.startswith("l "))
    unfinished = tuple(name for name, times in inside.items() if times > 0)
    names = frozenset(line[2:][:80] for line in lines if line.startswith("i "))
    lies = tuple(sorted({line[2:][:80] for line in lines if line.startswith("q ")}))
    plain = frozenset(line[2:][:80] for line in lines if line.startswith("t "))
    return Marks(count["i"], count["o"], tuple(exits), unfinished, names, lies, plain)


def wrap_source(path: str, old: bytes | None, new: bytes, mode: Mode, marks: str) -> dict[str, bytes]:
    """Files to write over the tree so that what the change brought to this file fails; {} = nothing can.

    `marks` is the file for marks, as the judged code sees it.
    """
    if len(new) > MAX_CHARS or (wrap := _wrapper(path)) is None:
        return {}
    try:
        return wrap(path, old, new, mode, marks)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of ast-grep's parser is no Exception
        return {}


def broken_versions(
    path: str, old: bytes | None, new: bytes, *, other: bool = False
) -> list[tuple[str, dict[str, bytes]]]:
    """(function, the files with that function broken), the largest first.

    It does nothing and gives nothing back. `other`: an object that equals nothing else; in Go and Rust it
    does its work and gives something foreign. A test that asks only whether something came back notices
    nothing, one that asks only whether it is true notices the other.
    """
    if len(new) > MAX_CHARS:
        return []
    found: list[Broken] = []
    try:
        if path.endswith((".py", ".pyi")):
            found = break_python(path, old, new, other=other)
        elif language(path):
            found = break_javascript(path, old, new, other=other)
        elif path.endswith((".go", ".rs")):
            kind, mode = (wrap_go if path.endswith(".go") else wrap_rust), "foreign" if other else "nothing"
            for at, body in enumerate(kind.bodies_of(old, new.decode())):
                if files := kind.wrap(path, old, new, mode, os.devnull, only=at):
                    found.append((body.end - body.start, body.name, files))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of ast-grep's parser is no Exception
        return []
    return [(name, files) for _, name, files in sorted(found, key=lambda item: (-item[0], item[1]))]


def add_comments(path: str, new: bytes) -> dict[str, bytes]:
    """The file with comments at its top, in its functions and at its end: they mean nothing to anybody."""
    sign = "#" if path.endswith((".py", ".sh", ".bash")) else "//" if _wrapper(path) is not None else ""
    if not sign or len(new) > MAX_CHARS or _GENERATED.search(new):
        return {}
    try:
        text = new.decode()
        if path.endswith(".py"):
            text = _python_comments(text)
        elif sign == "//":
            text = _other_comments(path, text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of ast-grep's parser is no Exception
        return {}
    return {path: f"{text.rstrip()}\n\n\n{sign} The end of this file.\n".encode()}


def _python_comments(text: str) -> str:
    tree, lines = ast.parse(text), LINE.findall(text)
    for _, node in sorted(all_functions(tree), key=lambda one: -one[1].lineno):
        first = node.body[0]
        at = min([first.lineno, *(mark.lineno for mark in getattr(first, "decorator_list", []))])
        if at > node.lineno:
            lines.insert(at - 1, f"{' ' * first.col_offset}# The body of {node.name}.\n")
    lines.insert(wrap_python.first_free_line(tree), "# The beginning.\n")
    return "".join(lines)


def _other_comments(path: str, text: str) -> str:
    tongue = "go" if path.endswith(".go") else "rust" if path.endswith(".rs") else language(path)
    kinds = {"go": ("function_declaration", "method_declaration"), "rust": ("function_item",)}
    for body in reversed(changed_bodies(tongue, kinds.get(tongue, JS_FUNCTIONS), None, text)):
        if text[body.start : body.start + 2] == "{\n":
            text = f"{text[: body.start + 1]} // The body.{text[body.start + 1 :]}"
    return text


def _wrapper(path: str) -> Callable[[str, bytes | None, bytes, str, str], dict[str, bytes]] | None:
    if path.endswith(".py"):
        return wrap_python.wrap
    if language(path) and not path.endswith(".d.ts"):
        return wrap_javascript.wrap
    if path.endswith(".go") and not path.endswith("_test.go"):
        return wrap_go.wrap
    if path.endswith((".sh", ".bash")):
        return wrap_shell.wrap
    return wrap_rust.wrap if path.endswith(".rs") else None
