"""The text of canaries, for each runner: how they fail, and how one of them tells what the runner is made of.

Each kind fails in its own way, because an attack may disarm one way only: the plain assertion, the expected
exception that does not come, the method of the assertion library. The kind is the end of the test's name.
"""

from __future__ import annotations

import json
import re

_FOUR = ("a", "b", "c", "d")
_JS_MEANS = {
    "a": "two values that are not equal",
    "b": "an expected error that does not come",
    "c": "two objects that are not equal",
    "d": "a thrown Error",
}
JS_READS = ("mocha", "ava", "tape", "tap", "uvu", "jest", "vitest")
KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pytest", "unittest", "node", *JS_READS), _FOUR),
    "doctest": ("a", "b", "c"),
}
MEANS: dict[str, dict[str, str]] = {
    "pytest": {
        "a": "a false assert",
        "b": "pytest.raises without an exception",
        "c": "unittest's assertEqual on two values",
        "d": "a raised AssertionError",
    },
    "unittest": {
        "a": "assertEqual on two values",
        "b": "assertRaises without an exception",
        "c": "a false assert",
        "d": "a raised AssertionError",
    },
    "node": {
        "a": "assert.strictEqual on two values",
        "b": "assert.throws without an exception",
        "c": "assert.deepStrictEqual on two objects",
        "d": "a thrown Error",
    },
    "doctest": {
        "a": "another value than the expected one",
        "b": "an expected exception that does not come",
        "c": "another text than the expected one",
    },
    **dict.fromkeys(JS_READS, _JS_MEANS),
}
# What decides about red and green. Their code is compared with that of the same call at the base.
_PYTHON = (
    "_pytest.runner:call_and_report",
    "_pytest.runner:runtestprotocol",
    "_pytest.runner:pytest_runtest_makereport",
    "_pytest.runner:CallInfo.from_call",
    "_pytest.python:Function.runtest",
    "_pytest.python:pytest_pyfunc_call",
    "pluggy._callers:_multicall",
    "_pytest.reports:TestReport.from_item_and_call",
    "_pytest.main:wrap_session",
    "_pytest.main:Session.perform_collect",
    "_pytest.junitxml:LogXML.pytest_sessionfinish",
    "_pytest.junitxml:LogXML.finalize",
    "_pytest.junitxml:_NodeReporter.append_failure",
    "_pytest.outcomes:fail",
    "_pytest.raises:raises",
    "_pytest.python_api:raises",
    "unittest.case:TestCase.run",
    "unittest.case:TestCase.assertEqual",
    "unittest.case:TestCase.assertTrue",
    "unittest.case:TestCase.assertRaises",
    "unittest.case:TestCase.fail",
    "unittest.result:TestResult.addFailure",
    "unittest.result:TestResult.addError",
    "unittest.result:TestResult.wasSuccessful",
    "unittest.main:TestProgram.runTests",
    "builtins:isinstance",
    "builtins:len",
    "sys:exit",
    "os:_exit",
)
_NODE = (
    "assert.ok",
    "assert.equal",
    "assert.strictEqual",
    "assert.deepEqual",
    "assert.deepStrictEqual",
    "assert.throws",
    "assert.rejects",
    "assert.AssertionError",
    "strict.equal",
    "strict.deepEqual",
    "strict.throws",
    "test.test",
    "test.describe",
    "process.exit",
    "process.reallyExit",
    "process.emit",
    "process.on",
)
_PYTHON_PROBE = """import sys, hashlib
def look(name):
    module, _, inner = name.partition(":")
    try:
        found = sys.modules[module]
        for part in inner.split("."):
            found = getattr(found, part)
        found = getattr(found, "__func__", found)
        code = getattr(found, "__code__", None)
        if code is None:
            said = (type(found).__name__, getattr(found, "__qualname__", ""))
        else:
            said = (code.co_filename, code.co_name, code.co_code, code.co_names)
        return hashlib.sha1(repr(said).encode()).hexdigest()[:6]
    except Exception:
        return "-"
raise AssertionError(mark + "|" + ";".join(map(look, names)) + "|")
"""
_PYTEST = """

def {a}():
    left, right = 17, 71
    assert left == right


def {b}():
    import pytest

    with pytest.raises(ValueError):
        int("17")


def {c}():
    import unittest

    unittest.TestCase().assertEqual([17], [71])


def {d}():
    exec({probe}, {scope})
"""
_UNITTEST = """

class {owner}(__import__("unittest").TestCase):
    def {a}(self):
        self.assertEqual(17, 71)

    def {b}(self):
        with self.assertRaises(ValueError):
            int("17")

    def {c}(self):
        left, right = 17, 71
        assert left == right

    def {d}(self):
        exec({probe}, {scope})
"""
_DOCTEST = """

def {a}():
    \"\"\"
    >>> 17
    71
    \"\"\"


def {b}():
    \"\"\"
    >>> int("17")
    Traceback (most recent call last):
    ValueError: 17
    \"\"\"


def {c}():
    \"\"\"
    >>> print("seventeen")
    seventy
    \"\"\"
"""
# How tests of JavaScript fail: by Node's own assertions, by those of the runner's `t`, by `expect`.
_BY_ASSERT = (
    "() => { check.strictEqual(17, 71); }",
    "() => { check.throws(() => 17); }",
    "() => { check.deepStrictEqual({ left: [17] }, { left: [71] }); }",
    "() => { throw new Error(look()); }",
)
_BY_EXPECT = (
    "() => { expect(17).toBe(71); }",
    "() => { expect(() => 17).toThrow(); }",
    "() => { expect({ left: [17] }).toEqual({ left: [71] }); }",
    "() => { throw new Error(look()); }",
)


def _by_t(equal: str, same: str, last: str, end: str = "t.end(); ") -> tuple[str, ...]:
    return (
        f"(t) => {{ t.{equal}(17, 71); {end}}}",
        f"(t) => {{ t.throws(() => 17); {end}}}",
        f"(t) => {{ t.{same}({{ left: [17] }}, {{ left: [71] }}); {end}}}",
        f"(t) => {{ {last}; {end}}}",
    )


# What a runner's tests are made by, and how they fail. {run}: the runner's module.
_JS_TESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "node": ("const test = {run}.test;", _BY_ASSERT),
    "mocha": ("const test = globalThis.it || globalThis.test;", _BY_ASSERT),
    "ava": ("const test = {run};", _by_t("is", "deepEqual", "throw new Error(look())", "")),
    # What is thrown ends the whole process of tape.
    "tape": ("const test = {run};", _by_t("equal", "deepEqual", "t.fail(look())")),
    "tap": (
        "const test = (name, body) => {run}.test(name, body);",
        _by_t("equal", "same", "throw new Error(look())"),
    ),
    # Uvu tells suites apart, not tests.
    "uvu": (
        "const test = (name, body) => { const own = {run}.suite(name); own(name, body); own.run(); };",
        _BY_ASSERT,
    ),
    "jest": ("const { test, expect } = globalThis;", _BY_EXPECT),
    "vitest": ("const { test, expect } = {run};", _BY_EXPECT),
}
_GLOBAL = frozenset({"mocha", "jest"})  # nothing to import: they put their functions into every file
_JS_BODY = """
;{{
  const pick = (module) => module.default || module;
  const check = pick({own}_assert);
  const look = () => {{
    const at = {{ assert: check, strict: check.strict, test: {seen}, process }};
    const one = (name) => {{
      try {{
        const [owner, inner] = name.split(".");
        const text = Function.prototype.toString.call(at[owner][inner]);
        return pick({own}_crypto).createHash("sha1").update(text).digest("hex").slice(0, 6);
      }} catch {{
        return "-";
      }}
    }};
    return {mark} + "|" + {probed}.map(one).join(";") + "|";
  }};
  {define}
{tests}
}}
"""
_MODULE = re.compile(rb"^[ \t]*(?:import\b(?!\s*\()|export\b)", re.MULTILINE)


def _javascript(read: str, called: dict[str, str], nonce: str, *, module: bool) -> str:
    """Canaries for a file of JavaScript or TypeScript; `module`: one that uses `import`."""
    own = f"_{nonce}"
    needed = {"assert": "node:assert", "crypto": "node:crypto"}
    if read not in _GLOBAL:
        needed["run"] = "node:test" if read == "node" else read
    how = "import * as {name} from {place};" if module else "const {name} = require({place});"
    head = "\n".join(
        how.format(name=f"{own}_{name}", place=json.dumps(place)) for name, place in needed.items()
    )
    define, ways = _JS_TESTS[read]
    run = f"pick({own}_run)" if read not in ("vitest", "node") else f"{own}_run"
    rows = zip(called.values(), ways, strict=True)
    body = _JS_BODY.format(
        own=own,
        seen="{}" if read in _GLOBAL else f"{own}_run",
        mark=json.dumps(nonce),
        probed=json.dumps(list(_NODE)),
        define=define.replace("{run}", run),
        tests="\n".join(f"  test({json.dumps(name)}, {way});" for name, way in rows),
    )
    return f"\n;\n{head}\n{body}"


def canary_names(read: str, like: str, nonce: str) -> tuple[str, ...]:
    """What the canaries are called, beside a test called `like`; for unittest also their class."""
    apart = " " if read in _JS_TESTS else "_"
    return tuple(f"{like}{apart}{nonce}_{kind}" for kind in KINDS[read])


def owner(nonce: str) -> str:
    return f"Test{nonce}"


def canary_source(read: str, like: str, nonce: str, path: str = "", beside: bytes = b"") -> str:
    """`path` and `beside`: the file that they are put into, and its text."""
    called = dict(zip(KINDS[read], canary_names(read, like, nonce), strict=True))
    if read in _JS_TESTS:
        return _javascript(
            read, called, nonce, module=path.endswith((".mjs", ".mts")) or bool(_MODULE.search(beside))
        )
    scope = repr({"mark": nonce, "names": list(_PYTHON)})
    body = {"pytest": _PYTEST, "unittest": _UNITTEST, "doctest": _DOCTEST}[read]
    return body.format(**called, owner=owner(nonce), probe=repr(_PYTHON_PROBE), scope=scope)


def runner_digests(read: str, message: str, nonce: str) -> dict[str, str]:
    """The digests of the runner's parts, out of the text with which the last canary failed."""
    hit = re.search(rf"{nonce}\|([0-9a-f;-]+)\|", message)
    if hit is None:
        return {}
    parts = _NODE if read in _JS_TESTS else _PYTHON
    found = hit[1].split(";")
    if len(found) != len(parts):
        return {}
    return {name: digest for name, digest in zip(parts, found, strict=True) if digest != "-"}
