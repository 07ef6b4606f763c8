"""What was red and is bent accuses, what was green asks; and every finding names its way out."""

import pytest
from guardkit import facts_of, read_as
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.proof.exit_gate import guard_words
from ralph.gates.guards import KINDS, REGISTRY, Tried, attribution_request, inspect, overlay_request
from ralph.gates.guards._base.asked_for import (
    names_path,
    wants_other_ci,
    wants_other_tests,
    wants_removal,
)
from ralph.gates.guards._base.facts import Overlay
from ralph.gates.judging_paths import is_test

PATH = "tests/test_a.py"
TEST = "from app import f\n\n\ndef test_a():\n    assert f() == 1\n"
OTHER = TEST.replace("== 1", "== 2")


def result_with(finding, **fields):
    """What becomes of one finding of any guard."""
    made = GuardResult(finding.key.split(".")[0], "t", applied=True, summary="s", findings=(finding,))
    return inspect(facts_of({}, {}, **fields), {"one": lambda _: made})[0]


@pytest.mark.parametrize("name", KINDS)
def test_every_finding_names_its_way_out(name):
    """What to change, and how to ask for the waiver; whatever the guard."""
    found = result_with(Finding(f"{name}:a/b.py::c", "something is so")).findings[0]
    words = guard_words(found)
    assert words.startswith("something is so")
    assert KINDS[name].way in words
    assert f"BLOCKED with ALLOW: {name} a/b.py::c because" in words


def test_every_guard_has_kinds_with_a_way_out_or_finds_nothing():
    """The table is complete: guards without kinds only measure."""
    silent = {guard for guard in REGISTRY if not any(kind.startswith(f"{guard}.") for kind in KINDS)}
    assert silent == {"witness", "diff_coverage"}
    assert all(kind.way for kind in KINDS.values())


@pytest.mark.parametrize("name", KINDS)
def test_what_accuses_is_never_granted_unseen(name):
    """A word given beforehand counts for questions and hygiene; one on the finding itself always does."""
    key = f"{name}:x"
    for asks in (False, True):
        result = result_with(Finding(key, "m", asks=asks), granted={key: "why"})
        weight = KINDS[name].weight
        assert bool(result.findings) == (weight == "accuses" or (weight == "accuses or asks" and not asks))
        assert not result_with(Finding(key, "m", asks=asks), waivers={key: "why"}).findings


def judged(base, over, new=OTHER, **fields):
    green = read_as(test_a="pass")
    facts = facts_of(
        {PATH: TEST}, {PATH: new}, base=base, final=fields.pop("final", green), overlay=over, **fields
    )
    results = inspect(facts, {name: REGISTRY[name] for name in ("inventory", "base_tests")})
    return results, {finding.key.split(":")[0]: finding.asks for one in results for finding in one.findings}


def test_a_red_test_that_was_bent_accuses_and_a_green_one_asks():
    """The same edit, by what the test said at the base: fitted to the source, or meant to be new."""
    red, green = read_as(test_a="fail"), read_as(test_a="pass")
    wanted = {"inventory.weakened", "base_tests.red"}
    results, found = judged(red, red)
    assert found == dict.fromkeys(wanted, False)
    assert all(result.integrity for result in results)
    results, found = judged(green, red)
    assert found == dict.fromkeys(wanted, True)
    assert not any(result.integrity for result in results)


@pytest.mark.parametrize(("alone", "asks"), [("pass", False), ("skipped", False), ("fail", True)])
def test_a_red_test_was_bent_only_where_it_turns_green_alone(alone, asks):
    """A crash was mended, and the test asks for another order: over the old code it is red as it is now."""
    red = read_as(test_a="fail")
    found = judged(red, red, attributed=read_as(test_a=alone))[1]
    assert found == dict.fromkeys({"inventory.weakened", "base_tests.red"}, asks)
    facts = facts_of({PATH: TEST}, {PATH: OTHER}, base=red, final=read_as(test_a="pass"), overlay=red)
    assert attribution_request(facts) == Overlay((PATH,), ())
    for over in (None, read_as(test_a="pass")):
        assert attribution_request(replace(facts, tried=Tried(overlay=over))) is None


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "def test_a():\n>   assert f() == 1\nE   assert 2 == 1\nE    +  where 2 = f()",
            "source: assert 2 == 1",
        ),
        ("name: AssertionError\ndetails:\n  'Difference (- actual):'\n\n  - ''\n  + '!'", "source: 'Diff"),
        ("=== RUN TestA\n    a_test.go:4: out of order\n--- FAIL: TestA (0.00s)", "source: a_test.go:4: out"),
        ("", "fails on the new source"),
    ],
)
def test_a_question_says_what_the_test_said(said, words):
    """Whoever is asked sees what was expected and what came, without a look at the difference."""
    green, red = read_as(test_a="pass"), read_as(test_a="fail")
    over = {"tests": replace(red["tests"], findings=(Finding(f"{PATH}::test_a", said, path=PATH),))}
    results = judged(green, over)[0]
    assert words in results[0].findings[0].message


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("E   URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", True),
        ("long\n" * 20 + "ConnectionRefusedError: [Errno 111] Connection refused\nmore", True),
        ("E   assert 3 == 4", False),
    ],
)
def test_red_for_want_of_the_network_tells_nothing(said, asks):
    """Checks have no network: a test that was red for that alone and is changed asks; a word for it lies at
    the base, so the work cannot bring one."""
    key, red = f"{PATH}::test_a", read_as(test_a="fail")
    base = {"tests": replace(red["tests"], findings=(Finding(key, said, path=PATH),))}
    found = judged(base, red)[1]
    assert found == dict.fromkeys({"inventory.weakened", "base_tests.red"}, asks)
    other = replace(base["tests"], findings=(Finding(f"{PATH}::test_b", said, path=PATH),))
    assert not any(judged({"tests": other}, base)[1].values()), "the text of another test, or one of later"
    gone = {"final": {"tests": Reading("pass", "", tests={})}, "new": ""}
    assert judged(base, red, **gone)[1]["inventory.deleted"] is asks


def test_a_word_on_a_test_settles_all_questions_about_it():
    """Whichever of the guards it names; but no accusation, and no other test."""
    red, green = read_as(test_a="fail"), read_as(test_a="pass")
    word = {f"base_tests.red:{PATH}::test_a": "the rule is new"}
    assert judged(green, red, waivers=word)[1] == {}
    assert judged(green, red, waivers={f"inventory.deleted:{PATH}": "all of it"})[1] == {}
    assert judged(green, red, waivers={f"inventory.deleted:{PATH}::test_b": "no"})[1] != {}
    gone = {"final": {"tests": Reading("pass", "", tests={})}, "new": ""}
    unseen = {f"inventory.weakened:{PATH}::test_a": "granted by its kind"}
    assert judged(green, red, granted=unseen)[1] == {}
    assert judged(green, red, granted=unseen, **gone)[1] == {"inventory.deleted": True}
    assert set(judged(red, red, waivers=word)[1]) == {"inventory.weakened"}


def test_tests_for_coverage_are_what_makes_it_green():
    """Nothing is red without them but the number; with other settings beside them it is not believed."""
    gate = Gate(name="tests", run="pytest --cov=src", argv=("pytest", "--cov=src"), read="pytest", proof=True)
    low = Reading(
        "fail",
        "",
        tests={"a": "pass"},
        files={"a": "tests/test_a.py"},
        findings=(Finding("exit", "Required test coverage of 80% not reached\n1 passed in 0.1s"),),
    )
    green = {"tests": Reading("pass", "", tests={"a": "pass", "b": "pass"})}
    given = {"gates": (gate,), "base": {"tests": low}, "final": green, "overlay": {"tests": low}}
    more = {"tests/test_b.py": "def test_b(): pass\n"}
    assert REGISTRY["base_tests"](facts_of({}, more, **given)).findings == ()
    other = {"tests": replace(low, findings=(Finding("exit", "recovery failed"),))}
    assert REGISTRY["base_tests"](facts_of({}, more, **{**given, "overlay": other})).findings
    forged = {"tests": replace(low, findings=(Finding("exit", "1 passed\nRequired test coverage of 80%"),))}
    assert REGISTRY["base_tests"](facts_of({}, more, **{**given, "overlay": forged})).findings
    lines = {"check.sh": "#!/bin/sh\nset -e\npytest --cov=src\n./other\n"}
    script = replace(gate, run="sh check.sh", own_files=("check.sh",))
    several = facts_of(lines, {**lines, **more}, **{**given, "gates": (script,)})
    assert REGISTRY["base_tests"](several).findings
    lines = {"check.sh": "#!/bin/sh\nset -e\npytest --cov=src\n"}
    one = facts_of(lines, {**lines, **more}, **{**given, "gates": (script,)})
    assert REGISTRY["base_tests"](one).findings == ()
    for run in ("pytest --discover", "pytest --cov=src && ./check"):
        assert REGISTRY["base_tests"](
            facts_of({}, more, **{**given, "gates": (replace(gate, run=run),)})
        ).findings
    settings = ({".coveragerc": "[run]\n"}, {".coveragerc": "[run]\nomit = src/*\n", **more})
    assert REGISTRY["base_tests"](facts_of(*settings, **given)).findings


@pytest.mark.parametrize(("base", "asks"), [("fail", False), ("pass", True)])
def test_a_check_by_exit_code_that_was_red_and_is_bent_accuses(base, asks):
    """As for a test that is read by name."""
    red = {"tests": Reading("fail", "exit code 1", findings=(Finding("exit", "no"),))}
    given = {"base": {"tests": replace(red["tests"], status=base)}, "final": {"tests": Reading("pass", "")}}
    facts = facts_of({PATH: TEST}, {PATH: OTHER}, overlay=red, **given)
    assert [one.asks for one in REGISTRY["base_tests"](facts).findings] == [asks]


@pytest.mark.parametrize(
    ("task", "path", "asks"),
    [
        ("mend the Makefile", "Makefile", True),
        ("mend the greeting", "Makefile", False),
        ("make tests/test_a.py pass", PATH, False),
    ],
)
def test_a_recipe_that_the_task_names_is_asked_about(task, path, asks):
    """A Makefile makes the product too; a test that is named is what has to pass."""
    make = Gate(name="tests", run="make test", argv=("make", "test"), proof=True, own_files=("Makefile",))
    red = {"tests": Reading("fail", "exit code 2", findings=(Finding("exit", "no"),))}
    given = {"base": red, "final": {"tests": Reading("pass", "")}, "overlay": red, "gates": (make,)}
    both = {"Makefile": "test:\n\tpytest\n", PATH: TEST}
    facts = facts_of(both, {**both, path: OTHER}, task=task, **given)
    assert [one.asks for one in REGISTRY["base_tests"](facts).findings] == [asks]


@pytest.mark.parametrize(
    ("path", "test"),
    [("index.test-d.ts", True), ("test-d/index.ts", True), ("index.d.ts", False), ("src/latest-d.ts", False)],
)
def test_tests_of_types_are_tests(path, test):
    """What tsd runs."""
    assert is_test(path) is test


REMOVED = {"src/app.py": "def f():\n    return 1\n\n\ndef monthly():\n    return 2\n", PATH: TEST}
GONE = {"src/app.py": "def f():\n    return 1\n"}
MONTHLY = TEST.replace("import f", "import f, monthly") + "\n\ndef test_m():\n    assert monthly() == 2\n"


@pytest.mark.parametrize(
    ("task", "source", "state", "found"),
    [
        ("remove monthly(): nobody uses it", GONE["src/app.py"], "pass", {}),
        ("tidy up", GONE["src/app.py"], "pass", {"inventory.deleted": True, "base_tests.red": True}),
        (
            "remove monthly()",
            GONE["src/app.py"],
            "fail",
            {"inventory.deleted": False, "base_tests.red": False},
        ),
        (
            "remove monthly()",
            GONE["src/app.py"] + "\n\nmonthly = f\n",
            "pass",
            {"inventory.deleted": True, "base_tests.red": True},
        ),
    ],
)
def test_a_test_goes_with_what_the_task_takes_away(task, source, state, found):
    """Gone from the product, on request, and green before: else it is asked about, or accuses."""
    base = read_as(test_a="pass", test_m=state)
    over = {"tests": Reading("fail", "", tests={}, findings=(Finding(f"collect:{PATH}", "cannot import"),))}
    facts = facts_of(
        {**REMOVED, PATH: MONTHLY},
        {"src/app.py": source, PATH: TEST},
        base=base,
        final=read_as(test_a="pass"),
        overlay=over,
        task=task,
    )
    results = inspect(facts, {name: REGISTRY[name] for name in ("inventory", "base_tests")})
    assert {one.key.split(":")[0]: one.asks for result in results for one in result.findings} == found


def test_a_renamed_module_is_found_under_its_old_name():
    """The base's tests run over the renamed module itself: nothing but its name is forgiven."""
    facts = facts_of(
        {"src/app.py": "x = 1\n", "src/pkg/__init__.py": "", "lib/q.js": "module.exports = 1\n", PATH: TEST},
        {
            "src/pkg/core.py": "x = 1\n",
            "src/pkg/__init__.py": "",
            "lib/s.js": "module.exports = 1\n",
            PATH: OTHER,
        },
        moved={"src/pkg/core.py": "src/app.py", "lib/s.js": "lib/q.js"},
    )
    request = overlay_request(facts)
    assert request is not None
    assert b"import_module('pkg.core')" in request.edit["src/app.py"]
    assert request.edit["lib/q.js"] == b"module.exports = require('./s.js');\n"


def test_a_source_with_doctests_is_no_test():
    """Its examples are put back, its code is the work: whoever collects it."""
    old = 'from app import g\n\n\ndef f():\n    """\n    >>> f()\n    1\n    """\n    return 0\n'
    ids = {"src/a.py::a.f": "fail"}
    seen = {"tests": Reading("fail", "", tests=ids, files=dict.fromkeys(ids, "src/a.py"))}
    facts = facts_of(
        {"src/a.py": old},
        {"src/a.py": old.replace("return 0", "return 1")},
        base=seen,
        final=seen,
        known=("src/app.py",),
    )
    assert overlay_request(facts) is None


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("change the rule and update the tests accordingly", True),
        ("Update tests/test_a.py for the new rule", True),
        ("Update the parser and its tests", True),
        ("Correct the expected values", True),
        ("Rewrite the old checkout tests", True),
        ("delete the obsolete snapshots, then regenerate the fixtures", True),
        ("replace the failing tests by better ones", True),
        ("make the tests pass", False),
        ("fix the tests", False),
        ("Change the parser so that the tests pass", False),
        ("Update deps and make the failing tests pass", False),
        ("Update deps and the failing tests should pass", False),
        ("Change the code breaking the tests", False),
        ("Correct total() for the failing tests", False),
        ("Update the test runner", False),
        ("Do not skip, delete, or change the tests", False),
        ("Fix total() without changing the tests", False),
    ],
)
def test_which_tasks_want_other_tests(task, wanted):
    """Only where tests are what the verb is about."""
    assert wants_other_tests(task) is wanted


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("updating github actions", True),
        ("Remove old travis config", True),
        ("Bump GitHub CI actions", True),
        ("ci: test on 3.13", True),
        ("Add Python 3.13 to CI", True),
        ("Add py313 to the CI matrix", True),
        ("Migrate from Travis to GitHub Actions", True),
        ("Drop Python 3.7 from CI", True),
        ("Test against 3.13 in CI", True),
        ("Add Windows testing to CI", True),
        ("Use 3.11 non-beta in CI", True),
        ("Modernize CI: one tool for all", True),
        ("Remove py38 from .github/workflows", True),
        ("chore(action): include Node 6", True),
        ("travis: run benchmarks", True),
        ("gha: tweak settings", True),
        ("setup(ci): consolidate", True),
        ("Remove node < 18 from CI matrix", True),
        ("Harden GitHub actions workflows with zizmor", True),
        ("fix(ci): use another tool", False),
        ("debug(action): drop it", False),
        ("feat(actions-log): keep them", False),
        ("Make the tests pass in CI", False),
        ("the tests fail in CI; fix it", False),
        ("fix add() used in CI", False),
        ("Fix the sum\n\nUse less memory in CI", False),
        ("add matrix multiplication", False),
        ("fix CI", False),
        ("make CI pass", False),
        ("add a test that fails in CI", False),
        ("add a retry so that CI passes", False),
        ("do not change the GitHub actions", False),
        ("add an action for login", False),
        ("update the workflow engine", False),
    ],
)
def test_which_tasks_want_other_ci(task, wanted):
    """Who asks for another workflow in words is not asked again; "fix CI" may mean its weakening."""
    assert wants_other_ci(task) is wanted


@pytest.mark.parametrize(
    ("task", "name", "wanted"),
    [
        ("drop the legacy export", "legacy_export", True),
        ("Remove the deprecated helper `load_config` from app.py", "load_config", True),
        ("Remove monthly(), yearly() and load_config: nobody uses them", "load_config", True),
        ("Get rid of src/legacy_export.py", "legacy_export", True),
        ("delete the class LegacyExport entirely", "LegacyExport", True),
        ("remove the old monthly function", "monthly", True),
        ("add a legacy export", "legacy_export", False),
        ("remove it", "legacy_export", False),
        ("Remove the debug output from load_config and fix total()", "load_config", False),
        ("Remove the debug output and fix load_config", "load_config", False),
        ("Remove the load_config logging", "load_config", False),
        ("Remove load_config's debug output", "load_config", False),
        ("Remove the debug output of load_config", "load_config", False),
        ("Remove the debug output", "output", False),
        ("Remove load_config", "config", False),
        ("Do not remove load_config", "load_config", False),
        ("Fix the stripe load_config", "load_config", False),
        ("Remove load_config from the docs", "load_config", False),
        ("Remove load_config from the README and the changelog", "load_config", False),
        ("Drop the load_config function from our API documentation", "load_config", False),
        ("Remove load_config and its docs", "load_config", True),
        ("Remove load_config from the package", "load_config", True),
    ],
)
def test_which_tasks_want_something_removed(task, name, wanted):
    """Only what the verb itself is about, never what something is taken out of."""
    assert wants_removal(task, name) is wanted


def test_words_of_a_task():
    """Only plain words count, and only for what they name."""
    assert names_path("run it on pushes (.github/workflows/ci.yml)", ".github/workflows/ci.yml")
    assert names_path("change ci.yml", ".github/workflows/ci.yml")
    assert not names_path("speed up ci", ".github/workflows/ci.yml")


def test_forgiven_flakes_are_named_and_cap_the_grade():
    """A guard that could not look has its words under "not proven" and costs an A."""
    green = Reading("pass", "", tests={"a": "pass", "b": "pass"})
    flaky = replace(green, flaky=("b",))
    for given in ({"final": {"tests": flaky}}, {"final": {"tests": green}, "repeats": {"tests": (flaky,)}}):
        result = REGISTRY["repeat"](facts_of({}, {"a.py": "x"}, **given))
        assert not result.applied
        assert "forgiven here: b" in result.summary


def test_an_added_workflow_is_named():
    """Nobody is accused or asked, and nobody overlooks it."""
    added = facts_of({}, {".github/workflows/nightly.yml": "on: push\n"})
    result = REGISTRY["protected"](added)
    assert (result.findings, result.applied) == ((), True)
    assert ".github/workflows/nightly.yml" in result.summary
