"""A change with a test of its own, and what its tests said."""

from guardkit import facts_of

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading

OLD, NEW = (
    "def add(a, b):\n    return a + b\n",
    "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b\n",
)
OLD_TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n"
NEW_TEST = (
    OLD_TEST.replace("import add", "import add, mul") + "\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"
)
BEFORE = {"calc.py": OLD, "tests/test_a.py": OLD_TEST}
AFTER = {"calc.py": NEW, "tests/test_a.py": NEW_TEST}
ADD, MUL = "tests/test_a.py::test_add", "tests/test_a.py::test_mul"
FEATURE = {"task_class": "implement-feature"}


def read(tests=None, said=None, status="", **more):
    """A reading; `said`: what each red test, or a file that could not be loaded, said."""
    said = said or {}
    if not status:
        status = "fail" if said or "fail" in (tests or {}).values() else "pass"
    files = {name: name.split("::")[0] for name in tests or {}}
    findings = tuple(Finding(key, text) for key, text in said.items())
    return Reading(status, "", tests=tests, findings=findings, files=files, **more)


FINAL = {"tests": read({ADD: "pass", MUL: "pass"})}
BASE = {"tests": read({ADD: "pass"})}


def given(before=None, after=None, **fields):
    fields = {"base": BASE, "final": FINAL, **FEATURE, **fields}
    return facts_of(BEFORE if before is None else before, AFTER if after is None else after, **fields)


BY_EXIT = Gate("tests", "make test", ("make", "test"), proof=True)
