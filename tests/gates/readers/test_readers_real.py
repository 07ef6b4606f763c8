"""Readers on what real runners really write."""

import shutil
import sys

import pytest

from ralph.core.proof.compare import compare
from ralph.gates.readers import reader
from ralph.gates.seal import seal

PYTEST = f"{sys.executable} -m pytest"
UNITTEST = f"{sys.executable} -m unittest"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

TEST_A = """
import unittest
import pytest

def test_ok(): pass
def test_bad(): assert 1 == 2
@pytest.mark.skip(reason="no")
def test_skip(): pass
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True)
def test_xpass_strict(): pass
class TestA:
    @pytest.mark.parametrize("x", ["a/b.c::d", 3])
    def test_p(self, x): assert x != 3
    class TestIn:
        def test_q(self): pass
class U(unittest.TestCase):
    def test_u(self): pass
@pytest.fixture
def tear():
    yield
    raise ValueError("t")
def test_teardown(tear): pass
def test_twice(): assert 0
def test_twice(): pass
"""


def gate(run, **fields):
    return seal("g", run, tree_paths=frozenset(), **fields)


def read(observation, made):
    return reader(made.read)(observation, made)


@pytest.mark.slow
def test_pytest_states_and_ids(project, observe):
    """Every pytest test is known by its own id with the right state, and failures are located."""
    root = project({"tests/test_a.py": TEST_A, "pytest.ini": "[pytest]\naddopts = --ff --strict-config\n"})
    made = gate(f"{PYTEST} -q")
    reading = read(observe(made, root), made)
    at = "tests/test_a.py::"
    assert reading.status == "fail"
    assert reading.tests == {
        f"{at}test_ok": "pass",
        f"{at}test_bad": "fail",
        f"{at}test_skip": "skipped",
        f"{at}test_xfail": "skipped",
        f"{at}test_xpass": "pass",
        f"{at}test_xpass_strict": "fail",
        f"{at}TestA::test_p[a/b.c::d]": "pass",
        f"{at}TestA::test_p[3]": "fail",
        f"{at}TestA::TestIn::test_q": "pass",
        f"{at}U::test_u": "pass",
        f"{at}test_teardown": "fail",
        f"{at}test_twice": "pass",
    }
    assert set(reading.files.values()) == {"tests/test_a.py"}
    bad = next(finding for finding in reading.findings if finding.key == f"{at}test_bad")
    assert (bad.path, bad.line) == ("tests/test_a.py", 6)
    assert "assert 1 == 2" in bad.message
    assert not (root / ".pytest_cache").exists()


@pytest.mark.slow
def test_pytest_collection_error_is_red_and_located(project, observe):
    """A syntax error in a test module is a judged failure that names the file, and a witness once mended."""
    root = project({"tests/test_s.py": "def test_x(:\n", "tests/test_ok.py": "def test_a(): pass\n"})
    made = gate(f"{PYTEST} -q")
    before = read(observe(made, root), made)
    assert before.status == "fail"
    assert [(f.key, f.path, f.line) for f in before.findings] == [
        ("collect:tests/test_s.py", "tests/test_s.py", 1)
    ]
    (root / "tests/test_s.py").write_text("def test_x(): pass\n")
    after = read(observe(made, root), made)
    assert after.status == "pass"
    assert compare(before, after).witness == ("collect:tests/test_s.py",)
    (root / "tests/test_s.py").unlink()
    assert compare(before, read(observe(made, root), made)).fixed == ()


@pytest.mark.slow
def test_pytest_green_and_empty(project, observe):
    """Green is green; no tests, absent files and a broken conftest are not."""
    root = project(
        {"test_a.py": "def test_a(): pass\n", "sub/readme": "", "x/y/test_b.py": "def test_b(): pass\n"}
    )
    made = gate(f"{PYTEST} -q")
    assert read(observe(made, root), made).status == "pass"
    none = gate(f"{PYTEST} -q sub")
    assert read(observe(none, root), none).cause == "no-tests"
    absent = gate(f"{PYTEST} -q test_new.py")
    assert read(observe(absent, root), absent).cause == "no-tests"
    inner = gate(f"{PYTEST} -q --rootdir .", cwd="x")
    assert read(observe(inner, root), inner).files == {"y/test_b.py::test_b": "x/y/test_b.py"}
    (root / "conftest.py").write_text("import nope\n")
    broken = read(observe(made, root), made)
    assert (broken.status, broken.cause) == ("fail", "torn-report")
    assert "nope" in broken.findings[0].message


@pytest.mark.slow
def test_pytest_that_exits_early_is_not_green(project, observe):
    """os._exit(0) in a test leaves no report, so exit code 0 proves nothing."""
    root = project({"test_a.py": "import os\ndef test_a(): os._exit(0)\n"})
    made = gate(f"{PYTEST} -q")
    reading = read(observe(made, root), made)
    assert (reading.status, reading.cause) == ("error", "torn-report")


def test_missing_module_is_a_missing_tool(project, observe):
    """An interpreter without the tool is a setup problem, not a red test."""
    root = project({"a": ""})
    made = gate(f"{sys.executable} -S -m pytest -q")
    reading = read(observe(made, root), made)
    assert (reading.status, reading.cause) == ("error", "missing")


UNIT = '''
import sys, unittest
class T(unittest.TestCase):
    def test_ok(self): pass
    def test_doc(self):
        """First line ... FAIL"""
    def test_noise(self): sys.stderr.write("noise\\n"); print("more")
    def test_noise2(self): sys.stderr.write("noise")
    def test_bad(self): self.fail("no")
    def test_err(self): raise ValueError
    @unittest.skip("why 'x'")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_ef(self): self.fail()
    @unittest.expectedFailure
    def test_us(self): pass
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
class S(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError("x")
    def test_a(self): pass
@unittest.skip("cls")
class K(unittest.TestCase):
    def test_a(self): pass
'''


def test_unittest_states_and_ids(project, observe):
    """unittest's verbose text gives every test its state, also behind noise and doc strings."""
    root = project({"test_u.py": UNIT, "test_imp.py": "import nope\n"})
    made = gate(UNITTEST)
    reading = read(observe(made, root), made)
    assert reading.status == "fail"
    assert reading.tests == {
        "test_u.K.test_a": "skipped",
        "test_u.T.test_bad": "fail",
        "test_u.T.test_doc": "pass",
        "test_u.T.test_ef": "skipped",
        "test_u.T.test_err": "fail",
        "test_u.T.test_noise": "pass",
        "test_u.T.test_noise2": "pass",
        "test_u.T.test_ok": "pass",
        "test_u.T.test_skip": "skipped",
        "test_u.T.test_sub": "fail",
        "test_u.T.test_us": "fail",
    }
    located = {finding.key: finding.path for finding in reading.findings}
    assert located["collect:test_imp"] == "test_imp.py"
    assert located["collect:test_u.S"] == "test_u.py"
    assert located["test_u.T.test_bad"] == "test_u.py"


def test_unittest_green_empty_and_forged(project, observe):
    """A green suite passes; an empty one does not; nor does a program that prints OK and leaves."""
    green = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
    root = project({"test_u.py": green, "e/x": ""})
    made = gate(f"{UNITTEST} discover")
    assert read(observe(made, root), made).tests == {"test_u.T.test_a": "pass"}
    empty = gate(UNITTEST, cwd="e")
    assert read(observe(empty, root), empty).cause == "no-tests"
    (root / "test_u.py").write_text("import os\nos._exit(0)\n")
    assert read(observe(made, root), made).status == "error"


@pytest.mark.slow
@needs_node
def test_node_states_and_ids(project, observe):
    """node's tests are known by suite and name; a failing todo is skipped, a broken file is red."""
    root = project(
        {
            "a.test.mjs": """
import test, {describe, it} from 'node:test';
import assert from 'node:assert';
test('ok', () => {});
test('bad', () => { assert.equal(1, 2) });
test('skip', {skip: true}, () => {});
test('todo', {todo: true}, () => { assert.fail('x') });
describe('suite', () => { it('in', () => {}); describe('deep', () => { it('x & <y>', () => {}) }) });
""",
            "b.test.mjs": "import test from 'node:test';\ntest('ok', () => {});\n",
            "c.test.mjs": "syntax error here(\n",
        }
    )
    made = gate("node --test")
    reading = read(observe(made, root), made)
    assert reading.status == "fail"
    names = {name.split("mjs > ")[-1]: state for name, state in (reading.tests or {}).items()}
    assert names.pop("ok (2)", "pass") == "pass"  # newer nodes tell the file, so no number is needed
    assert names == {
        "ok": "pass",
        "bad": "fail",
        "skip": "skipped",
        "todo": "skipped",
        "suite > in": "pass",
        "suite > deep > x & <y>": "pass",
    }
    assert "collect:c.test.mjs" in {finding.key for finding in reading.findings}


@pytest.mark.slow
@needs_node
def test_node_green_empty_and_own_reporter(project, observe):
    """node with no test files is not green; the user's own reporter keeps working beside ours."""
    root = project({"a.test.mjs": "import test from 'node:test';\ntest('ok', () => {});\n", "e/x": ""})
    made = gate("node --test --test-reporter=tap")
    seen = observe(made, root)
    assert b"TAP version" in seen.output
    assert read(seen, made).status == "pass"
    empty = gate("node --test", cwd="e")
    assert read(observe(empty, root), empty).cause == "no-tests"


def test_ruff_findings(project, observe):
    """ruff's findings are located and keyed without lines, so that moving code makes nothing new."""
    root = project({"a.py": "import os\nimport sys\n", "ruff.toml": ""})
    made = gate(f"{sys.executable} -m ruff check .")
    before = read(observe(made, root), made)
    assert before.status == "fail"
    assert [(f.path, f.line) for f in before.findings] == [("a.py", 1), ("a.py", 2)]
    (root / "a.py").write_text("'''moved'''\n\nimport os\nimport sys\n")
    assert compare(before, read(observe(made, root), made)).new_red == ()
    (root / "a.py").write_text("x = 1\n")
    after = read(observe(made, root), made)
    assert (after.status, len(compare(before, after).witness)) == ("pass", 2)
    (root / "a.py").unlink()
    (root / "ruff.toml").unlink()
    assert read(observe(made, root), made).cause == "no-tests"


def test_ruff_findings_are_counted(project, observe):
    """At most N findings are counted; a file that is no program is red, however few are found in it."""
    root = project({"a.py": "import os\nimport re\nimport sys\n", "b.py": "import os\n", "ruff.toml": ""})
    run = f"{sys.executable} -m ruff check ."
    seen = observe(gate(run), root)
    status = {most: read(seen, gate(run, maximum=most, fail_on="P2")).status for most in (3, 4, 5)}
    assert status == {3: "fail", 4: "pass", 5: "pass"}
    before = read(seen, gate(run, maximum=3, fail_on="P2"))
    assert (before.summary, before.findings[0].key) == ("4 findings, at most 3 wanted", "findings.count")
    (root / "b.py").write_text("x = 1\n")
    after = read(observe(gate(run), root), gate(run, maximum=3, fail_on="P2"))
    assert (after.status, after.summary) == ("pass", "3 findings, at most 3 wanted")
    assert "findings.count" in compare(before, after, fail_on="P2").witness
    (root / "a.py").write_text("def f(:\n")
    broken = read(observe(gate(run), root), gate(run, maximum=9, fail_on="P2"))
    assert broken.status == "fail"
    assert "a.py could not be read" in broken.summary


@pytest.mark.slow
def test_mypy_findings(project, observe):
    """mypy's errors are located; a syntax error is red; clean needs its summary."""
    root = project({"src/a.py": 'x: int = "a"\n\n\ndef f(a: int) -> str:\n    return a\n'})
    made = gate(f"{sys.executable} -m mypy --cache-dir=/dev/null a.py", cwd="src")
    reading = read(observe(made, root), made)
    assert reading.status == "fail"
    assert [(f.path, f.line) for f in reading.findings] == [("src/a.py", 1), ("src/a.py", 5)]
    assert reading.findings[0].key.startswith("src/a.py:assignment:")
    (root / "src/a.py").write_text("def f(:\n")
    assert read(observe(made, root), made).status == "fail"
    (root / "src/a.py").write_text("x: int = 1\n")
    assert read(observe(made, root), made).status == "pass"


@pytest.mark.slow
def test_coverage_formats(project, observe):
    """coverage.py's JSON, XML and LCOV reports give the same percentage, held against the minimum."""
    root = project({"m.py": "def f(x):\n    if x:\n        return 1\n    return 2\n\n\nf(1)\n"})
    for kind in ("json", "xml", "lcov"):
        run = f"{sys.executable} -m coverage run m.py && {sys.executable} -m coverage {kind} -o {{report}}"
        low = gate(run, read="coverage", minimum=75)
        seen = observe(low, root)
        reading = read(seen, low)
        assert (reading.status, reading.summary[:5]) == ("pass", "80.00"), (kind, reading)
        assert [(f.path, f.line, f.severity) for f in reading.findings] == [("m.py", 4, "P2")]
        high = gate(run, read="coverage", minimum=81)
        assert read(seen, high).status == "fail"


def test_sarif_of_ruff(project, observe):
    """A real SARIF file is read with its rules, places and levels."""
    root = project({"a.py": "import os\n", "ruff.toml": ""})
    made = gate(
        f"{sys.executable} -m ruff check --output-format=sarif --output-file={{report}} .", read="sarif"
    )
    reading = read(observe(made, root), made)
    assert reading.status == "fail"
    assert [(f.path, f.line, f.severity) for f in reading.findings] == [("a.py", 1, "P1")]
    (root / "a.py").write_text("x = 1\n")
    assert read(observe(made, root), made).status == "pass"
