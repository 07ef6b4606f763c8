"""The text of canaries, for each runner: how they fail, and how one of them tells what the runner is made of.

Each kind fails in its own way, because an attack may disarm one way only: the plain assertion, the expected
exception that does not come, the method of the assertion library. The kind is the end of the test's name.
"""

from __future__ import annotations

import json
import re

KINDS: dict[str, tuple[str, ...]] = {
    "pytest": ("a", "b", "c", "d"),
    "unittest": ("a", "b", "c", "d"),
    "node": ("a", "b", "c", "d"),
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
_NODE_TEXT = """
;{{
  const part = (name) => process.getBuiltinModule(`node:${{name}}`);
  const check = part("assert");
  const {{ test }} = part("test");
  test({a}, () => {{ check.strictEqual(17, 71); }});
  test({b}, () => {{ check.throws(() => 17); }});
  test({c}, () => {{ check.deepStrictEqual({{ left: [17] }}, {{ left: [71] }}); }});
  test({d}, () => {{
    const at = {{ assert: check, strict: check.strict, test: part("test"), process }};
    const look = (name) => {{
      try {{
        const [owner, inner] = name.split(".");
        const text = Function.prototype.toString.call(at[owner][inner]);
        return part("crypto").createHash("sha1").update(text).digest("hex").slice(0, 6);
      }} catch {{
        return "-";
      }}
    }};
    throw new Error({mark} + "|" + {probed}.map(look).join(";") + "|");
  }});
}}
"""


def canary_names(read: str, like: str, nonce: str) -> tuple[str, ...]:
    """What the canaries are called, beside a test called `like`; for unittest also their class."""
    if read == "node":
        return tuple(f"{like} {nonce}_{kind}" for kind in KINDS[read])
    return tuple(f"{like}_{nonce}_{kind}" for kind in KINDS[read])


def owner(nonce: str) -> str:
    return f"Test{nonce}"


def canary_source(read: str, like: str, nonce: str) -> str:
    called = dict(zip(KINDS[read], canary_names(read, like, nonce), strict=True))
    if read == "node":
        spelled = {kind: json.dumps(name) for kind, name in called.items()}
        return _NODE_TEXT.format(**spelled, mark=json.dumps(nonce), probed=json.dumps(list(_NODE)))
    scope = repr({"mark": nonce, "names": list(_PYTHON)})
    body = _PYTEST if read == "pytest" else _UNITTEST
    return body.format(**called, owner=owner(nonce), probe=repr(_PYTHON_PROBE), scope=scope)


def runner_digests(read: str, message: str, nonce: str) -> dict[str, str]:
    """The digests of the runner's parts, out of the text with which the last canary failed."""
    hit = re.search(rf"{nonce}\|([0-9a-f;-]+)\|", message)
    if hit is None:
        return {}
    parts = _NODE if read == "node" else _PYTHON
    found = hit[1].split(";")
    if len(found) != len(parts):
        return {}
    return {name: digest for name, digest in zip(parts, found, strict=True) if digest != "-"}
