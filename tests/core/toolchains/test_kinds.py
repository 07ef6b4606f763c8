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
    ("pytest -q | tee out.txt", {"test-pass"}),
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
]


@pytest.mark.parametrize(("run", "classes"), ROWS, ids=[row[0] for row in ROWS])
def test_kind(run: str, classes: set[str]) -> None:
    """A known kind settles its own classes; what cannot be told is the user's own word for done."""
    gate = Gate(name="check", run=run, argv=(), proof=True)
    found: set[Any] = {name for name in GREENS if settles(name, gate)}  # type: ignore[arg-type]
    assert found == classes


def test_a_bound_on_coverage_is_a_measure() -> None:
    """By the gate's own bound or by its reader, whatever the command says."""
    assert settles("coverage", Gate(name="c", run="pytest --cov", argv=(), minimum=80.0))
    assert settles("coverage", Gate(name="c", run="pytest --cov", argv=(), read="coverage"))
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
