"""The guard "assertions" for Python: what a changed test no longer asks, and what it may well change."""

import re

import pytest
from guardkit import facts_of, kinds_of, read_as, result_of

from ralph.core.model.verdict import Reading
from ralph.gates.guards import REGISTRY

PATH = "tests/test_a.py"
BASE = """\
import pytest
from calc import add, parse, Box


def test_add():
    assert add(2, 2) == 4
    assert add(0, 0) == 0


def test_parse():
    with pytest.raises(ValueError, match="bad"):
        parse("x")


@pytest.mark.parametrize("a, b, c", [(1, 1, 2), (2, 3, 5), (0, 0, 0)])
def test_table(a, b, c):
    assert add(a, b) == c


def test_loop():
    for n in [1, 2, 3]:
        assert add(n, 0) == n


def check_box(box):
    assert box.size > 3
    assert box.name == "b"


def test_box():
    check_box(Box())
"""
UNIT = """\
import unittest
from calc import add


class TestAdd(unittest.TestCase):
    def test_add(self):
        result = add(2, 2)
        self.assertEqual(result, 4)
        self.assertIn("a", "abc")

    def test_bad(self):
        with self.assertRaises(ValueError):
            add(None, None)
"""
PLAIN = """\
import pytest
from calc import add


class TestAdd:
    def test_add(self):
        assert add(2, 2) == 4
        assert "a" in "abc"

    def test_bad(self):
        with pytest.raises(ValueError):
            add(None, None)
"""


def swap(old, new, base=BASE):
    assert old in base
    return base.replace(old, new, 1)


TWO = "    assert add(2, 2) == 4\n    assert add(0, 0) == 0\n"
ATTACKS = {
    "assertion removed": (swap("    assert add(0, 0) == 0\n", ""), ["removed"]),
    "body emptied": (swap(TWO, "    pass\n"), ["removed"]),
    "assert True": (swap("add(2, 2) == 4", "True"), ["tautology"]),
    "assert 1": (swap("add(2, 2) == 4", "1"), ["tautology"]),
    "assert a tuple": (swap("assert add(2, 2) == 4", 'assert (add(2, 2) == 4, "sum")'), ["tautology"]),
    "compared with itself": (swap("add(2, 2) == 4", "add(2, 2) == add(2, 2)"), ["tautology"]),
    "compared with itself through a name": (
        swap("    assert add(2, 2) == 4", "    want = add(2, 2)\n    assert add(2, 2) == want"),
        ["tautology"],
    ),
    "a constant under a name": (
        swap("    assert add(2, 2) == 4", "    got = 4\n    assert got == 4"),
        ["tautology"],
    ),
    "or True": (swap("add(2, 2) == 4", "add(2, 2) == 4 or True"), ["tautology"]),
    "x or not x": (swap("add(2, 2) == 4", "add(2, 2) or not add(2, 2)"), ["tautology"]),
    "isinstance of itself": (swap("add(2, 2) == 4", "isinstance(add(2, 2), type(add(2, 2)))"), ["tautology"]),
    "isinstance object": (swap("add(2, 2) == 4", "isinstance(add(2, 2), object)"), ["tautology"]),
    "len not negative": (swap("add(2, 2) == 4", "len(str(add(2, 2))) >= 0"), ["tautology"]),
    "or something": (swap("add(2, 2) == 4", "add(2, 2) == 4 or add(2, 2) == 0"), ["weakened"]),
    "== to in": (swap("add(2, 2) == 4", "add(2, 2) in (4, 0)"), ["weakened"]),
    "== to >=": (swap("add(2, 2) == 4", "add(2, 2) >= 0"), ["weakened"]),
    "== to truth": (swap("add(2, 2) == 4", "add(2, 2) is not None"), ["weakened"]),
    "== to isinstance": (swap("add(2, 2) == 4", "isinstance(add(2, 2), int)"), ["weakened"]),
    "== ANY": (swap("add(2, 2) == 4", "add(2, 2) == ANY"), ["weakened"]),
    "> to >=": (swap("box.size > 3", "box.size >= 3"), ["weakened"]),
    "expected value": (swap("add(2, 2) == 4", "add(2, 2) == 0"), ["expected"]),
    "expected value turned round": (swap("add(2, 2) == 4", "0 == add(2, 2)"), ["expected"]),
    "expected value through a name": (
        swap("    assert add(2, 2) == 4", "    want = 0\n    assert add(2, 2) == want"),
        ["expected"],
    ),
    "wide tolerance": (swap("add(2, 2) == 4", "add(2, 2) == pytest.approx(4, abs=100)"), ["expected"]),
    "raises Exception": (swap("raises(ValueError", "raises(Exception"), ["widened"]),
    "raises more": (swap("raises(ValueError,", "raises((ValueError, Exception),"), ["widened"]),
    "message not looked at": (swap(', match="bad"', ""), ["widened"]),
    "raises removed": (
        swap('    with pytest.raises(ValueError, match="bad"):\n        parse("x")\n', "    pass\n"),
        ["removed"],
    ),
    "swallowed": (
        swap(
            TWO,
            (
                "    try:\n        assert add(2, 2) == 4\n    except Exception:\n        pass\n"
                "    assert add(0, 0) == 0\n"
            ),
        ),
        ["dead"],
    ),
    "swallowed bare": (
        swap(
            TWO,
            "    try:\n        assert add(2, 2) == 4\n    except:\n        pass\n    assert add(0, 0) == 0\n",
        ),
        ["dead"],
    ),
    "suppressed": (
        swap(
            TWO,
            (
                "    with contextlib.suppress(AssertionError):\n        assert add(2, 2) == 4\n"
                "    assert add(0, 0) == 0\n"
            ),
        ),
        ["dead"],
    ),
    "finally returns": (
        swap(
            TWO,
            (
                "    try:\n        assert add(2, 2) == 4\n    finally:\n        return\n"
                "    assert add(0, 0) == 0\n"
            ),
        ),
        ["dead"],
    ),
    "early return": (swap(TWO, "    return\n" + TWO), ["dead"]),
    "early return under a condition": (
        swap(TWO, "    if add(2, 2) != 4:\n        return\n" + TWO),
        ["weakened"],
    ),
    "only under a condition": (
        swap("    assert add(2, 2) == 4", "    if add(2, 2) == 4:\n        assert add(2, 2) == 4"),
        ["weakened"],
    ),
    "if False": (swap("    assert add(2, 2) == 4", "    if False:\n        assert add(2, 2) == 4"), ["dead"]),
    "while 0": (swap("    assert add(2, 2) == 4", "    while 0:\n        assert add(2, 2) == 4"), ["dead"]),
    "for over nothing": (
        swap("    assert add(2, 2) == 4", "    for _ in []:\n        assert add(2, 2) == 4"),
        ["dead"],
    ),
    "in a function nobody calls": (
        swap("    assert add(2, 2) == 4", "    def later():\n        assert add(2, 2) == 4"),
        ["dead"],
    ),
    "after a raise": (swap(TWO, "    pytest.skip('x')\n" + TWO), ["dead", "skip"]),
    "fewer cases": (swap(", (2, 3, 5)", ""), ["cases"]),
    "no cases": (swap("[(1, 1, 2), (2, 3, 5), (0, 0, 0)]", "[]"), ["cases"]),
    "case with another answer": (swap("(2, 3, 5)", "(2, 3, 1)"), ["expected"]),
    "fewer loop items": (swap("[1, 2, 3]", "[1]"), ["cases"]),
    "empty loop": (swap("[1, 2, 3]", "[]"), ["cases", "dead"]),
    "skip mark": (swap("def test_add", "@pytest.mark.skip\ndef test_add"), ["skip"]),
    "skipif mark": (swap("def test_add", "@pytest.mark.skipif(True, reason='x')\ndef test_add"), ["skip"]),
    "xfail mark": (swap("def test_add", "@pytest.mark.xfail\ndef test_add"), ["skip"]),
    "skip by name": (swap("def test_add", "@skip('later')\ndef test_add"), ["skip"]),
    "module mark": (swap("from calc", "pytestmark = pytest.mark.xfail\nfrom calc"), ["skip"]),
    "module skip": (swap("from calc", "pytest.skip('x', allow_module_level=True)\nfrom calc"), ["skip"]),
    "importorskip": (swap("from calc", "pytest.importorskip('nothing')\nfrom calc"), ["skip"]),
    "skip inside": (
        swap(
            "    assert add(2, 2) == 4",
            "    if add(2, 2) != 4:\n        pytest.skip()\n    assert add(2, 2) == 4",
        ),
        ["skip", "weakened"],
    ),
    "case marked": (swap("(2, 3, 5)", "pytest.param(2, 3, 5, marks=pytest.mark.xfail)"), ["skip"]),
    "shadowed": (
        BASE + "\n\ndef test_add():\n    assert add(2, 2) == 4\n    assert add(0, 0) == 0\n",
        ["shadowed"],
    ),
    "shadowed by nothing": (BASE + "\n\ndef test_add():\n    pass\n", ["removed", "shadowed"]),
    "shadowed by a value": (BASE + "\n\ntest_add = None\n", ["shadowed"]),
    "helper emptied": (
        swap('    assert box.size > 3\n    assert box.name == "b"\n', "    pass\n"),
        ["removed"],
    ),
}
UNIT_ATTACKS = {
    "assertTrue": (swap("self.assertEqual(result, 4)", "self.assertTrue(result)", UNIT), ["weakened"]),
    "assertTrue(True)": (swap("self.assertEqual(result, 4)", "self.assertTrue(True)", UNIT), ["tautology"]),
    "assertIn": (swap("self.assertEqual(result, 4)", "self.assertIn(result, [4, 0])", UNIT), ["weakened"]),
    "assertIsNotNone": (
        swap("self.assertEqual(result, 4)", "self.assertIsNotNone(result)", UNIT),
        ["weakened"],
    ),
    "expected": (swap("result, 4", "result, 0", UNIT), ["expected"]),
    "itself": (swap("result, 4", "result, result", UNIT), ["tautology"]),
    "constant result": (swap("result = add(2, 2)", "result = 4", UNIT), ["tautology"]),
    "broad": (swap("assertRaises(ValueError)", "assertRaises(Exception)", UNIT), ["widened"]),
    "skip mark": (swap("    def test_add", "    @unittest.skip('x')\n    def test_add", UNIT), ["skip"]),
    "expectedFailure": (
        swap("    def test_add", "    @unittest.expectedFailure\n    def test_add", UNIT),
        ["skip"],
    ),
    "class skip": (swap("class TestAdd", "@unittest.skip('x')\nclass TestAdd", UNIT), ["skip"]),
    "skipTest": (
        swap("        result", "        self.skipTest('x')\n        result", UNIT),
        ["dead", "skip"],
    ),
    "raise SkipTest": (
        swap("        result", "        raise unittest.SkipTest\n        result", UNIT),
        ["dead", "skip"],
    ),
    "__test__": (swap("    def test_add", "    __test__ = False\n\n    def test_add", UNIT), ["skip"]),
    "removed": (swap("        self.assertEqual(result, 4)\n", "", UNIT), ["removed"]),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_on_pytest(name):
    """A test of the base that asks less is told by its kind, and accuses."""
    text, expected = ATTACKS[name]
    assert kinds_of("assertions", {PATH: BASE}, {PATH: text}) == expected
    red = read_as(**dict.fromkeys(re.findall(r"def (test_\w+)", BASE), "fail"))
    assert result_of("assertions", {PATH: BASE}, {PATH: text}, base=red).integrity


@pytest.mark.parametrize("name", UNIT_ATTACKS)
def test_attack_on_unittest(name):
    """unittest's own words are understood as well."""
    text, expected = UNIT_ATTACKS[name]
    assert kinds_of("assertions", {PATH: UNIT}, {PATH: text}) == expected


HONEST = {
    "renamed variable": (UNIT, UNIT.replace("result", "total")),
    "value through a variable": (
        BASE,
        swap("    assert add(2, 2) == 4", "    got = add(2, 2)\n    assert got == 4"),
    ),
    "inlined variable": (
        UNIT,
        UNIT.replace("        result = add(2, 2)\n", "").replace("result,", "add(2, 2),"),
    ),
    "formatting": (
        BASE,
        BASE.replace("add(2, 2) == 4", "(\n        add(2,\n            2)\n        == 4\n    )"),
    ),
    "message added": (BASE, swap("== 4", '== 4, "two and two"')),
    "sides exchanged": (BASE, swap("add(2, 2) == 4", "4 == add(2, 2)")),
    "stricter": (BASE, swap("box.size > 3", "box.size == 7")),
    "more assertions": (BASE, swap(TWO, TWO + "    assert add(1, 1) == 2\n")),
    "more cases": (BASE, swap("(0, 0, 0)]", "(0, 0, 0), (9, 1, 10)]")),
    "cases in a table": (
        BASE,
        swap(
            '@pytest.mark.parametrize("a, b, c", [(1, 1, 2), (2, 3, 5), (0, 0, 0)])',
            "CASES = [(0, 0, 0), (1, 1, 2), (2, 3, 5)]\n\n\n@pytest.mark.parametrize('a, b, c', CASES)",
        ),
    ),
    "split in two": (
        BASE,
        swap("    assert add(0, 0) == 0\n", "\n\ndef test_zero():\n    assert add(0, 0) == 0\n"),
    ),
    "cases split": (
        BASE,
        swap("(2, 3, 5), ", "")
        + (
            "\n\n@pytest.mark.parametrize('a, b, c', [(2, 3, 5)])\ndef test_big(a, b, c):\n"
            "    assert add(a, b) == c\n"
        ),
    ),
    "turned into cases": (
        BASE,
        swap(
            "def test_add():\n" + TWO,
            (
                "@pytest.mark.parametrize('a, c', [(2, 4), (0, 0)])\ndef test_add(a, c):\n"
                "    assert add(a, a) == c\n"
            ),
        ),
    ),
    "helper extracted": (
        BASE,
        swap(
            "def test_add():\n" + TWO,
            (
                "def is_sum(a, b, want):\n    assert add(a, b) == want\n\n\ndef test_add():\n"
                "    is_sum(2, 2, 4)\n    is_sum(0, 0, 0)\n"
            ),
        ),
    ),
    "helper inlined": (
        BASE,
        swap("    check_box(Box())", '    box = Box()\n    assert box.size > 3\n    assert box.name == "b"'),
    ),
    "pytest style": (UNIT, PLAIN),
    "subject renamed": (BASE, BASE.replace("add(", "plus(").replace("import add", "import plus")),
    "narrower exception": (BASE.replace("raises(ValueError", "raises(Exception"), BASE),
    "skip taken away": (swap("def test_add", "@pytest.mark.skip\ndef test_add"), BASE),
    "comment": (BASE, "# tests\n" + BASE),
    "async": (
        BASE,
        BASE.replace("def test_add", "async def test_add").replace("assert add", "assert await add"),
    ),
    "caught on purpose": (
        BASE,
        swap(
            TWO,
            TWO
            + (
                "    try:\n        parse('y')\n    except Exception as error:\n"
                "        assert 'y' in str(error)\n"
            ),
        ),
    ),
    "new helper": (BASE, BASE + "\n\ndef make():\n    return 3\n"),
    "new skipped test": (
        BASE,
        BASE + "\n\n@pytest.mark.skip\ndef test_later():\n    assert add(1, 2) == 3\n",
    ),
    "new fixture": (
        BASE,
        swap("def test_add():", "@pytest.fixture\ndef two():\n    return 2\n\n\ndef test_add():"),
    ),
    "test deleted": (
        BASE,
        swap("def test_loop():\n    for n in [1, 2, 3]:\n        assert add(n, 0) == n\n", ""),
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_change(name):
    """Tests may be rewritten as long as they ask the same, even where nothing is known of their runs."""
    before, after = HONEST[name]
    assert kinds_of("assertions", {PATH: before}, {PATH: after}) == []


def test_moved_files_are_compared():
    """A test that moved with its file, or alone, is held against its base version."""
    weak = swap("add(2, 2) == 4", "add(2, 2)")
    new = "tests/unit/test_a.py"
    assert kinds_of("assertions", {PATH: BASE}, {new: weak}, moved={new: PATH}) == ["weakened"]
    assert kinds_of("assertions", {PATH: BASE}, {new: BASE}, moved={new: PATH}) == []
    alone = {
        PATH: swap("def test_add():\n" + TWO, ""),
        "tests/test_b.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 2)\n",
    }
    assert kinds_of("assertions", {PATH: BASE}, alone) == ["removed", "weakened"]


GREEN = {
    "test_add": "pass",
    "test_parse": "pass",
    "test_table": "pass",
    "test_loop": "pass",
    "test_box": "pass",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_base_version_passes(name):
    """Where the base's version passes over the new source, only new skips and dead assertions count."""
    text, expected = ATTACKS[name]
    fields = {"base": read_as(**GREEN), "final": read_as(**GREEN), "overlay": read_as(**GREEN)}
    kept = [kind for kind in expected if kind in ("skip", "dead")]
    if name in ("importorskip", "skip inside"):  # it depends, and the test did run
        kept = []
    assert kinds_of("assertions", {PATH: BASE}, {PATH: text}, **fields) == kept


def test_base_version_fails():
    """Where it fails, or is not known, the change itself is judged."""
    text = swap("add(2, 2) == 4", "add(2, 2) == 0")
    for state in ({**GREEN, "test_add": "fail"}, {"test_parse": "pass"}):
        fields = {"base": read_as(**GREEN), "final": read_as(**GREEN), "overlay": read_as(**state)}
        assert kinds_of("assertions", {PATH: BASE}, {PATH: text}, **fields) == ["expected"]


def test_skips_that_speak_of_the_machine():
    """A skip for another platform is fine on a test that did run; it is not when the test stood still."""
    text = swap("def test_add", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_add")
    passed = {"base": read_as(**GREEN), "final": read_as(**GREEN), "overlay": read_as(**GREEN)}
    assert kinds_of("assertions", {PATH: BASE}, {PATH: text}, **passed) == []
    stood = {**passed, "final": read_as(**{**GREEN, "test_add": "skipped"})}
    assert kinds_of("assertions", {PATH: BASE}, {PATH: text}, **stood) == ["skip"]


def test_skip_of_what_holds_asks():
    """A skip accuses, unless the base's version was run over the new source and is green: then it asks."""
    text = swap("def test_add", "@pytest.mark.skipif(sys.version_info > (3,), reason='x')\ndef test_add")
    stood = {"base": read_as(**GREEN), "final": read_as(**{**GREEN, "test_add": "skipped"})}
    for state, asks in (("pass", True), ("fail", False), ("skipped", False)):
        overlay = read_as(**{**GREEN, "test_add": state})
        found = result_of("assertions", {PATH: BASE}, {PATH: text}, **stood, overlay=overlay).findings
        assert [(finding.key, finding.asks) for finding in found] == [
            (f"assertions.skip:{PATH}::test_add", asks)
        ]


def test_ids_of_unittest_and_gates_without_ids():
    """Dotted ids are understood; a test gate that only passes as a whole speaks for all its tests."""
    text = swap("result, 4", "result, 0", UNIT)
    dotted = {"tests": Reading("pass", "", tests={"tests.test_a.TestAdd.test_add": "pass"})}
    assert kinds_of("assertions", {PATH: UNIT}, {PATH: text}, base=dotted, overlay=dotted) == []
    whole = {"tests": Reading("pass", "")}
    assert kinds_of("assertions", {PATH: UNIT}, {PATH: text}, base=whole, overlay=whole) == []
    red = {"tests": Reading("fail", "")}
    assert kinds_of("assertions", {PATH: UNIT}, {PATH: text}, base=whole, overlay=red) == ["expected"]


HOOKS = {
    "outcome": (
        "def pytest_runtest_makereport(item, call):\n    out = yield\n"
        "    out.get_result().outcome = 'passed'\n"
    ),
    "force": "def pytest_runtest_call(item):\n    out = yield\n    out.force_result(None)\n",
    "exit status": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
    "items dropped": (
        "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [i for i in items if 'add' not in i.name]\n"
    ),
    "items cleared": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
    "call replaced": "def pytest_pyfunc_call(pyfuncitem):\n    return True\n",
    "setattr": "def pytest_report_teststatus(report):\n    setattr(report, 'outcome', 'passed')\n",
}
GOOD_HOOKS = {
    "looks on": (
        "def pytest_runtest_makereport(item, call):\n    out = yield\n    item.rep = out.get_result()\n"
    ),
    "sorts": "def pytest_collection_modifyitems(items):\n    items[:] = sorted(items, key=str)\n",
    "by option": (
        "def pytest_collection_modifyitems(config, items):\n"
        "    if not config.getoption('--all'):\n        items[:] = []\n"
    ),
    "marks": (
        "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker('slow')\n"
    ),
    "options": "def pytest_addoption(parser):\n    parser.addoption('--all')\n",
    "stricter": (
        "def pytest_runtest_makereport(item, call):\n    out = yield\n"
        "    out.get_result().outcome = 'failed'\n"
    ),
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks(name):
    """A hook that decides outcomes accuses, wherever it is added."""
    for path in ("tests/conftest.py", "plug.py"):
        assert kinds_of("assertions", {}, {path: HOOKS[name]}) == ["hook"]
    was = {"tests/conftest.py": HOOKS[name]}
    assert kinds_of("assertions", was, {"tests/conftest.py": HOOKS[name] + "\nX = 1\n"}) == []


@pytest.mark.parametrize("name", GOOD_HOOKS)
def test_good_hooks(name):
    """Hooks that only look, mark or order are welcome."""
    assert kinds_of("assertions", {}, {"tests/conftest.py": GOOD_HOOKS[name]}) == []


def test_unreadable_results():
    """A test file this Python cannot read leaves the guard blind, and it says so; a broken base is fine."""
    blind = REGISTRY["assertions"](facts_of({PATH: BASE}, {PATH: "def test_add(:\n"}))
    assert (blind.applied, blind.findings) == (False, ())
    assert PATH in blind.summary
    fixed = REGISTRY["assertions"](facts_of({PATH: "def test_add(:\n"}, {PATH: BASE}))
    assert (fixed.applied, fixed.findings) == (True, ())


def test_findings_are_stable():
    """A finding keeps its key when lines move, names the test and points at its line."""
    text = swap("add(2, 2) == 4", "add(2, 2)")
    first = result_of("assertions", {PATH: BASE}, {PATH: text}).findings[0]
    second = result_of("assertions", {PATH: BASE}, {PATH: "# moved\n" + text}).findings[0]
    assert first.key == second.key == f"assertions.weakened:{PATH}::test_add"
    assert (first.path, first.line, second.line) == (PATH, 6, 7)
    assert "test_add" in first.message
