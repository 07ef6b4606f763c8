"""Readers on torn, empty, contradictory and hostile leavings: never green without evidence."""

import time

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.model.gate import Gate
from ralph.errors import Bug
from ralph.gates.readers import MAX_REPORT, Observation, reader, readers

CASE = b'<testcase classname="m" name="t" file="m.py"/>'
GREEN = b'<testsuites><testsuite name="s" tests="1">' + CASE + b"</testsuite></testsuites>"
RED = GREEN.replace(b"/></testsuite>", b"><failure message='no'>why</failure></testcase></testsuite>")
SKIPPED = GREEN.replace(b"/></testsuite>", b"><skipped/></testcase></testsuite>")
EMPTY = b'<testsuites><testsuite name="s" tests="0"/></testsuites>'
COUNTED = b'<testsuite name="s" tests="1" errors="1"><testcase classname="m" name="t"/></testsuite>'
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY b%d "%s">' % (i, b"&a;" * 10) for i in range(9))
    + b"]><testsuites>&b8;</testsuites>"
)
UTF16_BOMB = BOMB.decode().replace('<?xml version="1.0"?>', "").encode("utf-16")
DEEP = b"<testsuites>" + b"<testsuite>" * 5000 + b"</testsuite>" * 5000 + b"</testsuites>"
SARIF_CLEAN = b'{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[]}]}'
COV = b'{"totals":{"percent_covered":90.0,"num_statements":10}}'
MYPY_OK = b"Success: no issues found in 3 source files\n"
UNIT_OK = b"test_a (m.T.test_a) ... ok\n\n" + b"-" * 70 + b"\nRan 1 test in 0.001s\n\nOK\n"

JEST_OK = (
    b'{"success":true,"numTotalTests":1,"testResults":[{"name":"/p/a.test.js","status":"passed",'
    b'"assertionResults":[{"title":"t","status":"passed","ancestorTitles":[]}]}]}'
)
GO_OK = b'{"Action":"pass","Package":"m","Test":"TestA"}\n{"Action":"pass","Package":"m"}\n'
CARGO_OK = (
    b"     Running unittests src/lib.rs (target/debug/deps/x-1)\n\nrunning 1 test\ntest t ... ok\n\n"
    b"test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
)
MOCHA_TEST = b'{"title":"t","fullTitle":"s t","file":"/p/a.js","err":{}}'
MOCHA_OK = (
    b'{\n  "stats": {"tests":1,"passes":1,"pending":0,"failures":0},"tests":[' + MOCHA_TEST + b"],"
    b'"passes":[' + MOCHA_TEST + b'],"pending":[],"failures":[]\n}'
)
TAP_OK = b"TAP version 13\n# adds\nok 1 - adds\n\n1..1\n"
UVU_OK = b"a.js\n\xe2\x80\xa2   (1 / 1)\n\n  Total:     1\n  Passed:    1\n  Skipped:   0\n"
DOCTEST_OK = b"1 items passed all tests:\n   1 tests in m.f\n1 tests in 1 items.\n1 passed and 0 failed.\n"


def gate(read, **fields):
    return Gate(name="g", run="tool x", argv=("tool", "x"), read=read, **fields)


def look(read, fields=None, **seen):
    return reader(read)(Observation(**{"exit_code": 0, **seen}), gate(read, **(fields or {})))


PROOFS = {
    "exit": {},
    "pytest": {"report": GREEN},
    "junit": {"report": GREEN},
    "node": {"report": GREEN},
    "unittest": {"output": UNIT_OK},
    "ruff": {"report": b"[]"},
    "mypy": {"output": MYPY_OK},
    "sarif": {"report": SARIF_CLEAN},
    "coverage": {"report": COV},
    "jest": {"report": JEST_OK},
    "vitest": {"report": JEST_OK},
    "go": {"output": GO_OK},
    "cargo": {"output": CARGO_OK},
    "maven": {"report": GREEN},
    "gradle": {"report": GREEN},
    "eslint": {"report": b'[{"filePath":"/p/a.js","messages":[]}]'},
    "tsc": {},
    "clippy": {"output": b'{"reason":"build-finished","success":true}\n'},
    "golangci": {"output": b"0 issues.\n"},
    "mocha": {"report": MOCHA_OK},
    "ava": {"report": TAP_OK},
    "tape": {"report": TAP_OK},
    "tap": {"report": TAP_OK},
    "uvu": {"output": UVU_OK},
    "doctest": {"output": DOCTEST_OK},
}


@pytest.mark.parametrize("name", readers())
def test_evidence_passes(name):
    """Each reader says pass for good evidence: the tables below are not vacuous."""
    assert look(name, **PROOFS[name]).status == "pass"


@pytest.mark.parametrize("name", readers())
@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        ({"ended": "timeout", "exit_code": None}, "timeout"),
        ({"ended": "timeout", "exit_code": 0}, "timeout"),
        ({"ended": "idle", "exit_code": None}, "timeout"),
        ({"ended": "killed", "exit_code": None}, "killed"),
        ({"ended": "stopped", "exit_code": 0}, "killed"),
        ({"ended": "runner-lost", "exit_code": 0}, "killed"),
        ({"ended": "spawn-error", "exit_code": None, "error": "no such file"}, "missing"),
        ({"exit_code": None}, "killed"),
        ({"exit_code": -9}, "killed"),
        ({"exit_code": 137}, "killed"),
        ({"exit_code": 139}, "killed"),
        ({"exit_code": 126}, "missing"),
        ({"exit_code": 127}, "missing"),
    ],
)
def test_what_did_not_end_well_is_no_judgement(name, seen, cause):
    """Timeouts, signals and missing tools are errors with a cause, whatever was reported before."""
    reading = look(name, **{**PROOFS[name], **seen})
    assert (reading.status, reading.cause) == ("error", cause)
    assert reading.summary
    assert reading.findings


@pytest.mark.parametrize(
    ("name", "line", "missing"),
    [
        (
            "cargo",
            b"error: rustup could not choose a version of cargo to run, because one wasn't specified",
            True,
        ),
        ("cargo", b"error: toolchain 'nightly-x86_64' is not installed", True),
        ("cargo", b"error: no matching package named `serde` found", True),
        ("cargo", b"error: failed to get `serde` as a dependency of package `c v0.1.0 (/c)`", True),
        ("go", b'x.go:3:8: example.com/a@v0.9.1: Get "https://proxy/a.zip": dial tcp: no such host', True),
        ("go", b'example.com/a@v0.9.1: Get "https://proxy/a.mod": dial tcp: no such host', True),
        ("go", b'    x_test.go:9: Get "https://api.example.com/": dial tcp: no such host', False),
        ("cargo", b"error: could not compile `c` (lib) due to 1 previous error", False),
    ],
)
def test_what_nobody_has_downloaded_is_missing(name, line, missing):
    """A tool chain or a package that cannot be fetched says nothing of the tree; a test that fails does."""
    reading = look(name, output=line + b"\n", exit_code=101)
    assert (reading.cause == "missing") is missing
    assert reading.status == ("error" if missing else "fail")


@pytest.mark.parametrize("name", readers())
def test_green_evidence_with_a_red_exit_code_is_not_green(name):
    """A report that says all is well does not outweigh an exit code that says it is not."""
    for code in (1, 2, 3, 5, 255):
        assert look(name, **PROOFS[name], exit_code=code).status in ("fail", "error")


@pytest.mark.parametrize("name", ["pytest", "junit", "node"])
@pytest.mark.parametrize(
    ("report", "code", "status", "cause"),
    [
        (None, 0, "error", "torn-report"),
        (b"", 0, "error", "torn-report"),
        (b"  \n", 0, "error", "torn-report"),
        (GREEN[:-5], 0, "error", "torn-report"),
        (b"\x00\x01garbage", 0, "error", "torn-report"),
        (b"<html/>", 0, "error", "torn-report"),
        (BOMB, 0, "error", "torn-report"),
        (UTF16_BOMB, 0, "error", "torn-report"),
        (DEEP, 0, "error", "torn-report"),
        (b'<?xml version="1.0" encoding="nonsense"?>' + GREEN, 0, "error", "torn-report"),
        (EMPTY, 0, "error", "no-tests"),
        (b"<testsuites/>", 0, "error", "no-tests"),
        (SKIPPED, 0, "error", "all-skipped"),
        (RED, 0, "fail", ""),
        (RED, 1, "fail", ""),
        (COUNTED, 0, "fail", ""),
        (GREEN, 1, "fail", ""),
        (None, 1, "fail", "torn-report"),
        (GREEN[:-5], 1, "fail", "torn-report"),
    ],
)
def test_bad_junit(name, report, code, status, cause):
    """Torn, empty, skipped, contradictory and dangerous XML is never green."""
    reading = look(name, report=report, exit_code=code)
    assert (reading.status, reading.cause) == (status, cause)


@pytest.mark.sample(check=2)
@pytest.mark.parametrize("name", ["pytest", "junit", "node", "ruff", "sarif", "coverage"])
def test_oversized_report_is_refused(name):
    """A report beyond the limit is refused unread."""
    began = time.process_time()
    reading = look(name, report=b" " * MAX_REPORT + PROOFS[name]["report"])
    assert (reading.status, reading.cause) == ("error", "torn-report")
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("ruff", None),
        ("ruff", b""),
        ("ruff", b"[{"),
        ("ruff", b"{}"),
        ("ruff", b"[" * 100_000),
        ("ruff", b'[{"code":1}]'),
        ("eslint", None),
        ("eslint", b"[]"),
        ("eslint", b"[{"),
        ("eslint", b"[" * 100_000),
        ("jest", None),
        ("jest", b"{}"),
        ("jest", b'{"testResults":[],"success":true}'),
        ("jest", JEST_OK[:-9]),
        ("vitest", JEST_OK.replace(b'"passed","ancestor', b'"pending","ancestor')),
        ("mocha", None),
        ("mocha", b"{}"),
        ("mocha", MOCHA_OK[:-3]),
        ("mocha", MOCHA_OK.replace(MOCHA_TEST, b"").replace(b":1", b":0")),
        ("tap", None),
        ("tap", b""),
        ("tap", b"TAP version 14\n1..0 # SKIP nothing\n"),
        ("tap", b"TAP version 13\nok 1 - adds\n"),
        ("tap", TAP_OK.replace(b"ok 1 - adds", b"ok 1 - adds # SKIP")),
        ("tape", b"# adds\n\n1..1\n# tests 1\n# pass  1\n"),
        ("sarif", None),
        ("sarif", b"{}"),
        ("sarif", b'{"version":"2.1.0","runs":[]}'),
        ("sarif", b'{"version":"1.0.0","runs":[]}'),
        ("sarif", b'{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}}}]}'),
        (
            "sarif",
            SARIF_CLEAN.replace(b'"results"', b'"invocations":[{"executionSuccessful":false}],"results"'),
        ),
        ("coverage", None),
        ("coverage", b"{}"),
        ("coverage", b"hello"),
        ("coverage", b'{"totals":{"percent_covered":NaN,"num_statements":1}}'),
        ("coverage", b'{"totals":{"percent_covered":1000,"num_statements":1}}'),
        ("coverage", b'{"totals":{"percent_covered":100,"num_statements":0}}'),
        ("coverage", b'<coverage line-rate="1"/>'),
        ("coverage", b'<coverage line-rate="nan"></coverage>'),
        ("coverage", b"TN:\nSF:a.py\nDA:1,1\n"),
        ("coverage", b"TN:\nSF:a.py\nend_of_record\n"),
        ("coverage", BOMB),
        ("coverage", b"mode: set\n"),
        ("coverage", b"mode: set\nx/a.go:3.24,3.40 1"),
    ],
)
def test_bad_reports_of_other_readers(name, report):
    """Reports that say nothing, or nothing sensible, are errors even when the exit code is 0."""
    assert look(name, report=report).status == "error"


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("jest", {"report": JEST_OK.replace(b'"numTotalTests":1', b'"numTotalTests":9')}),
        ("jest", {"report": JEST_OK.replace(b'"success":true', b'"success":false')}),
        ("jest", {"report": JEST_OK.replace(b'"passed","assert', b'"failed","assert')}),
        ("go", {"output": b""}),
        ("go", {"output": GO_OK + b"\n[... 9 bytes left out ...]\n" + GO_OK}),
        ("go", {"output": GO_OK + b'{"Action":"fail","Package":"other"}\n'}),
        ("go", {"output": GO_OK.replace(b'"pass"', b'"skip"')}),
        ("cargo", {"output": b""}),
        ("cargo", {"output": CARGO_OK.replace(b"test t ... ok\n", b"")}),
        ("cargo", {"output": CARGO_OK.replace(b"... ok", b"... FAILED")}),
        ("cargo", {"output": CARGO_OK[: CARGO_OK.index(b"test result")]}),
        ("clippy", {"output": b""}),
        ("clippy", {"output": b'{"reason":"build-finished","success":false}\n'}),
        ("tsc", {"output": b"error TS18003: No inputs were found in config file\n"}),
        ("tsc", {"output": b"a.ts(1,2): error TS2322: no\n"}),
        ("golangci", {"output": b"level=error msg: no go files to analyze\n"}),
        ("golangci", {"output": b"a.go:1:2: unused (unused)\n"}),
    ],
)
def test_words_that_do_not_add_up_are_not_green(name, seen):
    """What a runner leaves behind is held against itself, and exit code 0 is not enough."""
    assert look(name, **seen).status in ("fail", "error")


def test_cobertura_total_is_not_believed_against_its_lines():
    """A line-rate of 1.0 over lines that were never hit does not reach the minimum."""
    lines = "".join(f'<line number="{n}" hits="0"/>' for n in range(1, 11))
    report = (
        f'<coverage line-rate="1.0"><packages><package><classes><class filename="a.py"><lines>{lines}</lines>'
    )
    report += "</class></classes></package></packages></coverage>"
    assert look("coverage", {"minimum": 50.0}, report=report.encode()).status == "fail"


@pytest.mark.parametrize(
    ("output", "status", "ids"),
    [
        (b"", "error", None),
        (b"OK\n", "error", None),
        (b"Ran 0 tests in 0.000s\n\nOK\n", "error", None),
        (b"Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", "error", None),
        (UNIT_OK.replace(b"Ran 1 test ", b"Ran 2 tests "), "pass", None),  # counts are known, ids are not
        (UNIT_OK.replace(b"\nOK\n", b"\nFAILED (failures=1)\n"), "fail", None),
        (UNIT_OK.replace(b"\nOK\n", b"\nOK (skipped=1)\n"), "error", None),
        (UNIT_OK + UNIT_OK.replace(b"\nOK\n", b"\nFAILED (errors=1)\n"), "fail", None),
        (UNIT_OK.replace(b"\nOK\n", b"\nFAILED (errors=1)\n") + UNIT_OK, "fail", None),
        (b"=" * 70 + b"\nFAIL: test_b (m.T.test_b)\nwhy\n" + UNIT_OK, "fail", None),
        (UNIT_OK.replace(b"... ok", b"... FAIL"), "pass", None),
        (UNIT_OK, "pass", {"m.T.test_a": "pass"}),
        (UNIT_OK.replace(b"(m.T.test_a)", b"(m.T)"), "pass", {"m.T.test_a": "pass"}),  # before Python 3.11
    ],
)
def test_unittest_text_is_held_against_itself(output, status, ids):
    """unittest's lines and summary must agree; ids that do not add up are not used."""
    reading = look("unittest", output=output)
    assert reading.status == status
    if status == "pass":
        assert reading.tests == ids


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"1 passed in 0.01s", "pass"),
        (b"===== 1 passed, 2 warnings in 0.01s =====", "pass"),
        (b"1 xpassed in 0.01s", "pass"),
        (b"1 subtests passed in 0.01s", "pass"),
        (b"3 passed in 0.01s", "pass"),  # two of one name are one
        (b"", "pass"),  # asked to be silent
        (b"1 failed, 1 passed in 0.01s", "fail"),
        (b"1 error in 0.01s", "fail"),
        (b"1 skipped in 0.01s\n1 failed in 0.01s", "fail"),
        (b"no output of pytest: 9 passed", "pass"),
        (b"1 xfailed, 2 passed in 0.01s\n1 error, 1 passed in 0.02s", "fail"),
    ],
)
def test_pytest_counts_as_its_last_line_does(line, status):
    """A report that shows less failures, or more passed tests, than pytest itself counted is not green."""
    assert look("pytest", report=GREEN, output=line + b"\n").status == status
    more = GREEN.replace(CASE, CASE + CASE.replace(b'"t"', b'"u"'))
    assert look("pytest", report=more, output=b"1 passed in 0.01s\n").status == "fail"
    assert look("pytest", report=more, output=b"1 passed, 1 skipped in 0.01s\n").status == "fail"


@pytest.mark.parametrize(
    ("result", "rule", "severity"),
    [
        ('"level":"error"', "", "P1"),
        ('"level":"warning"', "", "P2"),
        ('"level":"note"', "", "P2"),
        ("", "", "P2"),
        ("", '"defaultConfiguration":{"level":"error"}', "P1"),
        ('"level":"warning"', '"properties":{"security-severity":"9.8"}', "P0"),
        ('"level":"error"', '"properties":{"security-severity":"7.0"}', "P1"),
        ('"level":"error"', '"properties":{"security-severity":"4.0"}', "P2"),
        ('"level":"error"', '"properties":{"security-severity":"high"}', "P1"),
        ('"level":"strange"', "", "P1"),
    ],
)
def test_sarif_severity(result, rule, severity):
    """Level and security-severity become P0 to P2; P2 only advises."""
    comma = "," if result else ""
    rule = "," + rule if rule else ""
    report = (
        f'{{"version":"2.1.0","runs":[{{"tool":{{"driver":{{"name":"x","rules":[{{"id":"r"{rule}}}]}}}},'
        f'"results":[{{"ruleId":"r","message":{{"text":"m"}}{comma}{result}}}]}}]}}'
    )
    reading = look("sarif", report=report.encode(), exit_code=1)
    assert [finding.severity for finding in reading.findings] == [severity]
    assert reading.status == ("pass" if severity == "P2" else "fail")
    assert look("sarif", {"fail_on": "P2"}, report=report.encode(), exit_code=0).status == "fail"


def test_sarif_secrets_block_and_suppressed_do_not():
    """A secret scanner's findings are P0 though it names no level; suppressed results are not findings."""
    report = SARIF_CLEAN.replace(b'"x"', b'"gitleaks"').replace(b"[]", b'[{"message":{"text":"key"}}]')
    assert look("sarif", report=report, exit_code=1).findings[0].severity == "P0"
    quiet = report.replace(b'"message"', b'"suppressions":[{"kind":"inSource"}],"message"')
    assert look("sarif", report=quiet).status == "pass"


def test_own_program_of_the_repository_is_red_not_missing():
    """A check that calls a program still to be written is red at the base, so that a loop can start."""
    inside = Gate(name="g", run="./app", argv=("./app",))
    seen = Observation(ended="spawn-error", error="no such file")
    assert reader("exit")(seen, inside).status == "fail"
    script = Gate(name="g", run="cd x && ./app", argv=("/bin/sh", "-c", "cd x && ./app"))
    assert (
        reader("exit")(Observation(exit_code=127, output=b"/bin/sh: 1: ./app: not found\n"), script).status
        == "fail"
    )
    tool = Gate(name="g", run="cd x && tool", argv=("/bin/sh", "-c", "cd x && tool"))
    assert (
        reader("exit")(Observation(exit_code=127, output=b"/bin/sh: 1: tool: not found\n"), tool).cause
        == "missing"
    )


def test_text_is_cleaned_and_cut():
    """Escape sequences never reach a reading, and long output is cut to its last lines."""
    output = b"\x1b]0;title\x07\x1b[31mred\x1b[0m\n" * 500
    reading = look("exit", output=output, exit_code=1)
    text = reading.findings[0].message
    assert "\x1b" not in text
    assert text.count("\n") <= 40
    hostile = RED.replace(b"why", b"\xc2\x9b31m&#x202e;why").replace(b'name="t"', b'name="t\xe2\x80\xae"')
    found = look("junit", report=hostile, exit_code=1)
    assert found.findings[0].key == "m::t"
    assert "\u202e" not in found.findings[0].message


def test_duplicate_ids_keep_the_worst():
    """Of two entries with one id the worse counts, in either order."""
    case = b'<testcase classname="m" name="t" file="m.py"/>'
    bad = case.replace(b"/>", b"><error message='x'/></testcase>")
    for cases in (case + bad, bad + case):
        reading = look("pytest", report=b"<testsuite>" + cases + b"</testsuite>")
        assert (reading.status, reading.tests) == ("fail", {"m.py::t": "fail"})


def test_absolute_paths_become_the_repository_s(tmp_path):
    """Paths as a tool printed them are the repository's, wherever the judged tree stood."""
    report = b'[{"code":"F401","filename":"%s/src/a.py","message":"m","location":{"row":3,"column":1}}]'
    here = report % str(tmp_path).encode()
    reading = look("ruff", report=here, exit_code=1, root=str(tmp_path))
    assert (reading.findings[0].path, reading.findings[0].line) == ("src/a.py", 3)
    other = look("ruff", report=report % b"/elsewhere", exit_code=1, root="/elsewhere")
    assert other.findings[0].key == reading.findings[0].key


@pytest.mark.sample(check=12)
@pytest.mark.parametrize(
    "noise",
    [
        b"skipped '" * 50_000,
        b"ok FAIL " * 50_000,
        b"\n" * 100_000,
        b"a (b" * 100_000,
        b"a:1:" * 100_000,
        b"=" * 400_000,
    ],
)
@pytest.mark.parametrize(
    "name", ["unittest", "mypy", "exit", "pytest", "go", "cargo", "tsc", "golangci", "clippy"]
)
def test_hostile_output_takes_linear_time(name, noise):
    """No output makes a reader's patterns run away."""
    output = b"test_a (m.T.test_a) ... " + noise + b"\n" + UNIT_OK
    began = time.process_time()
    look(name, output=output, exit_code=4)
    look(name, output=output, exit_code=0)
    assert time.process_time() - began < 20


def test_unknown_reader_is_a_bug():
    """A gate with a reader that does not exist is our own mistake."""
    with pytest.raises(Bug):
        reader("nonsense")


ENDED = st.sampled_from(["exited", "timeout", "idle", "killed", "stopped", "spawn-error", "odd"])
CODES = st.one_of(st.none(), st.integers(-20, 300))
PIECES = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                b"<testsuites>",
                b"</testsuites>",
                b"<testsuite errors='1'>",
                b"<testcase name='a'>",
                b"</testcase>",
                b"<skipped/>",
                b"<failure/>",
                b"Ran 3 tests in 1s\n\n",
                b"OK\n",
                b"FAILED (errors=1)\n",
                b"Success: no issues found in 0 source files\n",
                b"a.py:1:1: error: x  [y]\n",
                b"[]",
                b"{}",
                b'{"version":"2.1.0","runs":[]}',
                b"SF:a\nDA:1,0\nend_of_record\n",
            ]
        ),
    ),
    max_size=8,
).map(b"".join)


@given(
    name=st.sampled_from(sorted(readers())), ended=ENDED, code=CODES, output=PIECES, report=st.none() | PIECES
)
@settings(max_examples=examples(400), deadline=None)
@pytest.mark.slow
def test_no_reader_passes_without_evidence(name, ended, code, output, report):
    """Whatever bytes come, pass needs a clean end, exit code 0 and the reader's own kind of evidence."""
    reading = reader(name)(Observation(exit_code=code, ended=ended, output=output, report=report), gate(name))
    assert reading.status in ("pass", "fail", "error")
    if reading.status != "pass":
        assert reading.findings
        return
    assert ended == "exited"
    evidence = {
        "pytest": b"<testcase",
        "junit": b"<testcase",
        "node": b"<testcase",
        "ruff": b"[]",
        "sarif": b"results",
        "coverage": b"end_of_record",
    }
    if name in evidence:
        assert evidence[name] in (report or b"")
        assert b"failure" not in (report or b"") or name == "coverage"
    elif name == "unittest":
        assert b"Ran 3 tests" in output
        assert b"OK" in output
    elif name == "mypy":
        assert b"Success: no issues found in " in output
    assert code == 0
