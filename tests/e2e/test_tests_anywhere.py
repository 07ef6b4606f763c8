"""Weakened tests are refused whatever their file is called; honest work beside them is verified."""

import os
import shutil
import subprocess

import pytest
from shapekit import Shape

pytestmark = pytest.mark.soak

NODE = (
    "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from '%s';\n"
    "test('adds', () => assert.strictEqual(add(1, 2), 3));\ntest('zero', () => assert.equal(add(0, 0), 0));\n"
)
CLASS = (
    "class T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n"
    "    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n"
)
JS, PY = "export function add(a, b) {\n  return a - b;\n}\n", "def add(a, b):\n    return a - b\n"
CARGO = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n',
    ".gitignore": "/target\n",
}
RUST = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\n"
UNIT = "use super::*;\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n\n#[test]\nfn zero() {}\n"
PERL = "use Test::More;\nuse Calc;\nis(Calc::add(1, 2), 3);\nok(1);\ndone_testing();\n"
PERL_SOURCE = "package Calc;\nsub add { my ($a, $b) = @_; $a - $b }\n1;\n"


def node(test, script="node --test", source="./calc.js"):
    package = f'{{"name": "x", "type": "module", "scripts": {{"test": "{script}"}}}}\n'
    folder = "packages/x/" if test.startswith("packages") else ""
    return {test: NODE % source, f"{folder}calc.js": JS, "package.json": package}


FOLDER = "packages/x/test/sums.js"
INLINE = f"import unittest\n\n\n{PY}\n\n{CLASS}"
TESTS = f"import unittest\n\nfrom calc import add\n\n\n{CLASS}"
# name -> files, check, the file with the tests, the file with the slip, its program
CASES = {
    "test.js": (node("test.js"), "node --test", "test.js", "calc.js", "node"),
    "test.mjs": (node("test.mjs", "node test.mjs"), "npm test", "test.mjs", "calc.js", "npm"),
    "sums.js": (node("sums.js", "node sums.js"), "npm test", "sums.js", "calc.js", "npm"),
    "package": (node(FOLDER, source="../calc.js"), f"node {FOLDER}", FOLDER, "packages/x/calc.js", "node"),
    "tests.py": (
        {"tests.py": TESTS, "calc.py": PY},
        "python3 -m unittest tests",
        "tests.py",
        "calc.py",
        "python3",
    ),
    "calc.py": ({"calc.py": INLINE}, "python3 -m unittest calc && true", "calc.py", "calc.py", "python3"),
    "t/*.t": ({"t/a.t": PERL, "lib/Calc.pm": PERL_SOURCE}, "prove -l t", "t/a.t", "lib/Calc.pm", "prove"),
    "src/tests.rs": (
        {**CARGO, "src/lib.rs": f"{RUST}mod tests;\n", "src/tests.rs": UNIT},
        "cargo test --offline",
        "src/tests.rs",
        "src/lib.rs",
        "cargo",
    ),
    "mod tests": (
        {**CARGO, "src/lib.rs": f"{RUST}mod tests {{\n{UNIT}}}\n"},
        "cargo test --offline",
        "src/lib.rs",
        "src/lib.rs",
        "cargo",
    ),
}


@pytest.fixture
def shape(tmp_path, home):
    made = Shape(tmp_path / "w", home, seen=home.parent / "protection.json")
    made.once = True
    yield made
    made.kill_all()


def looped(shape, case, path, old, new):
    files, check, _, _, tool = CASES[case]
    search = shape.env()["PATH"]
    if tool == "cargo" and (rustup := shutil.which("rustup")):  # its own cargo is a link that needs the home
        asked = subprocess.run([rustup, "which", "cargo"], capture_output=True, text=True, check=False)
        search = os.path.dirname(asked.stdout.strip()) + os.pathsep + search
    if shutil.which(tool, path=search) is None:
        pytest.skip(f"{tool} is not installed: this kind of project was NOT tested")
    shape.project(shape.top / "proj", files, {})
    words = shape.loop_words(shape.mends(path, old, new), "--max-iterations", "1", check=check)
    return shape.ralph(*words, env={"PATH": search})


@pytest.mark.parametrize("case", CASES)
def test_weakened_tests_are_refused(shape, case):
    """The test now accepts what the source does: green, and not done, whether accused or asked about."""
    done = looped(shape, case, CASES[case][2], "add(1, 2), 3", "add(1, 2), -1")
    assert (done.loop.outcome, done.code) in (("exhausted", 1), ("blocked", 3)), done.report()


@pytest.mark.parametrize("case", ["calc.py", "mod tests", "t/*.t", "sums.js"])
def test_honest_work_beside_them_is_verified(shape, case):
    """The slip is mended, perhaps in the very file that holds the tests too; nobody is accused."""
    sign = "$" if case == "t/*.t" else ""
    done = looped(shape, case, CASES[case][3], f"{sign}a - {sign}b", f"{sign}a + {sign}b")
    assert (done.loop.outcome, done.code) == ("verified", 0), done.report()
