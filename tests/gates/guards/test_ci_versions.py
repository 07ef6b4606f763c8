"""Workflows that run the same commands at other versions are nobody's question."""

import time

import pytest

from ralph.gates.guards._parts.ci_versions import only_versions_moved, versions_told

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
        ("    steps:", '          "3.9", "3.10",\n          "3.13",\n    steps:', True),
        (
            "uses: some/workflows/.github/workflows/ci.yml@v3",
            'uses: "some/workflows/.github/workflows/ci.yml@v4"',
            True,
        ),
        ("    steps:", "      fail-fast: false\n    steps:", True),
        (
            "    steps:",
            "      include:\n        - {name: \"3.9 on Mac\", python: '3.9', os: macos-latest}\n    steps:",
            False,
        ),
        ("    steps:", "        - {name: \"3.9 on Mac\", python: '3.9', os: macos-latest}\n    steps:", True),
        ("    steps:", "        - {python: '3.9', run: 'true'}\n    steps:", False),
        ('python-version: ["3.8", "3.9"]', 'rust: ["1.56", beta, stable]', True),
        ("    steps:", "      matrix:\n        - go: 1.11.x\n        - go: tip\n    steps:", False),
        ("    steps:", "        - go: 1.11.x\n        - go: tip\n    steps:", True),
        ("    steps:", "    timeout-minutes: 1\n    steps:", False),
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


WITH_ROWS = OLD.replace(
    "      - run: make test",
    "      - run: tox -e py39\n        if: matrix.python-version == '3.9'\n      - run: make test",
)


@pytest.mark.parametrize(
    ("task", "old", "new", "same"),
    [
        ("Drop Python 3.9, add 3.10", "'3.9'", "'3.10'", True),
        ("Drop Python 3.9, add 3.10", "py39", "py310", True),
        ("Drop Python 3.9, add 3.10", "make test", "true", False),
        ("Drop Python 3.9, add 3.10", "if: matrix.python-version == '3.9'", "if: false", False),
        ("Drop Python 3.9, add 3.10", "    steps:", "    continue-on-error: true\n    steps:", False),
        ("Drop Python 3.9, add 3.10", "      - run: tox -e py39\n", "", False),
        ("Make the tests pass in CI", "'3.9'", "'3.10'", False),
        ("fix CI", "py39", "py310", False),
    ],
)
def test_what_goes_with_a_version_that_the_task_names(task, old, new, same):
    """Conditions and environments by version move with it; commands, other conditions and steps stay."""
    assert old in WITH_ROWS
    assert versions_told(task, WITH_ROWS, WITH_ROWS.replace(old, new)) is same


def test_a_long_line_is_read_in_linear_time():
    """What an agent writes cannot hold the judgement up."""
    began = time.process_time()
    for piece in ("1", "1.", "'1'", "1,", "1 ,", "[", "py", " ", "1 - ", "V,", "py3"):
        for lead in ("python-version:", "- {python:", "- {name: a", ""):
            for many in (20_000, 250 // len(piece)):
                new = f"{OLD}{lead} {piece * many}!\n"
                assert not only_versions_moved(OLD, new)
                versions_told("Python 3.9", OLD, new)
    assert time.process_time() - began < 20
