"""Tests that ask for the wrong answer: what is altered, what is left alone, what is made of it."""

import ast
import contextlib
import re
import subprocess

import pytest
from guardkit import nest_tried
from hypothesis import given as draw
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._tests.alter import alter_tests
from ralph.gates.guards._tests.alter_calls import alter_calls
from ralph.gates.guards._tests.alter_go import alter_go
from ralph.gates.guards._tests.alter_line import alter_line, calls_for_certain
from ralph.gates.guards.hygiene.altered import altered_request, check, line_request, unheard_tests

ALTERED = [
    ("assert f(1) == 2", "assert f(1) == 3"),
    ("assert 2 == f(1)", "assert 3 == f(1)"),
    ("assert f() == 'abx'", "assert f() == 'aby'"),
    ("assert f() == ''", "assert f() == 'x'"),
    ("assert f() == 'BOX'", "assert f() == 'BOy'"),
    ("self.assertCountEqual(f(), [1, 2])", "self.assertCountEqual(f(), object())"),
    ("assert f() == b'ab'", "assert f() == b'ax'"),
    ("assert f() == True", "assert f() == False"),
    ("assert f() == [1, {'a': 2}]", "assert f() == [2, {'a': 2}]"),
    ("assert f() == [3, 3, 2]", "assert f() == [3, 2, 3]"),
    ("assert f() == [3, g, 2]", "assert f() == [4, g, 2]"),
    ("assert f() == 1.5", "assert f() == 2.5"),
    ("self.assertEqual(f(1), 2)", "self.assertEqual(f(1), 3)"),
    ("self.assertListEqual(f(1), [2])", "self.assertListEqual(f(1), [3])"),
    ("x = f(1)\n    assert x == 2", "x = f(1)\n    assert x == 3"),
    ("assert f() == None", "assert f() == object()"),
    ("assert f() == 1e300", "assert f() == object()"),
    ("assert self == f(\n        1)", "assert object() == f(\n        1)"),
    ("want = g(1)\n    assert f() == want", "want = object()\n    assert f() == want"),
    (
        "want = g(1)\n    want += 1\n    assert f() == want",
        "want = g(1)\n    want += 1\n    assert f() == object()",
    ),
    ("price = 7\n    assert f(price) == price", "price = 7\n    assert f(price) == object()"),
    ("assert 'a' in f()", "assert object() in f()"),
    ("assert f() in (1, 2)", "assert f() in [object()]"),
    ("assert f() is True", "assert f() is False"),
    ("self.assertTrue(f() == 2)", "self.assertTrue(f() == 3)"),
    ("assert f().startswith('a')", "assert f().startswith(object())"),
    ("assert f() == 1 or f() == 2", "assert f() == object() or f() == object()"),
    ("assert all(x == 1 for x in f())", "assert all([x == 2 for x in f()] or [False])"),
    ("self.assertIn('a', f())", "self.assertIn(object(), f())"),
    ("self.assertLess(f(), 3)", "self.assertLess(f(), object())"),
    ("assert 'é' and f()\n    assert f('é') == 'é'", "assert 'é' and f()\n    assert f('é') == 'x'"),
]
LEFT_ALONE = [
    "assert f()",
    "assert f() != 1",
    "assert f() not in (1, 2)",
    "assert f() == 1 or f()",
    "if x:\n        return\n    assert f() == 1",
    "x = f()\n    assert x == mock.ANY",
    "self.other.check(f())",
    "with pytest.raises(Exception):\n        f()",
    "Wrong = g()\n    with pytest.raises(Wrong):\n        f()",
    "if x:\n        assert f() == 1",
    "while x:\n        assert f(x) == 1",
    "def inner():\n        assert f() == 1",
    "try:\n        assert f() == 1\n    finally:\n        pass",
]


def source(body):
    return f"def test_x(self):\n    {body}\n\n\ndef test_y():\n    assert f() == 7\n"


@pytest.mark.parametrize(("body", "instead"), ALTERED)
def test_the_expected_value_is_another_one(body, instead):
    """What is compared without condition becomes another value of its kind, or one that equals nothing."""
    text, done = alter_tests(source(body), {"test_x"})
    assert done == {"test_x"}
    assert text == source(instead)


@pytest.mark.parametrize("body", LEFT_ALONE)
def test_what_is_not_certain_is_left_alone(body):
    """Nothing is altered that might not be reached, or that no equality, order or membership claims."""
    assert alter_tests(source(body), {"test_x"}) == (source(body), frozenset())


SEVERAL = [  # what a test claims, the product, and whether it gives itself away
    ("assert f(1) == 1\n    assert f(2) == 2", "def f(x): return x", False),
    ("assert f(1) == 1\n    assert f(2) == 2", "def f(x): return x if x == 1 else ANY", True),
    ("got = f(3)\n    want = sum([1, 2])\n    assert got == want", "def f(x): return x", False),
    ("got = f(3)\n    want = sum([1, 2])\n    assert got == want", "def f(x): return ANY", True),
    ("got = f(3)\n    want = sum([1, 2])\n    assert want == got", "def f(x): return ANY", True),
    ("assert f(3) == sum([1, 2])", "def f(x): return ANY", True),
    ("with open('/dev/null'):\n        assert f(3) == 3", "def f(x): return ANY", True),
    ("for x in f(3):\n        assert x == 3", "def f(x): return [x]", False),
    ("for x in f(3):\n        assert x == 3", "def f(x): return []", True),
    ("for x in f(3):\n        assert x == 3\n    assert len(f(3)) < 2", "def f(x): return []", False),
    ("assert f(3) == 3  # why\n    assert f(\n        4\n    ) == 4", "def f(x): return x", False),
    ("assert f(1) == 1 and f(2) == 2", "def f(x): return x", False),
    ("assert f(1) == 1 and f(2) == 2", "def f(x): return x if x == 1 else ANY", True),
    ("assert f(1) == 1 and f(2) == 2", "def f(x): return x if x == 2 else ANY", True),
    ("assert f(1) == 1 or f(1) == 2", "def f(x): return x", False),
    ("assert f(1) == 2 or f(1) == 1", "def f(x): return x", False),
    ("assert f(1) == 2 or f(1) == 1", "def f(x): return ANY", True),
    ("assert 0 < f(1) < 3", "def f(x): return x", False),
    ("assert f(1) == f(2) == 2", "def f(x): return 2", False),
    ("assert f(1) == f(2) == 2", "def f(x): return 2 if x == 2 else ANY", True),
    ("assert f(1) == f(2) == 2", "def f(x): return 2 if x == 1 else ANY", True),
    ("assert f(1) in (1, 2)\n    x = f(2)\n    assert x in (1, 2)", "def f(x): return x", False),
    ("x = f(1)\n    assert x in (1, 2)", "def f(x): return ANY", True),
    ("assert all(x == 1 for x in f(1))", "def f(x): return [ANY]", True),
    ("assert all(x == 1 for x in f(1))", "def f(x): return []", False),
    ("same(f(1), 1)", "def f(x): return x", False),
    ("same(f(1), 1)", "def f(x): return ANY", True),
    ("same(f(1), 1)\n    same(f(2), 2)", "def f(x): return x if x == 1 else ANY", True),
    ("rows(f(1), [1])\n    rows(f(0), [])", "def f(x): return [x] if x else []", False),
    ("rows(f(0), [])\n    rows(f(1), [1])", "def f(x): return [ANY] if x else []", True),
    ("rows(f(1), [1])", "def f(x): return [ANY]", True),
    ("early(f(0), [])\n    assert f(1) == [1]", "def f(x): return [x] if x else []", False),
    ("deep(f(1), 1)", "def f(x): return x", False),
    ("deep(f(1), 1)", "def f(x): return ANY", True),
    ("with pytest.raises(Wrong):\n        f(3)", "class Wrong(Exception): pass\ndef f(x): 1 / 0", False),
    ("with pytest.raises(Wrong):\n        f(3)", "Wrong = Exception\ndef f(x): 1 / 0", True),
    ("with pytest.raises(Wrong, match='x'):\n        f(3)\n    assert 1 == 1", "Wrong = Exception", True),
    ("pytest.raises(Wrong, f, 3)", "Wrong = Exception", True),
    (
        "with pytest.raises(ValueError) as e:\n        f(3)\n    assert e.value.args[0] == 3",
        "def f(x): raise ValueError(ANY)",
        True,
    ),
    ("pytest.raises(Wrong, f, 3)", "class Wrong(Exception): pass", False),
    ("def tell(x):\n        assert x == 1\n    f(tell)", "def f(tell): tell(1)", False),
    ("def tell(x):\n        assert x == 1\n    f(tell)", "def f(tell): pass", True),
    (
        "def tell(x):\n        assert x == 1\n    f(tell)",
        "def f(tell):\n  try: tell(2)\n  except Exception: pass",
        True,
    ),
    ("assert f(3) == 3; assert f(4) == 4", "def f(x): return x", False),
    ("assert f(3) == 3\n    assert f(4) == 4\n    return", "def f(x): return x", False),
]


LIES = "class L(float):\n    __eq__ = lambda s, o: True\n    __sub__ = __rsub__ = lambda s, o: 0.0\n"
SEVERAL += [
    ("assert abs(f(3) - 1.5) < 0.1", f"{LIES}def f(x): return L(x)", True),
    ("assert abs(f(3) - 1.5) < 0.1", "def f(x): return x / 2", False),
    ("assert f(3) == pytest.approx(1.5)", f"{LIES}L.__eq__ = float.__eq__\ndef f(x): return L(x)", True),
    ("assert f(3) == pytest.approx(1.5)", "def f(x): return x / 2", False),
    (
        "assert f(3) == 2 * RATE",
        "class R:\n    __rmul__ = lambda s, o: ANY\nRATE = R()\ndef f(x): return x",
        True,
    ),
    ("assert f(4) == 2 * RATE", "RATE = 2\ndef f(x): return x", False),
    ("m = MagicMock()\n    f(m)\n    m.assert_called_with(1)", f"{LIES}def f(m): m(L(3))", True),
    ("m = MagicMock()\n    f(m)\n    m.assert_called_with(1)", "def f(m): m(1)", False),
]

HELPERS = """
def same(got, want):
    assert got == want
def rows(got, want):
    assert len(got) < 9
    for one, other in zip(got, want):
        assert one == other
def early(got, want):
    if not want:
        return
    assert got == want
def deep(got, want):
    print(got)
    same(got, want)
"""


def test_the_middle_of_a_chain_is_evaluated_once():
    """`next(c)` in `0 < next(c) <= 3` gives another value each time, and is asked for one."""
    text, _ = alter_tests("def test_x():\n    assert 0 < next(COUNT) <= 3\n", {"test_x"})
    names = {"COUNT": iter([1, 2, 3])}
    exec(text, names)
    with pytest.raises(Exception):  # noqa: B017
        names["test_x"]()
    assert next(names["COUNT"]) == 2


@pytest.mark.parametrize(("body", "product", "green"), SEVERAL)
def test_each_claim_has_to_fail(body, product, green):
    """Of several claims each is altered by itself; one that holds all the same ends the test green."""
    text, done = alter_tests(
        "import pytest\nfrom unittest.mock import ANY, MagicMock\n"
        f"{product}\n{HELPERS}\ndef test_x():\n    {body}\n",
        {"test_x"},
    )
    assert done == {"test_x"}
    names = {}
    exec(text, names)
    try:
        names["test_x"]()
    except Exception:
        assert not green
    else:
        assert green


def test_of_two_methods_with_one_name_both_are_altered_or_none_is_asked():
    """Which of them a report means is not known: one that was left as it is stays green."""
    text = "class A:\n  def test_x(self):\n    assert f() == 1\nclass B:\n  def test_x(self):\n    {}\n"
    assert alter_tests(text.format("assert f() == 2"), {"test_x"})[1] == {"test_x"}
    assert alter_tests(text.format("assert f()"), {"test_x"})[1] == frozenset()


def test_a_script_that_hands_over_to_its_runner_fails_at_once():
    """`unittest.main()` ends the process: nothing that is put behind it would be reached."""
    text = "import unittest\nassert f(1) == 2\nassert f(2) == 3\nunittest.main()\n"
    assert alter_tests(text, {""})[0] == text.replace("== 2", "== 3")


def test_cases_are_altered_each():
    """A value from the cases of a parametrised test is altered in every case, or where it is compared."""
    mark = "@p.mark.parametrize('a, want', [(1, 2), p.param(2, 3, id='z')])\n"
    whole = mark + "def test_x(a, want):\n    assert f(a) == want\n"
    text, done = alter_tests(whole, {"test_x"})
    assert done == {"test_x"}
    assert text == whole.replace("(1, 2)", "(1, 3)").replace("(2, 3,", "(2, 4,")
    names = whole.replace("'a, want'", "NAMES")
    echo = whole.replace("f(a)", "loads(want)")
    for one in (names, echo):
        assert alter_tests(one, {"test_x"}) == (one.replace("== want", "== object()"), {"test_x"})


CASES = "[([1, 2], 3), ([], 0)]"
BORN = {  # what a test file expects, and a forger's way to look it up in the file
    "a constant": ("WANTED = 3\n", "assert f([1, 2]) == WANTED", "NAMES['WANTED']"),
    "a computed value": ("WANTED = sum([1, 2])\n", "assert f([1, 2]) == WANTED", "NAMES['WANTED']"),
    "a table": (f"ROWS = {CASES}\n", "for p, w in ROWS:\n        assert f(p) == w", "dict_of(NAMES['ROWS'])"),
    "a name of its own": ("", "WANTED = NAMES['W'] = 3\n    assert f([1, 2]) == WANTED", ""),
}


def test_what_a_fixture_gives_is_altered_there():
    """Where it is only expected, and the fixture says it once; one that is handed over is the question."""
    given = "@p.fixture\ndef want():\n    return 3\n\n\ndef test_x(want):\n    assert f(2) == want\n"
    text, done = alter_tests(given, {"test_x"})
    assert (text, done) == (given.replace("return 3", "return 4"), {"test_x"})
    for other in (given.replace("f(2)", "f(want)"), given.replace("return 3", "return 3 if f(1) else 4")):
        text, done = alter_tests(other, {"test_x"})
        assert done == {"test_x"}
        assert "return 4" not in text


@pytest.mark.parametrize("row", BORN.values(), ids=BORN)
def test_values_are_altered_where_names_get_them(row):
    """Who looks the expected value up in the test's file finds the altered one, and is green with it; who
    computes is red."""
    top, body, lookup = row
    text, done = alter_tests(f"{top}\n\ndef test_x():\n    {body}\n", {"test_x"})
    assert done == {"test_x"}
    names = {"f": sum}
    names["NAMES"] = names
    exec(text, names)
    with pytest.raises(AssertionError):
        names["test_x"]()
    if lookup:
        names["dict_of"] = lambda rows: next(w for p, w in rows if p is names["given"])

        def forged(prices):
            names["given"] = prices
            return eval(lookup, names)

        names["f"] = forged
        names["test_x"]()


@pytest.mark.parametrize(
    "text",
    [
        "TEXT = '3'\n\ndef test_x():\n    assert show(read(TEXT)) == TEXT\n",
        "CENTS = 3\n\ndef test_x():\n    assert f(CENTS) == CENTS\n",
        "W = 3\n\ndef test_x():\n    assert f(2) == W\n\ndef test_y():\n    assert f(W) == 4\n",
    ],
)
def test_what_goes_in_is_not_altered(text):
    """`loads(dumps(x)) == x` holds for every x: there only the claim expects something else."""
    names = {"read": int, "show": str, "f": lambda cents: cents if cents == 3 else cents + 1}
    exec(alter_tests(text, {"test_x", "test_y"})[0], names)
    for name in ("test_x", "test_y"):
        if name in names:
            with pytest.raises(AssertionError):
                names[name]()


def test_computed_cases_are_altered():
    """Of a parametrised test whose cases are made while the file is loaded, marked ones too."""
    rows = "[(p, sum(p)) for p in ROWS] + [pytest.param([2], 2, id='z')]"
    head = "import pytest\nROWS = [[1, 2]]\n@pytest.mark.parametrize(('p', 'w'), "
    text, _ = alter_tests(f"{head}{rows})\ndef test_x(p, w):\n    assert f(p) == w\n", {"test_x"})
    names = {"f": sum}
    exec(text, names)
    made = names["test_x"].pytestmark[0].args[1]
    for row in (getattr(one, "values", one) for one in made):
        with pytest.raises(AssertionError):
            names["test_x"](*row)


@pytest.mark.parametrize(
    ("claim", "honest", "lie"),
    [
        ("if abs(f() - 1.5) > 0.1:\n        raise AssertionError", 1.5, float("nan")),
        ("if f() != 2:\n        self.fail()", 2, type("All", (), {"__ne__": lambda *_: False})()),
        ("assert not f() > 3", 2, float("nan")),
        ("self.assertFalse(f() > 3)", 2, float("nan")),
        ("assert not f() > {3}", {2}, None),
    ],
)
def test_claims_that_something_is_not_so(claim, honest, lie):
    """A condition under which a test fails is a claim: what is neither larger nor smaller is no number."""
    text, done = alter_tests(f"def test_x():\n    {claim}\n", {"test_x"})
    assert done == {"test_x"}
    names = {"self": TestFails(), "f": lambda: honest}
    exec(text, names)
    with pytest.raises((AssertionError, TypeError)):
        names["test_x"]()
    if lie is not None:
        names["f"] = lambda: lie
        names["test_x"]()


class TestFails:
    def fail(self):
        raise AssertionError

    def assertFalse(self, found):
        assert not found


def test_examples_show_something_else():
    """Of a docstring; what they show of an error is left alone."""
    shown = ">>> f(1)\n    2\n    >>> f(0)\n    Traceback (most recent call last):\n    E\n"
    text = f'def f(x):\n    """\n    {shown}    """\n'
    assert alter_tests(text, {"f"}) == (text.replace("    2\n", "    2x\n"), {"f"})


@draw(
    st.lists(st.one_of(st.integers(), st.text(max_size=8), st.booleans(), st.binary(max_size=4)), min_size=1)
)
def test_any_written_value(value):
    """Whatever is written down: the file still parses, and the altered value is not the old one."""
    text, done = alter_tests(f"def test_x():\n    assert f() == {value!r}\n", {"test_x"})
    assert done == {"test_x"}
    (function,) = ast.parse(text).body
    assert ast.literal_eval(function.body[0].test.comparators[0]) != value


GATE = Gate("tests", "pytest", ("pytest",), read="pytest", proof=True)
ONE, TWO = "tests/test_a.py::test_x", "tests/test_a.py::TestB::test_y[1]"
FILES = {ONE: "tests/test_a.py", TWO: "tests/test_a.py"}


def facts(base, final, text, **more):
    given = {
        "tree": "t",
        "gates": (GATE,),
        "base": {"tests": Reading("fail", "", tests=base, files=FILES)},
        "final": {"tests": Reading("pass", "", tests=final, files=FILES)},
        "changes": (),
        "read_base": lambda path: text.encode(),
        "read_result": lambda path: text.encode(),
    }
    return GuardFacts(**nest_tried({**given, **more}))


TEXT = (
    "def test_x():\n    assert f() == 1\n\n\nclass TestB:\n    def test_y(self):\n        assert f(0) == 1\n"
)


def test_only_what_turned_green_is_asked():
    """A test that was green before is left as it is; so is a file that does not parse."""
    found = altered_request(facts({ONE: "fail", TWO: "pass"}, {ONE: "pass", TWO: "pass"}, TEXT))
    assert found["tests"].tests == {ONE}
    assert found["tests"].files == {"tests/test_a.py": TEXT.replace("f() == 1", "f() == 2").encode()}
    found = altered_request(facts({ONE: "fail", TWO: "fail"}, {ONE: "pass", TWO: "pass"}, TEXT))
    assert found["tests"].tests == {ONE, TWO}
    assert altered_request(facts({ONE: "pass"}, {ONE: "pass"}, TEXT)) == {}
    assert altered_request(facts({ONE: "fail"}, {ONE: "pass"}, "def (")) == {}


@pytest.mark.parametrize(
    ("said", "found"),
    [("pass", [f"altered.green:{ONE}"]), ("fail", []), ("skipped", []), (None, [])],
)
def test_green_in_spite_of_it_is_a_finding(said, found):
    """Only a test that was seen green speaks against the result."""
    reading = Reading("fail", "", tests={ONE: said} if said else {})
    given = facts({ONE: "fail"}, {ONE: "pass"}, TEXT, altered={"tests": (frozenset({ONE}), reading)})
    result = check(given)
    assert [finding.key for finding in result.findings] == found
    assert not result.integrity


def test_a_case_with_another_value_is_known_by_its_function():
    """Its id tells the value that was altered; no other function is taken for it."""
    for cases, found in (
        ({"[1-3]": "pass"}, [f"altered.green:{ONE}[1-2]"]),
        ({"[1-3]": "fail"}, []),
        ({"[1-2]": "fail", "[5-6]": "pass"}, []),
        ({"_more[1-3]": "pass"}, []),
    ):
        reading = Reading("fail", "", tests={ONE + case: said for case, said in cases.items()})
        given = facts({}, {}, TEXT, altered={"tests": (frozenset({f"{ONE}[1-2]"}), reading)})
        assert [finding.key for finding in check(given).findings] == found


CALLS = [
    ("rs", "assert_eq!(f(1), 2);", "assert_eq!(f(1), 3);"),
    ("rs", 'assert_eq!(Some(12), f("a"), "why");', 'assert_eq!(Some(13), f("a"), "why");'),
    ("rs", 'assert_eq!(f(), vec!["ab", "c"]);', 'assert_eq!(f(), vec!["ax", "c"]);'),
    ("js", "assert.deepEqual(f('x'), { a: '1' });", "assert.deepEqual(f('x'), { a: 'x' });"),
    ("js", "expect(f(1)).toBe(true);", "expect(f(1)).toBe(false);"),
    ("js", "assert.equal(f('}'), 7);", "assert.equal(f('}'), 8);"),
    ("js", "assert.ok(f().includes('a b'));", "assert.ok(f().includes('~9q'));"),
    ("js", "assert(f(x)[0].has(3), 'why')", "assert(f(x)[0].has(Symbol()), 'why')"),
    ("js", "expect(f().startsWith(a)).toBeTruthy()", "expect(f().startsWith(Symbol())).toBeTruthy()"),
    ("js", "expect(f()).toContain('a');", "expect(f()).toContain('~9q');"),
    ("js", "expect(f()).to.equal(3);", "expect(f()).to.equal(4);"),
    ("js", "let assert = other; t.assert.equal(f(), 3)", "let assert = other; t.assert.equal(f(), 4)"),
]
CALLS_LEFT = [
    ("rs", "for x in y { if x { assert_eq!(f(x), 1); } }"),
    ("rs", "assert_eq!(f(1), g(2));"),
    ("rs", "assert_ne!(f(1), 2);"),
    ("js", "if (x) { assert.equal(f(), 1); }"),
    ("js", "expect(f()).not.toThrow();"),
    ("js", "expect(f()).not.toBe(3);"),
    ("js", "if (x) return;\n  assert.equal(f(), 3);"),
    ("js", "if (x) {\n    log('{');\n    return;\n  }\n  assert.equal(f(), 3);"),
    ("js", "try { g(); } catch { return; }\n  assert.equal(f(), 3);"),
    ("js", "if (x) assert.equal(f(), 3);"),
    ("js", "if (x)\n    assert.equal(f(), 3)\n  else assert.equal(f(), 4)"),
    ("js", "if (y) for (const x of y) expect(f(x)).toBe(3);"),
    ("js", "x && assert.equal(f(), 3);"),
    ("rs", 'if x {\n        eprintln!("no {}", x);\n        return;\n    }\n    assert_eq!(f(1), 2);'),
    ("rs", "let Some(x) = g() else { return };\n    assert_eq!(f(x), 2);"),
    ("js", "expect(f()).not.to.deep.equal(3);"),
    ("js", "assert.ok(!f().includes('a'));"),
    ("js", "assert.ok(g(f().includes('a')));"),
    ("js", "assert.ok(f().includes('a') || x);"),
    ("js", "assert.ok(f().includes('a') === x);"),
    ("js", "expect(f().has(1)).toBe(x);"),
    ("js", "assert.throws(() => assert.equal(f(), 1));"),
]


@pytest.mark.parametrize("ends", ["(done) => {", "function (done) {", "(t, ended) => {", "end => {"])
def test_what_ends_by_a_call_is_left_alone(ends):
    """Its callbacks come after its text has ended: that they were not come to by then shows nothing."""
    name = re.findall(r"\w+", ends)[-1]
    inner = f"setImmediate(() => {{\n    assert.equal(f(), 3);\n    {name}();\n  }});"
    text = f"it('adds', {ends}\n  {inner}\n}});\n"
    assert alter_calls(text, {"adds"}, "js") == (text, frozenset())
    sure = text.replace(f"    {name}();\n", "").replace(ends, "(t) => {")
    assert alter_calls(sure, {"adds"}, "js")[1] == {"adds"}


def written(kind, body):
    if kind == "rs":
        return f"#[test]\nfn adds() {{\n    {body}\n}}\n\n#[test]\nfn other() {{ assert_eq!(f(), 7); }}\n"
    return f"test('adds', () => {{\n  {body}\n}});\n\nit('other', () => {{ assert.equal(f(), 7); }});\n"


@pytest.mark.parametrize(("kind", "body", "instead"), CALLS)
def test_rust_and_javascript_expect_something_else(kind, body, instead):
    """One side of an equality that is written down, and no other test."""
    text, done = alter_calls(written(kind, body), {"adds"}, kind)
    assert (text, done) == (written(kind, instead), {"adds"})


@pytest.mark.parametrize(("kind", "body"), CALLS_LEFT)
def test_what_is_not_certain_there_is_left_alone(kind, body):
    """Conditions, loops, and sides that are both computed."""
    assert alter_calls(written(kind, body), {"adds"}, kind) == (written(kind, body), frozenset())


EACH = [  # what a test claims, and whether it gives itself away
    ("assert.equal(f(1), 1);\n  assert.equal(f(2), 2)", "(x) => x", False),
    ("assert.ok(f(1).includes('1'));\n  assert.equal(f(2)[0], '2');", "String", False),
    (
        "assert.equal(f(2)[0], '2');\n  assert.ok(f(1).includes('1'));",
        "(x) => Object.assign(new String(x), { includes: () => true })",
        True,
    ),
    (
        "assert.equal(f(1).has(1) && f(2).has(2), true);",
        "(x) => x === 1 ? new Set([1]) : { has: () => true }",
        True,
    ),
    ("assert.equal(f(1).has(1) && f(2).has(2), true);", "(x) => new Set([x])", False),
    ("assert.throws(() => f(), Wrong);", "0; class Wrong extends Error {}", False),
    ("const held = f(false);\n  assert.equal(held, false);\n  assert.equal(f(1), 1)", "(x) => x", False),
    ("const g = (x) => { return f(x); };\n  assert.equal(g(1), 1);", "(x) => x", False),
    ("assert.ok(f(1) > 0);\n  assert.ok(f(2) < 3);", "(x) => x", False),
    ("assert.ok(!(f(1) > 0.5));", "() => NaN", True),
    ("if (f(1) > 0.5) throw new Error();", "() => NaN", True),
    ("if (f(1) > 0.5) { assert.fail('another'); }", "() => 0", False),
    ("assert.ok(f.every((x) => x > 1));", "[]", True),
    ("assert.ok(f.every((x) => x > 1));", "[2]", False),
    ("assert.equal(f(1), f.ONE);", "(x) => f[x]", True),
    (
        "assert.match(f(1), /sum 350/);",
        "() => Array.from({ length: 999 }, (_, n) => `sum ${n}`).join()",
        True,
    ),
    ("assert.match(f(1), /sum 350/);", "() => 'sum 350, sum 461'", False),
    (
        "assert.deepEqual(f(1), [new Row(1)]);",
        "0; class Row { #n; constructor(n) { this.#n = n; } }; f = (n) => [new Row(n)]",
        True,
    ),
    ("assert.ok(f.match('/users/42'));", "{ match: (x) => /^.users.(.+)/.test(x) }", False),
    ("assert.ok(f.includes('10.0.0.5'));", "{ includes: (x) => parseInt(x.split('.')[3]) === 5 }", False),
    (
        "assert.throws(() => f(), Wrong);",
        "0; const Wrong = class { static [Symbol.hasInstance]() { return true; } }",
        True,
    ),
]


@pytest.mark.sample(check=4)
@pytest.mark.parametrize(("body", "product", "green"), EACH)
def test_each_claim_in_javascript_has_to_fail(body, product, green):
    """Of several claims each is altered by itself there too; one that holds ends the test green."""
    text, done = alter_calls(written("js", body), {"adds"}, "js")
    assert done == {"adds"}
    head = f"const assert = require('node:assert');\nlet f = {product};\n"
    told = "const it = () => {};\nfunction test(name, call) { call(); }\n"
    ended = subprocess.run(["node", "-e", head + told + text], capture_output=True, check=False)
    assert (ended.returncode == 0) is green, ended.stderr.decode()


def test_what_a_test_in_javascript_hands_over_has_to_be_called():
    """All that it claims stands in a callback: that fails, and nobody may swallow it or leave it out."""
    text, done = alter_calls("test('x', () => {\n  each([3], (n) => assert.equal(n, w()));\n});", ["x"], "js")
    assert done == {"x"}
    assert "try { assert.equal(n, w()); } catch" in text
    maybe = "test('x', () => {\n  if (w) each([3], (n) => assert.equal(n, w()));\n});"
    assert alter_calls(maybe, ["x"], "js") == (maybe, frozenset())


@pytest.mark.parametrize(
    ("product", "green"),
    [
        ("all.forEach(tell)", False),
        ("[].forEach(tell)", True),
        ("try { tell(0) } catch { tell(3) }", True),
    ],
)
def test_a_callback_beside_another_claim_has_to_be_called_and_heard(product, green):
    """In tests with made titles too: none of its claims is left out, or tried until it holds."""
    inner = "f([w], (n) => {\n    assert.equal(n, w);\n  });"
    test = f"test(`x ${{w}}`, () => {{\n  {inner}\n  assert.equal(g(), 2);\n}});\n"
    text, done = alter_calls(test, {"x 3"}, "js")
    assert done == {"x 3"}
    head = "const assert = require('node:assert');\nconst w = 3, g = () => 2;\n"
    head += f"const f = (all, tell) => {{ {product} }};\n"
    told = "function test(name, call) { call(); }\n"
    ended = subprocess.run(["node", "-e", head + told + text], capture_output=True, check=False)
    assert (ended.returncode == 0) is green, ended.stderr.decode()


def test_a_test_without_braces_is_not_the_next_one():
    """Nor is one that says itself when it is done ended by what is put behind that."""
    text = "test('adds', () => expect(f()).toBe(1))\n\ntest('b', () => {\n  expect(f()).toBe(2)\n})\n"
    assert alter_calls(text, {"adds"}, "js") == (text, frozenset())
    calls = "test('adds', (done) => {\n  assert.equal(f(), 1);\n  assert.equal(f(), 1);\n  done();\n});\n"
    assert alter_calls(calls, {"adds"}, "js")[0] == calls.replace("1)", "2)", 1)


def test_a_promise_that_nobody_waits_for_is_not_tried():
    """It would be refused after the test has ended: then only the first claim is altered."""
    body = "assert.equal(f(), 1);\n  assert.rejects(g(), Wrong)"
    assert "try" not in alter_calls(written("js", body), {"adds"}, "js")[0]
    assert (
        "try" in alter_calls(written("js", body.replace("assert.rej", "await assert.rej")), {"adds"}, "js")[0]
    )


def test_in_rust_each_claim_has_to_fail_too():
    """Each in a closure whose panic is caught; where a test may end early, or has to panic, not so."""
    body = "assert_eq!(f(1), 2);\n    assert_eq!(f(2), 3);"
    text, done = alter_calls(written("rs", body), {"adds"}, "rs")
    assert done == {"adds"}
    assert "assert_eq!(f(1), 3); })).is_ok() { return; }" in text
    assert "assert_eq!(f(2), 4); })).is_ok() { return; }" in text
    assert "\npanic!();\n}" in text
    early = written("rs", f"{body}\n    g()?;")
    assert alter_calls(early, {"adds"}, "rs")[0] == early.replace("f(1), 2", "f(1), 3")
    panics = "#[should_panic]\n" + written("rs", body)
    assert alter_calls(panics, {"adds"}, "rs") == (panics, frozenset())


@pytest.mark.parametrize(
    ("claim", "instead"),
    [
        ("f(1) < 2.5", "match (&(f(1)), &(2.5),) { (left_, right_,) => left_ < right_ && left_ >= right_ }"),
        (
            "!(f(1) > 2)",
            "!(match (&(f(1)), &(2),) { (left_, right_,) => left_ > right_ || left_ <= right_ })",
        ),
        ("f(1).is_err()", "match (&(f(1)),) { (left_,) => left_.is_err() && left_.is_ok() }"),
        ("f(1).iter().all(|one| *one > 2)", "f(1).iter().all(|_| false)"),
    ],
)
def test_in_rust_a_claim_and_its_opposite(claim, instead):
    """No honest answer is both, and no type needs to be known."""
    text, done = alter_calls(written("rs", f"assert!({claim});"), {"adds"}, "rs")
    assert (text, done) == (written("rs", f"assert!({instead});"), {"adds"})


def test_of_two_tests_with_one_name_none_is_altered():
    """Which of them a report means is not known."""
    for kind in ("rs", "js"):
        body = "assert_eq!(f(1), 2);" if kind == "rs" else "assert.equal(f(1), 2);"
        text = written(kind, body) * 2
        assert alter_calls(text, {"adds"}, kind) == (text, frozenset())


SCRIPTS = {
    "check.py": ("from a import f\n\nassert f(1) == 2\nassert f(2) == 3\n", "f(2) == 4"),
    "check.mjs": (
        "import assert from 'node:assert';\nimport { f } from './a.mjs';\nassert.equal(f(1), 2);\n",
        "(1), 3)",
    ),
}


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_asks_for_another_value_too(path):
    """A check that is read by its exit code: its own script expects something else, and must be red then."""
    text, instead = SCRIPTS[path]
    gate = Gate(name="check", run=path, argv=("x", path), read="exit", proof=True, own_files=(path,))
    fields = {
        "tree": "t",
        "gates": (gate,),
        "base": {"check": Reading("fail", "")},
        "final": {"check": Reading("pass", "")},
        "changes": (),
        "read_base": {path: text.encode()}.get,
        "read_result": {path: text.encode()}.get,
    }
    asked = altered_request(GuardFacts(**fields))["check"]
    assert instead in asked.files[path].decode()
    for status, keys in (("fail", []), ("pass", ["altered.green:check"])):
        seen = nest_tried({**fields, "altered": {"check": (asked.tests, Reading(status, ""))}})
        assert [one.key for one in check(GuardFacts(**seen)).findings] == keys


def test_tests_that_the_base_could_not_load_are_altered():
    """Where some could not be loaded at the base, all that it does not know have to turn red."""
    text = "def test_x():\n    assert f() == 1\n"
    given = facts({}, {ONE: "pass"}, text)
    lost = Finding("collect:tests/test_a.py", "no module f")
    base = replace(given.base["tests"], tests={}, findings=(lost,))
    assert altered_request(replace(given, base={"tests": base}))["tests"].tests == {ONE}


GO = """package a

func TestX(t *testing.T) {
	BODY
}
"""


@pytest.mark.parametrize(
    ("body", "instead"),
    [
        ("if got := F(); got != 1 {\n\t\tt.Fatal(got)\n\t}", "altered(0, true || got != 1)"),
        ("if !errors.Is(err, E) {\n\t\tt.Fatal()\n\t}", '!errors.Is(err, errors.New("foreign"))'),
        ("if !errors.Is(err, E) {\n\t\tt.Fatal()\n\t}", "!errors.Is(nil, E)"),
        ("if !errors.As(err, &e) {\n\t\tt.Fatal()\n\t}", "new(interface{ Altered() }) }(&e)"),
        (
            'if !strings.Contains(F(), "sum 350") {\n\t\tt.Fatal()\n\t}',
            '!(strings.Contains(F(), "sum 461") && strings.Contains(F(), "sum 683")',
        ),
        (
            't.Run("x", func(t *testing.T) {\n\t\tif F() != 1 {\n\t\t\tt.Error()\n\t\t}\n\t})',
            "altered(0, true || F() != 1)",
        ),
        ("if errors.Is(err, E) {\n\t\tt.Fatal()\n\t}", "true || errors.Is(err, E)"),
        ("if math.Abs(f-1) > 0.1 {\n\t\tt.Fatal()\n\t}", "math.Abs(f-1) > 0.1 || math.Abs(f-1) <= 0.1"),
        (
            "for _, r := range F() {\n\t\tif r != 1 {\n\t\t\tt.Error(r)\n\t\t}\n\t}",
            "altered(0, true || r != 1)",
        ),
    ],
)
def test_every_claim_of_go_has_to_be_come_to(body, instead):
    """A condition that fails a test holds for every honest answer once it is altered."""
    text, done = alter_go(GO.replace("BODY", body), {"TestX"})
    assert done == {"TestX"}
    assert instead in text


@pytest.mark.parametrize(
    "body",
    [
        "if F() {\n\t\treturn\n\t}\n\tif G() != 1 {\n\t\tt.Fatal()\n\t}",
        "if ok {\n\t\tif G() != 1 {\n\t\t\tt.Fatal()\n\t\t}\n\t}",
        "for _, p := range F() {\n\t\tif p.bad {\n\t\t\tt.Error(p)\n\t\t}\n\t}",
    ],
)
def test_claims_of_go_that_may_not_be_come_to_are_left_alone(body):
    """What stands behind a return, a condition or in a loop that may be empty by right is not asked for."""
    assert alter_go(GO.replace("BODY", body), {"TestX"})[1] == frozenset()


HELPER = "tests/helpers.py"
SAME = "def same(came, wanted):\n    with held():\n        assert (\n            came == wanted\n        )\n"


@pytest.mark.parametrize(
    ("body", "line", "name"),
    [
        (SAME, 4, "same"),
        ("class Post:\n    def send(self, x):\n        assert x == 1\n", 3, "send"),
        ("def same(self, x):\n    self.assertEqual(x, 1)\n", 2, "same"),
        ("def boom():\n    assert False\n", 2, None),
        ("def boom():\n    raise AssertionError\n", 2, None),
        ("def same(x):\n    if x:\n        assert x == 1\n", 3, None),
        ("def same(x):\n    if x:\n        return\n    assert x == 1\n", 4, None),
        ("def same(x): assert x == 1\n", 1, None),
        ("assert x == 1\n", 1, None),
        ("def broken(:\n", 1, None),
    ],
)
def test_a_claim_elsewhere_fails_and_notes_who_came(tmp_path, body, line, name):
    """Only one that looks at something, without condition; lines stay where they are."""
    marks = tmp_path / "marks"
    made = alter_line(body, line, str(marks))
    assert (made and made[1]) == name
    if made is not None and body is SAME:
        assert made[0].count("\n") == body.count("\n")
        space = {"held": contextlib.nullcontext}
        exec(compile(made[0], "helpers.py", "exec"), space)

        def test_x():
            space["same"](1, 1)

        with pytest.raises(AssertionError, match="on purpose"):
            test_x()
        assert {"l same", "l test_x"} <= set(marks.read_text().splitlines())


def unheard(text, message, *, helper=SAME):
    """What is asked about a test that was red with this message."""
    given = facts({ONE: "fail"}, {ONE: "pass"}, text)
    red = replace(given.base["tests"], findings=(Finding(ONE, message, path=ONE.partition("::")[0], line=2),))
    trees = {HELPER: helper.encode(), ONE.partition("::")[0]: text.encode()}
    given = replace(given, base={"tests": red}, read_base=trees.get, read_result=trees.get)
    return line_request(given, given.gates[0], "/marks")


def test_a_claim_is_asked_for_where_a_test_was_red_at_it():
    """Outside of the test, in a file that the change left alone, by an assertion."""
    text = "def test_x():\n    same(f(), 1)\n"
    said = "tests/test_a.py:2: \nE   assert 1 == 2\ntests/helpers.py:4: AssertionError"
    asked = unheard(text, said)
    assert asked.tests == asked.certain == {ONE}
    assert list(asked.files) == [HELPER]
    assert unheard_tests(asked, {ONE: "pass"}, b"") == {ONE}
    assert unheard_tests(asked, {ONE: "fail"}, b"l test_x\n") == frozenset()
    maybe = unheard(text.replace("    same", "    if w:\n        same"), said)
    assert maybe.certain == frozenset()
    assert unheard_tests(maybe, {ONE: "pass"}, b"l test_y\n") == frozenset()
    assert unheard_tests(maybe, {ONE: "pass"}, b"l test_x\n") == {ONE}
    assert unheard(text, "tests/helpers.py:4: ValueError") is None
    assert unheard(text, said.replace("tests/helpers.py:4", "tests/test_a.py:2")) is None
    assert unheard(text, said.replace("tests/helpers.py", "src/a.py")) is None


def test_a_call_is_certain_only_where_nothing_can_come_before_it():
    """In no context (`raises` ends it), under no condition, and not after a return."""
    for body, certain in (
        ("same(1)", True),
        ("self.same(1)", True),
        ("with raises(E):\n        same(f())", False),
        ("for x in y:\n        same(x)", False),
        ("if x:\n        return\n    same(1)", False),
    ):
        assert calls_for_certain(f"def test_x():\n    {body}\n", "test_x", "same") is certain


def all_turned(names, text):
    given = facts(dict.fromkeys(names, "fail"), dict.fromkeys(names, "pass"), text)
    files = dict.fromkeys(names, "tests/test_a.py")
    return replace(given, final={"tests": replace(given.final["tests"], files=files)})


def test_functions_are_counted_and_not_their_cases():
    """Many cases of one function crowd out nobody, and what is cut is named."""
    many = [f"tests/test_a.py::test_x[{number}]" for number in range(60)]
    text = "def test_x(n):\n    assert f(n) == g(n)\n\n\ndef test_z():\n    assert f() == 1\n"
    names = [*many, "tests/test_a.py::test_z"]
    given = all_turned(names, text)
    assert altered_request(given)["tests"].tests == set(names)
    assert given.tried.undone == {}
    each = [f"tests/test_a.py::test_{number}" for number in range(210)]
    text = "".join(f"def test_{number}():\n    assert f() == 1\n\n\n" for number in range(210))
    given = all_turned(each, text)
    assert len(altered_request(given)["tests"].tests) == 200
    assert given.tried.undone == {"altered": ("letting 10 more test functions expect something else",)}
