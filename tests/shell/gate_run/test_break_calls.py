"""Who is asked whether broken code is noticed: new tests first, everybody else only when they are silent."""

from types import SimpleNamespace

import pytest
from canarykit import gate
from gitkit import begin, make_repo
from guardkit import facts_of
from msgspec.structs import replace

from ralph.core.model.verdict import Reading, Verdict
from ralph.shell.gate_run.answers import Heard
from ralph.shell.gate_run.experiments import break_calls
from ralph.shell.gate_run.schedule import Lab, perform

PYTEST = gate("python3 -m pytest -q")
OLD, NEW = "tests/test_old.py", "tests/test_new.py"
BASE = {"calc.py": "def add(a, b):\n    return a + b\n", OLD: "from calc import add\n"}
RESULT = {
    "calc.py": BASE["calc.py"] + "\n\ndef half(a):\n    return a // 2\n",
    OLD: BASE[OLD],
    NEW: "# new\n",
}
TESTS = {f"{OLD}::test_add": OLD, f"{NEW}::test_half": NEW}


def reading(**states):
    """By the name of a test: its state; what is left out was not called."""
    tests = {name: states[name.split("::test_")[1]] for name in TESTS if name.split("::test_")[1] in states}
    status = "fail" if "fail" in tests.values() else "pass"
    return Reading(status, "", tests=tests, files={name: TESTS[name] for name in tests})


class Broken:
    """Answers each call over broken code from a list, and notes which files it looked at."""

    def __init__(self, loop, told):
        order = SimpleNamespace(base=SimpleNamespace(tree=loop.start.base_tree))
        self.site = SimpleNamespace(store=loop.store, order=order)
        self.asked = []
        self._told = iter(told)

    def hear(self, wanted, tree, attend):
        while wanted:
            call = wanted.pop(0)
            self.asked.append((call.stage, [word for word in call.gate.argv if word.endswith(".py")]))
            yield Heard(call, next(self._told), marks=b"")

    def slot(self, gate, purpose):
        return purpose

    def marks_path(self, slot):
        return "/tmp/r/marks"


@pytest.mark.parametrize(
    ("base", "told", "asked"),
    [
        # A new test that notices: nobody else is asked.
        (reading(add="pass"), [reading(half="fail")], [[NEW]]),
        # It does not: an old one may look at what was changed.
        (reading(add="pass"), [reading(half="pass"), reading(add="fail", half="pass")], [[NEW], [NEW, OLD]]),
        # A test that turned green is asked, and no other.
        (reading(add="fail"), [reading(add="fail", half="pass")], [[OLD]]),
    ],
)
def test_who_is_asked_about_broken_code(tmp_path, base, told, asked):
    loop = begin(make_repo(tmp_path / "r", RESULT), tmp_path / "s")
    judge = Broken(loop, told)
    final = reading(add="pass", half="pass")
    facts = facts_of(
        BASE, RESULT, base={"tests": base}, final={"tests": final}, gates=(PYTEST,), known=(OLD,), confirm=3
    )
    facts = replace(facts, tree=loop.start.base_tree)
    lab = Lab(judge, facts, {"tests": Verdict("tests", "t", "final", "pass", seconds=1.0)})
    assert perform(lab, break_calls.plan(lab), lambda activity: False)
    assert [sorted(files) for stage, files in judge.asked if stage == "broken-after"] == asked
    assert lab.tried.breaks[PYTEST.name]["after"].red
