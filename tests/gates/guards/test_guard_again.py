"""What repeats tell beside "the same": luck, a test that needs its neighbours, a box that is recognised."""

import pytest
from guardkit import PYTEST, facts_of, read_as
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import REGISTRY, LikeSeen, Tried, inspect, turned_green
from ralph.gates.guards._calls.again import may_go_by_place

SCRIPT = Gate(name="tests", run="sh check.sh", argv=("sh", "check.sh"), read="exit", proof=True)
BASE = read_as(old="pass", fixed="fail", shaky="fail")["tests"]
NOW = read_as(old="pass", fixed="pass", shaky="pass", new="pass")["tests"]
ID = "tests/test_a.py::"


def facts(gate=PYTEST, base=BASE, now=NOW, **tried):
    return facts_of(
        {"a.py": "1\n"},
        {"a.py": "2\n"},
        gates=(gate,),
        base={"tests": replace(base, flaky=(f"{ID}shaky",)) if base.tests else base},
        final={"tests": now},
        confirm=3,
        tried=Tried(**tried),
    )


def found(given):
    (result,) = inspect(given, {"repeat": REGISTRY["repeat"]})
    assert not result.integrity, "nobody is accused of luck"
    return {finding.key: finding.asks for finding in result.findings}


def alone(*states):
    return {"tests": tuple(read_as(fixed=state, new="pass")["tests"] for state in states)}


def test_what_turned_green():
    """Red at the base or new, and green now; what was flaky there is not among them."""
    assert turned_green(facts(), PYTEST) == {f"{ID}fixed", f"{ID}new"}
    assert turned_green(facts(SCRIPT, Reading("fail", ""), Reading("pass", "")), SCRIPT) == {"exit"}
    assert turned_green(facts(SCRIPT, Reading("pass", ""), Reading("pass", "")), SCRIPT) == frozenset()


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("pass", "pass", "pass"), {}),
        (("pass", "fail", "pass"), {f"repeat.flaky:{ID}fixed": False}),
        (("fail", "fail", "fail"), {f"repeat.alone:{ID}fixed": True}),
    ],
)
def test_luck_and_company(states, expected):
    """Red at times is not yet; red each time is a question, for the test may need what comes before it."""
    assert found(facts(alone=alone(*states))) == expected


def test_a_call_that_ran_nothing_says_nothing():
    """Where a runner could not be told which tests, its complaint is no red test."""
    nothing = Reading("error", "no tests were found", cause="no-tests")
    assert found(facts(alone={"tests": (nothing, nothing)})) == {}


@pytest.mark.parametrize(
    ("old", "test", "doubted"),
    [
        ("1", "assert a() == 1", False),
        ("1", 'assert a() == "test value"', False),
        ("if (process.env.NODE_ENV !== 'production') {}", "assert a() == 1", True),
        ("where = sys._getframe(1).f_code.co_name", "assert a() == 1", True),
        ("1", 'assert a() == "called by fixed"', True),
        ("1", 'assert open("tests/data/a.json")', True),
    ],
)
def test_who_may_go_by_names_and_places(old, test, doubted):
    """Where the changed code asked for callers or builds before, or the test expects its own name or file, it
    is called once more under its own name, without a runner."""
    assert may_go_by_place(f"{ID}fixed", "tests/test_a.py", f"{test}\n", f"{old}\n") == doubted


def test_who_goes_by_the_runner():
    """What is red without a runner is a question."""
    asked = {f"repeat.plain:{ID}fixed": True}
    assert found(facts(plain={"tests": frozenset({f"{ID}fixed"})})) == asked


@pytest.mark.parametrize(("told", "words"), [("uncalled", "could not be called"), ("bound", "; not called")])
def test_what_no_ordinary_program_calls(told, words):
    """Where one could for that runner, the guard has not done its work; of others it is only said."""
    given = facts(repeats={"tests": (NOW, NOW)}, **{told: {"tests": frozenset({f"{ID}fixed"})}})
    (result,) = inspect(given, {"repeat": REGISTRY["repeat"]})
    assert result.applied == (told == "bound")
    assert f"{words} outside its runner: {ID}fixed" in result.summary


def test_a_script_that_is_lucky():
    """A check that is read by its exit code is repeated as a whole."""
    tries = {"tests": (Reading("pass", ""), Reading("fail", ""))}
    assert found(facts(SCRIPT, Reading("fail", ""), Reading("pass", ""), alone=tries)) == {
        "repeat.flaky:tests": False
    }


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (LikeSeen(frozenset()), {}),
        (LikeSeen(frozenset({f"{ID}fixed", "exit"})), {f"repeat.likeness:{ID}fixed": True}),
        (LikeSeen(frozenset({f"{ID}old"}), frozenset({f"{ID}old"})), {}),
        (LikeSeen(frozenset({"exit"})), {"repeat.likeness:tests": True}),
    ],
)
def test_a_box_that_is_recognised(seen, expected):
    """Red in the user's likeness only is a question, unless the base is so too."""
    assert found(facts(likeness={"tests": seen})) == expected
