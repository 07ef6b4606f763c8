"""Tests that note their own ends: `p NAME` came to its end, `r NAME` did not, `u NAME` cannot tell.

What a runner reports can be made by the judged code; so can these notes, but not by whoever does not know of
them. A test is changed by them as well: who forges only while the tests are as they were lets it turn red.
Python and JavaScript also tell which functions of the language are no longer its own (`n NAME FUNCTION`),
Python which parts of libraries that a test uses are the project's, and these and Go which variables that
tests ask for were set since the process began, and whether it is in another time zone. Loops of Python go
over copies.
Pure text work; only tests of which it is certain where they begin.
"""

from __future__ import annotations

import ast
import builtins
import json
import posixpath
import re
import types
from collections import Counter
from collections.abc import Collection, Iterable

from msgspec import Struct

from ralph.gates.guards._breaks.break_function import LINE
from ralph.gates.guards._breaks.wrap_python import first_free_line
from ralph.gates.guards._parts.brackets import closing, split_arguments
from ralph.gates.guards._parts.script_language import heads_of, language
from ralph.gates.programs import program_text

_PLAIN_MARKS = re.compile(r"(?:pytest\.)?mark\.\w+|(?:mock\.|unittest\.mock\.)?patch(?:\.\w+)*|parametrize")
_FIXTURES = re.compile(r"\s*(?:async\b\s*)?(?:function\b\s*\w*\s*)?\(\s*\{")  # read off the parameter's text
_IMPORTS = re.compile(r"^\s*(?:import\b(?!\s*\()|export\b)", re.MULTILINE)
_ASKED = re.compile(r"\b(?:environ(?:\.get)?|[gG]etenv|LookupEnv|process\.env)\b[\[(.\"'\s]{1,3}([A-Z]\w+)")
_OWN = {
    key: value.__name__
    for key, value in vars(builtins).items()
    if isinstance(value, types.BuiltinFunctionType) or (isinstance(value, type) and not value.__flags__ & 512)
}
Noted = tuple[dict[str, bytes], dict[str, int]]  # files; tests in them that note their ends -> definitions
_NOTHING: Noted = ({}, {})
Texts = Iterable[str]


class Ends(Struct, frozen=True):
    """What tests noted, by `path::function`: how often each came to its end; those that cannot tell."""

    seen: frozenset[str]
    passed: dict[str, int]
    untold: frozenset[str]
    foreign: frozenset[tuple[str, str]]  # test, function of the language that is no longer its own


def name_of(path: str, function: str) -> str:
    return f"{path}::{function}".replace("\n", " ").replace("\t", " ")


def read_ends(marks: bytes) -> Ends:
    rows = [line.partition(" ")[::2] for line in marks.decode("utf-8", "replace").splitlines()]
    foreign = (name.partition("\t")[::2] for sign, name in rows if sign == "n")
    return Ends(
        seen=frozenset(name for _, name in rows),
        passed=Counter(name for sign, name in rows if sign == "p"),
        untold=frozenset(name for sign, name in rows if sign == "u"),
        foreign=frozenset(foreign),
    )


def asked_variables(texts: Texts) -> list[str]:
    """Variables of the process that tests ask for and do not set; the time zone, where none speaks of it."""
    whole = "\n".join(texts)
    put = r"(?i:set_?(?:env|default)|putenv)\W{1,4}%s\b|\b%s\b[\"'\]\s]*(?:(?:\?\?|\|\|)?=(?![=>])|:)"
    names = set(_ASKED.findall(whole)) if "TZ" in whole else {"TZ", *_ASKED.findall(whole)}
    return sorted(one for one in names if not re.search(put % (one, one), whole))


def note_ends(path: str, text: str, functions: Collection[str], marks: str, beside: Texts = ()) -> Noted:
    """The file with these tests noting their ends, as far as they can be found. Raises ValueError."""
    asked = asked_variables((text, *beside))
    if path.endswith(".py"):
        return _note_python(path, text, functions, marks, asked)
    if path.endswith("_test.go"):
        return _note_go(path, text, functions, marks, asked)
    if path.endswith(".rs"):
        return _note_rust(path, text, functions, marks)
    return _note_javascript(path, text, functions, marks, asked) if language(path) else _NOTHING


def _loop_over_copies(tree: ast.Module, lines: list[str]) -> list[str]:
    """A list of cases that is only gone through: what is taken out of it meanwhile comes all the same."""
    made = [one for one in tree.body if isinstance(one, ast.Assign) and isinstance(one.value, ast.List)]
    uses = Counter(one.id for one in ast.walk(tree) if isinstance(one, ast.Name))
    over = [one.iter for one in ast.walk(tree) if isinstance(one, ast.For) and isinstance(one.iter, ast.Name)]
    for name in {ast.unparse(one.targets[0]) for one in made}:
        loops = [one for one in over if one.id == name]
        for one in loops if len(loops) + 1 == uses[name] else ():
            line = lines[one.lineno - 1].encode()
            head, tail = line[: one.col_offset], line[one.end_col_offset :]
            lines[one.lineno - 1] = f"{head.decode()}tuple({name}){tail.decode()}"
    return lines


def _note_python(path: str, text: str, functions: Collection[str], marks: str, asked: list[str]) -> Noted:
    tree = ast.parse(text)
    lines = _loop_over_copies(tree, LINE.findall(text))
    defs = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    plain = _PLAIN_MARKS.match
    left = {one.name for one in defs if not all(plain(ast.unparse(mark)) for mark in one.decorator_list)}
    done = Counter[str]()  # what another decorator makes of an error is not known: namesakes are left too
    for node in sorted(defs, key=lambda one: -one.lineno):
        if node.name in functions and node.name not in left:
            done[name := name_of(path, node.name)] += 1
            lead = lines[node.lineno - 1][: node.col_offset]
            lines.insert(node.lineno - 1, f"{lead}@__noted__['noted']({name!r})\n")
    taken: dict[str, list[str]] = {}  # by module: what is taken from it
    for one in ast.walk(tree):
        if isinstance(one, ast.ImportFrom) and one.module and not one.level:
            taken.setdefault(one.module, []).extend(name.name for name in one.names)
        elif isinstance(one, ast.Import):
            for whole in one.names:
                taken.setdefault(whole.name, []).append("*")
    words = {"marks": marks, "own": _OWN, "taken": taken, "asked": asked}
    helper = program_text("note_ends.py") % (words | {"names": _names_of(tree)})
    lines.insert(first_free_line(tree), f"exec({helper!r}, __noted__ := {{}})\n")
    made = "".join(lines) + "\n__noted__['loaded'](globals())\n"
    ast.parse(made)
    return ({path: made.encode()}, done) if done else _NOTHING


def _names_of(tree: ast.Module) -> list[str]:
    """All that the file gives a name itself; nothing where others give it names."""
    nodes = list(ast.walk(tree))
    aliases = [one for one in nodes if isinstance(one, ast.alias)]
    if any(one.name == "*" for one in aliases) or "globals" in {getattr(one, "id", "") for one in nodes}:
        return []
    named = {one.asname or one.name.partition(".")[0] for one in aliases}
    given = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return sorted(named | given | {str(getattr(one, "name", "")) for one in nodes})


def _note_javascript(path: str, text: str, functions: Collection[str], marks: str, asked: list[str]) -> Noted:
    done = {}
    for function in functions:
        heads = heads_of(text, function)
        end = closing(text, heads[0].start("open"), "js") if len(heads) == 1 else -1
        if end < 0:
            continue
        for begin, last in split_arguments(text, heads[0].end("open"), end - 1, "js"):
            given = text[begin:last]
            if re.match(r"\s*(?:async\b|function\b|\(|\w+\s*=>)", given):
                if given.lstrip().startswith("__noted("):  # of another title that is made here
                    done[name_of(path, function)] = 1
                elif not _FIXTURES.match(given):
                    name = f"{json.dumps(path + '::')} + {heads[0]['title']}"
                    text = f"{text[:begin]} __noted({name}, {given}){text[last:]}"
                    done[name_of(path, function)] = 1
                break
    if not done:
        return _NOTHING
    kind = path.rsplit(".", 1)[-1]
    written = kind[0] != "c" and not re.search(r"=\s*require\(", text)  # a string may hold a line of a module
    module = kind[0] == "m" or (written and bool(_IMPORTS.search(text)))
    place = {one: f"__{one}" if module else f'require("node:{one}")' for one in ("fs", "vm")}
    clock = "Date" if re.search(r"(?i)mock|fake|freeze", text) else ""  # the test's own, perhaps
    words = {"marks": marks, "asked": asked, "left": clock}
    helper = program_text("note_ends.js") % (place | {key: json.dumps(word) for key, word in words.items()})
    lead = 'import * as __fs from "node:fs";\nimport * as __vm from "node:vm";\n' if module else ""
    typed = "// @ts-nocheck\n" if "ts" in kind and not text.startswith("#!") else ""
    return ({path: f"{typed}{text}\n{lead}{helper}".encode()}, done)


def _note_go(path: str, text: str, functions: Collection[str], marks: str, asked: list[str]) -> Noted:
    package = re.search(r"^package\s+(\w+)", text, re.MULTILINE)
    done = {}
    for function in functions:
        head = re.search(rf"^func {re.escape(function)}\((\w+) \*testing\.T\) \{{", text, re.MULTILINE)
        if head is not None and head[1] != "_":
            name = json.dumps(name_of(path, function))
            note = f" defer notedEnd({name}, notedBegin({name}, {head[1]}));"
            text = text[: head.end()] + note + text[head.end() :]
            done[name_of(path, function)] = 1
    if not done or package is None:
        return _NOTHING
    words = {"package": package[1], "marks": json.dumps(marks), "asked": ", ".join(map(json.dumps, asked))}
    helper = program_text("note_ends.go") % words
    beside = posixpath.join(posixpath.dirname(path), f"zz_noted_{package[1]}_test.go")
    return ({path: text.encode(), beside: helper.encode()}, done)


def _note_rust(path: str, text: str, functions: Collection[str], marks: str) -> Noted:
    done = {}
    for function in functions:
        heads = list(re.finditer(rf"\bfn\s+{re.escape(function)}\b(\s*\(\)\s*\{{(?!\s*#!))?", text))
        if len(heads) != 1 or not heads[0][1]:
            continue
        above = re.split(r"[;{}]\s*\n", text[: heads[0].start()])[-1]  # its own attributes and comments
        if re.search(r"#\[test\]\s*(?:pub\s+)?\Z", above) and not re.search(r"should_panic|ignore", above):
            at, name = heads[0].end(), name_of(path, function)
            words = {"marks": json.dumps(marks), "name": json.dumps(name)}
            text = text[:at] + program_text("note_ends.rs") % words + text[at:]
            done[name] = 1
    return ({path: text.encode()} if done else {}, done)
