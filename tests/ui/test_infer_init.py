"""`ralph infer`, `ralph init` and the new parts of `ralph gates`, as a user runs them."""

import json
import os
import subprocess
import tomllib

import pytest
import yaml

pytestmark = pytest.mark.slow

FILES = {
    "README.md": "# x\n\n    python3 -m unittest -v\n",
    "test_a.py": "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n",
    "package.json": '{"scripts": {"test": "npm publish", "build": "node -e 1"}}\n',
}


@pytest.fixture
def project(tmp_path, monkeypatch, ralph):
    """A repository to stand in, with state and configuration of its own."""
    repo = tmp_path / "repo"
    repo.mkdir()
    for path, text in FILES.items():
        (repo / path).write_text(text)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=repo, env=env, check=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(repo)
    return repo


def test_infer_proposes_by_the_promised_names(project, ralph):
    """`--json` carries the keys of a proposed completion, with layer, file and line in its reasons."""
    code, out, _ = ralph("infer", "make the tests pass", "--json")
    made = json.loads(out)["proposed_completion"]
    assert code == 0
    assert made["verification_command"] == "python3 -m unittest -v"
    assert (made["confidence"], made["tried"], made["needs_human_confirmation"]) == ("medium", False, True)
    assert any("README.md:3" in reason and "documents" in reason for reason in made["rationale"])
    assert any("publish" in one["rejected_because"] for one in made["alternatives_considered"])
    assert made["max_iterations_suggestion"] == 10
    code, text, _ = ralph("infer", "make the tests pass", "--yaml")
    assert yaml.safe_load(text)["proposed_completion"] == made


def test_infer_refuses_with_reason_and_examples(project, ralph):
    """A task that nothing could prove is exit code 2, with wordings that would do."""
    code, out, _ = ralph("infer", "make the code better", "--json")
    refused = json.loads(out)["refused"]
    assert code == 2
    assert "no state that could be checked" in refused["reason"]
    assert len(refused["examples"]) >= 3
    code, out, _ = ralph("infer", "tidy up", "--until", "it is good enough")
    assert code == 2
    assert "nothing measures" in out


def test_infer_prints_a_command_that_works(project, ralph):
    """The proposal on screen shows every command, and its hash is one that can be approved."""
    code, out, _ = ralph("infer", "make the tests pass")
    assert code == 0
    assert "python3 -m unittest -v" in out
    digest = out.rsplit("ralph approve ", 1)[1].split()[0]
    assert ralph("approve", digest)[0] == 0


def test_infer_with_a_criterion_in_words(project, ralph):
    """`--until` is read as a predicate: numbers and patterns become commands that tell."""
    _, out, _ = ralph("infer", "speed it up", "--until", "`./bench` < 200", "--json")
    made = json.loads(out)["proposed_completion"]
    assert made["confidence"] == "high"
    assert "awk" in made["verification_command"]


def test_infer_counts_findings(project, ralph):
    """A number of findings is a criterion: it is shown with the linter's command, and by name in JSON."""
    (project / "AGENTS.md").write_text("Run `ruff check .` before each commit.\n")
    subprocess.run(["git", "add", "-A"], check=True)
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "y"], check=True)
    words = ("infer", "clean up", "--until", "fewer than 10 warnings", "--no-try")
    code, out, _ = ralph(*words)
    assert code == 0
    assert "at most 9 findings" in out
    assert "--until 'fewer than 10 warnings'" in out
    [check] = json.loads(ralph(*words, "--json")[1])["proposed_completion"]["checks"]
    assert (check["run"], check["counted"], check["maximum"]) == ("ruff check .", "findings", 9)


def test_init_writes_what_was_tried(project, ralph):
    """Gates are shown, tried once, written with their reasons, trusted, and not written twice."""
    code, out, _ = ralph("init")
    assert (code, (project / "ralph.toml").exists()) == (2, False)
    assert "python3 -m unittest -v" in out
    code, out, _ = ralph("init", "-y")
    text = (project / "ralph.toml").read_text()
    assert code == 0
    assert tomllib.loads(text)["gates"] == {"tests": {"run": "python3 -m unittest -v"}}
    assert "# tried: pass, 1 passed" in text
    assert "README.md:3" in text
    assert "+[gates.tests]" in out
    assert "publish" in out
    assert ralph("gates", "list")[0] == 0
    code, out, _ = ralph("init", "-y")
    assert "all of this already" in out
    assert (project / "ralph.toml").read_text() == text


def test_init_only_adds_to_a_file_that_is_there(project, ralph):
    """What the user wrote stays to the byte; commands that were never approved are not trusted by the way."""
    mine = '# mine\n[limits]\niterations = 3\n[gates.own]\nrun = "./evil.sh"\n'
    (project / "ralph.toml").write_text(mine)
    code, _, err = ralph("init", "-y", "--no-try")
    text = (project / "ralph.toml").read_text()
    assert code == 0, err
    assert mine in text
    assert "[gates.tests]" in text
    code, _, err = ralph("gates", "list")
    assert (code, "E-APPROVAL" in err) == (3, True)


def test_init_dry_run_and_links(project, ralph, tmp_path):
    """`--dry-run` writes nothing; a link in the place of the file is refused."""
    assert ralph("init", "--dry-run")[0] == 0
    assert not (project / "ralph.toml").exists()
    (project / "ralph.toml").symlink_to(tmp_path / "target")
    code, _, err = ralph("init", "-y", "--no-try")
    assert (code, "E-INIT-LINK" in err) == (2, True)
    assert not (tmp_path / "target").exists()


def test_init_refuses_a_second_truth(project, ralph):
    """[tool.ralph] in pyproject.toml and a ralph.toml do not stand beside each other."""
    (project / "pyproject.toml").write_text('[tool.ralph]\nagent = "demo"\n')
    code, _, err = ralph("init", "-y", "--no-try")
    assert (code, "E-INIT-TWO" in err) == (2, True)


def test_gates_by_level_and_change(project, ralph):
    """`--minimal` is lint alone, `--changed` what the changes could concern; nothing to do is exit code 6."""
    assert ralph("gates", "run", "--minimal", "--check", "pytest -q")[0] == 6
    assert ralph("gates", "run", "--changed", "--check", "pytest -q")[0] == 6
    code, out, _ = ralph("gates", "infer")
    assert code == 0
    assert "python3 -m unittest -v" in out
    assert not (project / "ralph.toml").exists()


def test_gates_changed_judges_what_changed(project, ralph):
    """A change of a Python file concerns Python's gate and not Go's."""
    (project / "b.py").write_text("x = 1\n")
    checks = ("--check", "py=python3 -m unittest", "--check", "go=go test ./...")
    code, out, _ = ralph("gates", "run", "--changed", *checks)
    assert "py..." in out
    assert "go..." not in out
    assert code == 0


def test_gates_explain(project, ralph):
    """One gate in words: what is executed, how it is read, what it counts for."""
    code, out, _ = ralph("gates", "explain", "t", "--check", "t=pytest -q")
    assert code == 0
    assert "--junitxml=REPORT" in out
    assert "level full" in out
    assert ralph("gates", "explain", "nope", "--check", "t=pytest -q")[0] == 2


PY = {
    "pyproject.toml": "[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n"
    "[tool.coverage.report]\nfail_under = 85\n",
    "tests/test_a.py": "def test_a():\n    assert 1\n",
}
PROJECTS = {
    "python": PY,
    "python by CI": {
        "tests/test_a.py": PY["tests/test_a.py"],
        ".github/workflows/ci.yml": "on: push\njobs:\n  t:\n    steps:\n"
        "      - run: pytest -q tests\n      - run: ruff check .\n",
    },
    "make": {
        "Makefile": "test:\n\tpytest -q\nlint:\n\truff check .\n",
        "tests/test_a.py": PY["tests/test_a.py"],
    },
    "node": {
        "package.json": '{"scripts": {"test": "node --test", "lint": "eslint .", "build": "tsc -p ."}}',
        "a.test.js": "",
    },
    "go": {"go.mod": "module x\ngo 1.19\n", "a.go": "package x\n", "a_test.go": "package x\n"},
    "rust": {"Cargo.toml": '[package]\nname = "x"\nversion = "1.0.0"\n', "src/lib.rs": ""},
    "foundry": {
        "foundry.toml": "[profile.default]\n",
        "src/A.sol": "contract A {}\n",
        "test/A.t.sol": "contract T {}\n",
    },
    "hardhat": {
        "package.json": '{"scripts": {"test": "hardhat test"}, "devDependencies": {"hardhat": "2"}}',
        "contracts/A.sol": "contract A {}\n",
    },
}
TASKS = {
    "test": "make the tests pass",
    "lint": "fix the lint errors",
    "types": "fix the type errors",
    "build": "fix the build",
}


@pytest.fixture
def made_of(project):
    """The repository with these files and no others, committed."""

    def make(files):
        subprocess.run(["git", "rm", "-rqf", "."], cwd=project, check=True)
        for path, text in files.items():
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            (project / path).write_text(text)
        for words in (["add", "-A"], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "y"]):
            subprocess.run(["git", *words], cwd=project, check=True)
        return project

    return make


@pytest.mark.parametrize("name", PROJECTS)
def test_init_and_infer_agree(made_of, ralph, name):
    """For each kind of check, `infer` chooses what `init` would write."""
    made_of(PROJECTS[name])
    planned = json.loads(ralph("init", "--dry-run", "--json")[1])["plan"]["gates"]
    for kind, task in TASKS.items():
        gates = [gate["run"] for gate in planned if gate["kind"] == kind]
        body = json.loads(ralph("infer", task, "--json", "--no-try")[1]).get("proposed_completion")
        checks = [check["run"] for check in body["checks"]] if body else []
        if checks != ["python3 -m compileall -q ."] and not (kind == "types" and checks == ["go vet ./..."]):
            assert checks[:1] == gates[:1], (kind, planned)


@pytest.mark.parametrize(
    ("files", "task", "least", "reason"),
    [
        (PY, "reach 90% coverage", 90, "pytest can report coverage"),
        (PY, "meet the coverage threshold", 85, "pyproject.toml:5 asks for at least 85 %"),
        (PY, "raise the test coverage", None, "pyproject.toml:5 asks for at least 85 %"),
        (
            {
                "Makefile": "test:\n\tpytest --cov --cov-fail-under=77\n",
                "tests/test_a.py": PY["tests/test_a.py"],
            },
            "reach the required coverage",
            77,
            "asks for at least 77 %",
        ),
    ],
)
def test_a_coverage_proposal_keeps_its_number(made_of, ralph, files, task, least, reason):
    """The number of the task, else the one that the project asks for; `use it` does not lose it."""
    made_of(files)
    body = json.loads(ralph("infer", task, "--json", "--no-try")[1])["proposed_completion"]
    assert body["checks"][0].get("minimum") == least
    assert any(reason in why for why in body["rationale"]), body["rationale"]
    assert f"use it       ralph loop '{task}'\n" in ralph("infer", task, "--no-try")[1]


def test_coverage_through_npm_reaches_the_runner(made_of, ralph):
    """npm would keep options without `--` to itself."""
    made_of(
        {"package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "29"}}', "a.test.js": ""}
    )
    body = json.loads(ralph("infer", "reach 90% coverage", "--json", "--no-try")[1])["proposed_completion"]
    assert body["verification_command"].startswith("npm test -- --coverage ")


def test_what_is_missing_is_said_with_its_install_line(made_of, ralph):
    """A refusal names tools that were found and are not installed, and none that nobody asked for."""
    made_of(PROJECTS["foundry"])
    out = ralph("infer", "fix the type errors", "--no-try")[1]
    assert '"forge" cannot be started here; install it with: curl' in out
    assert "gitleaks" not in out
    assert "less trusted than what was chosen" not in out
    out = ralph("init", "--level", "security", "--dry-run")[1]
    assert "its rules come from the network" in out
    assert "languages    solidity" in out


def test_init_is_not_ready_where_no_check_can_run(made_of, ralph):
    """A project whose dependency is not installed hears what to do, and of no loop that could not begin."""
    manifest = (
        '[project]\nname = "m"\nversion = "1"\ndependencies = ["absent-thing"]\n[tool.pytest.ini_options]\n'
    )
    made_of({"pyproject.toml": manifest, "test_m.py": "import absent_thing\n\ndef test_m():\n    pass\n"})
    code, out, _ = ralph("init", "-y")
    assert code == 0
    assert "absent_thing is required but not installed" in out
    assert out.splitlines()[-1] == "not ready: 1 check tried, none can run here; then: ralph init"
