"""What a user says decides: the tool that a task names, the bounds in a sentence, the tools on his PATH."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from kit import shims
from shapekit import Shape

pytestmark = pytest.mark.slow
MIXED = {
    "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ndev = ["mypy", "ruff"]\n',
    "a.py": "def a():\n    return 0\n",
    "test_a.py": "import unittest\nimport a\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    "        self.assertEqual(a.a(), 1)\n",
    "web/package.json": '{"scripts": {"test": "node --test"}}',
    "web/a.test.js": "require('node:test')('a', () => { require('assert').equal(1, 2) })\n",
}
SUITE = "python3 -m unittest"


@pytest.fixture
def shape(tmp_path, home):
    made = Shape(tmp_path / "w", home, seen=home.parent / "protection.json")
    made.once = True
    made.project(made.top / "proj", MIXED, {})
    yield made
    made.kill_all()


def planned(done):
    """The gates and limits of a dry run."""
    assert done.code == 0, done.report()
    return json.loads(done.out)


def dry(shape, *words, env=None):
    agent = shape.mends("a.py")
    return shape.ralph("loop", *words, "--agent-cmd", agent, "-y", "--dry-run", "--json", env=env)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("task", "names", "step"),
    [
        ("fix all TypeScript errors", "runs tsc", "--check 'npx tsc --noEmit'"),
        ("make ESLint happy", "ESLint", "--check 'npx eslint .'"),
        ("get the jest suite green", "Jest", "--check 'npx jest'"),
        ("cargo build succeeds", "cargo build", "--check 'cargo build'"),
        ("the Go tests pass", "Go code", "--check 'go test ./...'"),
    ],
)
def test_another_tools_green_is_never_taken(shape, task, names, step):
    """A task that names a tool which is not there is refused before anything is spent, with the next step."""
    env = {"PATH": os.pathsep.join((shims(shape.top, "mypy", "ruff", "pytest"), shape.env()["PATH"]))}
    done = shape.ralph("loop", task, "--agent-cmd", shape.mends("a.py"), "-y", env=env)
    assert (done.code, done.record) == (2, None), done.report()
    assert "E-CRITERION-NONE" in done.err
    assert names in done.err
    assert step in done.err
    shape.same_user()


@pytest.mark.soak
def test_a_mixed_project_is_judged_by_the_language_that_is_named(shape):
    """Python tests are Python's and JavaScript tests are Node's, whatever else is there."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the choice by language was NOT tested")
    env = {"PATH": os.pathsep.join((shape.env()["PATH"], os.path.dirname(shutil.which("node"))))}
    for task, expected in (
        ("make the Python tests pass", [("python3 -m unittest", ".")]),
        ("make the JavaScript tests pass", [("node --test", "web")]),
    ):
        gates = planned(dry(shape, task, env=env))["order"]["criterion"]["gates"]
        assert [(gate["run"], gate.get("cwd", ".")) for gate in gates] == expected


@pytest.mark.soak
def test_a_command_in_the_completion_decides(shape):
    """`--completion "CMD passes"` is that command, over the gates of the project and over all inference."""
    (shape.repo / "ralph.toml").write_text('[gates.lint]\nrun = "python3 -m compileall -q ."\n')
    shape.decoy({})
    asked = json.loads(dry(shape, "fix it", "--completion", f"{SUITE} passes").out)["error"]
    assert shape.ralph(*asked["next"].split()[1:]).code == 0
    gates = planned(dry(shape, "fix it", "--completion", f"{SUITE} passes"))["order"]["criterion"]["gates"]
    assert [gate["run"] for gate in gates if gate.get("proof")] == [SUITE]


def test_ralphs_own_tools_are_not_the_projects(shape):
    """With Ralph's own `bin` first on PATH its tools are not taken: no call is spent, the error says why."""
    own, path = os.path.dirname(sys.executable), shape.env()["PATH"]
    tool = next(name for name in ("pytest", "ruff", "mypy") if shutil.which(name, path=path) is None)
    env = {"PATH": os.pathsep.join((own, path))}
    assert shutil.which(tool, path=env["PATH"])
    for check in (f"{tool} --help", f"true && {tool} --help"):
        done = shape.loop(shape.mends("a.py"), check=check, env=env)
        assert done.loop.spend.calls == 0, done.report()
        assert done.code != 0
        assert "found only in Ralph's own environment, which is not your project's" in done.text, (
            done.report()
        )
        assert f"python -m pip install {tool}" in done.text
    typed = os.path.join(own, tool)  # a whole path is the user's word
    gates = planned(dry(shape, "fix it", "--check", f"{typed} --help", env=env))["order"]["criterion"][
        "gates"
    ]
    assert gates[0]["tool"] == typed
    shape.same_user()


def test_installing_puts_only_ralph_on_path(shape):
    """`make install` without a package index: one link in the user's own folder, and nothing beside it."""
    top = Path(__file__).parents[2]
    venv = os.path.relpath(os.path.dirname(os.path.dirname(sys.executable)), top)
    if not (top / venv / "bin" / "ralph").exists():
        pytest.skip("ralph is not installed beside this interpreter: installing was NOT tested")
    own, tools = shape.top / "user", top / "tools"
    env = {
        "HOME": str(own),
        "PATH": shape.env()["PATH"],
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(own / "cache"),
    }
    said = subprocess.run(
        [tools / "install.sh", sys.executable, venv],
        cwd=top,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert os.listdir(own / ".local" / "bin") == ["ralph"]
    assert f"{own}/.local/bin is not on your PATH yet" in said.stdout
    done = subprocess.run([own / ".local/bin/ralph", "version"], env=env, capture_output=True, check=False)
    assert done.returncode == 0
    assert ".venv/bin:$PATH" not in (top / "README.md").read_text()


@pytest.mark.soak
@pytest.mark.parametrize(
    "words",
    [
        ("keep going until the tests pass, at most 2 hours and $5", "--check", SUITE),
        ("loop", "make the tests pass, at most 2 hours and $5", "--check", SUITE),
        ("loop", "at most $5 and 2 hours: make the tests pass", "--check", SUITE),
        ("loop", "make the tests pass", "--until", f"`{SUITE}` passes, at most 2 hours and $5"),
    ],
)
def test_bounds_in_words_are_limits(shape, words):
    """ "…, at most 2 hours and $5" bounds the loop, in a sentence, in a task and in a criterion."""
    more = ("--agent", "demo", "-y", "--dry-run", "--json")
    limits = planned(shape.ralph(*words, *more))["order"]["limits"]
    assert (limits["time"], limits["cost"]) == (7200, 5)


@pytest.mark.soak
def test_a_bound_that_is_not_understood_starts_nothing(shape):
    """Without somebody to ask, a limit that cannot be kept to is a refusal that names the flag."""
    agent = ("--check", SUITE, "--agent-cmd", shape.mends("a.py"), "-y")
    for words, flag in (
        (("loop", "make the tests pass, but stay under budget"), "--max-cost"),
        (("loop", "make the tests pass, at most €5"), "--max-cost"),
        (("keep going until the tests pass, until 6pm",), "--max-time"),
    ):
        done = shape.ralph(*words, *agent)
        assert (done.code, done.record) == (2, None), done.report()
        assert flag in done.err
    shape.same_user()
