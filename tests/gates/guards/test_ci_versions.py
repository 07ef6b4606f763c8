"""Workflows that run the same commands at other versions are nobody's question."""

import time

import pytest

from ralph.gates.guards._parts.ci_versions import only_versions_moved

OLD = """on: push
jobs:
  test:
    runs-on: ubuntu-22.04
    strategy:
      matrix:
        python-version: ["3.8", "3.9"]
    uses: some/workflows/.github/workflows/ci.yml@v3
    steps:
      - run: make test
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("@v3", "@v4.2.1", True),
        ('["3.8", "3.9"]', '["3.9", "3.10", "3.13t"]', True),
        ('["3.8", "3.9"]', "3.12", True),
        ("ubuntu-22.04", "ubuntu-latest", True),
        ("    steps:", '    node-versions: \'["16", "18", "20"]\'\n    steps:', True),
        ('        python-version: ["3.8", "3.9"]\n', "", True),
        ("make test", "make lint", False),
        ("some/workflows", "other/workflows", False),
        ("    steps:", "    continue-on-error: true\n    steps:", False),
        ("      - run: make test\n", "", False),
        ("on: push", "on: workflow_dispatch", False),
        ('["3.8", "3.9"]', "[$(curl x)]", False),
    ],
)
def test_what_differs(old, new, same):
    """Versions and the keys that only hold versions may differ, be added and go; nothing else."""
    assert old in OLD
    assert only_versions_moved(OLD, OLD.replace(old, new)) is same


def test_a_long_line_is_read_in_linear_time():
    """What an agent writes cannot hold the judgement up."""
    began = time.process_time()
    for piece in ("1", "1.", "'1'", "1,", "1 ,", "[", "py"):
        assert not only_versions_moved(OLD, f"{OLD}python-version: {piece * 20_000}!\n")
    assert time.process_time() - began < 20
