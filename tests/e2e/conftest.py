"""The world of each end-to-end test; see kit.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kit import Place
from shapekit import Shape


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """One home for all tests of a worker: no test may leave anything in it."""
    return tmp_path_factory.mktemp("user") / "home"


# Repeating the verdict, canaries and the double baseline are shown elsewhere; here they would only take time.
ONCE = {"boxes", "gates", "hidden", "honest", "hostile", "limits", "plain", "start", "stops"}


@pytest.fixture
def place(tmp_path, home, request):
    made = Place(tmp_path / "w", home, seen=home.parent / "protection.json")
    made.once = request.module.__name__.removeprefix("test_agents_") in ONCE
    yield made
    made.kill_all()


@pytest.fixture
def shape(tmp_path, home):
    made = Shape(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()
