"""The world of each end-to-end test; see kit.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kit import Place


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """One home for all tests of a worker: no test may leave anything in it."""
    return tmp_path_factory.mktemp("user") / "home"


@pytest.fixture
def place(tmp_path, home):
    made = Place(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()
