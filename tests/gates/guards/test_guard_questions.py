"""Questions put together, and workflows that only raise versions."""

import pytest
from guardkit import facts_of, kinds_of, read_as

from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.text.waiver_name import waiver_name
from ralph.gates.guards import REGISTRY, inspect

PATH = "tests/test_a.py"
TESTS = {f"test_x[{case}]": "pass" for case in "abcde"} | {"test_y": "pass", "test_z": "pass"}
TEXT = "def test_x(): assert f()\n\n\ndef test_y(): assert f()\n\n\ndef test_z(): assert f()\n"


def gone(left, waivers=(), base=TESTS):
    """The keys asked about when only these tests are left."""
    final = {name: state for name, state in TESTS.items() if name in left}
    red = {name: "pass" if name in left else "fail" for name in base}
    given = facts_of(
        {PATH: TEXT},
        {PATH: "def test_z(): assert f()\n"},
        base=read_as(**base),
        final=read_as(**final),
        overlay=read_as(**red),
        waivers=dict.fromkeys(waivers, "meant"),
    )
    return [(finding.key, finding.asks) for finding in REGISTRY["inventory"](given).findings]


def test_all_cases_of_a_test_are_one_question():
    """Five cases of one test that are gone are one question; two tests are two."""
    assert gone(["test_y", "test_z"]) == [(f"inventory.deleted:{PATH}::test_x", True)]
    assert gone(["test_z"]) == [
        (f"inventory.deleted:{PATH}::test_x", True),
        (f"inventory.deleted:{PATH}::test_y", True),
    ]


def test_whole_file_is_one_question():
    """A file whose tests are all gone is asked about once, by its own name."""
    assert gone([]) == [(f"inventory.deleted:{PATH}", True)]


def test_answered_by_name_stays_apart():
    """What was waived by the name of one test is not put into a larger question."""
    key = f"inventory.deleted:{PATH}::test_y"
    assert (key, True) in gone([], waivers=[key])
    assert (f"inventory.deleted:{PATH}", True) not in gone([], waivers=[key])


@pytest.mark.parametrize(
    ("title", "waiver", "settled"),
    [
        ("parses a=b", "parses a=b", True),  # as the journal has it
        ("parses a=b", "parses a b", True),  # as the screen offers it
        ("bad types:  ", "bad types:", True),
        ("x" * 400, "x" * 300, True),
        ("parses > [a] key", "parses > [a] key", True),
        ("parses > [a] key", "parses > [b] key", False),
        ("parses > a key", "parses", True),  # all that stands in it
        ("parses > a key", "test/a.test.js", True),  # its file, though its id does not name it
        ("parses > a key", "test/b.test.js", False),
        ("parses > a key", "pars", False),
    ],
)
def test_a_question_can_be_granted_whatever_its_title(title, waiver, settled):
    """What the screen offers is typed by a user, and settles just that."""
    finding = Finding(f"inventory.weakened:{title}", "it asks for less", path="test/a.test.js", asks=True)
    facts = facts_of({}, {}, waivers={f"inventory.weakened:{waiver_name(waiver)}": "meant"})
    (result,) = inspect(facts, {"inventory": lambda _: GuardResult("inventory", "t", True, "", (finding,))})
    assert (result.findings == ()) is settled


def test_accusations_are_never_joined():
    """A test that was red and is gone accuses by its own name, whatever else is asked about."""
    found = gone(["test_z"], base={**TESTS, "test_x[c]": "fail"})
    assert found[0] == (f"inventory.deleted:{PATH}::test_x[c]", False)
    assert (f"inventory.deleted:{PATH}::test_x", True) in found
    assert all(asks for key, asks in found[1:])


CI = """\
on: [push]
jobs:
  test:
    runs-on: ubuntu-20.04
    strategy:
      matrix:
        python-version: ["3.7", "3.8", "pypy-3.9"]
        node:
          - 16
          - 18
    steps:
      - uses: actions/checkout@v3  # the code
      - uses: actions/setup-python@v4
        with:
          python-version: ${{ matrix.python-version }}
      - run: pytest --cov-fail-under=90
"""


@pytest.mark.parametrize(
    ("old", "new", "asks"),
    [
        ('["3.7", "3.8", "pypy-3.9"]', '["3.8", "3.13-dev"]', False),
        ("ubuntu-20.04", "ubuntu-latest", False),
        ("checkout@v3  # the code", "checkout@8f4b7f84864484a7bf31766abe9204da3cbe65b3", False),
        ("          - 16\n", "", False),
        ("          - 18\n", "          - 18\n          - 20.x\n", False),
        ("checkout@v3", "checkout-fast@v3", True),
        ("--cov-fail-under=90", "--cov-fail-under=9", True),
        ("pytest --cov", "pytest || true --cov", True),
        ("      - run: pytest --cov-fail-under=90\n", "", True),
        ("on: [push]", "on: [workflow_dispatch]", True),
        ("    runs-on", "    continue-on-error: true\n    runs-on", True),
        ("- run: pytest --cov-fail-under=90", "# - run: pytest --cov-fail-under=90", True),
    ],
)
def test_workflow_at_other_versions(old, new, asks):
    """A workflow that runs the same at other versions is no question; any other change of it is."""
    assert CI.count(old) == 1
    path = ".github/workflows/ci.yml"
    found = kinds_of("protected", {path: CI}, {path: CI.replace(old, new)})
    assert found == (["ci"] if asks else [])
