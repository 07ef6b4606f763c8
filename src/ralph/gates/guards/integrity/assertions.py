"""Guard "assertions": the base's tests still ask what they asked, by their syntax trees.

Where the readings show that a test's version from the base passes over the new source, its change is the
author's business; only a new skip or an assertion that can no longer fail is then held against it. What a
test that was green asks otherwise may be what was wanted, so it asks; of a red one it accuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import TAKE_OUT, guard_kinds, guard_result
from ralph.gates.guards._base.states import KnownStates, known_states
from ralph.gates.guards._base.texts import Pair, is_testing, pairs
from ralph.gates.guards._files.known_tests import changed_tests, files_with_tests
from ralph.gates.guards._parts.script_language import language
from ralph.gates.guards._tests import js_tests
from ralph.gates.guards._tests.compare_tests import Pool, Weakening, compare
from ralph.gates.guards._tests.py_module import PyOutline, is_same, outline
from ralph.gates.guards._tests.py_syntax import TROUBLE, parse_once
from ralph.gates.guards._tests.py_tests import Test, read_test
from ralph.gates.guards._tests.pytest_hooks import hook_findings
from ralph.gates.judging_paths import is_test

NAME = "assertions"
CALLED = True
KINDS = guard_kinds(NAME, "make the test check what it checked on the base", {
    "removed": ("accuses or asks", "an assertion of a base test is gone"),
    "tautology": ("accuses", "an assertion can no longer fail"),
    "weakened": ("accuses or asks", "an assertion now accepts more than it did"),
    "expected": ("accuses or asks", "the value a test expects was changed"),
    "dead": ("accuses", "an assertion is no longer reached, or its failure is swallowed"),
    "widened": ("accuses or asks", "a test expects a broader exception, or no longer its message"),
    "cases": ("accuses or asks", "cases of a parametrised or looping test are gone"),
    "skip": ("accuses or asks", "a skip, xfail, todo or only was added to a base test"),
    "shadowed": ("accuses", "the name of a base test is defined again and hides it",
        "give the new one another name"),
    "hook": ("accuses", "a pytest hook was added that changes what tests report", TAKE_OUT),
})  # fmt: skip


class _Seen(Struct, frozen=True):
    """One test at the base and in the result, wherever it stands there."""

    path: str
    name: str
    before: Test
    after: Test


class _Both(Struct, frozen=True):
    """The changed test files, at the base and in the result, and where the base's files are now."""

    old: dict[str, PyOutline]
    new: dict[str, PyOutline]
    moved: dict[str, str]


def check(facts: GuardFacts) -> GuardResult:
    tests = changed_tests(facts)
    known = files_with_tests(facts) | tests.whole | tests.mixed
    python, script = [], []
    for pair in pairs(facts):
        path = pair.change.before
        if path in known or pair.path in known or is_testing(path) or is_testing(pair.path):
            if path.endswith(".py"):
                python.append(pair)
            elif language(path) and (is_test(path) or path in known):
                script.append(pair)
    shown = known_states(facts)
    findings, unread = _python(facts, python, shown)
    findings += hook_findings(facts)
    blind = []
    if unread:
        blind.append(f"this Python cannot read {', '.join(unread[:3])}: its assertions are not compared")
    changed = [pair for pair in script if pair.old and pair.change.status != "D"]
    if changed:
        more, why = js_tests.find_weakened_tests(changed, shown)
        findings += more
        if why:
            blind.append(why)
    return guard_result(
        NAME,
        facts,
        findings,
        good=f"the assertions of {len(python) + len(script)} changed test files hold",
        bad="tests of the base ask less than they did",
        blind="; ".join(blind),
    )


def _python(facts: GuardFacts, changed: list[Pair], shown: KnownStates) -> tuple[list[Finding], list[str]]:
    both = _Both({}, {}, {pair.change.before: pair.path for pair in changed if pair.change.status != "D"})
    unread: list[str] = []
    for pair in changed:
        if pair.old == pair.new:
            continue
        sides = (("old", pair.change.before, pair.old, both.old), ("new", pair.path, pair.new, both.new))
        for side, path, text, into in sides:
            module = _module(facts, side, path, text)
            if module is not None:
                into[path] = module
            elif side == "new" and pair.change.before in both.old:
                unread.append(path)
    try:
        seen, pool = _read(both)
    except TROUBLE:
        return [], [*unread, *both.new]
    return [finding for one in seen for finding in _compare_seen(one, both, pool, shown)], unread


def _compare_seen(seen: _Seen, both: _Both, pool: Pool, shown: KnownStates) -> Iterator[Finding]:
    where = both.moved.get(seen.path, seen.path)
    is_test = seen.before.is_test  # a helper is as good as the tests around it
    passes = shown.passes(seen.path, seen.name) if is_test else shown.file_passes(seen.path)
    ran = shown.ran(seen.path, seen.name) or shown.ran(where, seen.name)
    doubled = both.new[where].doubled.get(seen.name) if where in both.new else None
    if doubled and seen.name not in both.old[seen.path].doubled and not passes and is_test:
        key = f"assertions.shadowed:{seen.path}::{seen.name}"
        text = f"{seen.name} is defined a second time, and the later one hides it"
        yield Finding(key, text, path=where, line=doubled)
    for problem in compare(seen.before, seen.after, pool, passes=passes, ran=ran):
        red = shown.was_red(seen.path, seen.name) if is_test else shown.base.file(seen.path) == "fail"
        # A skip hides nothing where the base's version was run over the new source, and is green.
        yield _finding(seen, where, problem, asks=passes if problem.kind == "skip" else not red)


def _module(facts: GuardFacts, side: str, path: str, text: str) -> PyOutline | None:
    if not text:
        return PyOutline({}, {}, {})
    tree = parse_once(facts, side, path, text)
    if tree is None:
        return None
    try:
        return outline(tree, text)
    except TROUBLE:
        return None


def _read(both: _Both) -> tuple[list[_Seen], Pool]:
    """Everything that differs, read in full: base tests with their successors, and what there is in all."""
    seen: list[_Seen] = []
    gone: list[tuple[str, Test]] = []
    added: list[tuple[str, Test]] = []
    for path, module in both.old.items():
        there = both.new.get(both.moved.get(path, ""), PyOutline({}, {}, {}))
        changed = frozenset(
            name for name, text in module.tables.items() if there.tables.get(name) != text
        ) | (there.tables.keys() - module.tables.keys())
        for name, entry in module.entries.items():
            after = there.entries.get(name)
            if after is None:
                gone.append((path, read_test(entry)))
            elif not is_same(entry, after, changed) or name in there.doubled:
                seen.append(_Seen(path, name, read_test(entry), read_test(after)))
    origin = {now: path for path, now in both.moved.items()}
    for path, module in both.new.items():
        was = both.old.get(origin.get(path, ""), PyOutline({}, {}, {}))
        added += [
            (path, read_test(entry)) for name, entry in module.entries.items() if name not in was.entries
        ]
    pool = _pool(
        [*(one.before for one in seen), *(test for _, test in gone)],
        [*(one.after for one in seen), *(test for _, test in added)],
        both.new,
    )
    return [*seen, *_elsewhere(gone, added)], pool


def _elsewhere(gone: list[tuple[str, Test]], added: list[tuple[str, Test]]) -> Iterator[_Seen]:
    """Tests that left their file, with the only new one of that name."""
    places: dict[str, list[Test]] = {}
    for _, test in added:
        places.setdefault(test.name.rsplit(".", 1)[-1], []).append(test)
    for path, test in gone:
        found = places.get(test.name.rsplit(".", 1)[-1], [])
        if test.is_test and len(found) == 1:
            yield _Seen(path, test.name, test, found[0])


def _pool(before: list[Test], after: list[Test], new: dict[str, PyOutline]) -> Pool:
    """What the change as a whole asserts more or less often than the base, to find again what moved."""
    asserts: Counter[tuple[str, str, str]] = Counter()
    cases: Counter[tuple[str, ...]] = Counter()
    for sign, tests in ((1, after), (-1, before)):
        for test in tests:
            for item in test.asserts:
                if not item.dead and item.strength:
                    asserts[item.same] += sign
            if sign > 0:
                cases.update(test.cases)
    helpers = (entry for module in new.values() for entry in module.entries.values() if not entry.is_test)
    asserting = frozenset(entry.node.name for entry in helpers if "assert" in entry.text)
    return Pool(asserts, cases, asserting)


def _finding(seen: _Seen, where: str, problem: Weakening, *, asks: bool) -> Finding:
    key = f"assertions.{problem.kind}:{seen.path}::{seen.name}"
    return Finding(key, f"{seen.name}: {problem.says}", path=where, line=problem.line, asks=asks)
