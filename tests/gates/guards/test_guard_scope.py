"""Guard "scope": a checker still looks at what it looked at, tried with planted findings."""

import subprocess
import sys

import pytest
from guardkit import facts_of
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.gates.guards import Tried
from ralph.gates.guards._breaks.plant_finding import LAST, plant_findings, plant_uncalled
from ralph.gates.guards.hygiene.scope import check, scope_request
from ralph.gates.readers import Observation, reader

RUFF = Gate(name="lint", run="ruff check .", argv=("ruff", "check", "."), read="ruff", proof=True)
TEXT = (
    "def add(a: int, b: int) -> int:\n    return a + b\n\n\n"
    "class Sum:\n    def of(self) -> int:\n        return 1\n"
)
ADD, SUM = TEXT.split("\n\n\n")
GREEN = {"lint": Reading("pass", "clean")}


def reported(planted, names=None):
    """What a checker says that looks at these definitions (or all)."""
    return Reading(
        "fail",
        "",
        findings=tuple(
            Finding(f"{path}:F401:unused#1", "unused", path=path, line=line)
            for path, one in planted.items()
            for line, name in one.sites.items()
            if names is None or (path, name) in names or (path, name.removesuffix(LAST)) in names
        ),
    )


def looked(before, after, names=None, **fields):
    """The guard's result when the checker looks at `names` of the result only."""
    facts = facts_of(before, after, gates=(RUFF,), final=GREEN, confirm=3, **fields)
    asked = scope_request(facts, RUFF)
    scope = {"lint": {"scope-base": reported(asked.base), "scope": reported(asked.result, names)}}
    return check(
        facts_of(before, after, gates=(RUFF,), final=GREEN, confirm=3, tried=Tried(scope=scope), **fields)
    )


def test_what_is_looked_at_stays_looked_at():
    """Everything reported at the base is reported again: nothing to say."""
    result = looked({"a.py": TEXT}, {"a.py": TEXT.replace("a + b", "b + a")})
    assert result.findings == ()
    assert result.applied


@pytest.mark.parametrize(
    ("names", "says"),
    [((), "this file"), ([("a.py", ""), ("a.py", "Sum.of")], "add in a.py"), ([("a.py", "add")], "Sum.of")],
)
def test_what_is_no_longer_looked_at_is_asked_about(names, says):
    """A definition that is still there, and of which the checker says nothing any more."""
    result = looked({"a.py": TEXT}, {"a.py": TEXT + "x = 1\n"}, names)
    assert [finding.key for finding in result.findings] == ["scope.shrunk:a.py"]
    assert says in result.findings[0].message or says == "this file"


def test_what_stands_behind_an_early_end_is_looked_at_too():
    """A checker that says nothing of a function's last statement: an end for it alone stands before that."""
    names = [("a.py", ""), ("a.py", "Sum.of"), ("a.py", "add")]
    facts = facts_of({"a.py": TEXT}, {"a.py": TEXT + "x = 1\n"}, gates=(RUFF,), final=GREEN, confirm=3)
    asked = scope_request(facts, RUFF)
    seen = reported(asked.result, names)
    last = next(line for line, name in asked.result["a.py"].sites.items() if name == f"add{LAST}")
    seen = Reading("fail", "", findings=tuple(one for one in seen.findings if one.line != last))
    tried = Tried(scope={"lint": {"scope-base": reported(asked.base), "scope": seen}})
    result = check(
        facts_of(
            {"a.py": TEXT}, {"a.py": TEXT + "x = 1\n"}, gates=(RUFF,), final=GREEN, confirm=3, tried=tried
        )
    )
    assert [finding.message for finding in result.findings] == [
        "lint: no longer looks at add (its last statement) in a.py, as it did at the base"
    ]


def test_moved_is_fine_where_it_is_seen_and_asked_about_where_not():
    """A function in another module counts there; in a folder that the checker skips it does not."""
    part = TEXT.split("\n\n\n")[1]
    after = {"a.py": TEXT.split("\n\n\n", maxsplit=1)[0] + "\n", "skipped/b.py": part}
    assert looked({"a.py": TEXT}, after).findings == ()
    seen = [("a.py", ""), ("a.py", "add")]
    assert [one.key for one in looked({"a.py": TEXT}, after, seen).findings] == ["scope.shrunk:skipped/b.py"]


def test_deleted_is_fine_and_code_in_a_string_is_not():
    """What is gone is gone; what lives on as text is not looked at."""
    only = "class Sum:\n    def of(self) -> int:\n        return 1\n"
    assert looked({"a.py": TEXT}, {"a.py": only}).findings == ()
    hidden = only + "exec('''def add(a, b):\n    return a + b\n''')\n"
    assert [one.key for one in looked({"a.py": TEXT}, {"a.py": hidden}).findings] == ["scope.shrunk:a.py"]


FOUND = Finding("a.py:F841:unused#1", "local variable `x` is assigned to but never used", path="a.py", line=2)


@pytest.mark.parametrize(
    ("after", "task", "message", "found"),
    [
        ({}, "make ruff clean", "x is never used", ["scope.gone:a.py"]),
        ({"a.py": TEXT.split("\n\n\n")[1]}, "make ruff clean", "x is never used", ["scope.gone:a.py"]),
        ({"a.py": TEXT.split("\n\n\n")[1]}, "remove add()", "x is never used", []),
        ({"a.py": TEXT.split("\n\n\n")[1]}, "make ruff clean", "function add is never used", []),
        ({"a.py": TEXT.replace("def add", "def plus")}, "make ruff clean", "name add", []),
        ({"a.py": TEXT.replace("def add", "def _add")}, "make ruff clean", "x is never used", []),
        ({"b.py": TEXT}, "make ruff clean", "x is never used", []),
    ],
)
def test_code_does_not_go_with_its_findings(after, task, message, found):
    """A function that is deleted has no findings; one that moved, got a name or is too much is fine."""
    before = {"a.py": TEXT, "c.py": "def other():\n    return 1\n"}
    base = {"lint": Reading("fail", "", findings=(replace(FOUND, message=message),))}
    result = looked(before, after | {"c.py": before["c.py"]}, task=task, base=base)
    assert [one.key for one in result.findings] == found


def test_advice_of_a_green_checker_keeps_no_code():
    """Coverage names lines that nothing executes while it is green: a function may go from such a file."""
    base = {"lint": Reading("pass", "", findings=(FOUND,))}
    result = looked({"a.py": TEXT}, {"a.py": SUM}, task="make ruff clean", base=base)
    assert result.findings == ()


def test_a_checker_that_reports_nothing_planted_is_named():
    """Then its scope is not known, and the grade says so."""
    facts = facts_of({"a.py": TEXT}, {"a.py": TEXT + "\n"}, gates=(RUFF,), final=GREEN, confirm=3)
    quiet = Reading("pass", "clean")
    scope = {"lint": {"scope-base": quiet, "scope": quiet}}
    result = check(
        facts_of(
            {"a.py": TEXT},
            {"a.py": TEXT + "\n"},
            gates=(RUFF,),
            final=GREEN,
            confirm=3,
            tried=Tried(scope=scope),
        )
    )
    assert scope_request(facts, RUFF) is not None
    assert not result.applied
    assert not result.findings


@pytest.mark.sample(check=1)
@pytest.mark.parametrize(
    "tool", [("ruff", "check", "--no-cache", "--output-format=concise"), ("mypy", "--cache-dir=/dev/null")]
)
def test_real_checkers_report_what_is_planted(tmp_path, tool):
    """A finding in every definition, at the very line that was planted."""
    planted = plant_findings("a.py", TEXT.encode())
    (tmp_path / "a.py").write_bytes(planted.content)
    said = subprocess.run(
        [sys.executable, "-m", *tool, "a.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    ).stdout
    for line, name in planted.sites.items():
        if name:
            assert f"a.py:{line}:" in said, (name, said)


EXIT = Gate(name="lint", run="make lint", argv=("make", "lint"), read="exit", proof=True)
TOLD = Reading("fail", "exit code 1", findings=(Finding("exit", "./b.py:2: unused, see a.pyc"),))


def by_exit(after, *, base="fail", result="fail", told=TOLD, gate=EXIT):
    """The request, and the guard's result when the two calls end like that."""
    given = {"gates": (gate,), "final": {"lint": Reading("pass", "")}, "base": {"lint": told}, "confirm": 3}
    files = {"a.py": TEXT, "b.py": TEXT}
    facts = facts_of(files, files | after, known=("b.py",), **given)
    asked = scope_request(facts, gate)
    tried = Tried(scope={"lint": {"scope-base": Reading(base, ""), "scope": Reading(result, "")}})
    return asked, check(facts_of(files, files | after, tried=tried, **given))


@pytest.mark.parametrize(
    ("base", "result", "found", "applied"),
    [("fail", "fail", [], True), ("pass", "pass", [], False), ("fail", "pass", ["scope.shrunk:b.py"], True)],
)
def test_a_checker_read_by_its_exit_code_minds_findings(base, result, found, applied):
    """What it named at the base makes it red as the base sets it, and then on the result as well."""
    asked, said = by_exit({".ignore": "b.py\n"}, base=base, result=result)
    assert set(asked.base) == set(asked.result) == {"b.py"}
    assert [one.key for one in said.findings] == found
    assert said.applied is applied


def test_the_base_gets_the_work_and_not_the_settings():
    """What changed stands there as in the result; settings are the base's, what is new and no code is out."""
    settings = {"ruff.toml": "exclude = ['a.py']\n", ".ignore": "a.py\n"}
    asked, _ = by_exit({"a.py": TEXT + "x = 1\n", "data.txt": "1\n", **settings})
    assert set(asked.base) == set(asked.result) == {"a.py", "b.py"}
    assert b"x = 1" in asked.base["a.py"].content


@pytest.mark.parametrize("run", ["make test", "python check.py", "make deploy"])
def test_only_checkers_are_asked_by_exit_code(run):
    """A script that tests is red with a finding in it for other reasons."""
    facts = facts_of({"a.py": TEXT}, {"a.py": TEXT + "\n"}, final={"it": Reading("pass", "")}, confirm=3)
    assert scope_request(facts, Gate(name="it", run=run, argv=tuple(run.split()), read="exit")) is None


def test_files_beyond_the_bound_are_named():
    """Findings are planted into 60 files; that others were not tried lowers the grade."""
    many = {f"m{number}.py": TEXT for number in range(65)}
    result = looked(many, many | {"m0.py": TEXT + "x = 1\n"})
    assert not result.findings
    assert not result.applied
    assert "nothing was planted in 5 further files" in result.summary


def test_a_tool_that_does_not_tell_everything_accuses_nobody():
    """golangci-lint stops after 50 findings of a linter: what is not told may be seen."""
    gate = replace(RUFF, read="golangci")
    text = "package a\n\nfunc Add() int {\n\tx := 1\n\treturn x\n}\n"
    files = {f"m{number}.go": text for number in range(40)}
    given = {"gates": (gate,), "final": GREEN, "confirm": 3}
    asked = scope_request(facts_of(files, files | {"m0.go": text + "\n"}, **given), gate)
    cut = reported({path: one for path, one in asked.result.items() if path < "m4"})
    tried = Tried(scope={"lint": {"scope-base": reported(asked.base), "scope": cut}})
    result = check(facts_of(files, files | {"m0.go": text + "\n"}, tried=tried, **given))
    assert not result.findings
    assert "does not report everything" in result.summary


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.go", "package a\n\nfunc A() int { // first\n\tx := 1\n\treturn x // last\n}\n\nfunc B() {\n}\n"),
        ("a.rs", "fn a() -> i32 { // first\n    let x = 1;\n    x // last\n}\n"),
        ("a.ts", "function a() { // first\n  b()\n  return 1 // last\n  // end\n}\n"),
        ("a.js", "const a = () => { // first\n  b()\n  b() // last\n}\n"),
    ],
)
def test_other_languages_have_a_first_and_a_last_line_too(path, text):
    """On lines of their own: what stands beside them may have findings that the work mends."""
    planted = plant_findings(path, text.encode())
    lines = planted.content.decode().splitlines()
    first, last = sorted(planted.sites)
    assert planted.sites[last] == f"{planted.sites[first]}{LAST}"
    assert "planted_on_purpose" in lines[first - 1]
    assert "// first" in lines[first]
    assert "planted_on_purpose" in lines[last - 1]
    assert "// last" in lines[last]
    assert [line for line in lines if "planted" not in line and line.strip()].count("}") == text.count("\n}")


def test_an_attribute_stays_with_its_statement():
    """Rust: nothing is put between the two."""
    planted = plant_findings("a.rs", b"fn a() -> i32 {\n    #[allow(unused)]\n    1\n}\n")
    assert list(planted.sites.values()) == ["a"]


COVERAGE = Gate(name="coverage", run="make coverage", argv=("make", "coverage"), read="coverage", proof=True)


def measured(planted, names=None):
    return Reading(
        "fail",
        "",
        findings=tuple(
            Finding(f"coverage:{path}", "90 % covered; not executed: line 9", path=path, line=9)
            for path in planted
            if names is None or path in names
        ),
    )


@pytest.mark.parametrize(
    ("after", "seen", "found"),
    [
        ({"src/a.py": TEXT, "src/b.py": TEXT}, ["src/a.py", "src/b.py"], []),
        ({"src/c.py": TEXT}, ["src/c.py"], []),
        ({"out/a.py": TEXT}, [], ["scope.shrunk:out/a.py"]),
        ({"src/a.py": SUM, "out/a.py": ADD}, ["src/a.py"], ["scope.shrunk:out/a.py"]),
    ],
)
def test_what_was_measured_stays_measured(after, seen, found):
    """A file, or a function of it, that leaves the measured source; a move inside of it is fine."""
    given = {"before": {"src/a.py": TEXT}, "after": after, "gates": (COVERAGE,), "confirm": 3}
    given |= {"final": {"coverage": Reading("pass", "")}, "base": {"coverage": measured({"src/a.py"})}}
    asked = scope_request(facts_of(**given), COVERAGE)
    tried = {"coverage": {"scope-base": measured(asked.base), "scope": measured(asked.result, seen)}}
    result = check(facts_of(**given, tried=Tried(scope=tried)))
    assert [one.key for one in result.findings] == found
    assert result.applied


@pytest.mark.parametrize(
    ("path", "text"),
    [("a.py", TEXT), ("a.js", "let x = 1\n"), ("a.ts", "let x = 1\n"), ("a.go", "package a\n"), ("a.rs", "")],
)
def test_for_coverage_nothing_is_planted_that_is_executed(path, text):
    """The file as it was, and one function more at its end: tests stay green, and the report tells of it."""
    planted = plant_uncalled(path, text.encode())
    assert planted.content.startswith(text.encode())
    assert "planted_on_purpose" in planted.content.decode().removeprefix(text)
    assert "" in planted.sites.values()
    assert plant_uncalled(f"b/{path}", text.encode()).content != planted.content


def test_coverage_reports_what_is_planted(tmp_path):
    """By the real tool: the tests are green, 100 percent are no longer, and the report names the file."""
    (tmp_path / "a.py").write_bytes(plant_uncalled("a.py", b"def one():\n    return 1\n").content)
    (tmp_path / "t.py").write_text("import a\nassert a.one() == 1\n")
    for words in (["run", "--source=.", "t.py"], ["json", "-o", "report.json"]):
        subprocess.run([sys.executable, "-m", "coverage", *words], cwd=tmp_path, check=True, timeout=60)
    report = (tmp_path / "report.json").read_bytes()
    reading = reader("coverage")(Observation(exit_code=0, report=report), COVERAGE)
    assert [one.key for one in reading.findings] == ["coverage:a.py"]
