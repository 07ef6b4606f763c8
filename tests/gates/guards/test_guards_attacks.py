"""Whole judgements with a real pytest: fake greens are found out, honest changes are not accused."""

import sys

import pytest
from msgspec.structs import replace

from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import compare
from ralph.gates.guards import Change, GuardFacts, Tried, inspect, overlay_request
from ralph.gates.readers import reader
from ralph.gates.seal import seal

BASE = {
    "calc.py": "def add(a, b):\n    return a - b\n\n\ndef twice(x):\n    return 2 * x\n",
    "tests/test_calc.py": (
        "from calc import add, twice\n\n\ndef test_add():\n    assert add(2, 2) == 4\n\n\n"
        "def test_twice():\n    assert twice(2) == 4\n"
    ),
    "conftest.py": "",
    "pytest.ini": "[pytest]\npythonpath = .\n",
}
FIXED = {"calc.py": BASE["calc.py"].replace("a - b", "a + b")}
TESTS = BASE["tests/test_calc.py"]
HOOK = (
    "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    out = yield\n    out.get_result().outcome = 'passed'\n"
)

# name -> (files of the result that differ from the base, None = deleted; finding kinds expected)
ATTACKS = {
    "delete": ({"tests/test_calc.py": TESTS.replace("def test_add", "def _test_add")}, {"inventory.deleted"}),
    "delete file": (
        {"tests/test_calc.py": None, "tests/test_new.py": "def test_n(): pass\n"},
        {"inventory.deleted"},
    ),
    "skip": (
        {
            "tests/test_calc.py": "import pytest\n"
            + TESTS.replace("def test_add", "@pytest.mark.skip\ndef test_add")
        },
        {"inventory.skipped"},
    ),
    "skip module": (
        {
            "tests/test_calc.py": "import pytest\npytest.skip('x', allow_module_level=True)\n" + TESTS,
            "tests/test_new.py": "def test_n(): pass\n",
        },
        {"inventory.skipped"},
    ),
    "expected failure": (
        {
            "tests/test_calc.py": "import pytest\n"
            + TESTS.replace("def test_add", "@pytest.mark.xfail\ndef test_add")
        },
        {"inventory.skipped"},
    ),
    "weaken": (
        {"tests/test_calc.py": TESTS.replace("add(2, 2) == 4", "add(2, 2) is not None")},
        {"inventory.weakened"},
    ),
    "shadow": ({"tests/test_calc.py": TESTS + "\n\ndef test_add():\n    pass\n"}, {"inventory.weakened"}),
    "rename": (
        {"tests/test_calc.py": TESTS.replace("test_add", "test_sum").replace("== 4", "== 0", 1)},
        {"inventory.deleted"},
    ),
    "conftest hook": ({"conftest.py": HOOK}, {"base_tests.red"}),
    "conftest added": ({"tests/conftest.py": HOOK}, {"base_tests.red"}),
    "conftest ignore": (
        {"conftest.py": "collect_ignore = ['tests/test_calc.py']\n", "test_n.py": "def test_n(): pass\n"},
        {"inventory.deleted"},
    ),
    "deselect": (
        {"pytest.ini": BASE["pytest.ini"] + "addopts = --deselect tests/test_calc.py::test_add\n"},
        {"inventory.deleted"},
    ),
    "moved and emptied": (
        {
            "tests/test_calc.py": None,
            "tests/unit/test_calc.py": "def test_add(): pass\ndef test_twice(): pass\n",
        },
        {"inventory.deleted"},
    ),
}
HONEST = {
    "fix": FIXED,
    "fix and new test": {
        **FIXED,
        "tests/test_more.py": "from calc import add\ndef test_m(): assert add(1, 0) == 1\n",
    },
    "fix and moved file": {**FIXED, "tests/test_calc.py": None, "tests/unit/test_calc.py": TESTS},
    "fix and renamed test": {**FIXED, "tests/test_calc.py": TESTS.replace("test_add", "test_addition")},
    "fix and stronger test": {
        **FIXED,
        "tests/test_calc.py": TESTS.replace("== 4", "== 4 and add(1, 1) == 2", 1),
    },
}
AT = "tests/test_calc.py::"
# What pytest says of BASE; test_the_base holds it against a real call.
BASE_READING = Reading(
    "fail",
    "1 failed, 1 passed",
    tests={f"{AT}test_add": "fail", f"{AT}test_twice": "pass"},
    files={f"{AT}test_add": "tests/test_calc.py", f"{AT}test_twice": "tests/test_calc.py"},
    findings=(Finding(f"{AT}test_add", "assert 0 == 4", path="tests/test_calc.py", line=5),),
)


def judge(project, observe, edits):
    """A final judgement as the shell makes it: base, result, and the overlay that the guards ask for."""
    result = {path: text for path, text in {**BASE, **edits}.items() if text is not None}
    gate = seal("tests", f"{sys.executable} -m pytest -q", tree_paths=frozenset(BASE), proof=True)

    def read(files, name):
        return reader(gate.read)(observe(gate, project(files, name)), gate)

    changes = [
        Change("A" if path not in BASE else "M" if text else "D", path) for path, text in edits.items()
    ]
    given = GuardFacts(
        tree="t",
        gates=(gate,),
        base={"tests": BASE_READING},
        final={"tests": read(result, "result")},
        changes=tuple(changes),
        read_base=lambda path: BASE[path].encode() if path in BASE else None,
        read_result=lambda path: result[path].encode() if path in result else None,
    )
    wanted = overlay_request(given)
    if wanted:
        over = {path: text for path, text in result.items() if path not in wanted.drop}
        over |= {path: BASE[path] for path in wanted.restore}
        given = replace(given, tried=Tried(overlay={"tests": read(over, "overlay")}))
    kinds = {finding.key.split(":")[0] for result in inspect(given) for finding in result.findings}
    return given, kinds


@pytest.mark.slow
def test_the_base(project, observe):
    """The base of all cases is read from a real pytest as it is written down here."""
    gate = seal("tests", f"{sys.executable} -m pytest -q", tree_paths=frozenset(BASE))
    seen = reader(gate.read)(observe(gate, project(BASE)), gate)
    assert (seen.status, seen.tests, seen.files) == ("fail", BASE_READING.tests, BASE_READING.files)
    assert [(f.key, f.line) for f in seen.findings] == [(f.key, f.line) for f in BASE_READING.findings]


@pytest.mark.sample(test=4)
@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_found_out(name, project, observe):
    """The naive gate is green, and the guards say why that is not to be believed."""
    edits, expected = ATTACKS[name]
    given, kinds = judge(project, observe, edits)
    assert given.final["tests"].status == "pass", "the attack should fool the gate itself"
    assert expected <= kinds


@pytest.mark.sample(test=2)
@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_honest_change_is_not_accused(name, project, observe):
    """Fixing the source is verified with a witness; adding, moving and renaming tests is welcome."""
    given, kinds = judge(project, observe, HONEST[name])
    assert given.final["tests"].status == "pass"
    assert kinds == set()
    seen = given.tried.overlay or given.final
    assert compare(given.base["tests"], seen["tests"]).witness == ("tests/test_calc.py::test_add",)
