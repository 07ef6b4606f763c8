"""What only adds to a file that judges is welcome; what judges otherwise is not, however it is put."""

import pytest
from guardkit import facts_of, kinds_of, result_of

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import COLLECT
from ralph.gates.guards import overlay_request

MAKEFILE = "PY ?= python3\n\n.PHONY: test\ntest: deps\n\t./tools/check.sh $(PY)\n\ndeps:\n\ttrue\n"
MAKE = Gate(name="check", run="make test", argv=("make", "test"), proof=True, own_files=("Makefile",))
PROJECT = {"Makefile": MAKEFILE, "tools/check.sh": '#!/bin/sh\nexec "$1" tools/inner.sh\n', "a.py": "x = 1\n"}


@pytest.mark.parametrize(
    ("added", "found"),
    [
        ("\n.PHONY: lint\nlint:\n\t$(PY) -m compileall src\n", []),
        ("\n# a note\n", []),
        ("\nlint: test\n\ttrue\n", []),
        ("\ttrue\n", ["gate"]),
        ("\ntest:\n\ttrue\n", ["gate"]),
        ("\ntest: PY = true\n", ["gate"]),
        ("\nPY = true\n", ["gate"]),
        ("\nlint: PY = true\n", []),
        ("\ninclude more.mk\n", ["gate"]),
        ("\ndeps:\n\texit 0\n", ["gate"]),
        ("\nMakefile:\n\techo > Makefile\n", ["gate"]),
        ("\n%:\n\ttrue\n", ["gate"]),
        ("\n.SHELLFLAGS = -c true\n", ["gate"]),
    ],
)
def test_a_new_target_is_welcome(added, found):
    """A target more changes no other one; a rule, a variable or an include may."""
    after = PROJECT | {"Makefile": MAKEFILE + added}
    assert kinds_of("protected", PROJECT, after, gates=(MAKE,)) == found


def test_a_gate_is_made_of_what_its_recipe_calls():
    """The script behind the recipe is part of the check, and the overlay puts the base's version back."""
    after = PROJECT | {"tools/check.sh": "#!/bin/sh\nexit 0\n"}
    assert kinds_of("protected", PROJECT, after, gates=(MAKE,)) == ["gate"]
    request = overlay_request(facts_of(PROJECT, after, gates=(MAKE,)))
    assert request is not None
    assert request.restore == ("tools/check.sh",)


def test_a_file_that_goes_before_the_gate_s_own_is_found():
    """make reads a GNUmakefile before a Makefile, wherever the gate's own one stands."""
    after = PROJECT | {"GNUmakefile": "test:\n\ttrue\n"}
    assert kinds_of("protected", PROJECT, after, gates=(MAKE,)) == ["gate"]
    request = overlay_request(facts_of(PROJECT, after, gates=(MAKE,)))
    assert request is not None
    assert request.drop == ("GNUmakefile",)
    assert kinds_of("protected", PROJECT, PROJECT | {"lib/GNUmakefile": "x:\n"}, gates=(MAKE,)) == []


def test_settings_of_the_base_judge_the_new_source():
    """Whatever became of them accuses nobody: they are put back for the base's tests."""
    before = {"pyproject.toml": '[tool.pytest.ini_options]\nmarkers = ["a: a"]\n'}
    after = {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-k x"\n'}
    assert kinds_of("protected", before, after) == []
    request = overlay_request(facts_of(before, after))
    assert request is not None
    assert request.restore == ("pyproject.toml",)


NPM = Gate(name="check", run="npm test", argv=("npm", "test"), proof=True, own_files=("package.json",))
TOX = Gate(name="check", run="tox -e py311", argv=("tox", "-e", "py311"), own_files=("tox.ini",))
PACKAGE = '{"scripts": {"test": "jest", "lint": "eslint ."}, "jest": {"bail": 0}, "eslintConfig": {}}'
INI = (
    "[tox]\nenvlist = py311\n[testenv]\ncommands = pytest\n"
    "[testenv:docs]\ncommands = mkdocs\n[flake8]\nignore = E1\n"
)


@pytest.mark.parametrize(
    ("gate", "path", "old", "new", "found"),
    [
        (NPM, "package.json", '"eslint ."', '"eslint src"', []),
        (NPM, "package.json", '"eslintConfig": {}', '"eslintConfig": {"root": true}', []),
        (NPM, "package.json", '"bail": 0', '"testPathIgnorePatterns": ["a"]', ["gate"]),
        (NPM, "package.json", '"jest",', '"true",', ["gate"]),
        (NPM, "package.json", '"jest",', '"npx jest",', []),
        (NPM, "package.json", '"jest",', '"node_modules/.bin/jest",', []),
        (NPM, "package.json", '"jest",', '"npx -p other jest",', ["gate"]),
        (NPM, "package.json", '"jest",', '"npx jest -t none",', ["gate"]),
        (NPM, "package.json", '"lint"', '"posttest": "true", "lint"', ["gate"]),
        (TOX, "tox.ini", "ignore = E1", "ignore = E1, E2", []),
        (TOX, "tox.ini", "mkdocs", "mkdocs build", []),
        (TOX, "tox.ini", "commands = pytest", "commands = true", ["gate"]),
        (TOX, "tox.ini", "[flake8]", "[testenv:py311]\ncommands = true\n[flake8]", ["gate"]),
        (TOX, "tox.ini", "[flake8]", "[pytest]\naddopts = -k x\n[flake8]", ["gate"]),
    ],
)
def test_only_what_the_gate_reads_is_protected(gate, path, old, new, found):
    """Settings and scripts that the check never looks at are ordinary work, in whatever file they stand."""
    text = PACKAGE if path == "package.json" else INI
    assert kinds_of("protected", {path: text}, {path: text.replace(old, new)}, gates=(gate,)) == found


SHELL = Gate(name="check", run="sh check.sh", argv=("sh", "check.sh"), own_files=("check.sh",))


@pytest.mark.parametrize(
    ("gate", "path", "old", "new", "asks"),
    [
        (SHELL, "check.sh", "node a.js\n", "node a.js\nnode b.js\n", True),
        (SHELL, "check.sh", "set -e\nnode a.js\n", "# what\nset -e\nnode a.js && node b.js\n", True),
        (SHELL, "check.sh", "set -e\nnode a.js\n", "node a.js\n", False),
        (SHELL, "check.sh", "node a.js\n", "node b.js\n", False),
        (SHELL, "check.sh", "node a.js\n", "exit 0\nnode a.js\n", False),
        (SHELL, "check.sh", "node a.js\n", "node a.js || true\n", False),
        (SHELL, "check.sh", "node a.js\n", "node() { :; }\nnode a.js\n", False),
        (MAKE, "Makefile", "test:\n\tpytest\n", "test:\n\truff check .\n\tpytest\n", True),
        (MAKE, "Makefile", "test:\n\tpytest\n", "test:\n\t-pytest\n", False),
        (NPM, "package.json", PACKAGE, PACKAGE.replace('"jest",', '"jest && tsc",'), True),
        (NPM, "package.json", PACKAGE, PACKAGE.replace('"jest",', '"jest || true",'), False),
    ],
)
def test_a_step_more_is_a_question(gate, path, old, new, asks):
    """A check that does all that it did, and more, may be honest: nobody is accused."""
    (finding,) = result_of("protected", {path: old}, {path: new}, gates=(gate,)).findings
    assert finding.asks is asks


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
