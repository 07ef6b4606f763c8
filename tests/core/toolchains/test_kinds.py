"""Which check is of the kind that a class of task asks for: green then leaves nothing to do."""

from __future__ import annotations

from typing import Any

import pytest

from ralph.core.model.gate import Gate
from ralph.core.toolchains.kinds import settles

GREENS = ("test-pass", "type-clean", "lint-clean", "build-pass", "coverage")
ANY = set(GREENS)
ROWS: list[tuple[str, set[str]]] = [
    ("pytest -q", {"test-pass"}),
    ("python3 -m unittest", {"test-pass"}),
    ("uv run pytest", {"test-pass"}),
    (".venv/bin/pytest -q", {"test-pass"}),
    ("cd api && pytest", {"test-pass"}),
    ("pytest -q > out.txt 2>&1", {"test-pass"}),
    ("sh -c 'pytest -q'", {"test-pass"}),
    ("bash -c \"sh -c 'pytest -q'\"", {"test-pass"}),
    ("npm test", {"test-pass"}),
    ("bash run_tests.sh", {"test-pass"}),
    ("coverage run -m pytest", {"test-pass"}),
    ("coverage report --fail-under=80", {"test-pass", "coverage"}),
    ("mypy .", {"type-clean"}),
    ("./scripts/types.sh", {"type-clean"}),
    ("npx tsc --noEmit", {"type-clean", "build-pass"}),
    ("cargo check", {"type-clean", "build-pass"}),
    ("ruff check .", {"lint-clean"}),
    ("ruff format --check .", {"lint-clean"}),
    ("cargo build", {"build-pass"}),
    ("make", {"build-pass"}),
    ("pytest -q && mypy .", {"test-pass", "type-clean"}),
    ("./ci.sh", ANY),
    ("python check.py", ANY),
    ("make check", ANY),
    ("npm run check", ANY),
    ("grep -q done notes.txt", ANY),
    ("test -f out.txt", ANY),
    ("node scripts/look.js", ANY),
    ("cargo xtask verify", ANY),
    ("npm run e2e", ANY),
    ("docker compose run --rm app pytest", ANY),
    ("python -c 'import x'", ANY),
    ("pytest --cov --cov-fail-under=80", {"test-pass", "coverage"}),
    ("pytest --cov --cov-fail-under=0", {"test-pass"}),
    ("coverage report --fail-under 0.0", {"test-pass"}),
    ("npm ci && npm test", {"test-pass"}),
    *(
        (run, set[str]())
        for run in (
            "eslint --fix .",
            "npx eslint --fix .",
            "ruff check --fix .",
            "uv run ruff check . --fix",
            "ruff format .",
            "black .",
            "prettier --write .",
            "biome check --write",
            "cargo fmt",
            "go fmt ./...",
            "npm run lint:fix",
            "make format",
            "make install",
            "npm ci",
            "npm install",
            "echo hi",
            "true",
            "ls dist",
            "pytest -q || true",
            "pytest -q | tee out.txt",
            "mypy --version",
            "pytest --collect-only",
            "cd api",
        )
    ),
]


@pytest.mark.parametrize(("run", "classes"), ROWS, ids=[row[0] for row in ROWS])
def test_kind(run: str, classes: set[str]) -> None:
    """A known kind settles its own classes; what cannot be told is the user's own word for done."""
    gate = Gate(name="check", run=run, argv=(), proof=True)
    found: set[Any] = {name for name in GREENS if settles(name, gate)}  # type: ignore[arg-type]
    assert found == classes


def test_a_bound_on_coverage_is_a_measure() -> None:
    """By the gate's own bound or by the command's; a reader without either measures nothing."""
    assert settles("coverage", Gate(name="c", run="pytest --cov", argv=(), minimum=80.0))
    for run in ("pytest --cov", "./cov.sh", "pytest --cov --cov-fail-under=0"):
        assert not settles("coverage", Gate(name="c", run=run, argv=(), read="coverage"))
        assert not settles("coverage", Gate(name="c", run=run, argv=(), read="coverage", minimum=0.0))
    bounded = "pytest --cov --cov-fail-under=05"
    assert settles("coverage", Gate(name="c", run=bounded, argv=(), read="coverage"))
    assert not settles("coverage", Gate(name="c", run="pytest --cov", argv=()))


def test_custom_is_what_the_user_gave() -> None:
    """Any check that was given settles it, none that was only found; a feature is settled by none."""
    given, found = (
        Gate(name="c", run="pytest", argv=()),
        Gate(name="c", run="pytest", argv=(), origin="inferred"),
    )
    assert settles("custom", given)
    assert not settles("custom", found)
    for name in ("bug-fix", "implement-feature", "regression", "docs"):
        assert not settles(name, given)  # type: ignore[arg-type]
