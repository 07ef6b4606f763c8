"""More shapes: a small JavaScript project behind `npm test`, inherited tests, a test flaky at the base."""

import json
import shutil

import pytest
from shapekit import JS_BASE, JS_DECOY, PY_BASE, write_all

pytestmark = pytest.mark.soak

# As much of tape as these tests need, printing what tape 5 prints.
TAPE = """let n = 0, bad = 0, queue = [];
const point = (ok, name) => { n += 1; bad += ok ? 0 : 1; console.log(`${ok ? "" : "not "}ok ${n} ${name}`); };
const t = {
  equal: (a, b) => point(a === b, "should be strictly equal"),
  deepEqual: (a, b) => point(JSON.stringify(a) === JSON.stringify(b), "should be deeply equivalent"),
  throws: (f) => { try { f(); point(false, "should throw"); } catch { point(true, "should throw"); } },
  fail: (text) => point(false, text),
  end: () => {},
};
module.exports = (name, body) => queue.push([name, body]);
setImmediate(() => {
  console.log("TAP version 13");
  for (const [name, body] of queue) { console.log(`# ${name}`); body(t); }
  console.log(`\\n1..${n}\\n# tests ${n}\\n# pass  ${n - bad}`);
  if (bad) { console.log(`# fail  ${bad}`); process.exitCode = 1; }
});
"""
RUN = (
    "#!/usr/bin/env node\nfor (const file of process.argv.slice(2)) require(require('path').resolve(file));\n"
)
JS_TEST = """const test = require('tape');
const value = require('../value.js');
test('test_a', (t) => { t.equal(value.a(), 1); t.end(); });
test('test_b', (t) => { t.equal(value.b(), 2); t.end(); });
"""


def test_npm_script_with_a_pipe(shape):
    """`npm test` -> `tape test/*.js | tap-spec` is read test by test, with canaries, and reaches grade A."""
    if shutil.which("npm", path=shape.env()["PATH"]) is None:
        pytest.skip("npm is not on PATH: the npm shape was NOT tested")
    package = {"name": "x", "version": "1.0.0", "scripts": {"test": "tape test/*.js | tap-spec"}}
    files = {
        "value.js": JS_BASE,
        "test/value.js": JS_TEST,
        "package.json": json.dumps(package),
        ".gitignore": "node_modules/\n",
    }
    shape.project(shape.top / "proj", files, {"value.js": JS_DECOY})
    modules = shape.repo / "node_modules"
    write_all(modules, {"tape/index.js": TAPE, "tape/package.json": '{"name": "tape"}\n', ".bin/tape": RUN})
    (modules / ".bin" / "tape").chmod(0o755)
    shape.decoy({})
    loop = shape.judged(shape.mends("value.js", "() => 0", "() => 1"), "npm test")
    assert (loop.sealed.criterion.gates[0].read, loop.grade) == ("tape", "A")


INHERITED = """import unittest

import value


class Shared:
    def test_a(self):
        self.assertEqual(value.a(), 1)

    def test_b(self):
        self.assertEqual(value.b(), 2)
"""
HEIR = """import unittest

from tests import Shared


class ItTest(Shared, unittest.TestCase):
    pass
"""


def test_inherited_tests(shape):
    """Tests written in `tests/__init__.py` and inherited elsewhere: canaries go where they are run."""
    files = {
        "value.py": PY_BASE,
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "tests/__init__.py": INHERITED,
        "tests/test_it.py": HEIR,
    }
    shape.project(shape.top / "proj", files, {})
    words = shape.loop_words(
        shape.mends("value.py"), "--loop-id", "l1-00000001", check="python3 -m unittest discover"
    )
    done = shape.ralph(*words)
    assert (done.loop.outcome, done.loop.grade) == ("verified", "A"), done.report()


FLAKY = """import random
import unittest


class FlakyTest(unittest.TestCase):
    def test_luck(self):
        self.assertGreater(random.random(), 0.35)
"""
TESTS = """import unittest

import value


class ValueTest(unittest.TestCase):
    def test_a(self):
        self.assertEqual(value.a(), 1)
"""
AGENT = "sed -i 's/return 0/return 1/' value.py"


@pytest.mark.soak  # by chance; test_agents_proof counts calls instead
def test_flaky_by_chance_at_the_base_does_not_block(shape):
    """A test that the change did not touch, and that fails at times at the base too, does not block."""
    files = {"value.py": PY_BASE, "test_value.py": TESTS, "test_luck.py": FLAKY}
    shape.project(shape.top / "proj", files, {})
    script = shape.top / "tools" / "fix.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\n{AGENT}\necho >> value.py\n")
    script.chmod(0o755)
    words = shape.loop_words(
        str(script), "--loop-id", "l1-00000001", "--max-iterations", "12", check="python3 -m unittest"
    )
    done = shape.ralph(*words, limit=240)
    assert done.loop.outcome == "verified", done.report()
