"""Readers of JavaScript, Go, Rust and Java: what the real tools wrote, and the tools themselves."""

import json
import shutil

import pytest

from ralph.core.proof.compare import compare
from ralph.gates.readers import Observation, reader
from ralph.gates.seal import exec_argv, seal


def gate(run, **fields):
    return seal("g", run, tree_paths=frozenset(), **fields)


def read(made, **seen):
    return reader(made.read)(Observation(**{"root": "/proj", **seen}), made)


def jest(tests, *, broken=()):
    """A report as jest 29 and vitest 2 write it: (file, suites, title, status, message)."""
    files = {}
    for file, suites, title, status, text in tests:
        files.setdefault(file, []).append(
            {
                "ancestorTitles": suites,
                "duration": 3,
                "failureMessages": [text] if text else [],
                "fullName": " ".join([*suites, title]),
                "location": {"column": 25, "line": 2},
                "status": status,
                "title": title,
            }
        )
    results = [
        {
            "assertionResults": found,
            "message": "",
            "name": f"/proj/{file}",
            "status": "failed" if any(one["status"] == "failed" for one in found) else "passed",
        }
        for file, found in files.items()
    ]
    results += [
        {
            "assertionResults": [],
            "message": "Cannot find module './nope'",
            "name": f"/proj/{b}",
            "status": "failed",
        }
        for b in broken
    ]
    red = any(one["status"] == "failed" for one in results)
    return json.dumps(
        {"numTotalTests": len(tests), "success": not red, "testResults": results, "snapshot": {}}
    ).encode()


JEST = [
    ("src/a.test.js", ["add"], "adds", "passed", ""),
    (
        "src/a.test.js",
        ["add"],
        "fails",
        "failed",
        "Error: expect(received).toBe(expected)\n    at a.test.js:2",
    ),
    ("src/a.test.js", ["add"], "later", "pending", ""),
    ("src/a.test.js", ["add"], "think", "todo", ""),
]


@pytest.mark.parametrize(
    ("run", "added"),
    [
        ("npx jest", ("--json", "--outputFile=R", "--testLocationInResults")),
        ("node_modules/.bin/vitest run", ("--reporter=default", "--reporter=json", "--outputFile.json=R")),
    ],
)
def test_jest_and_vitest_by_test(run, added):
    """Every test is known by file, suites and name; a file that cannot load is a finding."""
    made = gate(run)
    assert exec_argv(made, "R")[-len(added) :] == added
    reading = read(made, exit_code=1, report=jest(JEST, broken=["src/b.test.js"]))
    at = "src/a.test.js > add > "
    assert reading.tests == {
        f"{at}adds": "pass",
        f"{at}fails": "fail",
        f"{at}later": "skipped",
        f"{at}think": "skipped",
    }
    assert [finding.key for finding in reading.findings] == ["collect:src/b.test.js", f"{at}fails"]
    assert (reading.findings[1].path, reading.findings[1].line) == ("src/a.test.js", 2)
    fixed = [row if row[2] != "fails" else (*row[:3], "passed", "") for row in JEST]
    green = read(made, exit_code=0, report=jest([*fixed, ("src/b.test.js", [], "b", "passed", "")]))
    assert green.status == "pass"
    assert set(compare(reading, green).fixed) == {f"{at}fails", "collect:src/b.test.js"}


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("npx jest --watch", "exit"),
        ("jest --json", "exit"),
        ("vitest bench", "exit"),
        ("vitest", "vitest"),
        ("eslint . --fix", "exit"),
        ("eslint -f stylish .", "exit"),
        ("tsc -b", "exit"),
        ("tsc --noEmit", "tsc"),
        ("go test ./...", "go"),
        ("go test -c ./...", "exit"),
        ("go vet ./...", "exit"),
        ("cargo +nightly test", "cargo"),
        ("cargo test -q", "exit"),
        ("cargo test --no-run", "exit"),
        ("cargo clippy -- -D warnings", "clippy"),
        ("cargo fmt --check", "exit"),
        ("golangci-lint run ./...", "golangci"),
        ("mvn -B test", "maven"),
        ("./mvnw verify -DskipTests", "exit"),
        ("mvn deploy", "exit"),
        ("./gradlew :app:test", "gradle"),
        ("gradle publish test", "exit"),
    ],
)
def test_which_commands_get_a_reporter(run, name):
    """A command is read by its own reader only when the reporter cannot fight with its options."""
    assert gate(run).read == name


def test_reporters_stand_where_they_work():
    """Go's before the packages, clippy's before `--`, Maven's around it all, after old reports are gone."""
    assert exec_argv(gate("go test ./... -args -x"), "R") == ("go", "test", "-json", "./...", "-args", "-x")
    assert exec_argv(gate("cargo clippy -- -D warnings"), "R") == (
        *("cargo", "clippy", "--message-format=json", "--", "-D", "warnings"),
    )
    made = exec_argv(gate("mvn -B test"), "/tmp/r/report")
    assert made[:2] == ("/bin/sh", "-c")
    assert made[3:] == ("sh", "mvn", "-B", "test")
    assert made[2].index("-delete") < made[2].index('"$@"') < made[2].index('> "/tmp/r/report"')


GO = """\
{"Action":"run","Package":"example.com/x","Test":"TestAdd"}
{"Action":"output","Package":"example.com/x","Test":"TestAdd/c","Output":"    x_test.go:9: bad 2\\n"}
{"Action":"pass","Package":"example.com/x","Test":"TestAdd/b","Elapsed":0}
{"Action":"fail","Package":"example.com/x","Test":"TestAdd/c","Elapsed":0}
{"Action":"fail","Package":"example.com/x","Test":"TestAdd","Elapsed":0}
{"Action":"skip","Package":"example.com/x","Test":"TestSkip","Elapsed":0}
{"Action":"fail","Package":"example.com/x","Elapsed":0.004}
# example.com/x/sub [example.com/x/sub.test]
sub/s.go:3:23: cannot use "a" (untyped string constant) as int value in return statement
FAIL\texample.com/x/sub [build failed]
"""


def test_go_events():
    """Go's events are tests by package and name; a package that does not build is a finding of its own."""
    reading = read(gate("go test ./..."), exit_code=1, output=GO.encode())
    assert reading.tests == {
        "example.com/x::TestAdd/b": "pass",
        "example.com/x::TestAdd/c": "fail",
        "example.com/x::TestAdd": "fail",
        "example.com/x::TestSkip": "skipped",
    }
    keys = {finding.key: finding for finding in reading.findings}
    assert keys["example.com/x::TestAdd/c"].line == 9
    assert "untyped string constant" in keys["collect:example.com/x/sub"].message


CARGO = """\
    Finished `test` profile [unoptimized + debuginfo] target(s) in 3.24s
     Running unittests src/lib.rs (target/debug/deps/x-b885370c02d1f6ea)

running 4 tests
test tests::later ... ignored
test tests::ok ... ok
test tests::panics - should panic ... ok
test tests::bad ... FAILED

failures:

---- tests::bad stdout ----

thread 'tests::bad' (4579) panicked at src/lib.rs:7:89:
assertion `left == right` failed
test tests::printed ... ok

failures:
    tests::bad

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.63s

error: test failed, to rerun pass `--lib`
     Running tests/it.rs (target/debug/deps/it-97a530dcf0405fc9)

running 1 test
test it ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s

   Doc-tests x

running 1 test
test src/lib.rs - add (line 2) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.42s

error: 1 target failed:
    `--lib`
"""


def test_cargo_text():
    """Cargo's tests are known by target and path; what a test prints is not taken for a result."""
    reading = read(gate("cargo test"), exit_code=101, output=CARGO.encode())
    assert reading.tests == {
        "src/lib.rs > tests::later": "skipped",
        "src/lib.rs > tests::ok": "pass",
        "src/lib.rs > tests::panics": "pass",
        "src/lib.rs > tests::bad": "fail",
        "tests/it.rs > it": "pass",
        "doc x > src/lib.rs - add": "pass",
    }
    assert "left == right" in reading.findings[0].message
    broken = "error[E0308]: mismatched types\nerror: could not compile `x` (lib) due to 1 previous error\n"
    collected = read(gate("cargo test"), exit_code=101, output=broken.encode())
    assert [finding.key for finding in collected.findings] == ["collect:x"]
    assert "mismatched types" in collected.findings[0].message


@pytest.mark.parametrize(
    ("said", "place", "where"),
    [
        ('`x` (test "it") due to 1 previous error', "tests/it.rs", "tests/it.rs"),
        ("`x` (lib test) due to 1 previous error", "src/bag.rs", "src/lib.rs"),
        ("`x` due to previous error", "tests/it.rs", "tests/it.rs"),
        ("`x` (lib) due to 1 previous error", "src/lib.rs", "src/lib.rs"),
        ("`x` due to previous error", "", "x"),
    ],
)
def test_which_target_of_cargo_was_not_built(said, place, where):
    """Its tests are unknown, and a new one among them may be what shows the change."""
    warned = "warning: unused\n  --> src/old.rs:1:1\n"
    shown = f"error[E0599]: no method named `remove`\n  --> {place}:9:5\n" if place else ""
    output = f"{warned}{shown}error: could not compile {said}\n"
    reading = read(gate("cargo test"), exit_code=101, output=output.encode())
    assert [finding.key for finding in reading.findings] == [f"collect:{where}"]


VERBOSE = """   Compiling x v0.1.0 (/x)
     Running `/t/bin/rustc --crate-name x --edition=2021 src/lib.rs --emit=dep-info -C debuginfo=2 --test -C metadata=1 -C extra-filename=-bd6db641c9ccf410 --out-dir /x/target/debug/deps`
     Running `/t/bin/rustc --crate-name it --edition=2021 tests/it.rs -C debuginfo=2 --test -C extra-filename=-97a530dcf0405fc9 --out-dir /x/target/debug/deps`
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.60s
     Running `/x/target/debug/deps/x-bd6db641c9ccf410 --nocapture`

running 1 test
test tests::ok ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running `CARGO=/t/bin/cargo /x/target/debug/deps/it-97a530dcf0405fc9 --nocapture`

running 1 test
test it ... FAILED

failures:

---- it stdout ----
left == right

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests x
     Running `/t/bin/rustdoc --edition=2021 --test src/lib.rs --extern x=/x/target/debug/deps/libx-d4b0c7ed8ffeb127.rlib`

running 1 test
test src/lib.rs - add (line 2) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.42s
"""  # noqa: E501


def test_cargo_that_tells_how_it_builds():
    """`cargo test --verbose`, as starter workflows have it: the same ids, and no binary is missed."""
    reading = read(gate("cargo test --verbose"), exit_code=101, output=VERBOSE.encode())
    assert reading.tests == {
        "src/lib.rs > tests::ok": "pass",
        "tests/it.rs > it": "fail",
        "doc x > src/lib.rs - add": "pass",
    }
    assert [finding.key for finding in reading.findings] == ["tests/it.rs > it"]


EXAMPLES = """   Doc-tests x

running 4 tests
test src/lib.rs - add (line {2}) ... FAILED
test src/lib.rs - add (line {1}) ... ok
test src/lib.rs - (line {0}) ... ok
test src/lib.rs - sub (line {3}) - compile fail ... ok

failures:

---- src/lib.rs - add (line {2}) stdout ----
second of add

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.42s
"""


@pytest.mark.parametrize("lines", [(1, 9, 12, 40), (1, 99, 120, 400)])
def test_examples_of_rust_are_known_wherever_they_stand(lines):
    """A line more above them makes no other tests of them; libtest tells them in any order."""
    reading = read(gate("cargo test"), exit_code=101, output=EXAMPLES.format(*lines).encode())
    assert reading.tests == {
        "doc x > src/lib.rs -": "pass",
        "doc x > src/lib.rs - add": "pass",
        "doc x > src/lib.rs - add (2)": "fail",
        "doc x > src/lib.rs - sub - compile fail": "pass",
    }
    (finding,) = reading.findings
    assert (finding.key, finding.message) == ("doc x > src/lib.rs - add (2)", "second of add")


def test_eslint_findings():
    """Errors of eslint block, its warnings advise, and both have a place."""
    messages = [
        {"ruleId": "no-unused-vars", "severity": 2, "message": "'x' is never used.", "line": 1},
        {"ruleId": "eqeqeq", "severity": 1, "message": "Expected '==='.", "line": 3},
        {
            "ruleId": None,
            "fatal": True,
            "severity": 2,
            "message": "Parsing error: Unexpected token (",
            "line": 1,
        },
    ]
    report = json.dumps([{"filePath": "/proj/l/a.js", "messages": messages, "errorCount": 2}]).encode()
    reading = read(gate("npx eslint ."), exit_code=1, report=report)
    assert reading.status == "fail"
    assert [(one.path, one.line, one.severity) for one in reading.findings] == [
        ("l/a.js", 1, "P1"),
        ("l/a.js", 3, "P2"),
        ("l/a.js", 1, "P1"),
    ]
    only = json.dumps([{"filePath": "/proj/l/a.js", "messages": messages[1:2]}]).encode()
    assert read(gate("npx eslint ."), exit_code=0, report=only).status == "pass"


def test_tsc_findings():
    """Each error of the compiler is one finding with its code and place; a silent success is clean."""
    out = (
        b"src/t.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
        b"src/t.ts(1,24): error TS2304: Cannot find name 'foo'.\n"
    )
    reading = read(gate("npx tsc --noEmit"), exit_code=2, output=out)
    assert [(one.path, one.line, one.message[:6]) for one in reading.findings] == [
        ("src/t.ts", 1, "TS2322"),
        ("src/t.ts", 1, "TS2304"),
    ]
    assert read(gate("npx tsc --noEmit"), exit_code=0, output=b"").status == "pass"
    assert read(gate("npx tsc --noEmit"), exit_code=1, output=b"crash").status == "fail"


def test_clippy_findings():
    """With -D warnings clippy's lints are errors and block; a plain warning advises."""
    span = {"file_name": "src/lib.rs", "line_start": 5, "is_primary": True}
    lines = [
        {"reason": "compiler-artifact", "target": {"name": "x"}},
        {
            "reason": "compiler-message",
            "message": {
                "message": "unneeded `return`",
                "level": "error",
                "code": {"code": "clippy::needless_return"},
                "spans": [span],
            },
        },
        {
            "reason": "compiler-message",
            "message": {"message": "1 error emitted", "level": "error", "code": None, "spans": []},
        },
        {"reason": "build-finished", "success": False},
    ]
    output = "\n".join(json.dumps(line) for line in lines).encode()
    reading = read(gate("cargo clippy -- -D warnings"), exit_code=101, output=output)
    assert [(one.path, one.line) for one in reading.findings] == [("src/lib.rs", 5)]
    assert reading.findings[0].message.startswith("clippy::needless_return")
    warned = output.replace(b'"level": "error"', b'"level": "warning"').replace(b"false}", b"true}")
    assert read(gate("cargo clippy"), exit_code=0, output=warned).status == "pass"


def test_golangci_findings():
    """The lines of golangci-lint become findings by linter, source lines between them do not."""
    out = (
        b"main.go:12:2: Error return value of `f.Close` is not checked (errcheck)\n\tf.Close()\n\t^\n"
        b"pkg/a.go:3:6: func `x` is unused (unused)\n2 issues:\n* errcheck: 1\n"
    )
    reading = read(gate("golangci-lint run"), exit_code=1, output=out)
    assert [(one.path, one.line) for one in reading.findings] == [("main.go", 12), ("pkg/a.go", 3)]


def test_maven_reports_are_read_by_class_and_method():
    """The collected XML of surefire is one report; a Maven build without tests is not green."""
    report = (
        b'<testsuites>\n<testsuite name="com.x.ATest" tests="2" failures="1">'
        b'<testcase name="ok" classname="com.x.ATest"/>'
        b'<testcase name="bad" classname="com.x.ATest"><failure message="no">why</failure></testcase>'
        b"</testsuite>\n</testsuites>\n"
    )
    reading = read(gate("mvn -B test"), exit_code=1, report=report)
    assert reading.tests == {"com.x.ATest::ok": "pass", "com.x.ATest::bad": "fail"}
    empty = read(gate("mvn -B test"), exit_code=0, report=b"<testsuites>\n</testsuites>\n")
    assert (empty.status, empty.cause) == ("error", "no-tests")


def test_go_coverage():
    """A block of Go's profile that any test binary hit is covered, and counts once."""
    rows = [
        "mode: set",
        "x/a.go:3.24,3.40 1 0",
        "x/a.go:5.2,9.3 3 1",
        "x/a.go:3.24,3.40 1 1",
        "x/b.go:1.1,2.2 4 0",
    ]
    made = gate("go test -coverprofile={report} ./...", read="coverage", minimum=51.0)
    assert made.reporter == ()
    reading = read(made, exit_code=0, report="\n".join(rows).encode())
    assert (reading.status, reading.summary) == ("fail", "50.00 % covered, at least 51 % wanted")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed (Debian: golang-go)")
def test_go_itself(project, observe, monkeypatch, tmp_path):
    """The real `go test` is read by test."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    tests = 'package x\n\nimport "testing"\n\nfunc TestOk(t *testing.T) {}\n'
    tests += 'func TestBad(t *testing.T) { t.Error("no") }\n'
    root = project({"go.mod": "module example.com/x\n\ngo 1.19\n", "x.go": "package x\n", "x_test.go": tests})
    made = gate("go test ./...")
    reading = reader(made.read)(observe(made, root), made)
    assert reading.tests == {"example.com/x::TestOk": "pass", "example.com/x::TestBad": "fail"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed (Debian: cargo)")
def test_cargo_itself(project, observe):
    """The real `cargo test` is read by test."""
    lib = "pub fn one() -> i32 { 1 }\n#[cfg(test)]\nmod tests {\n    #[test] fn ok() {}\n"
    lib += "    #[test] fn bad() { assert_eq!(super::one(), 2) }\n}\n"
    manifest = '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n'
    root = project({"Cargo.toml": manifest, "src/lib.rs": lib})
    made = gate("cargo test --offline")
    reading = reader(made.read)(observe(made, root), made)
    assert reading.tests == {"src/lib.rs > tests::ok": "pass", "src/lib.rs > tests::bad": "fail"}
