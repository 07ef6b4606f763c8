"""Was a test's subject taken out of the product, because the task asks for that? Then the test goes with it.

A name counts as gone when the base defined it in a file that changed, no code of the result holds the word
any more, and the task asks for its removal, or for that of the module or class it stood in. Everything else
that makes a test disappear is for others to judge.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache

from ralph.core.model.gate import Gate
from ralph.gates.guards._base.asked_for import wants_removal
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.test_files import files_of_tests
from ralph.gates.guards._base.texts import decode, is_testing, pairs
from ralph.gates.guards._parts.test_parts import kind_of
from ralph.gates.guards._tests.py_syntax import Function, parse

_DEFINED = re.compile(
    r"^[ \t]*(?:export\s+)?(?:default\s+)?(?:async\s+)?"
    r"(?:def|class|function\*?|const|let|var|fn|func|type|interface|enum)\s+(\w+)|^(\w+)\s*(?::[^=\n]+)?=(?!=)|\bexports\.(\w+)\s*=",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_]\w+")
_CODE = re.compile(r"\.(?:py|pyi|[cm]?[jt]sx?|go|rs|rb|java|kt|php|cs)\Z")
_NEXT = re.compile(r"^\s*(?:test|it|describe|suite)\b", re.MULTILINE)
_READ = 2000  # files looked into at most; with more of them nothing counts as gone


def removed_on_request(facts: GuardFacts, gate: Gate) -> Callable[[str], bool]:
    """A question to ask of base tests that are gone, or red over the new source."""
    paths = files_of_tests(facts, gate, at_base=True)

    @lru_cache(maxsize=1)
    def names_gone() -> frozenset[str]:
        return _gone_names(facts)

    def is_removed(name: str) -> bool:
        path = paths.get(name, "")
        return bool(path) and bool(_words_of_test(facts, path, name) & names_gone())

    return is_removed


def _gone_names(facts: GuardFacts) -> frozenset[str]:
    asked: set[str] = set()
    for pair in pairs(facts):
        path = pair.change.before
        if not pair.old or not _CODE.search(path) or is_testing(path):
            continue
        names = {next(filter(None, found)) for found in _DEFINED.findall(pair.old)}
        left = set(_WORD.findall(pair.new))
        homes = [path.rsplit("/", 1)[-1].rsplit(".", 1)[0]] if not pair.new else []
        homes += [home for home in re.findall(r"^class\s+(\w+)", pair.old, re.MULTILINE) if home not in left]
        asked |= {
            name for name in names - left if any(wants_removal(facts.task, each) for each in (name, *homes))
        }
    return frozenset(asked - _words_of_product(facts)) if asked else frozenset()


def _words_of_product(facts: GuardFacts) -> set[str]:
    """Every word in code of the result that is no test."""
    deleted = {change.before for change in facts.changes if change.status in "DR"}
    paths = (facts.base_paths - deleted) | {change.path for change in facts.changes if change.status != "D"}
    code = [path for path in paths if _CODE.search(path) and not is_testing(path)]
    if len(code) > _READ:
        return set(_WORD.findall(" ".join(pair.old for pair in pairs(facts))))
    return {word for path in code for word in _WORD.findall(decode(facts.read_result(path)))}


def _words_of_test(facts: GuardFacts, path: str, name: str) -> set[str]:
    """The names that this one test of the base uses."""
    text = decode(facts.read_base(path))
    if kind_of(path) != "py":
        title = name.rsplit(" > ", 1)[-1]
        at = text.find(title)
        end = _NEXT.search(text, at + len(title)) if at >= 0 else None
        return set(_WORD.findall(text[at : end.start() if end else len(text)])) if at >= 0 else set()
    last = re.split(r"::|\.", name.partition("[")[0])[-1]
    tree = parse(text)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, Function) and node.name == last:
            used = (each for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute)))
            return {each.id if isinstance(each, ast.Name) else each.attr for each in used}
    return set()
