"""Tests of JavaScript and TypeScript by ast-grep, an extra ("tamper"): their assertions, skips and only.

They are brought to the same form as Python's tests, and compared by the same rules. Without the extra the
guard says that it could not look.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ralph.core.model.verdict import Finding
from ralph.gates.command import word_set
from ralph.gates.guards._base.states import KnownStates
from ralph.gates.guards._base.texts import Pair, label
from ralph.gates.guards._parts.script_language import MAX_CHARS, language
from ralph.gates.guards._tests.compare_tests import Pool, compare
from ralph.gates.guards._tests.py_asserts import EXACT, LOOSE, NOTHING, TRUTH, Assertion
from ralph.gates.guards._tests.py_skips import Skip
from ralph.gates.guards._tests.py_tests import Test

EXTRA = "tamper"
_BLOCK = re.compile(r"(?:[xf]?(?:test|it|describe|specify|context|suite))((?:\.\w+)*)\Z")
_ASSERT = re.compile(
    r"(?:\w+\.)?assert(?:\.\w+)*\Z|(?:t|assert)\.(?:ok|equal|notEqual|same|is|deepEqual|throws)\Z"
)
_MATCHER = re.compile(r"\.\s*(\w+)\s*(?:\(((?:.|\n)*)\))?\s*\Z")
_OPTION = re.compile(r"\b(skip|todo|only)\s*:\s*(?!false\b)")
_WEAK = word_set(
    "toBeTruthy toBeFalsy toBeDefined toBeUndefined toHaveBeenCalled toBeCalled ok notEqual notStrictEqual "
    "doesNotThrow assert exist exists isOk resolves"
)
_LOOSE = word_set(
    "toContain toMatch toMatchObject toBeGreaterThan toBeGreaterThanOrEqual toBeLessThan toBeLessThanOrEqual "
    "toBeInstanceOf toHaveProperty match include instanceOf toThrow toThrowError throws rejects "
    "toContainEqual toHaveBeenCalledTimes"
)
_LITERAL = re.compile(r"\s*(?:[-\d\"'`\[{/]|true\b|false\b|null\b|undefined\b)")
_CALLED = re.compile(r"(\w+)\s*\(")
_QUIET = re.compile(r"\b(?:throw|fail|reject|expect|assert)\b")


def find_weakened_tests(changed: list[Pair], standing: KnownStates) -> tuple[list[Finding], str]:
    """The findings, and why some could not be looked at."""
    try:
        from ast_grep_py import SgRoot  # an extra: absent in a plain installation
    except ImportError:
        why = f"the assertions of {len(changed)} JavaScript or TypeScript test files were not compared"
        return [], f'{why}: that needs the extra "{EXTRA}" (pip install ralphloop[{EXTRA}])'
    old: dict[str, dict[str, Test]] = {}
    new: dict[str, dict[str, Test]] = {}
    unread = []
    for pair in changed:
        try:
            old[pair.path] = _read(SgRoot, pair.change.before, pair.old)
            new[pair.path] = _read(SgRoot, pair.path, pair.new)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - a panic of the parser is no Exception
            unread.append(pair.path)
    pool = _pool(old, new)
    found: list[Finding] = []
    for pair in changed:
        if pair.path in unread:
            continue
        for name, before in old[pair.path].items():
            found += _compare_pair(pair, name, before, new[pair.path].get(name), pool, standing)
    return found, f"the parser gave up on {', '.join(unread[:3])}" if unread else ""


def _compare_pair(
    pair: Pair, name: str, before: Test, after: Test | None, pool: Pool, standing: KnownStates
) -> list[Finding]:
    if after is None:
        return []  # the inventory knows what is gone
    base = pair.change.before
    passes, ran = standing.passes(base, name), standing.ran(pair.path, name)
    return [
        Finding(
            f"assertions.{problem.kind}:{base}:{label(name)}",
            f"{name}: {problem.says}",
            path=pair.path,
            line=problem.line,
            asks=passes if problem.kind == "skip" else not standing.was_red(base, name),
        )
        for problem in compare(before, after, pool, passes=passes, ran=ran)
    ]


def _pool(old: dict[str, dict[str, Test]], new: dict[str, dict[str, Test]]) -> Pool:
    asserts: Counter[tuple[str, str, str]] = Counter()
    for sign, files in ((1, new), (-1, old)):
        for test in (test for tests in files.values() for test in tests.values()):
            for item in test.asserts:
                if not item.dead and item.strength:
                    asserts[item.same] += sign
    return Pool(asserts, Counter(), frozenset())


def _read(root: Any, path: str, text: str) -> dict[str, Test]:
    if len(text) > MAX_CHARS:
        raise ValueError("too large")
    calls = root(text, language(path)).root().find_all(kind="call_expression")
    spots = []  # (start, -end, node, callee)
    for call in calls:
        callee = call.field("function")
        if callee is None:
            continue
        if callee.kind() == "call_expression":  # it.each(table)(name, body)
            inner = callee.field("function")
            word = inner.text() if inner is not None else ""
        else:
            word = callee.text() if callee.kind() in ("identifier", "member_expression") else ""
        if len(word) < 80 and (word == "expect" or _BLOCK.match(word) or _ASSERT.match(word)):
            span = call.range()
            spots.append((span.start.index, -span.end.index, call, word))
    spots.sort(key=lambda spot: spot[:2])
    return _assemble_tests(spots)


def _assemble_tests(spots: list[tuple[int, int, Any, str]]) -> dict[str, Test]:
    """Every assertion goes to the tests around it; the innermost names it."""
    tests: dict[str, Test] = {}
    around: list[tuple[int, str, tuple[Skip, ...]]] = []  # end, full name, skips
    asserts: dict[str, list[Assertion]] = {}
    for start, minus_end, call, word in spots:
        while around and around[-1][0] <= start:
            around.pop()
        if _BLOCK.match(word):
            title = _title(call)
            if title is None:
                continue
            name = f"{around[-1][1]} > {title}" if around else title
            skips = (*(around[-1][2] if around else ()), *_skips(call, word))
            around.append((-minus_end, name, skips))
            line = call.range().start.line + 1
            tests[name] = Test(name, line, (), skips)
            asserts.setdefault(name, [])
        elif around:
            asserts[around[-1][1]].append(_assertion(call, word))
    return {
        name: Test(name, test.line, tuple(asserts[name]), test.skips, calls=frozenset())
        for name, test in tests.items()
    }


def _title(call: Any) -> str | None:
    arguments = call.field("arguments")
    first = next(
        (item for item in arguments.children() if item.kind() in ("string", "template_string")), None
    )
    return first.text()[1:-1] if first is not None else None


def _skips(call: Any, word: str) -> list[Skip]:
    line = call.range().start.line + 1
    found = []
    head = word.split(".", 1)[0]
    if head.startswith("x"):
        found.append(Skip("skip", line))
    if head in ("fit", "fdescribe", "ftest"):
        found.append(Skip("only", line))
    found += [
        Skip(part, line)
        for part in word.split(".")[1:]
        if part in ("skip", "todo", "only", "failing", "fails")
    ]
    for item in call.field("arguments").children():
        if item.kind() == "object" and len(item.text()) < 500:
            found += [Skip(match.group(1), line) for match in _OPTION.finditer(item.text())]
        if item.kind() in ("arrow_function", "function_expression", "function"):
            head_text = item.text()[:4000]
            found += [Skip(kind, line) for kind in re.findall(r"\bt\.(skip|todo)\(", head_text)]
            found += [Skip("skip", line) for _ in re.findall(r"\bthis\.skip\(", head_text)]
    return found


def _assertion(call: Any, word: str) -> Assertion:
    node = call
    if word == "expect":
        while True:
            parent = node.parent()
            if parent is None or parent.kind() not in ("member_expression", "call_expression"):
                break
            if parent.kind() == "call_expression" and parent.field("function") != node:
                break
            node = parent
        subject = _squeezed(call.field("arguments").text()[1:-1])
        match = _MATCHER.search(node.text()[len(call.text()) :])
        matcher, given = (match.group(1), match.group(2) or "") if match else ("", "")
        if ".not." in node.text()[len(call.text()) :]:
            matcher = f"not {matcher}"
    else:
        matcher = word.rsplit(".", 1)[-1]
        parts = [
            item.text()
            for item in call.field("arguments").children()
            if item.kind() not in ("(", ")", ",", "comment")
        ]
        subject, given = (_squeezed(parts[0]) if parts else ""), parts[1] if len(parts) > 1 else ""
    given = _squeezed(given)
    return Assertion(
        op=matcher,
        left=subject,
        right=given,
        strength=_strength(matcher, subject, given),
        line=call.range().start.line + 1,
        values=(given,) if _LITERAL.match(given) else (),
        called=frozenset(_CALLED.findall(subject)),
        dead=_dead(node),
    )


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text[:4000]).replace("'", '"').rstrip(",")


def _strength(matcher: str, subject: str, given: str) -> int:
    plain = matcher.removeprefix("not ")
    if _LITERAL.match(subject) and (not given or _LITERAL.match(given)) and "(" not in subject:
        return NOTHING
    if given and given == subject and not matcher.startswith("not "):
        return NOTHING
    if plain in _WEAK or (matcher.startswith("not ") and plain != "toThrow"):
        return TRUTH
    return LOOSE if plain in _LOOSE else EXACT


def _dead(node: Any) -> str:
    """Why this assertion cannot fail where it stands."""
    for _ in range(40):
        parent = node.parent()
        if parent is None:
            return ""
        kind = parent.kind()
        if kind in ("arrow_function", "function_expression", "function_declaration", "program"):
            return ""
        if kind == "statement_block" and any(item.kind() == "return_statement" for item in node.prev_all()):
            return "it comes after the end of the test"
        if kind == "if_statement" and parent.field("condition").text().strip("() ") in ("false", "0", "null"):
            return "it is under a condition that is never true"
        if kind == "try_statement" and parent.field("body") == node:
            handler = parent.field("handler")
            if handler is not None and not _QUIET.search(handler.text()):
                return "its failure is swallowed"
        node = parent
    return ""
