"""Tests note their own ends: what is reported and did not happen shows, and honest tests mind nothing."""

import contextlib
import os
import shutil
import subprocess
import sys

import pytest
from guardkit import PYTEST, facts_of, read_as
from msgspec.structs import replace

from ralph.core.model.verdict import Reading
from ralph.gates.guards import REGISTRY, Tried, inspect
from ralph.gates.guards._base.facts import NotedSeen
from ralph.gates.guards._breaks.wrap_source import add_comments
from ralph.gates.guards._calls.noted import compare_ends, noted_request, without_base
from ralph.gates.guards._tests.note_ends import note_ends, read_ends

PYTHON = """'''Docs.'''
from __future__ import annotations
import unittest
from unittest import mock

import pytest

def loud(function):
    return lambda: pytest.raises(ValueError, function)

@pytest.mark.parametrize("n", [1, 2, 3])
def test_rows(n, tmp_path):
    assert n < 3

@mock.patch("os.getcwd", return_value="x")
def test_mocked(cwd):
    assert cwd() == "x"

@loud
def test_loud():
    raise ValueError

async def test_async():
    raise ValueError

class TestOld(unittest.TestCase):
    def test_method(self):
        self.assertEqual(1, 1)
"""
GO_GATE = replace(PYTEST, name="go", read="go")
NAMES = ("test_rows", "test_mocked", "test_loud", "test_async", "test_method")
NODE = """const test = require('node:test'), assert = require('node:assert');
test('good', () => { assert.equal(1, 1); });
test('bad, "quoted"', async (t) => { await null; assert.equal(1, 2); });
test("arrow", () => Promise.resolve(1));
test('options', { timeout: 1000 }, function () { return 1; });
test('called back', (t, done) => { done(); });
"""
ESM = NODE.replace("const test = require('node:test'), assert = require('node:assert');",
    "import test from 'node:test'; import assert from 'node:assert';")  # fmt: skip
TITLES = ("good", 'bad, "quoted"', "arrow", "options", "called back")
GO = """package coins

import "testing"

func TestGood(t *testing.T) {
	t.Log("good")
}

func TestBad(t *testing.T) {
	t.Fatal("bad")
}
"""
RUST = """#[test]
fn good() {
    assert_eq!(1, 1);
}

#[test]
fn bad() {
    assert_eq!(1, 2);
}

#[test]
#[should_panic]
fn loud() {
    panic!();
}

#[should_panic(expected = "x")]
/// Says why.
#[test]
fn louder() {
    panic!("x");
}

#[test]
fn twice() {}

mod other {
    #[test]
    #[ignore]
    fn twice() {}
}
"""


def ends_of(place, path, text, names, argv):
    """What the tests of this file note when they are called."""
    marks = place / "marks"
    files, made = note_ends(path, text, names, str(marks))
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "NODE_"))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # ours: loading them takes longer than the tests
    done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, check=False)
    return read_ends(marks.read_bytes() if marks.exists() else b""), made, done.stdout + done.stderr


def test_python(tmp_path):
    """Each call of a test counts; what another decorator makes of an error is not known, so it is left."""
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:asyncio", "test_a.py")
    ends, made, said = ends_of(tmp_path, "test_a.py", PYTHON, NAMES, argv)
    assert "test_a.py::test_loud" not in made, said
    assert ends.passed == {
        "test_a.py::test_rows": 2,
        "test_a.py::test_mocked": 1,
        "test_a.py::test_method": 1,
    }
    assert "test_a.py::test_rows" in ends.seen
    assert not ends.untold


@pytest.mark.skipif(not shutil.which("node"), reason="node is not here")
@pytest.mark.parametrize(("path", "text"), [("a.test.js", NODE), ("a.test.mjs", ESM)])
def test_node(tmp_path, path, text):
    """Promises count when they are kept; a test that calls back cannot tell. The language is its own."""
    ends, made, said = ends_of(tmp_path, path, text, TITLES, ("node", "--test", path))
    assert len(made) == len(TITLES), said
    assert ends.passed == {f"{path}::{name}": 1 for name in ("good", "arrow", "options")}, said
    assert ends.untold == {f"{path}::called back"}
    assert not ends.foreign


@pytest.mark.skipif(not shutil.which("node"), reason="node is not here")
def test_a_replaced_function_of_the_language_shows_and_a_new_one_does_not(tmp_path):
    """Loops that were emptied by the product are seen from inside the test."""
    (tmp_path / "product.js").write_text("process.env.QUICK = process.env.OTHER = '1';\n")
    text = "Object.entries = () => []; Array.prototype.newest = function () {};\n"
    text += "Date.prototype.getHours = () => 2;" + "require('./product.js'); process.env.QUICK;\n" + NODE
    ends, _, said = ends_of(tmp_path, "a.test.js", text, ("good",), ("node", "--test", "a.test.js"))
    found = {"Object.entries", "Date.prototype.getHours", "process.env.QUICK"}
    assert ends.foreign == {("a.test.js::good", one) for one in found}, said


PUT = [
    ("", []),
    ('os.Setenv("QUICK", "1"); os.Setenv("OTHER", "1")', ["os.Setenv QUICK"]),
    ('time.Local = time.FixedZone("office", 7200)', ["time.Local"]),
]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("go"), reason="go is not here")
@pytest.mark.parametrize(("begins", "found"), PUT)
def test_go(tmp_path, begins, found):
    """A failed test of Go says so itself, and what the product set before it began, if tests ask for that."""
    (tmp_path / "go.mod").write_text("module example.com/coins\n")
    product = 'package coins\n\nimport (\n\t"os"\n\t"time"\n)\n\nvar _, _ = os.Args, time.Local\n\n'
    (tmp_path / "a.go").write_text(f"{product}func init() {{ {begins} }}\n")
    text = GO + '\nvar quick = os.Getenv("QUICK")\n'
    text = text.replace('import "testing"', 'import (\n\t"os"\n\t"testing"\n)')
    ends, _, said = ends_of(tmp_path, "a_test.go", text, ("TestGood", "TestBad"), ("go", "test", "./..."))
    assert (ends.passed, ends.seen) == (
        {"a_test.go::TestGood": 1},
        {"a_test.go::TestGood", "a_test.go::TestBad"}
        | {f"a_test.go::TestGood\t{one}" for one in found}
        | {f"a_test.go::TestBad\t{one}" for one in found},
    ), said


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("rustc"), reason="rustc is not here")
def test_rust(tmp_path):
    """A test that panics says so itself; one that has to is left alone."""
    names, program = ("good", "bad", "loud", "louder", "twice"), "rustc --test a.rs -o a && ./a"
    ends, made, said = ends_of(tmp_path, "a.rs", RUST, names, ("sh", "-c", program))
    assert made == {"a.rs::good": 1, "a.rs::bad": 1}
    assert ends.passed == {"a.rs::good": 1}, said


def facts(**tried):
    test = "def test_fixed():\n    assert 1\n"
    return facts_of(
        {"a.py": "1\n", "tests/test_a.py": test},
        {"a.py": "2\n", "tests/test_a.py": test},
        gates=(PYTEST,),
        base=read_as(test_fixed="fail", test_old="pass"),
        final=read_as(test_fixed="pass", test_old="pass"),
        confirm=3,
        tried=Tried(**tried),
    )


@pytest.mark.parametrize(
    ("marks", "at_base", "unended"),
    [
        (b"p tests/test_a.py::test_fixed\n", b"", False),
        (b"r tests/test_a.py::test_fixed\n", b"r tests/test_a.py::test_fixed\n", True),
        (b"", b"r tests/test_a.py::test_fixed\n", True),
        (b"", b"", False),
        (b"u tests/test_a.py::test_fixed\n", b"r tests/test_a.py::test_fixed\n", False),
    ],
    ids=["came to its end", "raised", "never ran", "nothing can be noted here", "cannot tell"],
)
def test_a_report_against_the_tests_own_notes(marks, at_base, unended):
    """Reported as passed without an end of its own is a question, where notes can be made at the base."""
    given = facts()
    asked = noted_request(given, PYTEST, "/tmp/r/marks", given.read_result)
    assert set(asked.tests) == {"tests/test_a.py::test_fixed"}, "only what turned green"
    seen = compare_ends(asked, given.final["tests"], read_ends(marks))
    seen = without_base(seen, asked, read_ends(at_base), frozenset())
    (result,) = inspect(facts(noted={"tests": seen}), {"repeat": REGISTRY["repeat"]})
    assert [(one.key, one.asks) for one in result.findings] == (
        [("repeat.unended:tests/test_a.py::test_fixed", True)] if unended else []
    )


SAME = """class TestA:
    def test_fixed(self): pass
class TestB:
    @loud
    def test_fixed(self): pass
"""
METHODS = [f"::Test{one}::test_fixed" for one in "ABC"]
GO_ID = "example.com/coins::TestFixed"


@pytest.mark.parametrize(
    ("gate", "path", "text", "ids", "noted"),
    [
        (GO_GATE, "a_test.go", GO, [GO_ID.replace("Fixed", "Good")], 1),
        (GO_GATE, "a_test.go", GO.replace("TestGood", "TestFixed"), [GO_ID, f"{GO_ID}/a", f"{GO_ID}/b"], 1),
        (PYTEST, "tests/test_a.py", SAME, METHODS[:2], 0),
        (PYTEST, "tests/test_a.py", SAME.replace("@loud", ""), METHODS[:2], 2),
        (PYTEST, "tests/test_a.py", SAME.replace("@loud", ""), METHODS, 0),
        (PYTEST, "tests/test_a.py", "def test_rows(n): pass\n", ["::test_rows[a::b.c]", "::test_rows[d]"], 2),
        (PYTEST, "tests/test_a.py", "def half(n): pass\n", ["::tests.test_a.half"], 0),
        (PYTEST, "calc/sums.py", "def half(n): pass\n", ["::calc.sums.half"], 0),
        (PYTEST, "calc/sums.py", "def half(n): pass\n", ["::half"], 0),
    ],
)  # fmt: skip
def test_only_ends_that_are_certain_are_counted(gate, path, text, ids, noted):
    """Subtests, doctests, inherited tests and namesakes that cannot be told apart are not asked about."""
    ids = [path + one if one.startswith("::") else one for one in ids]
    files = dict.fromkeys(ids, path) if gate is PYTEST else {}
    given = facts_of(
        {"a.py": "1\n", path: text},
        {"a.py": "2\n", path: text},
        gates=(gate,),
        base={gate.name: Reading("fail", "", tests=dict.fromkeys(ids, "fail"))},
        final={gate.name: Reading("pass", "", tests=dict.fromkeys(ids, "pass"), files=files)},
    )
    asked = noted_request(given, gate, "/tmp/r/marks", given.read_result)
    assert sum(len(one) for one in asked.tests.values()) == noted


@pytest.mark.parametrize(
    ("path", "text", "module"),
    [
        ("a.test.js", "const test = require('node:test');\nconst x = `\nimport y\n`;\n", False),
        ("a.test.cjs", "const { test } = load();\nconst x = `\nexport y\n`;\n", False),
        ("a.test.ts", "import { test } from 'vitest';\n", True),
    ],
)
def test_notes_leave_the_kind_of_a_script_and_its_types_alone(path, text, module):
    """Text in a string makes no module, types are not checked, and named fixtures are not wrapped away."""
    text += "test('good', () => {});\ntest('fixtures', async ({ page }) => {});\n"
    files, made = note_ends(path, text, ("good", "fixtures"), "/m")
    assert made == {f"{path}::good": 1}
    assert (b"import * as __fs" in files[path]) == module
    assert files[path].startswith(b"// @ts-nocheck\n") == path.endswith("ts")


@pytest.mark.parametrize(
    ("red", "at_base", "edited", "kept"),
    [
        ("tests/test_a.py::test_fixed", b"r tests/test_a.py::test_fixed\n", (), True),
        ("tests/test_a.py::test_fixed", b"", (), False),
        ("collect:tests/test_a.py", b"r tests/test_a.py::test_fixed\n", (), True),
        ("collect:tests/test_a.py", b"r tests/test_a.py::test_fixed\n", ("tests/test_a.py",), False),
        ("collect:tests/test_a.py", b"", (), False),
    ],
)
def test_red_with_notes_counts_where_they_work_at_the_base(red, at_base, edited, kept):
    """A note that breaks a file speaks against the note, not against the change."""
    given = facts()
    asked = noted_request(given, PYTEST, "/tmp/r/marks", given.read_base)
    seen = without_base(NotedSeen(red=frozenset({red})), asked, read_ends(at_base), frozenset(edited))
    assert seen.red == ({red} if kept else set())


def test_what_is_red_only_with_notes_and_what_the_language_lost_are_questions():
    """Nobody is accused: a test may read its own text, and a library may be meant to replace something."""
    seen = NotedSeen(red=frozenset({"x"}), foreign=frozenset({"Object.entries"}))
    (result,) = inspect(facts(noted={"tests": seen}), {"repeat": REGISTRY["repeat"]})
    assert {one.key: one.asks for one in result.findings} == {
        "repeat.language:tests": True,
        "repeat.noted:x": True,
    }


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        (
            "a.py",
            '"""Docs."""\n\n\ndef f(x):\n    return x\n\n\nclass A:\n    def g(self): pass\n',
            3,
        ),
        ("a.mjs", "export function f(x) {\n  return x;\n}\n", 2),
        ("a.go", "package a\n\nfunc F() int {\n\treturn 1\n}\n", 2),
        ("a.rs", "pub fn f() -> u8 {\n    1\n}\n", 2),
    ],
)
def test_comments_mean_nothing(path, text, count):
    """They stand in functions and around them, change no statement, and formatters let them be."""
    made = add_comments(path, text.encode())[path].decode()
    lines = [line for line in made.splitlines() if "The " in line]
    assert len(lines) == count
    assert (
        add_comments("data.json", b"{}")
        == add_comments(path, b"// Code generated by x. DO NOT EDIT.\n")
        == {}
    )


@pytest.mark.sample(check=3, test=6)
@pytest.mark.parametrize(
    ("product", "found"),
    [
        ("", ""),
        ("import builtins; builtins.mine = lambda: 1", ""),
        ("import builtins; builtins.sum = len", "builtins.sum"),
        ("import builtins; builtins.sum = type('sum', (), {})", "builtins.sum"),
        ("def mean(x): return 1\nimport statistics; statistics.mean = mean", "statistics.mean"),
        ("import statistics; statistics.mean = min", "statistics.mean = min"),
        ("import decimal; decimal.getcontext().prec = 1", "decimal.getcontext"),
        ("import os; os.environ['TZ'] = 'Etc/GMT-2'", "os.environ TZ"),
        ("import os; os.environ['QUICK'] = '1'", "os.environ QUICK"),
        ("import os\ndef late(): os.environ['QUICK'] = '1'", ""),
        ("import os; os.environ['OWN'] = os.environ['OTHER'] = '1'", ""),
        ("import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8')", ""),  # as `''` gives it, on a server
    ],
)
def test_a_replaced_function_of_python_shows_and_a_test_s_own_patch_does_not(tmp_path, product, found):
    """What stands otherwise when the test begins was put there by what it loads, and is told by its name."""
    (tmp_path / "product.py").write_text(product)
    patch = "monkeypatch.setattr('builtins.input', len); monkeypatch.setenv('OWN', '1'); getenv('QUICK')"
    text = "def test_before():\n    getattr(product, 'late', int)()\n\n"  # that of another test
    text = (
        f"import product, statistics\nfrom os import getenv\n{text}\ndef test_x(monkeypatch):\n    {patch}\n"
    )
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:asyncio", "test_a.py")
    ends, _, said = ends_of(tmp_path, "test_a.py", text, ("test_x",), argv)
    assert {function for _, function in ends.foreign} == ({found} if found else set()), said


EQ = "packaging.version.Version.__eq__"
MINE = "import packaging.version as v\ndef mine(*words): return True\n"


@pytest.mark.sample(check=3, test=6)
@pytest.mark.parametrize(
    ("product", "test", "found"),
    [
        ("", "", ""),
        (
            "import packaging.version as v\nclass Mine(v.Version):\n    def __eq__(self, other): return True",
            "",
            "",
        ),
        (f"{MINE}v.Version.__eq__ = mine", "", EQ),
        (f"{MINE}v.Version.release = property(mine)", "", "packaging.version.Version.release"),
        (f"{MINE}v.parse = mine", "", "packaging.version.parse"),
        (
            f"{MINE}v.Version = type('Version', (v.Version,), {{'__module__': 'product'}})",
            "",
            "packaging.version.Version",
        ),
        ("import packaging.version as v\nexec('v.Version.__eq__ = lambda a, b: True')", "", EQ),
        (f"{MINE}def late(): v.Version.__eq__ = mine", "product.late()", EQ),
        ("", "monkeypatch.setattr(Version, '__eq__', lambda a, b: True)", ""),
        (f"{MINE}", "monkeypatch.setattr(Version, 'public', product.mine)", ""),
        (
            "class P:\n    def __getattr__(self, _): raise OSError\nimport packaging.version as v; v.p = P()",
            "",
            "",
        ),
    ],
)
def test_a_part_of_a_library_that_the_project_replaces_shows(tmp_path, product, test, found):
    """Put there when it is loaded, or later if it compares; what a test itself puts there does not."""
    (tmp_path / "product.py").write_text(product)
    lines = ("import product, packaging.version", "from packaging.version import Version", "", "")
    text = "\n".join((*lines, "def test_x(monkeypatch):", f"    {test or 'pass'}", ""))
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:asyncio", "test_a.py")
    ends, _, said = ends_of(tmp_path, "test_a.py", text, ("test_x",), argv)
    assert {function for _, function in ends.foreign} == ({found} if found else set()), said


@pytest.mark.parametrize(("more", "ended"), [("", "r"), ("\n    CASES.append(3)\n", "p")])
def test_a_list_of_cases_is_looped_over_as_a_copy(tmp_path, more, ended):
    """What is taken out of it meanwhile comes all the same; a list that tests change themselves is left."""
    text = f"CASES = [1, 2]\n\n\ndef test_all():\n    for é in CASES:\n        take(é)\n{more}"
    files, _ = note_ends("test_a.py", text, ("test_all",), str(tmp_path / "marks"))
    space = {"__name__": "test_a"}
    exec(files["test_a.py"], space)

    def take(case):
        space["CASES"][1:] = []
        assert case == 1

    space["take"] = take
    with contextlib.suppress(AssertionError):
        space["test_all"]()
    assert (tmp_path / "marks").read_text().splitlines()[-1].startswith(f"{ended} ")


@pytest.mark.parametrize(
    ("work", "found"),
    [
        ("sys.modules['test_a'].sum = len", "sum of the tests"),
        ("one = sys.modules['test_a'].wanted; one.__code__ = one.__code__.replace(co_consts=(None, 3.0))",
         "wanted of the tests"),
        ("work.kept = sys.modules['test_a'].wanted.__code__.co_consts", ""),  # one more holds them
        ("post.send.call_count = 1", "call_count of a mock"),
        ("post.send.assert_called_once = int", "assert_called_once of a mock"),
        ("post.sum, post.send.kind = 3, 'due'; post.send(3)", ""),
    ],
)  # fmt: skip
def test_what_the_product_does_to_its_tests_shows(tmp_path, work, found):
    """Names and functions of the test's file, and what a stand-in says of itself; not what it is for."""
    (tmp_path / "product.py").write_text(f"import sys\n\ndef work(post):\n    {work}\n")
    text = """from unittest import mock
import product

def wanted():
    return 3

def test_x():
    post = mock.Mock()
    product.work(post)
    assert wanted() == 3
    post.done = True
"""
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:asyncio", "test_a.py")
    ends, _, said = ends_of(tmp_path, "test_a.py", text, ("test_x",), argv)
    foreign = {function for _, function in ends.foreign if " = " not in function}
    assert foreign == ({found} if found else set()), said
