"""Which changed files are tests: by what a runner said, by their names, by what they hold and who uses them.

Whole ones are put back as they were when the base's tests judge the new source; of mixed ones, which hold the
product too, only their tests are (`test_parts`). Helpers are found by who reads them (`judge_files`).
"""

from __future__ import annotations

import ast
import re

from msgspec import Struct

from ralph.core.toolchains.load import toolchains
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import Pair, decode, pairs
from ralph.gates.guards._files.behind_command import text_behind
from ralph.gates.guards._files.test_marks import defines_tests
from ralph.gates.guards._parts.py_parts import is_test_node
from ralph.gates.guards._parts.test_parts import kind_of, splice_tests
from ralph.gates.guards._tests.py_syntax import parse
from ralph.gates.guards._watch.judge_files import watched_judges
from ralph.gates.judging_paths import is_config, is_test

_READ = 300  # files looked into at most, to learn who uses a file
_TESTS = re.compile(r"^\s*(?:async\s+)?def\s+test|^class\s+Test", re.MULTILINE)
_EXPORTS = re.compile(r"^\s*export\b|\bmodule\.exports\b|^\s*exports\.\w+\s*=", re.MULTILINE)
_RELATIVE = re.compile(r"""(?:from|require\(|import\(?)\s*["']\.{1,2}/""")


class Tests(Struct, frozen=True):
    whole: frozenset[str]  # paths at the base or in the result
    mixed: frozenset[str]


def changed_tests(facts: GuardFacts) -> Tests:
    """Of the changed files; worked out once for all guards."""
    return facts.once("tests", lambda: _changed_tests(facts))


def files_with_tests(facts: GuardFacts) -> set[str]:
    """Files that a runner collected tests from, before or after."""
    readings = (*facts.base.values(), *facts.final.values())
    return {path for reading in readings for path in reading.files.values()}


def runs_doctests(facts: GuardFacts, path: str) -> bool:
    """Are the examples in this file's docstrings part of a check?"""
    text = decode(facts.read_base(path))
    if ">>>" not in text:
        return False
    said = [text_behind(gate, facts.read_base) for gate in facts.gates]
    said += [decode(facts.read_base(name)) for name in toolchains().paths.settings]
    return path in files_with_tests(facts) or "doctest" in text or any("doctest" in words for words in said)


def with_tests_of(path: str, into: bytes | None, tests_of: bytes | None, *, doctests: bool) -> bytes | None:
    """One version of a mixed file with the tests of another; None when that cannot be done."""
    made = splice_tests(path, decode(into), decode(tests_of), doctests=doctests)
    return None if made is None else made.encode()


def _changed_tests(facts: GuardFacts) -> Tests:
    collected = files_with_tests(facts)
    whole: set[str] = set()
    mixed: set[str] = set()
    for pair in pairs(facts):
        both = {pair.change.before, pair.path}
        if any(is_test(path) or is_config(path) for path in both) or not (pair.old or pair.new):
            whole |= {path for path in both if path in collected}
            continue
        sides = ((pair.change.before, pair.old), (pair.path, pair.new))
        holds = any(text and (defines_tests(path, text) or path in collected) for path, text in sides)
        if _has_only_doctests(facts, pair) and (
            both & collected or holds or runs_doctests(facts, pair.change.before)
        ):
            mixed |= both  # whoever collects its examples, it is the product
            continue
        if holds:
            # Either version with the product in it makes it one that cannot be put back as a whole.
            texts = [text for text in (pair.old, pair.new) if text]
            if any(_has_product(facts, path, text) for path in both for text in texts):
                mixed |= both
            else:
                whole |= both
    seen = watched_judges(facts)
    return Tests(frozenset(whole | ((seen.known | seen.added) - mixed)), frozenset(mixed))


def _has_only_doctests(facts: GuardFacts, pair: Pair) -> bool:
    """No test but the examples in its docstrings, which it had already if a runner knew it at the base."""
    known = any(pair.change.before in reading.files.values() for reading in facts.base.values())
    texts = [text for text in (pair.old, pair.new) if text]
    plain = not any(defines_tests(pair.path, text) or _TESTS.search(text) for text in texts)
    return pair.path.endswith(".py") and plain and any(">>>" in text for text in texts[: 1 if known else 2])


def _has_product(facts: GuardFacts, path: str, text: str) -> bool:
    kind = kind_of(path)
    if kind == "js":
        return bool(_EXPORTS.search(text)) or "import.meta.vitest" in text or not _RELATIVE.search(text)
    if kind == "py":
        return _python_product(facts, path, text)
    if kind == "rs":
        return not text.lstrip().startswith("#![cfg(test)]") and not _only_for_tests(facts, path)
    return kind != ""


def _python_product(facts: GuardFacts, path: str, text: str) -> bool:
    """Definitions beside the tests, in a file that others use or that uses nothing else of the project."""
    tree = parse(text)
    if tree is None:
        return False
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if not any(isinstance(node, kinds) and not is_test_node(node) for node in tree.body):
        return False
    names = [name for name in facts.base_paths if name.endswith(".py")]
    own = {part.removesuffix(".py") for name in names for part in (name.split("/")[0], name.split("/")[-1])}
    for node in tree.body:
        taken = [item.name for item in node.names] if isinstance(node, ast.Import) else []
        taken += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if getattr(node, "level", 0) or own & {name.split(".")[0] for name in taken}:
            return _used(facts, path)
    return True


def _only_for_tests(facts: GuardFacts, path: str) -> bool:
    """Is this Rust file a module that another one declares for tests only?"""
    folder, _, name = path.rpartition("/")
    module = folder.rsplit("/", 1)[-1] if name == "mod.rs" else name.removesuffix(".rs")
    above = folder.rpartition("/")[0] if name == "mod.rs" else folder
    places = [f"{above}/{other}" for other in ("lib.rs", "main.rs", "mod.rs")] + [f"{above}.rs"]
    declared = re.compile(rf"#\[\s*cfg\s*\(\s*test\s*\)\s*\]\s*(?:pub\s+)?mod\s+{re.escape(module)}\s*;")
    return any(declared.search(decode(facts.read_base(place.lstrip("/")))) for place in places)


def _used(facts: GuardFacts, path: str) -> bool:
    """Does a module of the base that is no test import this one?"""
    stem = re.escape(path.rsplit("/", 1)[-1].removesuffix(".py"))
    imports = re.compile(rf"^\s*(?:from|import)\s+[^\n]*\b{stem}\b", re.MULTILINE)
    others = [one for one in sorted(facts.base_paths) if one != path and one.endswith(".py")]
    for other in others[:_READ]:
        text = decode(facts.read_base(other))
        if imports.search(text) and not (is_test(other) or defines_tests(other, text)):
            return True
    return False
