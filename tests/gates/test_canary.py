"""Canaries with real runners: what must fail does fail, and whoever keeps it from failing is found out."""

import shutil
import sys

import pytest
from canarykit import ENDED, NONCE, gate, judged, kinds
from guardkit import as_bytes
from msgspec.structs import replace

from ralph.core.model.verdict import Reading
from ralph.gates.guess_tests import guess_reading
from ralph.gates.plant_canary import plant, take_out_canaries
from ralph.gates.readers import reader

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

PYTEST = f"{sys.executable} -m pytest -q"
UNITTEST = f"{sys.executable} -m unittest"
NODE_TEST = f"{NODE} --test"
CALC = "def add(a, b):\n    return a + b\n"
PY = {
    "calc.py": CALC,
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2) == 4\n",
    "pytest.ini": "[pytest]\npythonpath = .\n",
}
UNIT = {
    "calc.py": CALC,
    "test_calc.py": (
        "import unittest\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 2), 4)\n\n\n"
        "if __name__ == '__main__':\n    unittest.main()\n"
    ),
}
JS = {
    "calc.mjs": "export const add = (a, b) => a + b;\n",
    "test/calc.test.mjs": (
        "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "import { add } from '../calc.mjs';\n"
        "test('adds \"two\"', () => { assert.strictEqual(add(2, 2), 4); });"
    ),
}


@pytest.fixture
def sing(project, observe):
    """The gate on these files, then once more with canaries: the plain reading and the harvested one.

    `plain`: the reading without canaries, where it was taken already.
    """
    count = iter(range(100))

    def call(files, made, prefer=(), plain=None):
        root = project(files, f"proj{next(count)}")
        plain = plain or reader(made.read)(observe(made, root), made)
        bird = plant(made, plain, lambda: list(files), as_bytes(files).get, NONCE, prefer)
        if bird is None:
            return plain, None
        target = root / bird.path
        target.write_bytes(bird.content)
        seen = reader(bird.gate.read)(observe(bird.gate, root), bird.gate)
        return plain, take_out_canaries(seen, bird)

    return call


@pytest.fixture(scope="module")
def at_base():
    """What the canaries said beside the untouched files of each runner, taken once."""
    known = {}

    def call(sing, files, made):
        if made.read not in known:
            known[made.read] = sing(files, made)[1]
        return known[made.read]

    return call


# The honest ways --------------------------------------------------------------------------------

HONEST = {
    "pytest": (PYTEST, PY, 15),
    "pytest, one test by its id": (f"{PYTEST} tests/test_calc.py::test_add", PY, 15),
    "pytest -x": (f"{PYTEST} -x", PY, 15),
    "pytest -k": (f"{PYTEST} -k add", PY, 15),
    "pytest, one folder, settings after --": (f"{PYTEST} -- tests", PY, 15),
    "pytest with classes and parameters": (
        PYTEST,
        {
            **PY,
            "tests/test_calc.py": (
                "import pytest\nfrom calc import add\n\nclass TestAdd:\n"
                "    @pytest.mark.parametrize('x', [1, 2])\n"
                "    def test_it(self, x):\n        assert add(x, 0) == x\n"
            ),
        },
        15,
    ),
    "pytest with every test under parameters of the project": (
        PYTEST,
        {
            **PY,
            "conftest.py": (
                "import pytest\n\n@pytest.fixture(autouse=True, params=['one', 'two'])\n"
                "def backend(request):\n    return request.param\n"
            ),
        },
        15,
    ),
    "pytest with names of its own": (
        PYTEST,
        {
            **PY,
            "pytest.ini": "[pytest]\npythonpath = .\npython_files = check_*.py\npython_functions = check_*\n",
            "tests/check_calc.py": "from calc import add\n\ndef check_add():\n    assert add(1, 1) == 2\n",
        },
        15,
    ),
    "pytest, windows line ends, no newline at the end": (
        PYTEST,
        {
            **PY,
            "tests/test_calc.py": "from calc import add\r\n\r\ndef test_add():\r\n    assert add(2, 2) == 4",
        },
        15,
    ),
    "unittest": (UNITTEST, UNIT, 8),
    "unittest, one test by its name": (f"{UNITTEST} test_calc.TestAdd.test_add", UNIT, 8),
    "unittest --failfast": (f"{UNITTEST} --failfast", UNIT, 8),
    "unittest -k": (f"{UNITTEST} -k test_add", UNIT, 8),
    "unittest discover": (
        f"{UNITTEST} discover -s tests -t .",
        {"calc.py": CALC, "tests/__init__.py": "", "tests/test_calc.py": UNIT["test_calc.py"]},
        8,
    ),
    "unittest discover without a top": (
        f"{UNITTEST} discover tests",
        {"tests/calc.py": CALC, "tests/test_calc.py": UNIT["test_calc.py"]},
        8,
    ),
    "node": (NODE_TEST, JS, 12),
    "node, one file": (f"{NODE_TEST} test/calc.test.mjs", JS, 12),
    "node, by name": (f"{NODE_TEST} --test-name-pattern=adds", JS, 12),
    "node, old modules": (
        NODE_TEST,
        {
            "calc.js": "exports.add = (a, b) => a + b;\n",
            "calc.test.js": (
                "'use strict'\nconst { test, describe } = require('node:test')\n"
                "const assert = require('assert')\n"
                "const { add } = require('./calc')\n"
                "describe('add', () => { test('small', () => assert.equal(add(1, 1), 2)) })"
            ),
        },
        12,
    ),
}


@pytest.mark.sample(test=3)
@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_honest(name, sing):
    """Beside honest tests every canary fails, the rest reads as without them, and the runner is told."""
    run, files, parts = HONEST[name]
    if "node" in name and NODE is None:
        pytest.skip("node is not installed")
    made = gate(run)
    plain, seen = sing(files, made)
    assert plain.status == "pass", plain
    assert seen is not None
    assert seen.canary is not None
    assert (seen.canary.red, seen.canary.silent, seen.canary.unseen) == (ENDED, (), ())
    assert len(seen.canary.runner) >= parts, seen.canary.runner
    assert replace(seen, canary=None) == replace(plain, summary=seen.summary)
    _, again = sing(files, made, plain=plain)
    result = judged(seen, again, made)
    assert (result.applied, result.findings) == (True, ()), result
    assert "4 tests that must fail failed" in result.summary


@pytest.mark.slow
def test_a_red_test_beside_them_stays_red(sing):
    """Canaries are taken out of a reading that is red anyway, and it stays red for its own reason."""
    wrong = {
        **PY,
        "tests/test_calc.py": PY["tests/test_calc.py"] + "\n\ndef test_b():\n    assert add(1, 1) == 3\n",
    }
    plain, seen = sing(wrong, gate(PYTEST))
    assert plain.status == seen.status == "fail"
    assert seen.tests == plain.tests
    assert [finding.key for finding in seen.findings] == [finding.key for finding in plain.findings]
    assert seen.canary.red == ENDED


@pytest.mark.slow
def test_a_file_that_is_as_it_was_is_preferred(sing):
    """Of several files one that the change did not touch carries them."""
    files = {
        **PY,
        "tests/test_b.py": "def test_b():\n    pass\n\n\ndef test_c():\n    pass\n",
    }
    made = gate(PYTEST)
    tests = {
        "tests/test_calc.py::test_add": "pass",
        "tests/test_b.py::test_b": "pass",
        "tests/test_b.py::test_c": "pass",
    }
    known = Reading("pass", "", tests=tests, files={name: name.split("::")[0] for name in tests})
    get = as_bytes(files).get
    fullest = plant(made, known, lambda: list(files), get, NONCE)
    preferred = plant(made, known, lambda: list(files), get, NONCE, {"tests/test_calc.py"})
    assert (fullest.path, preferred.path) == ("tests/test_b.py", "tests/test_calc.py")
    assert sing(files, made, {"tests/test_calc.py"})[1].canary.red == ENDED


# The attacks ------------------------------------------------------------------------------------

FLIP = (
    "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    out = yield\n    out.get_result().outcome = 'passed'\n"
)
FORGED = (
    '<testsuites><testsuite name="pytest" errors="0" failures="0" skipped="0" tests="1" time="0.1">'
    '<testcase classname="tests.test_calc" name="test_add" file="tests/test_calc.py" line="3" time="0.01"/>'
    "</testsuite></testsuites>"
)
FORGE = (
    "import atexit, os, sys\ndef forge():\n"
    "    path = next((w.split('=', 1)[1] for w in sys.argv if w.startswith('--junitxml=')), '')\n"
    f"    open(path, 'w').write('''{FORGED}''')\n    os._exit(0)\natexit.register(forge)\n"
)
PATCHED_RAISES = (
    "import sys\nif 'pytest' in sys.modules:\n    import contextlib\n"
    "    sys.modules['pytest'].raises = lambda *a, **k: contextlib.nullcontext()\n"
)
NO_FAILURES = (
    "import sys\ncase = sys.modules.get('_pytest.runner')\nif case:\n    real = case.CallInfo.from_call\n"
    "    def from_call(func, when, reraise=None):\n        info = real(func, when, reraise)\n"
    "        info.excinfo = None\n        info._result = None\n        return info\n"
    "    case.CallInfo.from_call = from_call\n"
)
CAREFUL = (  # passes everything that is not a canary of the kinds it knows, and patches what it leaves behind
    "import unittest\nreal = unittest.TestCase.assertEqual\n"
    "def assertEqual(self, a, b, msg=None):\n    return real(self, a, b, msg) if b in (71, [71]) else None\n"
    "unittest.TestCase.assertEqual = assertEqual\n"
)
SELECTIVE = (
    "import pytest\ndef pytest_collection_modifyitems(items):\n"
    "    items[:] = [i for i in items if i.name == 'test_add']\n"
)
ATTACKS = {
    # name: command, files of the result that differ, kinds that must be among those found
    "pytest: a hook flips outcomes": (PYTEST, {"conftest.py": FLIP}, {"silent"}),
    "pytest: a plugin in the source flips outcomes": (
        PYTEST,
        {"calc.py": CALC + NO_FAILURES},
        {"silent"},
    ),
    "pytest: raises is patched": (PYTEST, {"calc.py": CALC + PATCHED_RAISES}, {"silent"}),
    "pytest: unittest's assertEqual is patched": (
        PYTEST,
        {"calc.py": CALC + "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"},
        {"silent", "runner"},
    ),
    "pytest: a patch that knows the canaries": (PYTEST, {"calc.py": CALC + CAREFUL}, {"runner"}),
    "pytest: other tests are deselected": (PYTEST, {"conftest.py": SELECTIVE}, {"unseen"}),
    "pytest: the report is forged at exit": (PYTEST, {"calc.py": CALC + FORGE}, {"unseen"}),
    "pytest: asserts are compiled away": (
        PYTEST,
        {"pytest.ini": "[pytest]\npythonpath = .\naddopts = --assert=plain\n", "tests/conftest.py": FLIP},
        {"silent"},
    ),
    "unittest: assertEqual is patched": (
        UNITTEST,
        {"calc.py": CALC + "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"},
        {"silent", "runner"},
    ),
    "unittest: assertRaises is patched": (
        UNITTEST,
        {
            "calc.py": CALC + "import contextlib, unittest\n"
            "unittest.TestCase.assertRaises = lambda *a, **k: contextlib.nullcontext()\n"
        },
        {"silent", "runner"},
    ),
    "unittest: failures are dropped": (
        UNITTEST,
        {
            "calc.py": CALC + "import unittest\n"
            "for kind in (unittest.TestResult, unittest.TextTestResult):\n"
            "    kind.addFailure = kind.addError = lambda self, test, err: self.addSuccess(test)\n"
        },
        {"silent"},
    ),
    "unittest: a patch that knows the canaries": (UNITTEST, {"calc.py": CALC + CAREFUL}, {"runner"}),
    "node: strictEqual is patched": (
        NODE_TEST,
        {"calc.mjs": JS["calc.mjs"] + "import assert from 'node:assert';\nassert.strictEqual = () => {};\n"},
        {"silent", "runner"},
    ),
    "node: throws is patched": (
        NODE_TEST,
        {"calc.mjs": JS["calc.mjs"] + "import assert from 'node:assert';\nassert.throws = () => {};\n"},
        {"silent", "runner"},
    ),
    "node: a patch that knows the canaries": (
        NODE_TEST,
        {
            "calc.mjs": JS["calc.mjs"]
            + "import assert from 'node:assert';\nconst real = assert.strictEqual;\n"
            "assert.strictEqual = (a, b, ...c) => { if (b === 71) real(a, b, ...c); };\n"
        },
        {"runner"},
    ),
}


@pytest.mark.sample(test=3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_show(name, sing, at_base):
    """What keeps a test from failing keeps a canary from failing, or shows in what the runner is made of."""
    run, changed, expected = ATTACKS[name]
    if "node" in name and NODE is None:
        pytest.skip("node is not installed")
    made = gate(run)
    files = {"pytest": PY, "unittest": UNIT, "node": JS}[made.read]
    base = at_base(sing, files, made)
    plain, now = sing({**files, **changed}, made)
    assert plain.status == "pass", "the attack itself works"
    result = judged(base, now, made)
    assert expected <= set(kinds(result)), (result, now.canary)
    assert result.integrity
    words = " ".join(finding.message for finding in result.findings)
    assert NONCE not in words


EXITS = {
    "pytest": (PYTEST, "import os\nos._exit(0)\n"),
    "pytest at exit": (PYTEST, "import atexit, os\natexit.register(os._exit, 0)\n"),
    "unittest": (UNITTEST, "import os\nos._exit(0)\n"),
    "unittest at exit": (UNITTEST, "import atexit, os\natexit.register(os._exit, 0)\n"),
    "node": (NODE_TEST, "process.exit(0);\n"),
}


@pytest.mark.sample(test=2)
@pytest.mark.slow
@pytest.mark.parametrize("name", EXITS)
def test_a_product_that_ends_the_process(name, sing, at_base):
    """Source that ends the process as a success is not green, at the latest with canaries beside it."""
    run, code = EXITS[name]
    if "node" in name and NODE is None:
        pytest.skip("node is not installed")
    made = gate(run)
    files = {"pytest": PY, "unittest": UNIT, "node": JS}[made.read]
    source = "calc.mjs" if made.read == "node" else "calc.py"
    base = at_base(sing, files, made)
    plain, now = sing({**files, source: files[source] + code}, made)
    assert plain.status == "pass" or "at exit" not in name
    if plain.status == "pass":  # at exit: all tests did pass, but a red one would have ended as a success
        assert kinds(judged(base, now, made)) == ["silent" if "at exit" in name else "unseen"]


@pytest.mark.parametrize(
    ("files", "run"),
    [
        pytest.param(PY, PYTEST, id="pytest"),
        pytest.param(UNIT, UNITTEST, id="unittest"),
        pytest.param(JS, NODE_TEST, id="node", marks=needs_node),
    ],
)
def test_a_guessed_place_is_as_good_as_a_known_one(sing, files, run):
    """Before the runner has said which tests there are, canaries stand where it finds them."""
    made = gate(run)
    guess = guess_reading(made, files, as_bytes(files).get)
    _, seen = sing(files, made, plain=guess)
    assert (set(seen.canary.red), seen.canary.unseen, seen.canary.silent) == (set(ENDED), (), ())


@pytest.mark.parametrize(
    ("run", "files", "names"),
    [
        (PYTEST, {"tests/test_a.py": "def test_a():\n    pass\n\n\ndef helper():\n    pass\n"}, ["test_a"]),
        (
            f"{PYTEST} tests/unit",
            {"tests/test_a.py": "def test_a(): 0", "tests/unit/test_b.py": "def test_b(): 0"},
            ["test_b"],
        ),
        (PYTEST, {"tests/test_a.py": "class TestA:\n    def test_a(self):\n        pass\n"}, []),
        (PYTEST, {"src/calc.py": "def test_a(): 0"}, []),
        (f"{NODE} --test", {"test/a.test.js": "it('adds two', () => {});"}, ["adds two"]),
        ("go test ./...", {"a_test.go": "func TestA(t *testing.T) {}"}, []),
        ("ruff check .", {"tests/test_a.py": "def test_a(): 0"}, []),
    ],
)
def test_what_is_guessed_of_tests(run, files, names):
    """Only what stands in files that the command looks at, and where the runner would find it."""
    guess = guess_reading(gate(run), files, as_bytes(files).get)
    assert [name.rpartition("::")[2] for name in (guess.tests if guess else ())] == names
