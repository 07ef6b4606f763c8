"""A command as a file names it, and whether it starts here."""

import os

import pytest

from ralph.core.criterion.proposal import Candidate
from ralph.shell.criterion.local import Here, localise_candidate


@pytest.fixture
def here(tmp_path):
    """A checkout with an environment that has pytest, and a `make` on PATH."""
    for program in (".venv/bin/python", ".venv/bin/pytest", "tools/make"):
        file = tmp_path / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
    (tmp_path / ".venv/lib/python3.12/site-packages/pytest").mkdir(parents=True)
    (tmp_path / "shop").mkdir()
    return Here(str(tmp_path), {"PATH": os.fspath(tmp_path / "tools")})


@pytest.mark.parametrize(
    ("run", "executes", "local"),
    [
        ("python -m pytest -q", "", ".venv/bin/python -m pytest -q"),
        ("python -m unittest", "", ".venv/bin/python -m unittest"),
        ("python -m shop.check", "", ".venv/bin/python -m shop.check"),
        ("python -m tox -e py", "", ""),
        ("make test", "python -m pytest -q", ".venv/bin/python -m pytest -q"),
        ("make test", "tox", ""),
        ("make test", "uv run --python 3.11 pytest && uv run --python 3.12 pytest", ".venv/bin/pytest"),
        ("make test", "uv run --python 3.11 pytest && uv run pytest -x", ""),
        ("make test", "./check.sh && echo done", "make test"),
    ],
)
def test_what_starts_here(here, run, executes, local):
    """A module must be installed, and so must the tools that a script starts."""
    made = Candidate(layer="ci", run=run, kind="test", cwd=".", where="ci.yml:1", executes=executes)
    found = localise_candidate(made, here)
    assert (found.run if found.resolved else "") == local
