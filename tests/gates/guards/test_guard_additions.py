"""What only adds to a file that judges is welcome; what judges otherwise is not, however it is put."""

import pytest
from guardkit import facts_of, kinds_of
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import COLLECT
from ralph.gates.guards import REGISTRY, attribution_request, inspect, overlay_request
from ralph.gates.guards._base.facts import Overlay

MAKEFILE = "PY ?= python3\n\n.PHONY: test\ntest: deps\n\t./tools/check.sh $(PY)\n\ndeps:\n\ttrue\n"
MAKE = Gate(name="check", run="make test", argv=("make", "test"), proof=True, own_files=("Makefile",))
PROJECT = {"Makefile": MAKEFILE, "tools/check.sh": '#!/bin/sh\nexec "$1" tools/inner.sh\n', "a.py": "x = 1\n"}


NO_TESTS = Reading("error", "", cause="no-tests")
GREEN, RED = Reading("pass", ""), Reading("fail", "")


@pytest.mark.parametrize(
    ("base", "fields", "found"),
    [
        (RED, {}, []),
        (GREEN, {}, []),
        (NO_TESTS, {}, [True]),
        (RED, {"proof": False}, [True]),
        (GREEN, {"proof": False}, []),
        (GREEN, {"proof": False, "required": False}, [True]),
    ],
)
def test_a_gate_s_own_files_are_asked_about_where_no_experiment_answers(base, fields, found):
    """They are put back for the base's tests; a question where the base says nothing to hold that against."""
    given = facts_of(PROJECT, PROJECT | {"Makefile": "test:\n\ttrue\n"}, gates=(replace(MAKE, **fields),))
    given = replace(given, base={"check": base})
    assert [one.asks for one in inspect(given, {"x": REGISTRY["protected"]})[0].findings] == found
    request = overlay_request(given)
    assert request is not None
    assert request.restore == ("Makefile",)


@pytest.mark.parametrize(("base", "alone", "found"), [(RED, GREEN, 1), (RED, RED, 0), (GREEN, GREEN, 0)])
def test_a_check_that_is_green_over_the_base_by_its_own_files_is_asked_about(base, alone, found):
    """The source may be right: the check no longer says when it is not."""
    after = PROJECT | {"tools/check.sh": "#!/bin/sh\ntrue\n"}
    given = facts_of(PROJECT, after, gates=(MAKE,), attributed={"check": alone}, overlay={"check": GREEN})
    assert attribution_request(given) == Overlay(("tools/check.sh",), ())
    (result,) = inspect(replace(given, base={"check": base}), {"x": REGISTRY["base_tests"]})
    assert [one.asks for one in result.findings] == [True] * found


def test_a_gate_is_made_of_what_its_recipe_calls():
    """The script behind the recipe is part of the check, and the overlay puts the base's version back."""
    after = PROJECT | {"tools/check.sh": "#!/bin/sh\nexit 0\n"}
    request = overlay_request(facts_of(PROJECT, after, gates=(MAKE,)))
    assert request is not None
    assert request.restore == ("tools/check.sh",)


def test_a_file_that_goes_before_the_gate_s_own_is_found():
    """make reads a GNUmakefile before a Makefile, wherever the gate's own one stands."""
    after = PROJECT | {"GNUmakefile": "test:\n\ttrue\n"}
    request = overlay_request(facts_of(PROJECT, after, gates=(MAKE,)))
    assert request is not None
    assert request.drop == ("GNUmakefile",)
    assert overlay_request(facts_of(PROJECT, PROJECT | {"lib/GNUmakefile": "x:\n"}, gates=(MAKE,))) is None


def test_settings_of_the_base_judge_the_new_source():
    """Whatever became of them accuses nobody: they are put back for the base's tests."""
    before = {"pyproject.toml": '[tool.pytest.ini_options]\nmarkers = ["a: a"]\n'}
    after = {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-k x"\n'}
    assert kinds_of("protected", before, after) == []
    request = overlay_request(facts_of(before, after))
    assert request is not None
    assert request.restore == ("pyproject.toml",)


@pytest.mark.parametrize(
    ("after", "run", "found"),
    [
        ("def f(a: Any, b: str) -> int: ...", "mypy src", ["grown"]),
        ("def f(a: int, b: str) -> typing.Any: ...", "pyright", ["grown"]),
        ("Cents = Any\ndef f(a: Cents, b: str) -> int: ...", "mypy src", ["grown"]),
        ("from typing import Any as C\ndef f(a: C, b: str) -> int: ...", "mypy src", ["grown"]),
        ("C: TypeAlias = typing.Any\ndef f(a: C, b: str) -> int: ...", "mypy src", ["grown"]),
        ("Cents = int\ndef f(a: Cents, b: str) -> int: ...", "mypy src", []),
        ("def f(a: Any, b: str) -> int: ...", "pytest", []),
        ("def f(a: int | None, b: str) -> int: ...", "mypy src", []),
        ("def g(x: Any) -> Any: ...", "mypy src", []),
    ],
)
def test_an_annotation_that_became_any(after, run, found):
    """Where a gate relies on types, Any in place of a type silences it; a new function may have reasons."""
    gate = Gate(name="types", run=run, argv=tuple(run.split()), proof=True)
    before = {"src/a.py": "def f(a: int, b: str) -> int: ...\n"}
    assert (
        kinds_of("suppressions", before, {"src/a.py": f"from typing import Any\n{after}\n"}, gates=(gate,))
        == found
    )


LOSING = (
    "import os\nfrom app import one, two\n\nX = 1\n\n\ndef test_one():\n    assert one() == 1\n\n\n"
    "def test_two():\n    assert two() == 2\n"
)


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (
            "import os\nfrom app import one\n\nX = 1\n\n\ndef test_one():\n    assert one() == 1\n",
            ["deleted"],
        ),
        (
            "from fake import one\n\nX = 1\n\n\ndef test_one():\n    assert one() == 1\n",
            ["deleted", "weakened"],
        ),
        (
            "from app import one\n\nX = 2\n\n\ndef test_one():\n    assert one() == 1\n",
            ["deleted", "weakened"],
        ),
        ("from app import one\n\n\ndef test_one():\n    assert one() in (1, 2)\n", ["deleted", "weakened"]),
    ],
)
def test_a_test_that_lost_its_neighbour_is_not_weakened(after, found):
    """When a function goes with its test, the base's file cannot be loaded; the rest of it is the same."""
    path = "tests/test_a.py"
    both = {f"{path}::test_one": "pass", f"{path}::test_two": "pass"}
    base = Reading("pass", "", tests=both, files=dict.fromkeys(both, path))
    final = Reading("pass", "", tests={f"{path}::test_one": "pass"}, files={f"{path}::test_one": path})
    over = Reading("fail", "", tests={}, findings=(Finding(f"{COLLECT}{path}", "no two"),))
    kinds = kinds_of(
        "inventory",
        {path: LOSING},
        {path: after},
        base={"tests": base},
        final={"tests": final},
        overlay={"tests": over},
    )
    assert kinds == found
