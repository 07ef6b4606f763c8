"""Guards "sabotage" and "repeat": what is asked for, how it is counted, and what is said of it."""

import pytest
from guardkit import PYTEST
from msgspec.structs import replace
from witnesskit import ADD, BY_EXIT, MUL, NEW, NEW_TEST, OLD, OLD_TEST, given, read

from ralph.core.model.gate import Gate
from ralph.gates.guards import REGISTRY, Broken, Sabotage, is_repeated, sabotage_request
from ralph.gates.guards.integrity.sabotage import MAX_BREAKS


def wanted(before, after, **fields):
    """Facts with a witness, so that sabotage is asked for."""
    tests = {"tests/test_a.py": OLD_TEST}
    return given(
        {**before, **tests},
        {**after, "tests/test_a.py": NEW_TEST},
        witness={"tests": read({MUL: "fail"}, {MUL: "assert"})},
        **fields,
    )


def test_no_sabotage_without_a_witness():
    """Where no new test shows the change there is nothing to try."""
    assert sabotage_request(given(witness=None)) == ()
    assert sabotage_request(given(witness={"tests": read({ADD: "pass", MUL: "pass"})})) == ()


def many(path, count):
    return {path: "".join(f"def f{number}():\n    return {number}\n" for number in range(count))}


def test_sabotage_takes_turns():
    """Of each file in turn, larger functions before smaller ones, each in both ways; whole files last."""
    after = {
        "a.py": "def one():\n    return 1\n\n\ndef two():\n    x = 1\n    return x\n",
        "b.py": "def three():\n    return 3\n",
        "data.json": "{}",
        "c.py": "TABLE = 1\n",
    }
    asked = sabotage_request(wanted({}, after))
    assert [item.name for item in asked] == [
        "a.py: two",
        "a.py: two (foreign value)",
        "b.py: three",
        "b.py: three (foreign value)",
        "a.py: one",
        "a.py: one (foreign value)",
        "c.py: taken back",
        "data.json: taken back",
    ]
    assert [item.path for item in asked if not item.files] == ["c.py", "data.json"]
    assert all(isinstance(item, Sabotage) for item in asked)


def test_documents_and_the_version_are_broken_only_where_nothing_else_can_be():
    """A call for each of them would show nothing of the code; where they are all there is, they are tried."""
    papers = {"CHANGELOG.md": "new\n", "pkg/__version__.py": "V = 2\n"}
    names = [
        item.name for item in sabotage_request(wanted({}, {**papers, "b.py": "def f():\n    return 3\n"}))
    ]
    assert names == ["b.py: f", "b.py: f (foreign value)"]
    names = [item.name for item in sabotage_request(wanted({}, {**papers, "data.json": "{}"}))]
    assert names == ["data.json: taken back"]
    names = [item.name for item in sabotage_request(wanted({}, papers))]
    assert names == ["CHANGELOG.md: taken back", "pkg/__version__.py: taken back"]


def test_what_the_new_tests_speak_of_is_broken_first():
    """Pages and scripts beside the product come last: nothing of them is what a test would notice."""
    page = "def page():\n    x = 1\n    y = 2\n    return x\n"
    after = {"docs/a.py": page, "b.py": page, "calc.py": NEW}
    asked = [item.name for item in sabotage_request(wanted({"calc.py": OLD}, after))]
    assert asked[::2] == ["calc.py: mul", "b.py: page", "docs/a.py: page"]


def test_sabotage_is_bounded():
    """Not more than so many, spread over the files."""
    asked = sabotage_request(wanted({}, {**many("a.py", 20), **many("b.py", 2)}))
    assert len(asked) == MAX_BREAKS
    assert [item.path for item in asked].count("b.py") == 4


def test_sabotage_leaves_tests_and_settings_alone():
    """Only the source of the change is broken: no test, no setting, nothing that is as it was."""
    before = {"calc.py": OLD, "same.py": "def s():\n    return 1\n"}
    after = {**before, "calc.py": NEW, "setup.cfg": "[x]\n", "tests/helper.py": "def h():\n    return 1\n"}
    asked = sabotage_request(wanted(before, after))
    assert [item.name for item in asked] == ["calc.py: mul", "calc.py: mul (foreign value)"]
    assert asked[1].files["calc.py"] == NEW.replace("return a * b", "return object()").encode()
    assert asked[0].files["calc.py"] == NEW.replace("return a * b", "return None").encode()


def test_sabotage_of_a_file_that_lost_something():
    """A file without a changed function is taken back whole, a renamed one too; a deleted one is back."""
    before = {"calc.py": OLD + "\n\ndef gone():\n    return 1\n", "old.py": "X = 1\n", "dead.py": "Y = 1\n"}
    after = {"calc.py": OLD, "new.py": "X = 1\nZ = 2\n"}
    asked = sabotage_request(wanted(before, after, moved={"new.py": "old.py"}))
    assert [(item.name, item.files) for item in asked] == [
        ("calc.py: taken back", {}),
        ("new.py: taken back", {}),
        ("dead.py: brought back", {}),
    ]


NOTICED = "sabotages were noticed by the new tests"


@pytest.mark.parametrize(
    ("tried", "words", "counted"),
    [
        (None, "not needed: no test of the agent's own is the witness", {}),
        (
            (),
            "no sabotage was tried: there is no witness that could notice it",
            {"sabotaged": 0, "noticed": 0},
        ),
        (
            (Broken("a.py: f", True), Broken("a.py: g", True)),
            "2 of 2 sabotages were noticed by the new tests",
            {"sabotaged": 2, "noticed": 2},
        ),
        (
            (Broken("a.py: f", True), Broken("a.py: g", False), Broken("a.py: h", None)),
            f"1 of 2 {NOTICED}; not noticed: a.py: g; 1 not tried, the time was up",
            {"sabotaged": 2, "noticed": 1},
        ),
        (
            tuple(Broken(f"a.py: f{number}", False) for number in range(5)),
            (
                "0 of 5 sabotages were noticed by the new tests; "
                "not noticed: a.py: f0, a.py: f1, a.py: f2 and 2 more"
            ),
            {"sabotaged": 5, "noticed": 0},
        ),
        (
            (Broken("a.py: f", None),),
            "0 of 0 sabotages were noticed by the new tests; 1 not tried, the time was up",
            {"sabotaged": 0, "noticed": 0},
        ),
    ],
)
def test_sabotage_is_told(tried, words, counted):
    """How many were tried, how many noticed, which were not; never a finding."""
    result = REGISTRY["sabotage"](given(sabotage=tried))
    assert (result.summary, result.counted) == (words, counted)
    assert (result.applied, result.findings) == (True, ())


# Repeat -----------------------------------------------------------------------------------------

LINT = Gate("lint", "ruff check", ("ruff", "check"), read="ruff")
PASS, FAIL = read({ADD: "pass", MUL: "pass"}), read({ADD: "fail", MUL: "pass"}, {ADD: "boom"})


@pytest.mark.parametrize(
    ("gate", "reading", "again"),
    [
        (PYTEST, PASS, True),
        (PYTEST, None, True),
        (BY_EXIT, read(), True),
        (replace(PYTEST, proof=False), PASS, True),
        (replace(PYTEST, proof=False), None, False),
        (replace(BY_EXIT, proof=False), read(), False),
        (LINT, read(), False),
        (replace(LINT, proof=True), read(), True),
        (replace(PYTEST, required=False), PASS, False),
    ],
)
def test_repeated(gate, reading, again):
    """What proves the task and what runs tests is judged again; advice and linters are not."""
    assert is_repeated(gate, reading) is again


def repeats(*readings, confirm=3, **fields):
    fields = {"base": {"tests": PASS}, "final": {"tests": PASS}, **fields}
    return REGISTRY["repeat"](given(confirm=confirm, repeats={"tests": readings}, **fields))


@pytest.mark.parametrize(
    ("result", "applied", "times", "found"),
    [
        (repeats(PASS, PASS), True, 3, []),
        (repeats(PASS, overlay={"tests": PASS}), True, 3, []),
        (repeats(PASS, overlay={}), False, 2, []),
        (repeats(PASS), False, 2, []),
        (repeats(PASS, confirm=2), True, 2, []),
        (repeats(confirm=1), False, 1, []),
        (repeats(), False, 1, []),
        (repeats(PASS, FAIL), True, 3, [f"repeat.flaky:{ADD}"]),
        (repeats(FAIL, FAIL), True, 3, [f"repeat.flaky:{ADD}"]),
        (repeats(PASS, read(status="error", cause="timeout")), True, 3, ["repeat.flaky:tests"]),
        (repeats(PASS, FAIL, final={"tests": FAIL}), True, 3, []),  # red each time: the verdict says so
        (repeats(gates=(LINT,), final={"lint": read()}), True, 1, []),
    ],
)
def test_repeat(result, applied, times, found):
    """Counted as often as it was judged, the overlay too; what was red once is named, accusing nobody."""
    assert (result.applied, result.counted, result.integrity) == (applied, {"repeats": times}, False)
    assert [finding.key for finding in result.findings] == found


def test_repeat_spares_what_was_flaky_before():
    """A test of another gate that was flaky at the base is nobody's fault; of the proof it never is green."""
    base = {"tests": replace(PASS, flaky=(ADD,))}
    assert repeats(PASS, FAIL, base=base).findings
    assert not repeats(PASS, FAIL, base=base, gates=(replace(PYTEST, proof=False),)).findings


def test_repeat_says_what_is_short():
    """Which gate was judged how often, and what was asked for."""
    assert "the final verdict was not repeated or tried for turning red" in repeats(confirm=1).summary
    assert "tests: judged 2 times, not 3" in repeats(PASS).summary
    assert repeats(PASS, PASS).summary == "green 3 times on the same tree"


def test_repeat_names_few_of_many():
    """A suite that falls apart does not fill the journal."""
    tests = {f"tests/test_a.py::t{number:02}": "fail" for number in range(40)}
    result = repeats(PASS, read(tests, {"exit": "1"}))
    assert len(result.findings) == 20
    assert "repeat.flaky:exit" not in {finding.key for finding in result.findings}


@pytest.mark.parametrize(
    ("seen", "noticed", "words"),
    [
        ((True, True), 2, "2 of 2 sabotages were noticed"),
        ((True, False), 0, "they only ask whether something is returned"),
        ((False, True), 0, "they check no value"),
        ((False, False), 0, "0 of 2 sabotages were noticed"),
        ((True, None), 1, "1 of 1 sabotages were noticed"),
    ],
)
def test_both_ways_must_be_noticed(seen, noticed, words):
    """A test that notices only nothing, or only something foreign, does not look at the answer."""
    broken = (Broken("a.py: f", seen[0]), Broken("a.py: f (foreign value)", seen[1], other=True))
    result = REGISTRY["sabotage"](given(sabotage=broken))
    assert result.counted["noticed"] == noticed
    assert words in result.summary


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({}, "no source file differs"),
        ({"pyproject.toml": "[tool.x]\n"}, "only pyproject.toml differs beside tests"),
    ],
)
def test_it_says_what_differs_when_nothing_could_be_broken(after, words):
    """That no source file differs is said only when that is so."""
    facts = replace(facts := wanted({}, after), tried=replace(facts.tried, sabotage=()))
    assert REGISTRY["sabotage"](facts).summary == f"nothing of the change could be broken: {words}"
