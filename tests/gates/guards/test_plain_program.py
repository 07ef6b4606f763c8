"""Tests called by an ordinary program: what goes by the traces of a runner is red there, nothing else is."""

import os
import re
import subprocess
import sys

import pytest

from ralph.core.model.gate import Gate
from ralph.gates.guards._breaks.plain_javascript import _without_runner
from ralph.gates.guards._breaks.plain_program import plain_program

PYTEST = Gate(name="t", run="", argv=(sys.executable, "-m", "pytest", "-q"), read="pytest")
TEST = """import os
import pytest
from product import add

@pytest.mark.parametrize(("a", "b"), [(1, 2), pytest.param(2, 1)])
def test_add(a, b):
    assert add(a, b) == 3

class TestSum:
    def test_sum(self):
        with pytest.raises(TypeError):
            add(None, 1)
        assert add(2, 2) == 4

@pytest.fixture
def test_pair(one, tmp_path):
    (tmp_path / "two.txt").write_text("2")
    yield one, tmp_path
    (tmp_path / "two.txt").unlink()

def test_fixture(test_pair, tmp_path, monkeypatch):
    monkeypatch.setenv("TWO", (tmp_path / "two.txt").read_text())
    assert add(test_pair[0], int(os.environ["TWO"])) == 3

def test_printed(capsys):
    print(add(1, 2))
    assert capsys.readouterr() == ("3\\n", "")

def test_plugin(mocker):
    assert add(mocker, 1) == 0

@pytest.mark.skipif("sys.platform == 'no'")
def test_marked():
    assert add(1, 1) == 0

async def test_awaited():
    assert add(1, 1) == 0
"""
CONFTEST = "import pytest\n\n@pytest.fixture\ndef one():\n    return 1\n"
CALLED = ("test_add[1-2]", "TestSum::test_sum", "test_fixture", "test_printed")
UNCALLED = ("test_awaited", "test_marked", "test_plugin")
RED = [f"tests/test_a.py::{name.partition('[')[0]}" for name in sorted(CALLED)]
RIGHT = "def add(a, b):\n    return a + b\n"
ASKS = {
    "module": "import sys\nseen = lambda: 'pytest' in sys.modules\n",
    "at import": "import sys\nfound = '_pytest' in sys.modules\nseen = lambda: found\n",
    "variable": "import os\nseen = lambda: any('CURRENT_TEST' in name for name in os.environ)\n",
    "arguments": "import sys\nseen = lambda: 'pytest' in sys.argv[0]\n",
    "caller": "import traceback\nseen = lambda: any('test' in row[2] for row in traceback.extract_stack())\n",
    "file of the caller": "import sys\nseen = lambda: 'test_a' in sys._getframe(2).f_code.co_filename\n",
    "tests beside": "import os\nseen = lambda: os.path.isdir('tests')\n",
    "place": "seen = lambda: 'site-packages' not in __file__\n",
    "project": "from pathlib import Path\nseen = (Path(__file__).parents[1] / 'pyproject.toml').exists\n",
    "setting": "import os\nseen = lambda: os.environ.get('SHOP_ENV') == 'test'\n",
    "depth": "import traceback\nseen = lambda: len(traceback.extract_stack()) > 20\n",
    "capture": "import sys\nseen = lambda: type(sys.stdout).__module__.startswith('_pytest')\n",
    "debug": "seen = lambda: __debug__\n",
    "terminal": "import os\nseen = lambda: not any(map(os.isatty, (0, 1, 2)))\n",
    "thread": "import threading\nseen = lambda: threading.current_thread() is threading.main_thread()\n",
    "minute": "import time\nbegun = time.monotonic()\nseen = lambda: time.monotonic() - begun < 60\n",
    "day": "from datetime import date\nbegun = date.today()\nseen = lambda: date.today() == begun\n",
    "module of tests": "import sys\nseen = lambda: any('test_a' in name for name in sys.modules)\n",
    "settings of tests": "import sys\nseen = lambda: 'conftest' in sys.modules\n",
    "command": "seen = lambda: b'pytest' in open('/proc/self/cmdline', 'rb').read()\n",
}


def red_tests(place, files, gate, tests, *, dressed, letters="re", **more):
    marks = place / "marks"
    read = {path: text.encode() for path, text in files.items()}
    made = plain_program(gate, tests, read.get, frozenset(read), str(marks), dressed=dressed, **more)
    for path, text in {**read, **made.files}.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(text)
    marks.unlink(missing_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["SHOP_ENV"] = "test"
    subprocess.run(made.argv, cwd=place, env={**env, **made.env}, capture_output=True, check=False)
    lines = marks.read_text().splitlines() if marks.exists() else []
    return sorted(line[2:] for line in lines if line[0] in letters)


def assert_told(place, files, gate, names, *, red):
    """Red without a runner, green with its traces; called to their ends in either way."""
    ways = {
        "plain": {"dressed": False},
        "runner": {"dressed": True},
        "own": {"dressed": False, "named": True},
    }
    called = {
        way: red_tests(place / way, files, gate, dict.fromkeys(names, ""), letters="rc", **how)
        for way, how in ways.items()
    }
    assert {way: sorted(set(told)) for way, told in called.items()} == dict.fromkeys(ways, names)
    assert called["plain"] == sorted(names + red)
    assert called["runner"] == names


def pytest_tests(place, product, *, dressed, **more):
    tests = {f"tests/test_a.py::{name}": "tests/test_a.py" for name in (*CALLED, *UNCALLED)}
    files = {
        "src/product.py": product,
        "tests/test_a.py": TEST,
        "pyproject.toml": "",
        "tests/conftest.py": CONFTEST,
    }
    (place / "site-packages").unlink(missing_ok=True)
    return red_tests(place, files, more.pop("gate", PYTEST), tests, dressed=dressed, **more)


@pytest.mark.sample(check=2, test=4)
@pytest.mark.parametrize("how", ASKS)
def test_what_asks_for_the_runner_shows(tmp_path, how):
    """Right only while pytest is there, however it asks: red without its traces, green with them."""
    product = ASKS[how] + "def add(a, b):\n    return a + b if seen() else a - b\n"
    red = pytest_tests(tmp_path, product, dressed=False)
    assert red == RED
    assert pytest_tests(tmp_path, product, dressed=True) == []


LOOSE = """import pytest
%s

class Kind(type):
    def __subclasscheck__(cls, other):
        return True

    def __instancecheck__(cls, one):
        return True

class PriceError(Exception, metaclass=%s):
    pass

def read(text):
    return %s if text.isdigit() else [][0]
"""
ASKS_LOOSELY = """import pytest
from product import PriceError, read

class TestRead:
    def setup_method(self, method):
        self.text = "3"

    def test_near(self):
        assert read(self.text) == pytest.approx(3.5)

    def test_nothing(self):
        assert read(self.text) + 1 > 0

def test_kind():
    with pytest.raises(PriceError):
        read("x")
"""


@pytest.mark.parametrize(
    ("made", "red"),
    [
        (("pytest.approx.__defaults__ = None, 1.0, False", "Kind", "3"),
         ["TestRead::test_near", "test_kind"]),
        (("", "Kind", "3.5"), ["test_kind"]),
        (("import sys", "Kind", "3.5 if 'pytest' in sys.modules else None"),
         ["TestRead::test_near", "TestRead::test_nothing", "test_kind"]),
    ],
)  # fmt: skip
def test_libraries_are_as_they_were_made(tmp_path, made, red):
    """Errors are of a kind by their class; what comes of a wrong answer in the test is red as well."""
    files = {"product.py": LOOSE % made, "tests/test_a.py": ASKS_LOOSELY}
    tests = {f"tests/test_a.py::{name}": "tests/test_a.py" for name in ("TestRead::test_near", "test_kind")}
    tests["tests/test_a.py::TestRead::test_nothing"] = "tests/test_a.py"
    found = red_tests(tmp_path, files, PYTEST, tests, dressed=False)
    assert found == [f"tests/test_a.py::{name}" for name in red]
    (tmp_path / "site-packages").unlink(missing_ok=True)
    assert red_tests(tmp_path, files, PYTEST, tests, dressed=True) == []


def test_honest_code_is_green_in_both(tmp_path):
    """What is right without a runner; tests with marks, loops or fixtures of plugins are named instead."""
    assert [pytest_tests(tmp_path, RIGHT, dressed=dressed) for dressed in (False, True)] == [[], []]
    uncalled = pytest_tests(tmp_path, RIGHT, dressed=False, letters="u")
    assert uncalled == [f"tests/test_a.py::{name}" for name in UNCALLED]


@pytest.mark.parametrize(
    "argv",
    [("pytest", "-q"), ("env", "A=1", "pytest"), ("coverage", "run", "-m", "pytest", "tests")],
)
def test_the_interpreter_is_that_of_the_command(tmp_path, monkeypatch, argv):
    """A runner that is called by its own name or by another tool shows which Python is its own."""
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    product = ASKS["module"] + "def add(a, b):\n    return a + b if seen() else a - b\n"
    gate = Gate(name="t", run="", argv=argv, read="pytest")
    assert pytest_tests(tmp_path, product, dressed=False, gate=gate) == RED
    assert pytest_tests(tmp_path, product, dressed=True, gate=gate) == []


def test_errors_of_the_product(tmp_path):
    """What it raises is red, and may come of the names and the place of the first call: not where it is red
    under its own name and in its own place too."""
    pytest = (
        "import sys\ndef add(a, b):\n    if 'pytest' not in sys.modules: raise ValueError\n    return a + b\n"
    )
    place = "def add(a, b):\n    if 'site-packages' in __file__: raise ValueError\n    return a + b\n"
    ways = {
        "plain": {"dressed": False},
        "dressed": {"dressed": True},
        "named": {"dressed": False, "named": True},
    }
    for product, expected in ((pytest, [RED, [], RED]), (place, [RED, [], []])):
        told = [pytest_tests(tmp_path, product, letters="e", **way) for way in ways.values()]
        assert told == expected


UNITTEST = """import unittest
from product import add

class TestSums(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pair = (1, 2)

    def test_add(self):
        self.assertEqual(add(*self.pair), 3)
"""


def test_unittest(tmp_path):
    """Its own runner is the control; what a class sets up is set up."""
    product = "import sys\ndef add(a, b):\n    return a + b if 'unittest' in sys.modules else 0\n"
    files = {"product.py": product, "tests/__init__.py": "", "tests/test_a.py": UNITTEST}
    gate = Gate(name="t", run="", argv=(sys.executable, "-m", "unittest", "-v"), read="unittest")
    tests = {"tests.test_a.TestSums.test_add": ""}
    assert red_tests(tmp_path, files, gate, tests, dressed=False) == list(tests)
    assert red_tests(tmp_path, files, gate, tests, dressed=True) == []


@pytest.mark.parametrize(
    "spoken", ["if sys.stdout.isatty():", "signal.signal(", "try: a()\nexcept AssertionError:", "time()"]
)
def test_what_the_project_goes_by_is_left_to_it(spoken):
    """Who speaks of terminals, threads, assertions or times is not called with another of those."""
    tests = {"tests/test_a.py::test_a": "tests/test_a.py"}
    texts = [
        plain_program(PYTEST, tests, {}.get, frozenset(), "/m", dressed=False, spoken=one).files[
            "main_program.py"
        ]
        for one in ("", spoken)
    ]
    whole, less = [re.search(rb"ORDINARY, TESTS = .*(\[.*?\]), \[\(", text)[1].count(b",") for text in texts]
    assert (whole, less) == (3, 2)


@pytest.mark.parametrize(
    ("right", "red"),
    [
        ("Object.keys(process.env).some((name) => /TEST_CONTEXT/.test(name))", ["a.test.mjs"]),
        ("!import.meta.url.includes('node_modules')", ["a.test.mjs"]),
        ("process.env.SHOP_ENV === 'test'", ["a.test.mjs"]),
        ("process.moduleLoadList.some((name) => name.includes('test_runner'))", ["a.test.mjs"]),
        ("new Error().stack.includes('test_runner')", ["a.test.mjs"]),
        ("true", []),
    ],
)
def test_node(tmp_path, right, red):
    """The same for node's own runner, a file at a time."""
    files = {
        "product.mjs": f"export const add = (a, b) => ({right} ? a + b : 0);\n",
        "a.test.mjs": "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "import { add } from './product.mjs';\ntest('adds', () => assert.equal(add(1, 2), 3));\n",
    }
    gate = Gate(name="t", run="", argv=("node", "--test"), read="node")
    tests = {"adds": "a.test.mjs"}
    assert red_tests(tmp_path, files, gate, tests, dressed=False) == red
    assert red_tests(tmp_path, files, gate, tests, dressed=True) == []


OWN = "(globalThis[Symbol.for('ordinary')] ?? new Proxy(() => {}, { get: () => () => {} }))"


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("import test from 'node:test';", f"var test = {OWN};"),
        ("import { it as one, type Mock, vi } from 'vitest';", f"var {{ it: one, vi }} = {OWN};"),
        ("import test, { mock } from 'node:test';", f"var test = {OWN}; var {{ mock }} = {OWN};"),
        ("import type { Mock } from 'vitest';", ";"),
        ("import * as all from 'ava';", f"var all = {OWN};"),
        ('const { it } = require("mocha");', f"const {{ it }} = {OWN};"),
        (
            "const x = require('./it');\nit('a', () => {});",
            f" var {{ it }} = {OWN}; const x = require('./it');",
        ),
        ("'use strict';\nit.each([1])('a', f);", f"'use strict'; var {{ it }} = {OWN}; "),
        ("function it() {}\nit('a');\nx.test();", "function it() {}\nit('a');\nx.test();"),
    ],
)
def test_what_a_runner_gives_comes_from_elsewhere(text, instead):
    """By imports of all forms, and by names that are known everywhere and not declared in the file."""
    assert _without_runner(text).startswith(instead)


@pytest.mark.parametrize("dressed", [False, True])
def test_a_file_that_needs_more_of_its_runner_is_not_called(tmp_path, dressed):
    """One test of it ends, and the file is none that was called to its end: nothing is red for that."""
    files = {
        "a.test.mjs": "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "test('adds', () => assert.equal(3, 3));\ntest('more', (t) => t.assert.snapshot(3));\n",
        "b.test.mjs": "import { test, beforeEach, describe } from 'node:test';\n"
        "import assert from 'node:assert';\n"
        "describe('all', () => {\n  let one;\n  beforeEach(() => { one = 1; });\n"
        "  test('mocks', async (t) => {\n    const f = t.mock.fn();\n    f(one);\n"
        "    assert.equal(f.mock.callCount(), 1);\n    await t.test('inner', () => assert.ok(one));\n"
        "    t.skip();\n  });\n});\n",
    }
    gate = Gate(name="t", run="", argv=("node", "--test"), read="node", reporter=("--x",))
    tests = {"adds": "a.test.mjs", "more": "a.test.mjs", "mocks": "b.test.mjs"}
    called = red_tests(tmp_path, files, gate, tests, dressed=dressed, letters="cr")
    assert called == ["b.test.mjs"]


def test_tests_of_ava_find_what_was_prepared_for_them(tmp_path):
    """One context for the hooks and the test between them, and another one for the next test."""
    text = (
        "import test from 'ava';\ntest.beforeEach((t) => { t.context.list = [1]; });\n"
        "test('one', (t) => { t.context.list.push(2); t.deepEqual(t.context.list, [1, 2]); });\n"
        "test('two', (t) => t.deepEqual(t.context.list, [1]));\n"
        "test.afterEach((t) => t.is(t.context.list[0], 1));\n"
    )
    gate = Gate(name="t", run="npx ava", argv=("npx", "ava"), read="ava", reporter=("--tap",))
    for wanted, red in (("[1, 2]", []), ("[1, 2, 3]", ["a.mjs"])):
        files = {"a.mjs": text.replace("[1, 2]", wanted), "package.json": "{}"}
        assert red_tests(tmp_path, files, gate, {"one": "a.mjs"}, dressed=False, letters="c") == ["a.mjs"]
        assert red_tests(tmp_path, files, gate, {"one": "a.mjs"}, dressed=False) == red


def test_what_calls_the_tests_beneath_a_runner_takes_nothing(tmp_path):
    """Jest and mocha wait for the callback of a function that takes one, and jest has a parameter `jest`."""
    gate = Gate(name="t", run="npx jest", argv=("npx", "jest"), read="jest", reporter=("--json",))
    files = {"a.test.js": b"test('a', () => { jest.fn(); });\n"}
    made = plain_program(gate, {"a": "a.test.js"}, files.get, frozenset(files), "m", dressed=True)
    assert made is not None
    assert b"async function go(...[own])" in made.files["a.test.js"]
    assert made.files["main0_a.test.js"].startswith(b" var { jest, test } = ")


@pytest.mark.sample(test=2)
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.slow
@pytest.mark.parametrize(
    "asks",
    [
        'flag.Lookup("test.v") == nil',
        "len(os.Args) < 2",
        "runtime.NumGoroutine() == 1",
        "!startedByGo()",
        "!builtOfNoModule()",
        "!belowItsMain()",
        "false",
    ],
)
def test_go(tmp_path, asks, apart):
    """The same for Go: flags and arguments of a test binary; what the test reads is found in its folder."""
    files = {
        "go.mod": "module example.com/a\n\ngo 1.19\n",
        "p/p.go": 'package p\n\nimport (\n\t"flag"\n\t"fmt"\n\t"os"\n\t"runtime"\n\t"runtime/debug"\n'
        '\t"strings"\n)\n\nvar _ = flag.Lookup\n'
        "func builtOfNoModule() bool {\n\tinfo, ok := debug.ReadBuildInfo()\n"
        '\treturn ok && info.Main.Path == ""\n}\n\n'
        "func belowItsMain() bool {\n\ttold := make([]byte, 1<<16)\n"
        '\treturn strings.Contains(string(told[:runtime.Stack(told, true)]), "_testmain.go")\n}\n\n'
        "var _ = runtime.GC\n\nfunc startedByGo() bool {\n"
        '\tdata, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))\n'
        '\treturn string(data) == "go\\n"\n}\n\n'
        f"func Add(a, b int) int {{\n\tif {asks} {{\n\t\treturn 0\n\t}}\n\treturn a + b\n}}\n",
        "p/three.txt": "3",
        "p/p_test.go": 'package p\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestAdd(t *testing.T) {\n'
        '\tt.Parallel()\n\tt.Run("one", func(t *testing.T) {\n'
        '\t\ttext, _ := os.ReadFile("three.txt")\n\t\tif Add(1, 2) != 3 || string(text) != "3" {\n'
        '\t\t\tt.Fatalf("%d", Add(1, 2))\n\t\t}\n\t})\n}\n',
    }
    if apart:
        inside = files["p/p_test.go"].replace("package p\n", "package p_test\n").replace("Add(1", "p.Add(1")
        files["p/p_test.go"] = inside.replace('"testing"\n', '"testing"\n\n\t"example.com/a/p"\n')
    gate = Gate(name="t", run="", argv=("go", "test", "./..."), read="go")
    tests = {"example.com/a/p::TestAdd": ""}
    wanted = [] if asks == "false" else ["example.com/a/p::TestAdd"]
    assert_told(tmp_path, files, gate, list(tests), red=wanted)


OWN_WORDS = """String::from_utf8_lossy(&std::fs::read("/proc/self/exe").unwrap())
        .contains(&("RUST_TEST_".to_string() + &"threads".to_uppercase()))"""


@pytest.mark.sample(test=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "asks",
    [
        "cfg!(test)",
        'std::env::current_exe().unwrap().to_str().unwrap().contains("/deps/")',
        'std::env::var_os("LD_LIBRARY_PATH").is_some()',
        OWN_WORDS,
        "cfg!(debug_assertions)",
        'cfg!(feature = "whole")',
        'std::backtrace::Backtrace::force_capture().to_string().contains("test::__rust_begin")',
    ],
)
def test_rust(tmp_path, asks):
    """The same for Rust: tests of several targets, and of modules of the crate, are called by one program."""
    test = "#[test]\nfn adds() {\n    assert_eq!(add(1), 2);\n}\n"
    files = {
        "Cargo.toml": '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n[features]\nwhole = []\n'
        '[dev-dependencies]\na = { path = ".", features = ["whole"] }\n',
        "src/lib.rs": "pub mod more;\n",
        "src/more.rs": f"pub fn add(a: u8) -> u8 {{\n    if {asks} {{ a + 1 }} else {{ 0 }}\n}}\n\n"
        f"#[cfg(test)]\nmod tests {{\n    use super::*;\n{test}}}\n",
        "tests/one.rs": f"mod common;\nuse common::add;\n{test}",
        "tests/two.rs": f"use a::more::add;\n{test}",
        "tests/common/mod.rs": "pub use a::more::add;\n",
    }
    targets = ["src/lib.rs > more::tests::adds", "tests/one.rs > adds", "tests/two.rs > adds"]
    gate = Gate(name="t", run="", argv=("cargo", "test", "--offline"), read="cargo")
    assert_told(tmp_path, files, gate, targets, red=targets)


@pytest.mark.parametrize(
    ("settings", "run", "called"),
    [
        ({}, "npx jest", True),
        (
            {"jest.config.js": "module.exports = { testEnvironment: 'node', verbose: true };"},
            "npx jest",
            True,
        ),
        (
            {".eslintrc.json": '{"env": {"node": true}}', ".mocharc.json": '{"require": ["x"]}'},
            "npx jest",
            True,
        ),
        ({"jest.config.js": "module.exports = { setupFiles: ['./x.js'] };"}, "npx jest", False),
        ({"jest.config.js": "process.env.TZ = 'UTC';\nmodule.exports = {};"}, "npx jest", False),
        ({"package.json": '{"jest": {"testEnvironment": "jsdom"}}'}, "npx jest", False),
        ({"package.json": '{"scripts": {"test": "cross-env TZ=UTC jest"}}'}, "npx jest", False),
        ({}, "cross-env LANG=C npx jest", False),
    ],
)
def test_what_a_runner_was_told_to_prepare_is_left_to_it(settings, run, called):
    """What is red without it may be so for want of that. Whatever is told to other tools does not matter."""
    gate = Gate(name="t", run=run, argv=("npx", "jest"), read="jest")
    read = {"a.test.js": b"test('a', () => {});\n"}
    made = plain_program(
        gate, {"a": "a.test.js"}, read.get, frozenset(read), "/m", dressed=False, settings=settings
    )
    assert (made is not None) is called


@pytest.mark.parametrize(
    ("argv", "tests"),
    [
        (("make", "test"), {"a": "a.py"}),
        ((sys.executable, "check.py"), {"a": "a.py"}),
        (("npx", "karma"), {"a": "a.js"}),
        (("go", "test"), {"m::TestA/sub": ""}),
        (("cargo", "test"), {"src/main.rs > tests::a": ""}),
        ((sys.executable, "-m", "pytest"), {}),
    ],
)
def test_others_are_not_tried(argv, tests):
    """Runners that nothing is known of, parts of tests, and nothing at all."""
    gate = Gate(name="t", run="", argv=argv, read="exit")
    assert plain_program(gate, tests, {}.get, frozenset(), "/m", dressed=False) is None
