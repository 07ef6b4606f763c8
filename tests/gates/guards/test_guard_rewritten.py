"""A check that writes over the tree it judges: whose file, and did the base's call do the same?"""

import pytest
from guardkit import PYTEST, facts_of
from msgspec.structs import replace

from ralph.core.model.verdict import Reading
from ralph.gates.guards import REGISTRY, inspect

RAN = Reading("fail", "", tests={"t::a": "fail"})
GREEN = Reading("pass", "", tests={"t::a": "pass"})
FILES = {"tests/test_a.py": "a\n", "src/a.py": "1\n", "docs/api.json": "{}\n"}
CASES = {
    "a test of the base": (("tests/test_a.py",), RAN, FILES, {"protected.rewritten": False}),
    "a test that the work brought": (
        ("tests/test_b.py",),
        RAN,
        {**FILES, "tests/test_b.py": "b\n"},
        {"protected.rewritten": True},
    ),
    "a snapshot": (("tests/__snapshots__/a.snap",), RAN, FILES, {"protected.rewritten": True}),
    "the base never ran": (("tests/test_a.py",), Reading("error", ""), FILES, {"protected.rewritten": True}),
    "a document": (("docs/api.json",), RAN, FILES, {"protected.rewritten": True}),
    "a habit of the base": (
        ("docs/api.json", "tests/test_a.py"),
        replace(RAN, written=("docs/api.json", "tests/test_a.py")),
        FILES,
        {},
    ),
    "what a build makes, and the work swept in": (
        ("out/page.txt",),
        RAN,
        {**FILES, "out/page.txt": "1\n"},
        {},
    ),
    "nothing": ((), RAN, FILES, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_who_is_asked_and_who_is_accused(name):
    """Only code that judges, that nobody changed and that the base's call left alone, accuses."""
    written, base, after, expected = CASES[name]
    facts = facts_of(
        FILES,
        {**after, "src/a.py": "2\n"},
        gates=(PYTEST,),
        base={"tests": base},
        final={"tests": replace(GREEN, written=written)},
    )
    (result,) = inspect(facts, {"protected": REGISTRY["protected"]})
    assert {finding.key.split(":")[0]: finding.asks for finding in result.findings} == expected
