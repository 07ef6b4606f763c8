"""Readers of mocha, ava, tape, node-tap, uvu and doctest: what these tools really wrote, and scripts."""

import json
from pathlib import Path

import pytest

from ralph.core.model.gate import Gate
from ralph.core.proof.compare import compare
from ralph.gates.readers import Observation, reader
from ralph.gates.seal import exec_argv, seal

RECORDED = Path(__file__).parent / "recorded"


def look(read, *, code=0, **seen):
    return reader(read)(Observation(exit_code=code, root="/proj", **seen), Gate("g", "x", ("x",), read=read))


FILE = "test/calc.test.js"
MOCHA = {
    f"{FILE} > calc > adds": "pass",
    f"{FILE} > calc inner > adds": "pass",
    f"{FILE} > calc > subtracts": "fail",
    f"{FILE} > calc > later": "skipped",
    f"{FILE} > calc > pending": "skipped",
}
AVA = {
    "adds": "pass",
    "known": "pass",
    "logs": "pass",
    "subtracts": "fail",
    "later": "skipped",
    "some day": "skipped",
}
TAPE = {"adds": "pass", "subtracts": "fail", "outer": "pass", "inner": "skipped", "todo one": "skipped"}
TAP = {
    "test/calc.js": "pass",
    "test/calc.js > adds": "pass",
    "test/calc.js > subtracts": "fail",
    "test/calc.js > later": "skipped",
    "test/calc.js > outer": "pass",
    "test/calc.js > outer > inner": "pass",
    "test/calc.js > todo one": "skipped",
}


@pytest.mark.parametrize(
    ("name", "read", "kind", "code", "tests", "red"),
    [
        ("mocha_8.txt", "mocha", "output", 2, MOCHA, {f"collect:{FILE}", f"{FILE} > calc > subtracts"}),
        ("mocha_11.json", "mocha", "report", 2, MOCHA, {f"collect:{FILE}", f"{FILE} > calc > subtracts"}),
        ("ava_3.tap", "ava", "report", 1, AVA, {"collect:test/other.mjs", "subtracts"}),
        ("ava_6.tap", "ava", "report", 1, AVA, {"collect:test/other.mjs", "subtracts"}),
        ("tape_4.tap", "tape", "report", 1, TAPE, {"subtracts"}),
        ("tape_5.tap", "tap", "report", 1, TAPE, {"subtracts"}),
        ("tap_16.tap", "tap", "report", 1, TAP, {"collect:test/bad.js", "test/calc.js > subtracts"}),
        ("tap_21.tap", "tap", "report", 1, TAP, {"collect:test/bad.js", "test/calc.js > subtracts"}),
        (
            "uvu_0.5.txt",
            "uvu",
            "output",
            1,
            {"calc.js": "fail", "calc.js > more": "fail"},
            {"calc.js", "calc.js > more"},
        ),
        (
            "doctest_3.11.txt",
            "doctest",
            "output",
            1,
            {"dt": "pass", "dt.add": "pass", "dt.sub": "fail"},
            {"dt.sub"},
        ),
    ],
)
def test_recorded(name, read, kind, code, tests, red):
    """Every test by its name, with its result; what could not be loaded is named."""
    content = (RECORDED / name).read_bytes()
    reading = look(read, code=code, **{kind: content})
    assert reading.status == "fail"
    assert reading.tests == tests
    assert {finding.key for finding in reading.findings} == red
    assert all(finding.message.strip() for finding in reading.findings)
    assert look(read, code=0, **{kind: content}).status == "fail"


def test_place_of_a_failure():
    """A failure is located in the test's own file."""
    for name, read in (("tape_5.tap", "tape"), ("tap_21.tap", "tap")):
        found = look(read, code=1, report=(RECORDED / name).read_bytes()).findings[-1]
        assert (found.path, found.line) == ("test/calc.js", 3)


GREEN = b"TAP version 13\n# adds\nok 1 should be equal\n# subtracts\nok 2 one\n\n1..2\n# tests 2\n# pass  2\n"


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (GREEN, True),
        (b"> x@1.0.0 test\n> tape\n\nhello\n" + GREEN, True),
        (GREEN.replace(b"# subtracts", b"ok 2 forged\n# subtracts"), False),  # a number twice
        (GREEN.replace(b"ok 2 one", b"ok 2 one\nok 3 forged"), False),  # more than planned
        (GREEN.replace(b"1..2", b"1..3"), False),
        (GREEN.replace(b"1..2", b"1..2\n1..2"), False),
    ],
)
def test_a_stream_that_does_not_add_up(text, known):
    """What judged code prints into the stream costs the names of the tests: they are not believed."""
    reading = look("tape", report=text)
    assert reading.status == "pass"
    assert (reading.tests == {"adds": "pass", "subtracts": "pass"}) is known
    assert known or reading.tests is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"TAP version 14\nok 1 - a\nBail out! no database\n1..1\n", "fail"),
        (b"TAP version 14\n1..2\nok 1 - a\nnot ok 2 - b # TODO later\n", "pass"),
        (b"TAP version 14\n# Subtest: s\n    ok 1 - x\n    1..1\nok 1 - s\n1..1\n", "pass"),
        (
            b"TAP version 13\nok 1 - s # time=3ms {\n    ok 1 - x\n    not ok 2 - y\n    1..2\n}\n1..1\n",
            "fail",
        ),
        (b"TAP version 13\nok 1 - s {\n    ok 1 - x\n    1..1\n}\n1..1\n", "pass"),
        (b"ok\nok\n1..2\n", "pass"),
        (b"not ok\n1..1\n", "fail"),
    ],
)
def test_forms_of_tap(text, status):
    """Braces, subtests, bail-outs and directives mean what the protocol says."""
    assert look("tap", report=text).status == status


def test_many_failures_are_no_signal():
    """Mocha's exit code is the number of its failures: 139 of them are no crash."""
    test = {"title": "t", "fullTitle": "t", "file": "/proj/a.js", "err": {"message": "no"}}
    failed = [{**test, "title": f"t{n}", "fullTitle": f"t{n}"} for n in range(139)]
    stats = {"tests": 139, "passes": 0, "pending": 0, "failures": 139}
    report = json.dumps({"stats": stats, "tests": failed, "passes": [], "pending": [], "failures": failed})
    reading = look("mocha", code=139, report=report.encode())
    assert (reading.status, reading.counts.failed) == ("fail", 139)
    assert look("mocha", code=137, report=report.encode()).cause == "killed"


def test_ids_of_ava_survive_a_second_file():
    """Ava puts the file's name before titles as soon as there are two; a new file renames no test."""
    one = look("ava", report=b"TAP version 13\nok 1 - adds\nok 2 - a \xe2\x80\xba b\n\n1..2\n")
    two = "TAP version 13\nok 1 - calc › adds\nok 2 - calc › a › b\nok 3 - new › adds\n\n1..3\n"  # noqa: RUF001
    assert set(one.tests) < set(look("ava", report=two.encode()).tests)


def test_a_file_that_breaks_off():
    """A runner that dies with the first file it cannot load names it; green later, that is a witness."""
    said = b"Error: Cannot find module '../new'\nRequire stack:\n- /proj/test/new.js\n"
    base = look("tape", code=1, report=b"TAP version 13\n", output=said)
    assert (base.status, base.findings[0].key) == ("fail", "collect:test/new.js")
    assert "Cannot find module '../new'" in base.summary
    assert compare(base, look("tape", report=GREEN)).witness == ("collect:test/new.js",)


def script(run, files=(), **scripts):
    known = {"package.json": json.dumps({"scripts": scripts}).encode(), **dict(files)}
    made = seal("x", run, tree_paths=frozenset(known), content=known.get)
    return made.read, " ".join(exec_argv(made, "/R"))


MOCHA_ARGS = "--reporter json --reporter-option output=/R"
QUOTED = MOCHA_ARGS.replace("output=/R", "'output=/R'")
KEEP = '/bin/sh -c "$@" > "/R"; code=$?; cat "/R"; exit $code sh '
END = 'code=$?; cat "/R"; exit $code'
BIN = '/bin/sh -c PATH="$PWD/node_modules/.bin:$PATH"; export PATH; '


@pytest.mark.parametrize(
    ("run", "scripts", "read", "executed"),
    [
        ("npm test", {"test": "mocha"}, "mocha", f"npm test -- {MOCHA_ARGS}"),
        ("npm test -- --grep x", {"test": "mocha"}, "mocha", f"npm test -- --grep x {MOCHA_ARGS}"),
        # Mocha 6 minds two reporters.
        (
            "npm test",
            {"test": "mocha --reporter spec --check-leaks test/"},
            "mocha",
            f"{BIN}mocha --check-leaks test/ {QUOTED}",
        ),
        (
            "npm test",
            {"test": "nyc mocha -R dot test/*.js"},
            "mocha",
            f"{BIN}nyc mocha test/*.js {QUOTED}",
        ),
        ("mocha --reporter=spec -R dot t.js -- -R x", {}, "mocha", f"mocha t.js {MOCHA_ARGS} -- -R x"),
        ("npm t", {"test": "npm run unit", "unit": "nyc mocha"}, "mocha", f"npm t -- -- {MOCHA_ARGS}"),
        ("yarn test", {"test": "xo && c8 ava"}, "ava", f"{KEEP}yarn test --tap"),
        ("npm run unit", {"unit": "tap"}, "tap", f"{KEEP}npm run unit -- --reporter=tap"),
        ("npm test", {"test": "uvu tests"}, "uvu", "npm test"),
        (
            "npm test",
            {"test": "cross-env A=1 jest"},
            "jest",
            "npm test -- --json --outputFile=/R --testLocationInResults",
        ),
        (
            "npm test",
            {"test": "tape test/*.js | tap-spec", "pretest": "tsc"},
            "tape",
            f'{BIN}( npm run pretest && tape test/*.js > "/R" ); {END}',
        ),
        ("npm test", {"test": "xo && ava && tsd"}, "ava", f'{BIN}( xo &&ava --tap > "/R"&& tsd ); {END}'),
        ("npm test", {"test": "mocha && ava"}, "exit", "npm test"),
        ("npm test", {"test": "mocha $(ls test)"}, "exit", "npm test"),
        ("npm test", {"test": "mocha | grep x"}, "exit", "npm test"),
        ("npm test", {"test": "echo fine"}, "exit", "npm test"),
        ("npm test --prefix web", {"test": "mocha"}, "exit", "npm test --prefix web"),
        ("npm test", {}, "exit", "npm test"),
        ("bun test", {"test": "mocha"}, "exit", "bun test"),
        (
            "mocha test/*.js",
            {},
            "mocha",
            "/bin/sh -c mocha test/*.js --reporter json --reporter-option 'output=/R'",
        ),
    ],
)
def test_scripts_are_seen_through(run, scripts, read, executed):
    """A runner behind a script tells its tests; what is not understood is read by its exit code."""
    assert script(run, **scripts) == (read, executed)


def test_files_given_to_node():
    """`node test.js` is read by the library whose tests the file holds."""
    for library in ("tape", "tap", "uvu"):
        files = {"test.js": f"const test = require('{library}')\n".encode()}
        assert script("npm test", files, test="node test.js")[0] == library
        assert script("node test.js", files)[0] == library
    assert script("node test.js", {"test.js": b"console.log(1)"})[0] == "exit"


@pytest.mark.parametrize(
    ("output", "code", "status", "word"),
    [
        (b"> x@1.0.0 test\n> nosuchtool\n\nsh: 1: nosuchtool: not found\n", 127, "error", "nosuchtool"),
        (b"bash: line 1: nosuchtool: command not found\n", 127, "error", "nosuchtool"),
        (b"make: nosuchtool: No such file or directory\nmake: *** [t] Error 127\n", 2, "error", "nosuchtool"),
        (b"sh: 1: ./run.sh: not found\n", 127, "fail", "./run.sh"),
    ],
)
def test_what_was_not_found_is_named(output, code, status, word):
    """Exit code 127 inside npm or make names the word that was not found, not the package manager."""
    made = seal("g", "npm test", tree_paths=frozenset())
    reading = reader("exit")(Observation(exit_code=code, output=output), made)
    assert reading.status == status
    assert reading.summary.startswith(f"command not found: {word} ")


def test_npx_names_what_it_could_not_fetch():
    """There is no network: a package that is not installed is a missing tool, and no red."""
    made = seal("g", "npx --yes nosuchtool --ci", tree_paths=frozenset())
    said = b"npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n"
    reading = reader("exit")(Observation(exit_code=1, output=said), made)
    assert (reading.status, reading.cause) == ("error", "missing")
    assert reading.summary.startswith("command not found: nosuchtool ")
    plain = seal("g", "npm test", tree_paths=frozenset())
    assert reader("exit")(Observation(exit_code=1, output=said), plain).status == "fail"


@pytest.mark.parametrize(("run", "status"), [("pytest --cov=x", "error"), ("pytest", "fail")])
def test_an_option_that_pytest_does_not_know(run, status):
    """The command's own needs a plugin that is not there: nothing was judged. One of the settings is red."""
    said = b"ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --cov=x\n  rootdir: /r\n"
    reading = reader("pytest")(Observation(exit_code=4, output=said), seal("g", run, tree_paths=frozenset()))
    assert reading.status == status
    assert "pytest: error: unrecognized arguments: --cov=x" in reading.summary


def test_an_import_error_shows_its_reason():
    """The card says why nothing could be loaded."""
    said = b"ImportError while loading conftest.\nE   ModuleNotFoundError: No module named 'lib'\n"
    reading = reader("pytest")(
        Observation(exit_code=4, output=said), seal("g", "pytest", tree_paths=frozenset())
    )
    assert reading.summary.endswith("ModuleNotFoundError: No module named 'lib'")
