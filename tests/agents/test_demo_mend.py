"""The demo agent in a project that it does not know: it mends slips, or leaves all as it was and says so."""

import json
import os
import subprocess
import sys

import pytest

from ralph.agents.demo import edits
from ralph.agents.demo.mend import Seen, checks_of, mend

PROOF = "- tests: `{}` (must pass when the task is done) — red: 1 failed\n"
KEEP = "- lint: `{}` (what passed before must still pass) — {}\n"
SOURCE = "def area(w, h):\n    return w + h\n\n\ndef full(n):\n    return n > 10\n"
# A runner that names what failed as unittest does, without taking a second to start.
RUNNER = """import area
bad = []
for name, good in [{}]:
    if not good:
        print(f"FAIL: {{name}} (test_area.py:1)")
        bad.append(name)
raise SystemExit(len(bad))
"""
AREA = '("test_area", area.area(2, 5) == 10 and area.area(3, 3) == 9)'
FULL = '("test_full", area.full(10) and not area.full(9))'
CHECK = f"{sys.executable} -S -E -B test_area.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(*tests, source=SOURCE):
        (tmp_path / "area.py").write_text(source)
        (tmp_path / "test_area.py").write_text(RUNNER.format(", ".join(tests)))
        return tmp_path

    return make


def tried(prompt, seconds=60.0):
    said = []
    return mend(prompt, edits, said.append, seconds=seconds), said


def test_the_checks_are_those_of_the_prompt():
    """What must become or stay green is read from the prompt; red ones that prove nothing are let be."""
    prompt = (
        PROOF.format("a `b`") + KEEP.format("ruff check .", "green") + KEEP.format("mypy", "red: 3 findings")
    )
    prompt += "- x: `y` in pkg/a (must pass when the task is done) — not judged yet\n"
    prompt += "- z: `q` (advice only) — green\n"
    assert [(one.run, one.cwd, one.proof) for one in checks_of(prompt)] == [
        ("a `b`", ".", True),
        ("ruff check .", ".", False),
        ("y", "pkg/a", True),
    ]


@pytest.mark.slow
def test_two_slips_are_mended_one_after_the_other(project):
    """An edit that lets fewer tests fail stays, and the next one is looked for from there."""
    folder = project(AREA, FULL)
    report, said = tried(PROOF.format(CHECK))
    assert (report.how, len(report.changes)) == ("green", 2)
    assert (folder / "area.py").read_text() == SOURCE.replace("w + h", "w * h").replace("> 10", ">= 10")
    assert any("fewer tests fail" in text for text in said)
    assert sorted(os.listdir(folder)) == ["area.py", "test_area.py"]


@pytest.mark.slow
def test_what_does_not_help_is_taken_back(project):
    """Without a small repair the source is as it was to the byte, and the report says so."""
    folder = project('("test_area", area.area(2, 5) == 123456)')
    before = (folder / "area.py").read_bytes()
    report, _ = tried(PROOF.format(CHECK))
    assert (report.how, report.changes) == ("nothing", ())
    assert report.tried > 10
    assert (folder / "area.py").read_bytes() == before


def test_it_stops_when_its_time_is_over(project):
    """The time is bounded, and a source that was being tried is put back."""
    folder = project(AREA)
    report, _ = tried(PROOF.format(CHECK), seconds=0.0)
    assert (report.how, report.tried) == ("nothing", 0)
    assert "time" in report.why
    assert (folder / "area.py").read_text() == SOURCE


def test_other_checks_stay_green(project):
    """An edit that makes the proof green and turns another check red is not taken."""
    folder = project('("test_full", area.full(10))')
    keep = f"""{sys.executable} -B -c 'import area; assert not area.full(9)'"""
    report, _ = tried(PROOF.format(CHECK) + KEEP.format(keep, "green"))
    assert report.how == "green"
    assert "n >= 10" in (folder / "area.py").read_text()


@pytest.mark.slow
def test_tests_are_never_touched_and_nothing_is_left_behind(project):
    """A slip in the test itself is not "repaired" there; what a check writes is taken away again."""
    folder = project('("test_area", area.area(2, 5) == 11)')
    (folder / "x.lock").write_text("one\n")
    before = (folder / "test_area.py").read_bytes()
    report, _ = tried(PROOF.format(f"mkdir -p out; date > out/log; date > x.lock; {CHECK}"))
    assert report.how in ("nothing", "green")
    assert (folder / "test_area.py").read_bytes() == before
    assert sorted(os.listdir(folder)) == ["area.py", "test_area.py", "x.lock"]
    assert (folder / "x.lock").read_text() == "one\n"


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("do something", "names no check"),
        (PROOF.format("./no-such-tool"), "cannot be executed"),
    ],
)
def test_nothing_to_go_by(project, prompt, why):
    """Without a check that can be executed nothing is tried."""
    project(AREA)
    report, _ = tried(prompt)
    assert (report.how, report.tried) == ("unable", 0)
    assert why in report.why


@pytest.mark.parametrize(
    ("output", "red"),
    [
        (
            "FAILED tests/a.py::test_x[1 2] - assert 1\nERROR tests/b.py\n",
            {"tests/a.py::test_x[1 2]", "tests/b.py"},
        ),
        ("FAIL: test_a (m.T.test_a)\nERROR: test_b (m.T)\n", {"test_a (m.T.test_a)", "test_b (m.T)"}),
        ("not ok 1 - adds\n    not ok 2 - sums\nok 3 - x\n", {"adds", "sums"}),
        ("✖ adds (1.2ms)\n  ● sums\n", {"adds", "sums"}),
        ("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/x (0.00s)\n", {"TestA", "TestA/x"}),
        ("test tests::a ... FAILED\ntest b ... ok\n", {"tests::a"}),
        ("[ERROR]   RomanTest.four:14 expected:<1>\n", {"RomanTest.four"}),
        ("FAIL\tx [build failed]\n", {"FAIL\tx [build failed]"}),
        ("all is well\n", set()),
    ],
)
def test_what_failed_is_read_from_each_runner(output, red):
    """The names of failing tests are known in the words of each runner; a broken build is a failure too."""
    assert Seen(1, output).red == red


def test_as_an_agent(project):
    """As a child process it says what it is, names its edit, and claims no more than it saw."""
    project(AREA)
    program = os.path.join(os.path.dirname(edits.__file__), "agent.py")
    ended = subprocess.run(
        [sys.executable, "-I", program, "honest"],
        input=PROOF.format(CHECK),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert "tries small repairs, not a model" in lines[0]["text"]
    assert lines[-2] | {"detail": ""} == lines[-2] | {"type": "tool", "path": "area.py", "detail": ""}
    claim = lines[-1]
    assert (claim["type"], claim["status"], claim["tests_status"]) == ("claim", "COMPLETE", "PASSING")
    assert "`return w + h` -> `return w * h`" in claim["recommendation"]
