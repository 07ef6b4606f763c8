"""Inference over projects shaped after real ones: the right command, and nothing executed."""

import pytest
from infer_projects import make, projects

from ralph.shell.criterion import propose

PROJECTS = projects()


def said(proposal):
    """A proposal in the words of the table."""
    if proposal.refused:
        dropped = " ".join(one.rejected_because for one in proposal.alternatives_considered)
        return f"refused {proposal.refused} {dropped}"
    runs = [one.run if one.cwd == "." else f"{one.cwd}: {one.run}" for one in proposal.checks]
    return f"{' & '.join(runs)} [{proposal.reachable}]"


def fits(proposal, expected):
    if expected.startswith("refused "):
        return bool(proposal.refused) and expected.removeprefix("refused ") in said(proposal)
    return said(proposal) == expected


def test_the_table_is_large_enough():
    """At least forty projects stand behind the figure of precision."""
    assert len(PROJECTS) >= 40
    assert sum(len(asked) for _, _, asked in PROJECTS) >= 80


LINTED = {
    "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\ndev = ["ruff", "mypy"]\n',
    "AGENTS.md": "Run `ruff check src` and `mypy src`.\n",
}
STATED = (
    ("fix it", "fewer than 10 warnings", ("ruff check src", "findings", 9, "high")),
    ("fix it", "at most 3 errors", ("ruff check src", "errors", 3, "high")),
    ("fix it", "no more than 3 type errors", ("mypy src", "errors", 3, "high")),
    ("fix it", "zero warnings", ("ruff check src", "", None, "high")),
    ("fix it", "fewer warnings than now", ("ruff check src", "findings", None, "medium")),
    ("get the lint warnings below 20", "", ("ruff check src", "findings", 19, "high")),
    ("reduce the mypy errors", "", ("mypy src", "errors", None, "medium")),
)


@pytest.mark.parametrize(("task", "until", "expected"), STATED)
def test_a_number_of_findings_is_a_criterion(task, until, expected, tmp_path, machine):
    """How many findings may be left is said in words, and counted by the project's own linter."""
    env = {"PATH": str(machine[0]), "HOME": str(tmp_path)}
    made = propose(task, cwd=str(make(tmp_path, LINTED)), until=until, env=env)
    [check] = made.checks
    assert (check.run, check.counted, check.maximum, made.reachable) == expected
    assert check.proof


@pytest.mark.parametrize(
    ("run", "why"),
    [("flake8 src", "not known how to count"), ("ruff check --statistics src", "cannot be counted")],
)
def test_findings_that_cannot_be_counted_are_refused(run, why, tmp_path, machine):
    """A linter whose findings are not read one by one gives no number, and nothing is guessed."""
    files = {".github/workflows/ci.yml": f"jobs:\n  a:\n    steps:\n      - run: {run}\n"}
    env = {"PATH": str(machine[0]), "HOME": str(tmp_path)}
    made = propose("fix it", cwd=str(make(tmp_path, files)), until="fewer than 10 warnings", env=env)
    assert why in made.refused
    assert made.examples


@pytest.mark.sample(check=6)
@pytest.mark.parametrize(("name", "files", "asked"), PROJECTS, ids=[row[0] for row in PROJECTS])
def test_projects(name, files, asked, tmp_path, machine):
    """Each task gets the criterion that a careful person would choose, and no tool is executed for it."""
    folder, mark = machine
    repo = make(tmp_path, files)
    env = {"PATH": str(folder), "HOME": str(tmp_path)}
    wrong = []
    for task, expected in asked:
        proposal = propose(task, cwd=str(repo), env=env)
        if not fits(proposal, expected):
            wrong.append(f"{task!r}\n  expected {expected}\n  got      {said(proposal)}")
        assert proposal.confidence in ("low", "medium") or all(one.layer == "task" for one in proposal.checks)
        assert not proposal.tried
    assert not wrong, "\n".join(wrong)
    assert not mark.exists(), f"{name}: a tool was executed while looking: {mark.read_text()}"
