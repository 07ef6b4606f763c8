"""What inference chooses is what was asked: init agrees, reasons cite their line, what is missing is said."""

import pytest
from infer_projects import make, projects

from ralph.core.model.gate import Gate
from ralph.gates.readers import Observation, reader
from ralph.shell.criterion import propose
from ralph.shell.criterion.init_plan import make_plan
from ralph.shell.git.project import find_project

TASK = "make the tests pass"
CI = "on: [push]\njobs:\n  t:\n    steps:\n"


def asked(files, tmp_path, machine):
    repo = make(tmp_path, files)
    return propose(TASK, cwd=str(repo), env={"PATH": str(machine[0]), "HOME": str(tmp_path)})


@pytest.mark.sample(check=4)
@pytest.mark.parametrize(("name", "files", "_asked"), projects()[::4])
def test_init_and_infer_agree(name, files, _asked, tmp_path, machine):
    """Every test command that infer proposes is a gate of init, in the same folder."""
    made = asked(files, tmp_path, machine)
    env = {"PATH": str(machine[0]), "HOME": str(tmp_path)}
    plan = make_plan(find_project(str(tmp_path)), env, "full")
    gates = {(one.run, one.cwd) for one in plan.gates}
    assert {(one.run, one.cwd) for one in made.checks if one.kind == "test"} <= gates, name


TAPE = '{"scripts": {"test": "tape test.js"}, "devDependencies": {"tape": "5"}}'
PACKAGE = '{"scripts": {"test": "%s", "test:unit": "mocha"}, "devDependencies": {"mocha": "1"}}'
CHOSEN = {
    "a sibling narrower than CI": (
        {"README.md": "`npm run test:unit`\n", "package.json": PACKAGE % "mocha && tsd", "ci": "npm test"},
        "npm test",
    ),
    "a document that installs first": (
        {"README.md": "```sh\nnpm install && npm test\n```\n", "package.json": PACKAGE % "mocha"},
        "mocha",
    ),
    "two installations, and a build before the tests": (
        {"ci": "npm ci && pip install -r a.txt && make && pytest -q", "tests/test_a.py": "import pytest\n"},
        "make && pytest -q",
    ),
    "an example of one test": (
        {
            "CONTRIBUTING.md": "`pytest tests/test_a.py::test_x`\n",
            "ci": "pytest -q",
            "tests/test_a.py": "import pytest\n",
        },
        "pytest -q",
    ),
    "a workflow for nightly runs": (
        {
            ".github/workflows/a-nightly.yml": CI + "      - run: pytest --slow\n",
            "ci": "pytest -q",
            "tests/test_a.py": "import pytest\n",
        },
        "pytest -q",
    ),
    "a step for another interpreter": (
        {
            ".github/workflows/ci.yml": CI
            + """      - run: pytest --assert=plain
        if: "startsWith(matrix.python, 'pypy')"
      - run: pytest -q
        if: "! startsWith(matrix.python, 'pypy')"
""",
            "tests/test_a.py": "import pytest\n",
        },
        "pytest -q",
    ),
    "a job for another system": (
        {
            ".github/workflows/ci.yml": "on: [push]\njobs:\n"
            "  a:\n    if: ${{ matrix.os == 'windows-latest' }}\n    steps:\n      - run: pytest -p no:x\n"
            "  t:\n    if: matrix.os == 'ubuntu-latest' || matrix.os == 'macos-latest'\n"
            "    steps:\n      - run: pytest -q\n",
            "tests/test_a.py": "import pytest\n",
        },
        "pytest -q",
    ),
    "contracts alone": ({"src/A.sol": "", "test/A.t.sol": ""}, "forge test --offline"),
    "an undefined variable of make": (
        {"Makefile": "test:\n\t$(RUNNER) tests\n", "ci": "make test", "test_a.py": "import pytest\n"},
        "pytest",
    ),
    "a recipe whose failure is ignored": (
        {"Makefile": "test:\n\t-pytest tests\n", "test_a.py": "import pytest\n"},
        "pytest",
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_the_command_that_tests_most_is_chosen(name, tmp_path, machine):
    """Not the narrower, the example, the one aside, or the one that cannot fail."""
    files, expected = CHOSEN[name]
    files = dict(files)
    if "ci" in files:
        files[".github/workflows/ci.yml"] = f"{CI}      - run: {files.pop('ci')}\n"
    made = asked(files, tmp_path, machine)
    assert [one.run for one in made.checks] in ([expected], ["mocha && tsd"]), made


def test_reasons_cite_the_file_that_says_it(tmp_path, machine):
    """A requirement in a second file is cited there, by the line that asks for it."""
    files = {
        "pyproject.toml": "[project]\nname = 'x'\n",
        "requirements.txt": "six\n\npytest\n",
        "tests/a.txt": "",
    }
    made = asked(files, tmp_path, machine)
    assert any("requirements.txt:3" in text for text in made.rationale), made.rationale


def test_a_blank_line_before_a_requirement_is_not_cited(tmp_path, machine):
    """The line of a gem is its own, whatever stands above it."""
    files = {"Gemfile": "source 'https://rubygems.org'\n\n\ngem 'rspec'\n", "spec/a_spec.rb": "x\n"}
    made = asked(files, tmp_path, machine)
    assert any(text.startswith("Gemfile:4:") for text in made.rationale), made.rationale


def test_what_tests_are_written_for_is_said_as_that(tmp_path, machine):
    """A test function without an import of pytest is no line that names it."""
    made = asked({"test_calc.py": "import calc\n\n\ndef test_x(): pass\n"}, tmp_path, machine)
    assert "test_calc.py:4" in made.rationale[1], made.rationale
    assert "its tests are written for pytest" in made.rationale[1], made.rationale


WHY_NOT = {
    "tox": "CONTRIBUTING.md:1: it makes environments first, which needs the network",
    "mypy": "README.md:1: only its name is mentioned",
    "pyright": "pyproject.toml:4: less trusted than what was chosen",
    "pytest -x": "README.md:2: another command of the same place was chosen",
}


@pytest.mark.parametrize(("task", "texts"), [(TASK, ("tox",)), ("fix the types", ("mypy", "pyright"))])
def test_why_a_command_was_not_chosen_is_true(task, texts, tmp_path, machine):
    """`less trusted` is said only of a place that is trusted less than that of the choice."""
    files = {
        "CONTRIBUTING.md": "Run `tox`, then run `mypy src`.\n",
        "README.md": "Types are known by `mypy`.\n",
        "pyproject.toml": "[tool.pytest]\nx = 1\n[tool.mypy]\n[tool.pyright]\n",
        "tests/test_a.py": "import pytest\n",
    }
    repo = make(tmp_path, files)
    made = propose(task, cwd=str(repo), env={"PATH": str(machine[0]), "HOME": str(tmp_path)})
    told = {one.criterion: one.rejected_because for one in made.alternatives_considered}
    assert {text: told.get(text) for text in texts} == {text: WHY_NOT[text] for text in texts}, told


def test_two_commands_of_one_document_are_of_one_place(tmp_path, machine):
    """The other one is not called less trusted."""
    made = asked({"README.md": "Run `pytest -q`.\nRun `pytest -x`.\n", "tests/a.txt": ""}, tmp_path, machine)
    told = {one.criterion: one.rejected_because for one in made.alternatives_considered}
    assert told["pytest -x"] == WHY_NOT["pytest -x"], told


@pytest.mark.parametrize(
    ("scripts", "whole"),
    [
        ('"test": "tap", "posttest": "npm run lint"', "tap && npm run lint"),
        ('"pretest": "tsc", "test": "tap", "posttest": "eslint ."', "tsc && tap && eslint ."),
        ('"test": "tap"', "tap"),
    ],
)
def test_a_script_is_shown_in_the_order_in_which_it_is_executed(scripts, whole, tmp_path, machine):
    made = asked({"package.json": f'{{"scripts": {{{scripts}}}}}'}, tmp_path, machine)
    assert [check.executes for check in made.checks] == [whole]


@pytest.mark.parametrize("task", ["Fix typos", "docs: explain the options", "Update the README"])
def test_documents_are_begun_where_there_is_a_suite(task, tmp_path, machine):
    """Nothing can prove them; that nothing else breaks is all that is asked, and told as that."""
    repo = make(tmp_path, {"package.json": TAPE, "test.js": "", "README.md": ""})
    made = propose(task, cwd=str(repo), env={"PATH": str(machine[0]), "HOME": str(tmp_path)})
    assert (made.task_class, made.grade_at_most) == ("docs", "C")
    assert [(one.run, one.proof) for one in made.checks] == [("npm test", False)]


@pytest.mark.parametrize("path", ["test.js", "src/lib.rs", "test/all.js"])
def test_where_tests_may_stand_nobody_is_told_that_there_are_none(path, tmp_path, machine):
    """In a file at the top, in the source, in a folder: only a trial knows."""
    manifest = {"Cargo.toml": '[package]\nname = "a"\n'} if path.endswith("rs") else {"package.json": TAPE}
    made = asked({path: "", **manifest}, tmp_path, machine)
    assert made.checks
    assert not [note for note in made.warnings if "no tests" in note]


def test_what_is_not_installed_is_said_with_its_line(tmp_path, machine):
    """The right command stays the answer, with what installs its tool or its dependencies."""
    files = {"package.json": PACKAGE % "mocha && tsd", "package-lock.json": "{}", "test/a.js": "x"}
    made = asked(files, tmp_path, machine)
    assert made.checks[0].run == "npm test"
    assert "its dependencies are not installed here; install them with: npm ci" in made.warnings


@pytest.mark.parametrize(
    ("code", "output", "status"),
    [
        (7, b"[ERROR] Failed to download configuration from https://semgrep.dev/c/auto", "error"),
        (0, b"Ran 0 rules on 12 files: 0 findings.", "error"),
        (1, b"Ran 300 rules on 12 files: 2 findings.", "fail"),
        (0, b"Ran 300 rules on 12 files: 0 findings.", "pass"),
    ],
)
def test_a_scanner_without_rules_gives_no_verdict(code, output, status):
    """Rules that could not be fetched make neither red nor green."""
    gate = Gate(name="semgrep", run="semgrep scan --error --config auto", argv=("semgrep",))
    assert reader("exit")(Observation(exit_code=code, output=output, ended="exited"), gate).status == status
