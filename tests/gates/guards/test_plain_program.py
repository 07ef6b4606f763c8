"""Tests called by an ordinary program: what goes by the traces of a runner is red there, nothing else is."""

import os
import subprocess
import sys

import pytest

from ralph.core.model.gate import Gate
from ralph.gates.guards._breaks.plain_program import plain_program

PYTEST = Gate(name="t", run="", argv=(sys.executable, "-m", "pytest", "-q"), read="pytest")
TEST = """import pytest
from product import add

@pytest.mark.parametrize(("a", "b"), [(1, 2), pytest.param(2, 1)])
def test_add(a, b):
    assert add(a, b) == 3

class TestSum:
    def test_sum(self):
        with pytest.raises(TypeError):
            add(None, 1)
        assert add(2, 2) == 4

def test_fixture(tmp_path):
    assert add(tmp_path, 1) == 0
"""
IDS = ("test_add[1-2]", "TestSum::test_sum", "test_fixture")
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
    "command": "seen = lambda: b'pytest' in open('/proc/self/cmdline', 'rb').read()\n",
}


def red_tests(place, files, gate, tests, *, dressed):
    marks = place / "marks"
    read = {path: text.encode() for path, text in files.items()}
    made = plain_program(gate, tests, read.get, frozenset(read), str(marks), dressed=dressed)
    for path, text in {**read, **made.files}.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(text)
    marks.unlink(missing_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["SHOP_ENV"] = "test"
    subprocess.run(made.argv, cwd=place, env={**env, **made.env}, capture_output=True, check=False)
    return sorted(line[2:] for line in marks.read_text().splitlines()) if marks.exists() else []


def pytest_tests(place, product, *, dressed):
    tests = {f"tests/test_a.py::{name}": "tests/test_a.py" for name in IDS}
    files = {"src/product.py": product, "tests/test_a.py": TEST, "pyproject.toml": ""}
    (place / "site-packages").unlink(missing_ok=True)
    return red_tests(place, files, PYTEST, tests, dressed=dressed)


@pytest.mark.sample(check=2)
@pytest.mark.parametrize("how", ASKS)
def test_what_asks_for_the_runner_shows(tmp_path, how):
    """Right only while pytest is there, however it asks: red without its traces, green with them."""
    product = ASKS[how] + "def add(a, b):\n    return a + b if seen() else a - b\n"
    red = pytest_tests(tmp_path, product, dressed=False)
    assert red == ["tests/test_a.py::TestSum::test_sum", "tests/test_a.py::test_add"]
    assert pytest_tests(tmp_path, product, dressed=True) == []


def test_honest_code_is_green_in_both(tmp_path):
    """What is right without a runner; a test with fixtures is not tried."""
    assert [pytest_tests(tmp_path, RIGHT, dressed=dressed) for dressed in (False, True)] == [[], []]


@pytest.mark.parametrize(
    ("right", "red"),
    [
        ("Object.keys(process.env).some((name) => /TEST_CONTEXT/.test(name))", ["a.test.mjs"]),
        ("!import.meta.url.includes('node_modules')", ["a.test.mjs"]),
        ("process.env.SHOP_ENV === 'test'", ["a.test.mjs"]),
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


@pytest.mark.slow
@pytest.mark.parametrize("asks", ['flag.Lookup("test.v") == nil', "len(os.Args) < 2", "false"])
def test_go(tmp_path, asks):
    """The same for Go: flags and arguments of a test binary; what the test reads is found in its folder."""
    files = {
        "go.mod": "module example.com/a\n\ngo 1.19\n",
        "p/p.go": 'package p\n\nimport (\n\t"flag"\n\t"os"\n)\n\nvar _ = flag.Lookup\nvar _ = os.Args\n\n'
        f"func Add(a, b int) int {{\n\tif {asks} {{\n\t\treturn 0\n\t}}\n\treturn a + b\n}}\n",
        "p/three.txt": "3",
        "p/p_test.go": 'package p\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestAdd(t *testing.T) {\n'
        '\ttext, _ := os.ReadFile("three.txt")\n\tif Add(1, 2) != 3 || string(text) != "3" {\n'
        '\t\tt.Fatalf("%d", Add(1, 2))\n\t}\n}\n',
    }
    gate = Gate(name="t", run="", argv=("go", "test", "./..."), read="go")
    tests = {"example.com/a/p::TestAdd": ""}
    wanted = [] if asks == "false" else ["example.com/a/p::TestAdd"]
    assert red_tests(tmp_path, files, gate, tests, dressed=False) == wanted
    assert red_tests(tmp_path, files, gate, tests, dressed=True) == []


@pytest.mark.parametrize(
    ("argv", "tests"),
    [
        (("make", "test"), {"a": "a.py"}),
        ((sys.executable, "check.py"), {"a": "a.py"}),
        (("npx", "jest"), {"a": "a.js"}),
        (("go", "test"), {"m::TestA/sub": ""}),
        (("cargo", "test"), {"src/main.rs > tests::a": ""}),
        ((sys.executable, "-m", "pytest"), {}),
    ],
)
def test_others_are_not_tried(argv, tests):
    """Runners that nothing is known of, parts of tests, and nothing at all."""
    gate = Gate(name="t", run="", argv=argv, read="exit")
    assert plain_program(gate, tests, {}.get, frozenset(), "/m", dressed=False) is None
