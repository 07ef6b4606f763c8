"""Canaries with real runners: what must fail does fail, and whoever keeps it from failing is found out."""

import shutil
import sys

import pytest
from guardkit import as_bytes, facts_of
from msgspec.structs import replace

from ralph.core.model import Canary, Counts, Finding, Gate, Reading
from ralph.gates.canary import Planted, harvest, plant
from ralph.gates.canary_text import KINDS, MEANS, names, told
from ralph.gates.guards import KINDS as FOUND
from ralph.gates.guards import REGISTRY
from ralph.gates.readers import reader
from ralph.gates.seal import seal

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
NONCE = "a1b2c3d4"
ALL = ("a", "b", "c", "d")
ENDED = (*ALL, "exit")  # all of them failed, and so did the runner

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


def gate(run, **fields):
    return seal("tests", run, tree_paths=frozenset(), proof=True, **fields)


@pytest.fixture
def sing(project, observe):
    """The gate on these files, then once more with canaries: the plain reading and the harvested one."""
    count = iter(range(100))

    def call(files, made, prefer=()):
        root = project(files, f"proj{next(count)}")
        plain = reader(made.read)(observe(made, root), made)
        bird = plant(made, plain, lambda: list(files), as_bytes(files).get, NONCE, prefer)
        if bird is None:
            return plain, None
        target = root / bird.path
        target.write_bytes(bird.content)
        seen = reader(bird.gate.read)(observe(bird.gate, root), bird.gate)
        return plain, harvest(seen, bird)

    return call


def judged(base, now, made):
    """What the guard says of these two calls with canaries; None: none could be put."""
    given = facts_of(
        {},
        {},
        gates=(made,),
        base={"tests": base},
        final={"tests": replace(now, canary=None)},
        repeats={"tests": (now,)},
    )
    result = REGISTRY["canary"](given)
    assert all(finding.key.split(":")[0] in FOUND for finding in result.findings)
    return result


def kinds(result):
    return sorted({finding.key.split(":")[0].removeprefix("canary.") for finding in result.findings})


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
    _, again = sing(files, made)
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
        "tests/test_b.py::b": "pass",
        "tests/test_b.py::c": "pass",
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_show(name, sing):
    """What keeps a test from failing keeps a canary from failing, or shows in what the runner is made of."""
    run, changed, expected = ATTACKS[name]
    if "node" in name and NODE is None:
        pytest.skip("node is not installed")
    made = gate(run)
    files = {"pytest": PY, "unittest": UNIT, "node": JS}[made.read]
    _, base = sing(files, made)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", EXITS)
def test_a_product_that_ends_the_process(name, sing):
    """Source that ends the process as a success is not green, at the latest with canaries beside it."""
    run, code = EXITS[name]
    if "node" in name and NODE is None:
        pytest.skip("node is not installed")
    made = gate(run)
    files = {"pytest": PY, "unittest": UNIT, "node": JS}[made.read]
    source = "calc.mjs" if made.read == "node" else "calc.py"
    _, base = sing(files, made)
    plain, now = sing({**files, source: files[source] + code}, made)
    assert plain.status == "pass" or "at exit" not in name
    if plain.status == "pass":  # at exit: all tests did pass, but a red one would have ended as a success
        assert kinds(judged(base, now, made)) == ["silent" if "at exit" in name else "unseen"]


# By hand ----------------------------------------------------------------------------------------

GREEN = Reading("pass", "1 passed", tests={"t.py::test_x": "pass"}, files={"t.py::test_x": "t.py"})
PLAIN = gate("pytest -q")
BIRD = Planted(PLAIN, "t.py", b"", NONCE)


@pytest.mark.parametrize(
    ("made", "reading", "content"),
    [
        (gate("make test"), GREEN, b""),
        (gate("mypy src"), GREEN, b""),
        (gate("/bin/sh -c 'pytest -q; true'"), GREEN, b""),
        (PLAIN, replace(GREEN, tests=None), b""),
        (PLAIN, replace(GREEN, tests={}), b""),
        (PLAIN, replace(GREEN, tests={"t.py::test_x": "fail"}), b""),
        (PLAIN, replace(GREEN, files={}), b""),
        (PLAIN, GREEN, None),
    ],
)
def test_no_place_for_a_canary(made, reading, content):
    """No known runner, no test that passes, no file that is known: no canary."""
    assert plant(made, reading, lambda: ["t.py"], lambda _path: content, NONCE) is None


def test_names():
    """Each kind has its own name, made after its neighbour, and says how it fails."""
    for read, found in KINDS.items():
        assert [name.rsplit("_", 1)[-1] for name in names(read, "test_x", NONCE)] == list(found)
        assert MEANS[read].keys() == set(found)
        assert all(NONCE in name and name.startswith("test_x") for name in names(read, "test_x", NONCE))


def canaries(**states):
    return {f"t.py::test_x_{NONCE}_{kind}": state for kind, state in states.items()}


def seen(status="fail", *findings, **states):
    tests = {"t.py::test_x": "pass", **canaries(**states)}
    red = tuple(Finding(name, "assert 17 == 71") for name, state in tests.items() if state == "fail")
    files = dict.fromkeys(tests, "t.py")
    return Reading(status, "5 tests", tests=tests, findings=(*red, *findings), files=files)


@pytest.mark.parametrize(
    ("given", "canary", "status"),
    [
        (seen(a="fail", b="fail", c="fail", d="fail"), Canary(red=ENDED), "pass"),
        (
            replace(
                seen(a="fail", b="fail", c="fail", d="fail"), summary="4 failed, although the exit code is 0"
            ),
            Canary(red=ALL, silent=("exit",)),
            "pass",
        ),
        (
            seen(a="pass", b="fail", c="skipped"),
            Canary(red=("b", "exit"), silent=("a", "c"), unseen=("d",)),
            "pass",
        ),
        (seen("pass", a="pass", b="pass", c="pass", d="pass"), Canary(silent=ALL), "pass"),
        (seen("pass"), Canary(unseen=ALL), "pass"),
        (Reading("error", "torn", cause="torn-report"), Canary(unseen=ALL), "error"),
        (replace(seen(a="fail"), cause="timeout"), Canary(red=("a", "exit"), unseen=("b", "c", "d")), "fail"),
        (
            seen("fail", Finding("collect:u.py", "broken"), a="fail"),
            Canary(red=("a", "exit"), unseen=("b", "c", "d")),
            "fail",
        ),
        (
            seen("fail", Finding("exit", "1"), a="fail"),
            Canary(red=("a", "exit"), unseen=("b", "c", "d")),
            "pass",
        ),
    ],
)
def test_harvest(given, canary, status):
    """Canaries are counted by kind and taken out; green only when they were all that was red."""
    left = harvest(given, BIRD)
    assert left.canary == canary
    assert left.status == status
    assert not [name for name in left.tests or {} if NONCE in name]
    assert not [name for name in left.files if NONCE in name]
    assert not [finding for finding in left.findings if NONCE in finding.key]
    if left.tests is not None:
        assert left.counts == Counts(1, 0, 0)


def test_harvest_under_parameters():
    """One that failed under one parameter and not under another did not fail."""
    tests = {
        "t.py::test_x": "pass",
        f"t.py::test_x_{NONCE}_a[1]": "fail",
        f"t.py::test_x_{NONCE}_a[2]": "pass",
    }
    assert harvest(replace(seen(), tests=tests), BIRD).canary == Canary(
        red=("exit",), silent=("a",), unseen=("b", "c", "d")
    )


def test_harvest_of_nothing_but_canaries():
    """Where no other test passed, a red reading does not turn green by taking canaries out."""
    tests = canaries(a="fail")
    assert harvest(replace(seen(), tests=tests), BIRD).status == "fail"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"AssertionError: {NONCE}|" + ";".join(["abc123"] * 25 + ["-"]) + "|", 25),
        (f"{NONCE}|" + ";".join(["-"] * 26) + "|", 0),
        (f"{NONCE}|abc123;abc123|", 0),
        (f"{NONCE}|x|", 0),
        ("other|" + ";".join(["abc123"] * 26) + "|", 0),
        ("", 0),
    ],
)
def test_told(text, found):
    """The runner's parts are taken from the words of the last canary, all of them or none."""
    parts = told("pytest", text, NONCE)
    assert len(parts) == found
    assert set(parts.values()) <= {"abc123"}


RUNNER = {"x:run": "1", "x:fail": "2"}
SUNG = Canary(red=ENDED, runner=RUNNER)
LIED = Canary(red=ALL, silent=("exit",), runner=RUNNER)


@pytest.mark.parametrize(
    ("before", "now", "found", "applied"),
    [
        (SUNG, SUNG, [], True),
        (None, SUNG, [], True),
        (SUNG, LIED, ["silent"], True),
        (LIED, LIED, [], True),
        (SUNG, replace(SUNG, red=("a",), silent=("b",), unseen=("c", "d")), ["silent", "unseen"], True),
        (
            replace(SUNG, red=("a", "b", "c"), silent=("d",)),
            replace(SUNG, red=("a", "b", "c"), silent=("d",)),
            [],
            True,
        ),
        (replace(SUNG, red=(), unseen=ALL), replace(SUNG, red=(), unseen=ALL), [], False),
        (None, replace(SUNG, red=(), silent=ALL), ["silent"], True),
        (None, replace(SUNG, red=(), unseen=ALL), [], False),
        (SUNG, replace(SUNG, runner={**RUNNER, "x:run": "3"}), ["runner"], True),
        (SUNG, replace(SUNG, runner={"x:run": "1"}), [], True),
        (replace(SUNG, runner={"x:run": "1"}), SUNG, [], True),
        (SUNG, replace(SUNG, runner={}), [], True),
        (SUNG, None, [], False),
    ],
)
def test_guard(before, now, found, applied):
    """What failed at the base has to fail now, by the same parts of the runner; what never did is spared."""
    result = judged(replace(GREEN, canary=before), replace(GREEN, canary=now), PLAIN)
    assert kinds(result) == found
    assert result.applied is applied
    assert result.integrity


@pytest.mark.parametrize(
    ("made", "final"),
    [
        (Gate("tests", "x", ("x",), proof=True), Reading("pass", "exit code 0")),
        (Gate("tests", "x", ("x",), required=False), GREEN),
    ],
)
def test_guard_has_nothing_to_try(made, final):
    """A check that is read by its exit code, and advice, have no place for a canary: nobody is blind."""
    result = judged(final, final, made)
    assert (result.applied, result.summary) == (True, "nothing to try")


def test_guard_never_says_too_much():
    """A sentence names the gate and the kind, and few of many parts."""
    many = {f"x:{number}": "1" for number in range(9)}
    other = dict.fromkeys(many, "2")
    result = judged(
        replace(GREEN, canary=Canary(red=ALL, runner=many)),
        replace(GREEN, canary=Canary(red=ALL, runner=other)),
        PLAIN,
    )
    assert [finding.message for finding in result.findings] == [
        "tests: not what it was at the base: x:0, x:1, x:2 and 6 more"
    ]
