"""Guard "witness": which tests are put over the base source, what counts, and what is said of it."""

import shutil
import sys

import pytest
from guardkit import PYTEST, facts_of
from msgspec.structs import replace
from witnesskit import (
    ADD,
    AFTER,
    BEFORE,
    BY_EXIT,
    FINAL,
    MUL,
    NEW,
    NEW_TEST,
    OLD,
    OLD_TEST,
    given,
    read,
)

from ralph.core.model.verdict import Reading
from ralph.gates.guards import (
    REGISTRY,
    Broken,
    Tried,
    WitnessRequest,
    sabotage_request,
    witness_request,
    witnesses,
)
from ralph.gates.guards.integrity.witness import added_words, right_reason
from ralph.gates.narrow import narrow_to_files
from ralph.gates.readers import reader
from ralph.gates.seal import seal

NODE = shutil.which("node")


# Which tests are put over the base source -------------------------------------------------------

REQUESTS = {
    "a changed test": ({}, {}, WitnessRequest(("tests/test_a.py",), (), ("tests/test_a.py",))),
    "a new test": (
        {"calc.py": OLD},
        {"calc.py": NEW, "tests/test_b.py": NEW_TEST},
        WitnessRequest(("tests/test_b.py",), (), ("tests/test_b.py",)),
    ),
    "its helpers, data and conftest come with it": (
        {"calc.py": OLD},
        {
            "calc.py": NEW,
            "tests/__init__.py": "",
            "tests/conftest.py": "x",
            "tests/data.json": "{}",
            "tests/LICENSE": "x",
            "tests/test_b.py": NEW_TEST,
        },
        WitnessRequest(
            ("tests/LICENSE", "tests/__init__.py", "tests/conftest.py", "tests/data.json", "tests/test_b.py"),
            (),
            ("tests/__init__.py", "tests/data.json", "tests/test_b.py"),
        ),
    ),
    "settings of the runner do not": (
        {"calc.py": OLD},
        {"calc.py": NEW, "pytest.ini": "[pytest]\n", "pyproject.toml": "", "tests/test_b.py": NEW_TEST},
        WitnessRequest(("tests/test_b.py",), (), ("tests/test_b.py",)),
    ),
    "a test that is gone is gone there too": (
        {"calc.py": OLD, "tests/test_old.py": OLD_TEST},
        {"calc.py": NEW, "tests/test_b.py": NEW_TEST},
        WitnessRequest(("tests/test_b.py",), ("tests/test_old.py",), ("tests/test_b.py",)),
    ),
    "no test changed": ({"calc.py": OLD}, {"calc.py": NEW}, None),
    "only a test went away": ({"calc.py": OLD, "tests/test_a.py": OLD_TEST}, {"calc.py": NEW}, None),
    "only settings changed": ({"pytest.ini": "a"}, {"pytest.ini": "b"}, None),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_request(name):
    """New and changed tests, with what belongs to them, are put over the base source."""
    before, after, expected = REQUESTS[name]
    asked = witness_request(given(before or BEFORE, after or AFTER, final={}))
    assert asked == expected


def test_request_of_a_renamed_test():
    """A renamed test file takes its new name there, and its old one is taken away."""
    facts = given(
        {"calc.py": OLD, "tests/test_old.py": OLD_TEST},
        {"calc.py": NEW, "tests/test_new.py": NEW_TEST},
        moved={"tests/test_new.py": "tests/test_old.py"},
    )
    assert witness_request(facts) == WitnessRequest(
        ("tests/test_new.py",), ("tests/test_old.py",), ("tests/test_new.py",)
    )


def test_request_of_a_test_that_only_the_runner_knows():
    """What the runner says it runs is a test, whatever it is called."""
    final = {
        "tests": Reading(
            "pass", "", tests={"checks/mul.py::t": "pass"}, files={"checks/mul.py::t": "checks/mul.py"}
        )
    }
    facts = given({"calc.py": OLD}, {"calc.py": NEW, "checks/mul.py": NEW_TEST}, final=final)
    assert witness_request(facts) == WitnessRequest(("checks/mul.py",), (), ("checks/mul.py",))


RED_BASE = {"tests": read({ADD: "fail"}, {ADD: "assert 1 == 2"})}


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({}, True),
        ({"task_class": "bug-fix"}, True),
        ({"task_class": "test-pass"}, True),
        ({"task_class": "custom"}, True),
        ({"task_class": "regression"}, True),
        ({"task_class": "docs"}, True),
        # a check of the user's was red and is green
        ({"base": RED_BASE}, False),
        ({"base": {"tests": read({ADD: "fail"}, {ADD: "x"}, flaky=(ADD,))}}, True),
        ({"base": RED_BASE, "final": {"tests": read({MUL: "pass"})}}, True),
        ({"base": RED_BASE, "gates": (replace(PYTEST, proof=False),)}, True),
        ({"base": {"tests": read(status="error", cause="no-tests")}}, True),
        ({"base": {"tests": read(status="error", cause="all-skipped")}}, True),
        ({"base": {}}, True),
        ({"base": {"tests": read(status="error", cause="timeout")}}, True),
        ({"base": {"tests": read(status="fail")}, "final": {"tests": read()}, "gates": (BY_EXIT,)}, False),
        ({"base": {"tests": read()}, "final": {"tests": read()}, "gates": (BY_EXIT,)}, True),
        ({"base": {"tests": read(status="fail")}, "final": {"tests": read(status="fail")}}, True),
    ],
)
def test_asked_only_where_nothing_else_shows_it(fields, asked):
    """A witness of the agent's own is looked for where tests changed and the user gave none, in any class."""
    facts = given(**fields)
    assert (witness_request(facts) is not None) is asked
    if not asked:
        result = REGISTRY["witness"](facts)
        assert (result.applied, result.findings, result.counted) == (True, (), {})


# Red for a right reason -------------------------------------------------------------------------

ADDED = frozenset({"mul", "new", "Matrix"})


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("assert 5 == 6", True),
        ("AssertionError: expected 6", True),
        ("ValueError: bad", True),
        ("", True),
        ("TypeError: add() takes 2 positional arguments but 3 were given", True),
        ("AttributeError: 'Calc' object has no attribute 'mul'", True),
        (
            "AttributeError: 'Calc' object has no attribute 'other'",
            True,
        ),  # behaviour of an object that is there
        ("ImportError: cannot import name 'mul' from 'calc' (calc.py)", True),
        ("ImportError: cannot import name 'other' from 'calc' (calc.py)", False),
        ("ModuleNotFoundError: No module named 'new'", True),
        ("ModuleNotFoundError: No module named 'pkg.new'", True),
        ("ModuleNotFoundError: No module named 'requests'", False),
        ("AttributeError: module 'calc' has no attribute 'mul'", True),
        ("AttributeError: module 'calc' has no attribute 'div'", False),
        ("AttributeError: type object 'Calc' has no attribute 'mul'. Did you mean: 'add'?", True),
        ("NameError: name 'mul' is not defined", True),
        ("NameError: name 'typo' is not defined", False),
        ("SyntaxError: invalid syntax", False),
        ("IndentationError: unexpected indent", False),
        ("TabError: inconsistent use of tabs", False),
        ("E       fixture 'client' not found", False),
        ("SyntaxError: The requested module '../calc.mjs' does not provide an export named 'mul'", True),
        ("SyntaxError: The requested module '../calc.mjs' does not provide an export named 'div'", False),
        ("SyntaxError: Unexpected token '}'", False),
        ("TypeError: calc.mul is not a function", True),
        ("TypeError: calc.div is not a function", False),
        ("TypeError: Matrix is not a constructor", True),
        ("ReferenceError: mul is not defined", True),
        ("ReferenceError: describe is not defined", False),
        ("Error: Cannot find module '../src/new.js'", True),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/x/src/new.mjs' imported from /x/a.mjs", True),
        ("Error: Cannot find module 'left-pad'", False),
        ("Cannot find package 'left-pad' imported from /x/a.mjs", False),
        ("No module named 'requests'\nImportError: cannot import name 'mul'", True),
    ],
)
def test_right_reason(text, right):
    """An assertion, another behaviour, or a missing name that the change adds; nothing else."""
    assert right_reason(text, ADDED) is right


def test_added_words():
    """Names count as added from new lines of source and from names of new files, never from tests."""
    facts = given(
        {"calc.py": "def add(): pass\nold = 1\n", "gone.py": "removed = 1\n", "tests/test_a.py": "x = 1\n"},
        {
            "calc.py": "def add(): pass\ndef größe(): return add\n",
            "pkg/new_module.py": "class Matrix: ...\n",
            "renamed.py": "moved = 1\n",
            "tests/test_a.py": "tested = 2\n",
            "setup.cfg": "[settings]\n",
            "bin.dat": b"\xff\xfe raw",
        },
        moved={"renamed.py": "old_name.py"},
        final={},
    )
    words = added_words(facts)
    assert {"größe", "Matrix", "new_module", "pkg", "renamed", "raw"} <= words
    assert not {"old", "removed", "tested", "settings", "test_a"} & words
    assert "old_name" not in words


SKIPPED = "skipped on the base source, so they say nothing about it"
ANOTHER = "they are red on the base source for another reason than the change"
COLLECT = {"collect:tests/test_a.py": "ImportError: cannot import name 'mul' from 'calc'"}


@pytest.mark.parametrize(
    ("over", "shown", "why"),
    [
        (read({ADD: "pass", MUL: "fail"}, {MUL: "assert 0 == 6"}), (MUL,), ""),
        (read({ADD: "fail", MUL: "fail"}, {ADD: "x", MUL: "y"}), (ADD, MUL), ""),
        (read({ADD: "pass", MUL: "fail"}, {MUL: "NameError: name 'mul' is not defined"}), (MUL,), ""),
        (read({}, COLLECT), (ADD, MUL), ""),
        (read(None, COLLECT, status="error"), (ADD, MUL), ""),
        (read({ADD: "pass", MUL: "pass"}), (), "they are green on the base source too"),
        (
            read({ADD: "pass", MUL: "fail"}, {MUL: "E  x\nNameError: name 'typo' is not defined\n"}),
            (),
            (
                "they are red on the base source for another reason than the change "
                "(NameError: name 'typo' is not defined)"
            ),
        ),
        (
            read({}, {"collect:tests/test_a.py": "SyntaxError: invalid syntax"}),
            (),
            f"{ANOTHER} (SyntaxError: invalid syntax)",
        ),
        (
            read({ADD: "pass"}, {"collect:tests/test_other.py": "ImportError: cannot import name 'mul'"}),
            (),
            "they are green on the base source too",
        ),
        (read({ADD: "pass", MUL: "skipped"}), (), f"{SKIPPED}: {MUL}"),
        (read({ADD: "skipped"}, status="error", cause="all-skipped"), (), f"{SKIPPED}: {ADD}"),
        (
            read(status="error", cause="timeout"),
            (),
            (
                "on the base source tests came to no end (), which may have any reason; "
                "a test with a time limit of its own would be red there"
            ),
        ),
        (read({ADD: "pass", MUL: "fail"}), (MUL,), ""),  # red, and it said nothing
    ],
)
def test_by_test(over, shown, why):
    """A test is a witness when it is red on the base source for a right reason and green now."""
    facts = given(witness={"tests": over})
    assert witnesses(facts) == (shown, why)
    result = REGISTRY["witness"](facts)
    assert result.counted == {"witness": len(shown)}
    assert (result.applied, result.findings) == (True, ())
    assert (why or ", ".join(shown)) in result.summary


@pytest.mark.parametrize(
    ("over", "shown"),
    [
        (read(status="fail", said={"exit": "assert 0 == 6"}), True),
        (read(status="fail", said={"exit": "ImportError: cannot import name 'mul' from 'calc'"}), True),
        (read(status="fail", said={"exit": "ModuleNotFoundError: No module named 'other'"}), False),
        (read(status="fail", said={"exit": "SyntaxError: invalid syntax"}), False),
        (read(status="fail"), True),
        (read(status="pass"), False),
        (read(status="error", cause="timeout"), False),
        (read(status="error", cause="missing", said={"exit": "not found"}), False),
        (read(status="skipped"), False),
    ],
)
def test_by_exit_code(over, shown):
    """A check whose tests are not known is itself the witness: judged red on the base source, green now."""
    facts = given(base={"tests": read()}, final={"tests": read()}, gates=(BY_EXIT,), witness={"tests": over})
    assert witnesses(facts)[0] == (("tests",) if shown else ())


@pytest.mark.parametrize(
    ("gate", "final"),
    [
        (replace(PYTEST, required=False), FINAL["tests"]),
        (PYTEST, read({ADD: "pass", MUL: "fail"}, {MUL: "x"})),
        (replace(BY_EXIT, proof=False), read()),
    ],
)
def test_no_witness_from_a_check_that_is_none(gate, final):
    """Advice, a red gate, and an exit code that proves nothing show nothing."""
    over = read({ADD: "pass", MUL: "fail"}, {MUL: "assert 0 == 6"}) if final.tests else read(status="fail")
    facts = given(gates=(gate,), final={"tests": final}, witness={"tests": over})
    assert witnesses(facts)[0] == ()


def test_a_file_that_cannot_be_loaded_and_a_runner_that_tells_no_files():
    """Then tests are known by their titles in that file, and those of another file are not."""
    text = "test('adds', f);\ntest('it multiplies', f);\n"
    final = Reading("pass", "", tests={"calc > it multiplies": "pass", "other": "pass", "adds": "pass"})
    over = read({"other": "pass"}, {"collect:test/a.test.mjs": "failed as a whole"})
    facts = given(
        {"calc.mjs": "1"},
        {"calc.mjs": "2", "test/a.test.mjs": text},
        final={"tests": final},
        witness={"tests": over},
    )
    assert witnesses(facts)[0] == ("adds", "calc > it multiplies")


def test_a_runner_that_names_files_from_its_own_folder():
    """`uvu test` says "lite.js" of test/lite.js; what it says of another file is no witness."""
    final = Reading("pass", "", tests={"lite.js > it adds": "pass", "full.js > it adds": "pass"})
    over = read({}, {"collect:test/lite.js": "Cannot find module '../lite'"})
    facts = given(
        {"calc.js": "1"},
        {"calc.js": "1", "lite.js": "2", "test/lite.js": "import '../lite';"},
        final={"tests": final},
        witness={"tests": over},
    )
    assert witnesses(facts)[0] == ("lite.js > it adds",)


def test_only_green_tests_are_witnesses():
    """A test that is skipped now shows nothing, however red it was."""
    facts = given(
        final={"tests": read({ADD: "pass", MUL: "skipped"})},
        witness={"tests": read({ADD: "pass", MUL: "fail"}, {MUL: "assert 0 == 6"})},
    )
    assert witnesses(facts)[0] == ()


def test_said_when_no_test_was_written():
    """Nothing was put over the base source: the result says what is missing and measures nothing."""
    result = REGISTRY["witness"](given(witness=None))
    assert result.summary == "no test was added or changed that could show the new behaviour"
    assert result.counted == {}


@pytest.mark.parametrize(
    ("task", "more", "alone"),
    [
        ("Fix bug in the tests of sums", {}, True),
        ("Support pytest 9", {"CHANGELOG.md": "x"}, True),
        ("Handle zero", {}, False),
        ("Handle zero\n\nWith tests.", {}, False),
        ("Fix the tests", {"a.py": "x"}, False),
        ("Fix the tests", {"pytest.ini": "[pytest]"}, False),
    ],
)
def test_said_when_a_task_about_tests_changed_tests_alone(task, more, alone):
    """No test can show such work: the exit need not wait for one."""
    green = {"tests": read()}
    after = {"tests/test_a.py": "2", **more}
    facts = facts_of({"tests/test_a.py": "1"}, after, task=task, base=green, final=green, witness={})
    assert ("alone" in REGISTRY["witness"](facts).counted) is alone


def test_many_witnesses_are_counted_and_few_are_named():
    """The count is true, the sentence stays short."""
    tests = {f"tests/test_a.py::test_{number}": "pass" for number in range(9)}
    over = read(dict.fromkeys(tests, "fail"))
    result = REGISTRY["witness"](given(final={"tests": read(tests)}, witness={"tests": over}))
    assert result.counted == {"witness": 9}
    assert result.summary.endswith("test_0, tests/test_a.py::test_1, tests/test_a.py::test_2 and 6 more")


# With real runners ------------------------------------------------------------------------------

UNIT_TEST = (
    "import unittest\nimport calc\n\n\nclass T(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(calc.add(1, 1), 2)\n"
)
UNIT_NEW = UNIT_TEST + "\n    def test_mul(self):\n        self.assertEqual(calc.mul(2, 3), 6)\n"
UNIT_LOAD = UNIT_NEW.replace("import calc\n", "import calc\nfrom calc import mul\n")
JS_OLD = "export const add = (a, b) => a + b;\n"
JS_NEW = JS_OLD + "export const mul = (a, b) => a * b;\n"
JS_TEST = (
    "import test from 'node:test';\nimport assert from 'node:assert';\nimport * as calc from '../calc.mjs';\n"
    "test('adds', () => { assert.equal(calc.add(1, 1), 2); });\n"
)
JS_MUL = JS_TEST + "test('multiplies', () => { assert.equal(calc.mul(2, 3), 6); });\n"
JS_LOAD = JS_MUL.replace("import * as calc", "import { mul } from '../calc.mjs';\nimport * as calc")
INI = {"pytest.ini": "[pytest]\npythonpath = .\n"}
PY_RUN, UNIT_RUN, NODE_RUN = (
    f"{sys.executable} -m pytest -q",
    f"{sys.executable} -m unittest",
    f"{NODE} --test",
)
REAL = {
    "pytest, a name that the change adds": (PY_RUN, {**BEFORE, **INI}, {**AFTER, **INI}, 2, 1),
    "pytest, another behaviour": (
        PY_RUN,
        {**BEFORE, **INI},
        {
            "calc.py": OLD.replace("a + b", "a + b + 0.5"),
            "tests/test_a.py": OLD_TEST.replace("def test_add", "def test_half").replace("== 2", "== 2.5"),
            **INI,
        },
        1,
        1,
    ),
    "pytest, green on both": (
        PY_RUN,
        {**BEFORE, **INI},
        {"calc.py": NEW, "tests/test_a.py": OLD_TEST + "\n\ndef test_b():\n    assert add(2, 2)\n", **INI},
        0,
        0,
    ),
    "pytest, a renamed test file": (
        PY_RUN,
        {**BEFORE, **INI},
        {"calc.py": NEW, "tests/test_moved.py": NEW_TEST, **INI},
        2,
        1,
    ),
    "pytest, a test that asks nothing": (
        PY_RUN,
        {**BEFORE, **INI},
        {
            "calc.py": NEW,
            "tests/test_a.py": OLD_TEST,
            "tests/test_b.py": "import calc\n\ndef test_m():\n    calc.mul\n",
            **INI,
        },
        1,
        0,
    ),
    "unittest, a name that the change adds": (
        UNIT_RUN,
        {"calc.py": OLD, "test_calc.py": UNIT_TEST},
        {"calc.py": NEW, "test_calc.py": UNIT_NEW},
        1,
        1,
    ),
    "unittest, a file that cannot be loaded": (
        UNIT_RUN,
        {"calc.py": OLD, "test_calc.py": UNIT_TEST},
        {"calc.py": NEW, "test_calc.py": UNIT_LOAD},
        2,
        1,
    ),
    "node, a name that the change adds": (
        NODE_RUN,
        {"calc.mjs": JS_OLD, "test/calc.test.mjs": JS_TEST},
        {"calc.mjs": JS_NEW, "test/calc.test.mjs": JS_MUL},
        1,
        1,
    ),
    "node, a file that cannot be loaded": (
        NODE_RUN,
        {"calc.mjs": JS_OLD, "test/calc.test.mjs": JS_TEST},
        {"calc.mjs": JS_NEW, "test/calc.test.mjs": JS_LOAD},
        None,
        1,
    ),
}


@pytest.mark.sample(test=3)
@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real(name, project, observe):
    """New tests over the base source, then over each broken version: as the shell would do it."""
    run, before, after, many, noticed = REAL[name]
    if "node" in name:
        if NODE is None:
            pytest.skip("node is not installed")
        pytest.importorskip("ast_grep_py")
    made = seal("tests", run, tree_paths=frozenset(before), proof=True)
    count = iter(range(20))

    def heard(files, gate=made):
        root = project({path: text for path, text in files.items() if text is not None}, f"p{next(count)}")
        return reader(gate.read)(observe(gate, root), gate)

    facts = given(before, after, gates=(made,), base={"tests": heard(before)}, final={"tests": heard(after)})
    assert facts.final["tests"].status == "pass", facts.final
    asked = witness_request(facts)
    assert asked is not None
    small = narrow_to_files(made, asked.tests, (after.keys() | {"tests", "test", "."}).__contains__)
    over = {**before, **{path: after[path] for path in asked.take}}
    over = {path: text for path, text in over.items() if path not in asked.drop}
    facts = replace(facts, tried=Tried(witness={"tests": heard(over, small)}))
    shown = witnesses(facts)[0]
    if many is not None:
        assert len(shown) == many, facts.tried.witness
    assert bool(shown) is bool(many is None or many)
    broken = []
    for item in sabotage_request(facts):
        content = {path: made.decode() for path, made in item.files.items()}
        content = content or {item.path: before.get(item.path)}
        answer = heard({**after, **content}, small)
        tests = answer.tests or {}
        broken.append(Broken(item.name, any(tests.get(one) != "pass" for one in shown)))
    assert sum(item.noticed for item in broken) >= noticed
    assert bool(noticed) is any(item.noticed for item in broken)
