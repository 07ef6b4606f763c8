"""Which kinds of check a project has beside its gates: only what a file tells of, and no gate is."""

import pytest

from ralph.core.criterion.gates_for_project import checks_beside
from ralph.core.criterion.proposal import Candidate, ProjectFacts
from ralph.core.model.gate import Gate


def candidate(run, kind, tool="", **more):
    more = {"layer": "ci", "where": "ci.yml:3", **more}
    return Candidate(run=run, kind=kind, tool=tool or run.split()[0], **more)


FOUND = ProjectFacts(
    candidates=(
        candidate("pytest -q", "test"),
        candidate("mypy src", "types"),
        candidate("ruff check .", "lint"),
        candidate("bandit -r src", "security"),
        candidate("pytest --cov --cov-fail-under=80", "coverage", "pytest"),
        candidate("gitleaks dir", "security", where="", layer="table"),
        candidate("eslint .", "lint", rejected="not installed"),
        candidate("make check", "test", "make:check", executes="ruff check . && mypy src && pytest -q"),
    )
)


@pytest.mark.parametrize(
    ("runs", "named"),
    [
        (("pytest -q",), {"lint", "types", "security"}),
        (("pytest -q", "mypy src"), {"lint", "security"}),
        (("pytest -q && ruff check .",), {"types", "security"}),
        (("make check",), {"security"}),
        (("ruff check .", "mypy src", "pytest -q", "bandit -r src"), set()),
        (("mypy src",), {"test", "lint", "security"}),
    ],
)
def test_kinds_that_no_gate_is(runs, named):
    """Parts of a compound and of a script behind a gate count as run."""
    gates = tuple(Gate(name=f"g{n}", run=run, argv=()) for n, run in enumerate(runs))
    assert checks_beside(FOUND, gates).keys() - {"coverage"} == named


def test_nothing_found_is_nothing_named():
    """Tools that every project might use are none of this one's."""
    only = ProjectFacts(candidates=(candidate("gitleaks dir", "security", where="", layer="table"),))
    assert checks_beside(only, (Gate(name="g", run="pytest", argv=()),)) == {}
