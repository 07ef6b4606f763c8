"""Which changed files are tests, whatever they are called; and what comes back over the new source."""

import json

import pytest
from guardkit import facts_of, result_of

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import Tried, overlay_request, source_changes, witness_request
from ralph.gates.guards._parts.test_parts import splice_tests
from ralph.gates.judging_paths import is_test

TESTS = """
test.js test.mjs test.cjs test.ts tests.py test.py src/tests.rs src/calc/tests.rs tests/a.rs
t/basic.t t/lib/Helper.pm packages/x/test/a.js packages/x/test/helper.js __tests__/a.js
src/__tests__/b.tsx spec/a_spec.rb spec/helper.rb a.spec.ts FooTest.java FooTests.cs a_test.go
a.test.tsx a.cy.ts e2e/login.ts features/a.feature x.bats app/tests.py test/run.js test-a.js
a-test.js a_tests.py foo_SUITE.erl src/it/java/X.java modules/a/spec/x.js a_test.rs test_a.c
FooSpec.scala FooIT.java XTest.php a_spec.lua test/runtests.jl src/test.js unit_tests/a.py
"""
PRODUCTS = """
src/latest.py contest/a.py testimonials.js src/testing.py attest.go src/commands/test.ts
cli/test.py protest/x.py src/django/test/client.py lib/test/unit.rb app/features/login.ts
src/inspect.py greatest.rs specs/a.md src/spec.md src/Credit.java src/fastest.js docs/test.md
pages/test.tsx features/login/index.ts src/audit.py
"""
CHECK = Gate(name="check", run="make test", argv=("make", "test"), proof=True)
NODE = "import test from 'node:test';\nimport { add } from './calc.js';\ntest('adds', () => ok(add(1, 2)));\n"
CLASS = "class T(unittest.TestCase):\n    def test_a(self):\n        self.a()\n"
UNITTEST = f"import unittest\nfrom calc import add\n\n\n{CLASS}"
RUST = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
JUNIT = "import org.junit.jupiter.api.Test;\nclass Sums {\n  @Test void adds() {}\n}\n"


@pytest.mark.parametrize(
    "path",
    TESTS.split(),
)  # fmt: skip
def test_names_of_tests(path):
    """The names that runners of many languages look for."""
    assert is_test(path)


@pytest.mark.parametrize(
    "path",
    PRODUCTS.split(),
)  # fmt: skip
def test_names_of_products(path):
    """A word that only looks like it, and a command or page that is called "test"."""
    assert not is_test(path)


def overlay(path, text, *, others=None, **fields):
    """What comes back when this file of the base changes at its end."""
    before = {**(others or {}), path: text}
    after = {
        **before,
        path: text + "\n\n// changed\n" if not path.endswith(".py") else text + "\n\nCHANGED = 1\n",
    }
    return overlay_request(facts_of(before, after, gates=(CHECK,), **fields))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sums.js", NODE),
        ("checks/sums.mts", NODE.replace("node:test", "vitest").replace("./calc", "../calc")),
        (
            "sums.js",
            "require('./calc');\ndescribe('a', () => it('b', () => expect(add()).toBe(1)));\n",
        ),
        ("src/commands/test.ts", NODE.replace("./calc", "../calc")),
        ("sums.py", UNITTEST),
        ("sums.py", "import pytest\nfrom calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"),
        ("src/Sums.java", JUNIT),
        ("Sums.cs", "using Xunit;\npublic class Sums {\n  [Fact] public void A() {}\n}\n"),
        ("sums.rb", "require 'minitest/autorun'\nclass Sums < Minitest::Test\n  def test_a; end\nend\n"),
        ("sums.pl", "use Test::More;\nok(1);\ndone_testing();\n"),
        ("sums.php", "<?php\nclass Sums extends TestCase {}\n"),
        ("sums.cc", "#include <gtest/gtest.h>\nTEST(A, B) {}\n"),
        ("sums.swift", "import XCTest\nclass A: XCTestCase {}\n"),
        ("src/sums.rs", "#![cfg(test)]\n" + RUST),
    ],
)
def test_what_holds_tests_comes_back(path, text):
    """Whatever it is called: it is a test by what it holds."""
    assert overlay(path, text, others={"calc.py": "", "calc.js": ""}).restore == (path,)


def test_a_module_declared_for_tests_comes_back():
    """A Rust file that another declares under cfg(test), whatever its name."""
    others = {"src/lib.rs": "#[cfg(test)]\nmod sums;\n"}
    assert overlay("src/sums.rs", RUST, others=others).restore == ("src/sums.rs",)


def test_what_a_runner_collected_comes_back():
    """The runner's own word goes before every rule."""
    base = {"check": Reading("pass", "", tests={"a": "pass"}, files={"a": "odd.xyz"})}
    assert overlay("odd.xyz", "anything", base=base).restore == ("odd.xyz",)


HELPER = "import assert from 'node:assert';\nexport const same = (a, b) => assert.equal(a, b);\n"


@pytest.mark.parametrize(
    ("path", "text", "others"),
    [
        ("helper.js", HELPER, {"calc.js": "import { same } from './helper.js';\n"}),
        ("helper.js", HELPER, {"test.js": "import { same } from './helper.js';\n" + NODE}),
        ("src/server.js", HELPER, {"test.js": "import { same } from './src/server.js';\n" + NODE}),
        ("index.js", HELPER, {"test.js": "import { same } from './index.js';\n" + NODE}),
        ("pytest_x.py", "import pytest\n\n\n@pytest.fixture\ndef x():\n    return 1\n",
         {"pyproject.toml": '[project]\ndependencies = ["pytest>=8"]\n', "test_x.py": "import pytest_x\n"}),
        ("db.py", "class Database:\n    def test_connection(self):\n        assert self.url\n", {}),
        ("db.py", "def test_connection(url):\n    assert url\n", {}),
        ("app.py", "from unittest import mock\n\n\ndef a():\n    return mock\n", {"main.py": "import app\n"}),
        ("src/commands/test.ts", "export const run = () => test();\n", {}),
        ("expect.go", 'package expect\n\nimport "testing"\n\nfunc Equal(t *testing.T) {}\n', {}),
    ],
)  # fmt: skip
def test_products_do_not_come_back(path, text, others):
    """Importing a test library is no proof: products use assertions, and help others to test. Who reads a
    helper is seen."""
    assert overlay(path, text, others=others) is None


SRC = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b // '{'\n}\n\nfn c<'a>(s: &'a str) -> char { '\"' }\n\n"
INLINE = (
    SRC
    + "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    "
    + RUST.replace("\n", "\n    ").rstrip()
    + "\n}\n"
)
MIXED_PY = "import unittest\n\n\ndef add(a, b):\n    return a - b\n\n\n" + CLASS
MIXED_JS = (
    "import test from 'node:test';\nexport const add = (a, b) => a - b; // (\n"
    "test('adds', () => is(add(1, 2), 3));\n"
)


@pytest.mark.parametrize(
    ("path", "text", "strong", "weak"),
    [
        ("src/lib.rs", INLINE, "add(1, 2), 3", "add(1, 2), -1"),
        ("src/lib.rs", INLINE, "#[cfg(test)]\nmod", "#[cfg(any())]\nmod"),
        ("src/lib.rs", INLINE, "#[test]", "#[test]\n#[ignore]"),
        ("calc.py", MIXED_PY, "self.a()", "pass"),
        ("calc.py", MIXED_PY, CLASS, ""),
        ("calc.js", MIXED_JS, "add(1, 2), 3", "1, 1"),
        ("calc.zig", 'fn add() i32 { return a - b; }\n\ntest "a" {\n  is(3);\n}\n', "is(3)", "is(1)"),
        ("calc.d", "int add() { return a - b; }\n\nunittest {\n  assert(3);\n}\n", "assert(3)", "assert(1)"),
    ],
)  # fmt: skip
def test_tests_inside_the_source_come_back_alone(path, text, strong, weak):
    """The new source keeps its repair, and gets the base's tests; the repair alone is no change of a test."""
    repaired = text.replace("a - b", "a + b")
    facts = facts_of({path: text}, {path: repaired.replace(strong, weak)}, gates=(CHECK,))
    over = overlay_request(facts)
    made = over.edit[path].decode()
    assert (over.restore, over.drop) == ((), ())
    assert strong.strip() in made
    assert "a + b" in made
    assert "a - b" not in made
    assert [change.path for change in source_changes(facts)] == [path]
    assert overlay_request(facts_of({path: text}, {path: repaired}, gates=(CHECK,))) is None


def test_what_cannot_be_taken_apart_comes_back_as_a_whole():
    """Confusing the reader helps nobody."""
    after = INLINE.rstrip().removesuffix("}")
    facts = facts_of({"src/lib.rs": INLINE}, {"src/lib.rs": after}, gates=(CHECK,))
    assert overlay_request(facts).restore == ("src/lib.rs",)


def test_new_tests_inside_the_source_are_put_over_the_base():
    """They may be the witness: the base's source with the result's tests."""
    more = INLINE.replace(
        "    #[test]", "    #[test]\n    fn more() { assert_eq!(add(2, 2), 4); }\n\n    #[test]"
    )
    facts = facts_of({"src/lib.rs": INLINE}, {"src/lib.rs": more.replace("a - b", "a + b")}, gates=(CHECK,))
    made = witness_request(facts).edit["src/lib.rs"].decode()
    assert "fn more" in made
    assert "a - b" in made


def test_doctests_come_back():
    """Examples in docstrings are tests where a check runs them."""
    text = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
    gate = Gate(name="check", run="python3 -m doctest calc.py", argv=("python3", "-m", "doctest", "calc.py"))
    after = text.replace("a - b", "a + b").replace("    3\n", "    4\n")
    edit = overlay_request(facts_of({"calc.py": text}, {"calc.py": after}, gates=(gate,))).edit["calc.py"]
    assert b"3" in edit
    assert b"a + b" in edit
    assert overlay_request(facts_of({"calc.py": text}, {"calc.py": after}, gates=(CHECK,))) is None


def test_tests_moved_out_of_the_source_still_run():
    """What a test class needs comes back with it: its imports, and the call that starts it."""
    old = MIXED_PY + "\n\nif __name__ == '__main__':\n    unittest.main()\n"
    made = splice_tests("calc.py", '"""Doc."""\n\n\ndef add(a, b):\n    return a + b\n', old)
    assert made.index("import unittest") < made.index("class T") < made.index("unittest.main()")
    compile(made, "calc.py", "exec")


@pytest.mark.parametrize("path", ["tool", "tool.pyw", "sum.es6"])
def test_a_file_of_an_unknown_kind_is_not_taken_apart(path):
    """A rename between endings leads here with the old name: no answer, and no crash."""
    assert splice_tests(path, "one\n", "two\n") is None


def test_doctests_come_back_with_the_indent_of_their_place():
    """Tabs stay tabs, and a function on one line keeps its first line."""
    old = 'def f(a):\n\t"""\n\t>>> f(1)\n\t2\n\t"""\n\treturn a + 1\n'
    new = "def f(a):\n\tb = a\n\treturn b + 1\n"
    made = splice_tests("a.py", new, old, doctests=True)
    assert made is not None
    compile(made, "a.py", "exec")
    assert ">>> f(1)" in made
    assert splice_tests("a.py", "def f(a): return a + 1\n", old, doctests=True) == "def f(a): return a + 1\n"


def test_a_splice_that_python_cannot_read_is_none():
    """A docstring between a decorator and its function would break the module: no answer instead."""
    old = 'def f():\n    """>>> f()"""\n'
    new = "def f():\n    @g\n    def h():\n        pass\n    return h\n"
    assert splice_tests("a.py", new, old, doctests=True) is None


@pytest.mark.parametrize(
    ("old", "new", "gone", "put_back"),
    [
        ({"imports": {"#a": "./lib/a.js"}}, {"imports": {"#a": "./copy/a.js"}}, "", True),
        ({"imports": {"#a": "./lib/a.js"}}, {"imports": {"#a": "./copy/a.js"}}, "lib/a.js", False),
        ({"imports": {"#a": "./lib/a.js"}}, {"imports": {"#a": {"node": "./copy/a.js"}}}, "", True),
        ({"imports": {"#*": "./lib/*.js"}}, {"imports": {"#*": "./copy/*.js"}}, "", True),
        ({"imports": {"#*": "./lib/*.js"}}, {"imports": {"#*": "./copy/*.js"}}, "lib/b.js", False),
        (
            {"imports": {"#*": "./lib/*.js"}},
            {"imports": {"#*": "./lib/*.js", "#a": "./copy/a.js"}},
            "",
            True,
        ),
        (
            {"imports": {"#*": "./lib/*.js"}},
            {"imports": {"#*": "./lib/*.js", "#c": "./copy/a.js"}},
            "",
            False,
        ),
        ({"main": "lib/a"}, {"main": "copy/a"}, "", True),
        ({"exports": {"import": "./lib/a.js"}}, {"exports": {"import": "./copy/a.js"}}, "", True),
        ({"exports": "./dist/a.js"}, {"exports": "./copy/a.js"}, "", False),
        (
            {"exports": {".": "./lib/a.js"}},
            {"exports": {".": "./lib/a.js", "./b": "./lib/b.js"}},
            "",
            False,
        ),
        ({"main": "lib/a"}, {"main": "lib/a", "type": "module", "version": "2"}, "", False),
    ],
)
def test_names_of_a_package_lead_the_tests_where_they_led(old, new, gone, put_back):
    """As long as it is still there: what moved is led to its new place, and names that are new stay."""
    files = {"lib/a.js": "1\n", "lib/b.js": "2\n"}
    before = files | {"package.json": json.dumps(old)}
    after = files | {"copy/a.js": "3\n", "copy/b.js": "4\n", "package.json": json.dumps(new)}
    after.pop(gone, None)
    request = overlay_request(facts_of(before, after, gates=(CHECK,)))
    edited = {path: json.loads(text) for path, text in request.edit.items()} if request else {}
    assert edited == ({"package.json": old} if put_back else {})


def test_a_name_that_leads_elsewhere_is_asked_about():
    """It may be a move of which something was left behind: nobody is accused."""
    before = {"package.json": '{"main": "a.js"}', "a.js": "1\n"}
    after = {"package.json": '{"main": "b.js"}', "a.js": "1\n", "b.js": "2\n"}
    red, green = (
        Reading(state, cause, "", tests={"adds": test}, files={"adds": "a.test.js"})
        for state, cause, test in (("fail", "findings", "fail"), ("pass", "", "pass"))
    )
    tried = Tried(overlay={"check": red})
    readings = {"base": {"check": red}, "final": {"check": green}, "tried": tried}
    found = result_of("base_tests", before, after, gates=(CHECK,), **readings).findings
    assert {one.asks for one in found} == {True}
