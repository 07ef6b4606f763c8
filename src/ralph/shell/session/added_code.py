"""What is wrong with lines that were just added: seen by syntax, at once, without running any check.

For hooks that ask whether a part of the work is done. It is the hygiene guards on the difference between two
trees, and whether the changed files can be parsed at all. Parsers of other languages are started only to
parse; a file that they did not understand before is not held against anybody.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from msgspec import Struct

from ralph.core.text.clean import one_line
from ralph.gates.guards import READ, GuardFacts, inspect
from ralph.gates.guards._base.texts import MAX_BYTES, Pair, decode, is_aside, is_testing, new_numbers, pairs
from ralph.shell.git.diff_facts import compare_trees
from ralph.shell.git.store import Store
from ralph.shell.session.sql_text import built_queries

GUARDS = ("leftovers", "stubs", "secrets")
MAX_FOUND = 10
_MAX_PARSED = 20  # files for which a program is started
_TIMEOUT_SECONDS = 5.0
_TROUBLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_TYPESCRIPT = """
const m = require("node:module"), s = require("node:fs").readFileSync(process.argv[1], "utf8");
if (!m.stripTypeScriptTypes) process.exit(3);
try { m.stripTypeScriptTypes(s, { mode: "transform" }) }
catch (e) {
  if (e.code === "ERR_INVALID_TYPESCRIPT_SYNTAX") { console.error("Error: " + e.message); process.exit(1) }
}
"""
_CANNOT_TELL = 3  # exit code of a parser that does not know the language
_NODE = ("node", "--no-warnings")
_PARSERS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    # Of several ways to parse a file, one that works is enough.
    "js": (((*_NODE, "--check"), ".cjs"), ((*_NODE, "--check"), ".mjs")),
    "cjs": (((*_NODE, "--check"), ".cjs"),),
    "mjs": (((*_NODE, "--check"), ".mjs"),),
    "ts": (((*_NODE, "-e", _TYPESCRIPT), ".ts"),),
    "mts": (((*_NODE, "-e", _TYPESCRIPT), ".mts"),),
    "cts": (((*_NODE, "-e", _TYPESCRIPT), ".cts"),),
    "sh": ((("bash", "-n"), ".sh"),),
    "bash": ((("bash", "-n"), ".sh"),),
}


class AddedCode(Struct, frozen=True):
    found: tuple[str, ...]  # sentences, each with its place
    unparsed: tuple[str, ...]  # files of which nobody here can tell whether they parse


def find_in_added(
    store: Store, base: str, tree: str, task: str = "", only: frozenset[str] = frozenset()
) -> AddedCode:
    """What is wrong with added lines, in `only` these paths when any are named."""
    seen = compare_trees(store, base, tree)
    changes = tuple(one for one in seen.changes if not only or one.path in only)
    facts = GuardFacts(
        tree=tree,
        gates=(),
        base={},
        final={},
        changes=changes,
        read_base=seen.read_base,
        read_result=seen.read_result,
        base_paths=seen.base_paths,
        task=task,
    )
    found = [
        one_line(f"{finding.message}: {finding.way.partition(';')[0]}", 300)
        for result in inspect(facts, {name: READ[name] for name in GUARDS})
        for finding in result.findings
    ]
    for pair in pairs(facts):
        found += _look(facts, pair)
    parsed = [pair for pair in pairs(facts) if pair.new and _suffix(pair.path) in _PARSERS]
    said = {pair.path: _parse_outside(pair) for pair in parsed[:_MAX_PARSED]}
    said |= {pair.path: None for pair in parsed[_MAX_PARSED:]}
    found += [f"{path} does not parse: {words}" for path, words in said.items() if words]
    return AddedCode(tuple(found[:MAX_FOUND]), tuple(path for path, words in said.items() if words is None))


def parse_file(path: str, top: str) -> str:
    """Why a file of this repository does not parse; "" when it does, or nobody here could tell."""
    real = os.path.realpath(path)
    if not real.startswith(top + os.sep) or _suffix(real) not in ("py", "json"):
        return ""
    try:
        with open(real, "rb") as file:
            text = decode(file.read(MAX_BYTES))
    except OSError:
        return ""
    return _parse_error(_suffix(real), text) if text else ""


def _suffix(path: str) -> str:
    return path.rpartition(".")[2] if "." in path else ""


def _look(facts: GuardFacts, pair: Pair) -> Iterator[str]:
    """What the standard library can parse."""
    kind = _suffix(pair.path)
    if not pair.new or kind not in ("py", "json"):
        return
    wrong = _parse_error(kind, pair.new)
    if wrong and not (pair.old and _parse_error(kind, pair.old)):
        yield f"{pair.path} does not parse: {wrong}"
    if kind == "py" and not wrong and not is_testing(pair.path) and not is_aside(pair.path):
        new = new_numbers(facts, pair.path)
        for line in built_queries(ast.parse(pair.new)):
            if line in new:
                yield f"line {line} of {pair.path} puts values into SQL text (CWE-89): use parameters"


def _parse_error(kind: str, text: str) -> str:
    try:
        if kind == "py":
            ast.parse(text)
        else:
            json.loads(text)
    except _TROUBLE as wrong:
        return one_line(str(wrong), 160)
    return ""


def _parse_outside(pair: Pair) -> str | None:
    """Why it does not parse, "" when it does or did not before; None when nobody here can tell."""
    ways = _PARSERS[_suffix(pair.path)]
    wrong = _all_refuse(ways, pair.new)
    if wrong and ("Unexpected token '<'" in wrong or (pair.old and _all_refuse(ways, pair.old))):
        return ""  # JSX, and other dialects
    return wrong


def _all_refuse(ways: tuple[tuple[tuple[str, ...], str], ...], text: str) -> str | None:
    """Why no way of parsing takes this text; "" when one does, None when none came to an answer."""
    wrong = ""
    for argv, suffix in ways:
        program = shutil.which(argv[0])
        if program is None:
            return None
        with tempfile.NamedTemporaryFile("w", suffix=suffix, encoding="utf-8") as file:
            file.write(text)
            file.flush()
            try:
                done = subprocess.run(
                    [program, *argv[1:], file.name], capture_output=True, text=True, errors="replace",
                    check=False, timeout=_TIMEOUT_SECONDS, stdin=subprocess.DEVNULL, env={"PATH": os.defpath},
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired):
                return None
        if done.returncode in (0, _CANNOT_TELL):
            return None if done.returncode else ""
        said = [line for line in done.stderr.splitlines() if "rror" in line or ": line " in line]
        wrong = one_line((said or ["syntax error"])[0].replace(file.name, ""), 160)
    return wrong
