"""Guard "assertions": the base's tests still ask what they asked, by their syntax trees.

Where the readings show that a test's version from the base passes over the new source, its change is the
author's business; only a new skip or an assertion that can no longer fail is then held against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ralph.core.model import Finding, GuardResult
from ralph.gates.guards import jstests
from ralph.gates.guards.compare_tests import Pool, Problem, compare
from ralph.gates.guards.facts import Facts
from ralph.gates.guards.hooks import hook_findings
from ralph.gates.guards.kinds import settled
from ralph.gates.guards.paths import is_test
from ralph.gates.guards.pysyntax import TROUBLE, parsed
from ralph.gates.guards.pytests import Module, Test, read_module
from ralph.gates.guards.states import Standing, standing
from ralph.gates.guards.texts import Pair, is_testing, pairs

NAME = "assertions"


class _Seen(Struct, frozen=True):
    """One test at the base and in the result, wherever it stands there."""

    path: str
    name: str
    before: Test
    after: Test


def check(facts: Facts) -> GuardResult:
    known = {
        path for reading in (*facts.base.values(), *facts.final.values()) for path in reading.files.values()
    }
    python, script = [], []
    for pair in pairs(facts):
        path = pair.change.before
        if path in known or pair.path in known or is_testing(path) or is_testing(pair.path):
            if path.endswith(".py"):
                python.append(pair)
            elif jstests.language(path) and (is_test(path) or path in known):
                script.append(pair)
    shown = standing(facts)
    findings, unread = _python(facts, python, shown)
    findings += hook_findings(facts)
    blind = []
    if unread:
        blind.append(f"this Python cannot read {', '.join(unread[:3])}: its assertions are not compared")
    changed = [pair for pair in script if pair.old and pair.change.status != "D"]
    if changed:
        more, why = jstests.look(changed, shown)
        findings += more
        if why:
            blind.append(why)
    return settled(
        NAME,
        facts,
        findings,
        good=f"the assertions of {len(python) + len(script)} changed test files hold",
        bad="tests of the base ask less than they did",
        blind="; ".join(blind),
    )


def _python(facts: Facts, changed: list[Pair], shown: Standing) -> tuple[list[Finding], list[str]]:
    old: dict[str, Module] = {}
    new: dict[str, Module] = {}
    unread: list[str] = []
    for pair in changed:
        for side, path, text, into in (
            ("old", pair.change.before, pair.old, old),
            ("new", pair.path, pair.new, new),
        ):
            module = _module(facts, side, path, text)
            if module is not None:
                into[path] = module
            elif side == "new" and pair.change.before in old:
                unread.append(path)
    moved = {pair.change.before: pair.path for pair in changed if pair.change.status != "D"}
    pool = _pool(new)
    found: list[Finding] = []
    for seen in _matched(old, new, moved):
        where = moved.get(seen.path, seen.path)
        is_test = seen.before.is_test  # a helper is as good as the tests around it
        passes = shown.passes(seen.path, seen.name) if is_test else shown.file_passes(seen.path)
        ran = shown.ran(seen.path, seen.name) or shown.ran(where, seen.name)
        doubled = new[where].doubled.get(seen.name) if where in new else None
        if doubled and seen.name not in old[seen.path].doubled and not passes and is_test:
            text = f"{seen.name} is defined a second time, and the later one hides it"
            found.append(
                Finding(f"assertions.shadowed:{seen.path}::{seen.name}", text, path=where, line=doubled)
            )
        problems = compare(seen.before, seen.after, pool, passes=passes, ran=ran)
        found += [_finding(seen, where, problem) for problem in problems]
    return found, unread


def _module(facts: Facts, side: str, path: str, text: str) -> Module | None:
    if not text:
        return Module({}, {})
    tree = parsed(facts, side, path, text)
    if tree is None:
        return None
    try:
        return read_module(tree)
    except TROUBLE:
        return None


def _matched(old: dict[str, Module], new: dict[str, Module], moved: dict[str, str]) -> Iterator[_Seen]:
    """Each base test with its successor: in its own file, else the only one of that name elsewhere."""
    taken: set[tuple[str, str]] = set()
    left: list[tuple[str, Test]] = []
    for path, module in old.items():
        there = new.get(moved.get(path, ""))
        for name, test in module.tests.items():
            if there is not None and name in there.tests:
                taken.add((moved[path], name))
                yield _Seen(path, name, test, there.tests[name])
            elif test.is_test:
                left.append((path, test))
    elsewhere: dict[str, list[tuple[str, Test]]] = {}
    for path, module in new.items():
        for name, test in module.tests.items():
            if (path, name) not in taken:
                elsewhere.setdefault(name.rsplit(".", 1)[-1], []).append((path, test))
    for path, test in left:
        places = elsewhere.get(test.name.rsplit(".", 1)[-1], [])
        if len(places) == 1:
            yield _Seen(path, test.name, test, places[0][1])


def _pool(new: dict[str, Module]) -> Pool:
    """Everything the changed test files of the result assert, to find again what moved."""
    asserts: Counter[tuple[str, str, str]] = Counter()
    cases: Counter[tuple[str, ...]] = Counter()
    asserting: set[str] = set()
    for module in new.values():
        for name, test in module.tests.items():
            live = [item for item in test.asserts if not item.dead and item.strength]
            asserts.update(item.same for item in live)
            cases.update(test.cases)
            if live and not test.is_test:
                asserting.add(name.rsplit(".", 1)[-1])
    return Pool(asserts, cases, frozenset(asserting))


def _finding(seen: _Seen, where: str, problem: Problem) -> Finding:
    key = f"assertions.{problem.kind}:{seen.path}::{seen.name}"
    return Finding(key, f"{seen.name}: {problem.says}", path=where, line=problem.line)
