"""Guards on hand-made facts: each rule by itself."""

import pytest
from guardkit import nest_tried

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Counts, Finding, Reading
from ralph.gates.guards import (
    CALLED,
    READ,
    REGISTRY,
    Change,
    GuardFacts,
    inspect,
    overlay_request,
)
from ralph.gates.guards._base.facts import Overlay
from ralph.gates.judging_paths import is_test, matches

PYTEST = Gate(name="tests", run="pytest -q", argv=("pytest", "-q"), read="pytest", proof=True)


def facts(*, base=None, final=None, overlay=None, changes=(), old=None, new=None, gates=(PYTEST,), **fields):
    old = {path: text.encode() for path, text in (old or {}).items()}
    new = {path: text.encode() for path, text in (new or {}).items()}
    return GuardFacts(
        tree="t",
        gates=gates,
        base=base or {},
        final=final or {},
        changes=changes,
        read_base=old.get,
        read_result=new.get,
        **nest_tried({"overlay": overlay, **fields}),
    )


def reading(tests, status="", files=None, **fields):
    status = status or ("fail" if "fail" in tests.values() else "pass")
    paths = files or {name: name.split("::")[0] for name in tests}
    return Reading(status, "", tests=tests, files=paths, **fields)


def keys(name, given):
    return [finding.key for finding in REGISTRY[name](given).findings]


NAME = "tests/test_a.py::test_x"
P, F, S, GONE = "pass", "fail", "skipped", None


@pytest.mark.parametrize(
    ("base", "final", "over", "kind"),
    [
        # no overlay was needed
        (P, P, "none", ""),
        (P, F, "none", ""),
        (P, S, "none", "skipped"),
        (P, GONE, "none", "deleted"),
        (F, P, "none", ""),
        (F, S, "none", "skipped"),
        (F, GONE, "none", "deleted"),
        (S, S, "none", ""),
        (S, P, "none", ""),
        (S, GONE, "none", "deleted"),
        # the base's version passes over the new source
        (P, P, P, ""),
        (P, GONE, P, ""),
        (P, S, P, "skipped"),
        (F, P, P, ""),
        (F, GONE, P, ""),
        (F, S, P, "skipped"),
        (S, GONE, P, ""),
        # it fails there
        (P, P, F, "weakened"),
        (P, F, F, ""),
        (P, GONE, F, "deleted"),
        (P, S, F, "skipped"),
        (F, P, F, "weakened"),
        (F, F, F, ""),
        (F, GONE, F, "deleted"),
        (F, S, F, "skipped"),
        # it is not there, or skipped by the new source
        (P, P, GONE, "weakened"),
        (F, P, GONE, "weakened"),
        (P, P, S, "skipped"),
        (F, GONE, S, "deleted"),
        (S, S, S, ""),
        (S, GONE, S, "deleted"),
    ],
)
def test_inventory_law(base, final, over, kind):
    """The law of the inventory, state by state."""
    others = {"tests/test_a.py::other": "pass"}

    def with_state(state):
        return reading({**others, **({NAME: state} if state else {})})

    overlay = None if over == "none" else {"tests": with_state(over)}
    given = facts(base={"tests": with_state(base)}, final={"tests": with_state(final)}, overlay=overlay)
    assert keys("inventory", given) == ([f"inventory.{kind}:{NAME}"] if kind else [])


def test_inventory_module_skipped_as_a_whole():
    """A module-level skip hides all its tests: each is named, even though their base versions pass."""
    base = {"tests": reading({NAME: "pass", "b.py::t": "pass"})}
    final = {"tests": reading({"tests/test_a.py": "skipped", "b.py::t": "pass"})}
    given = facts(base=base, final=final, overlay=base)
    assert keys("inventory", given) == [f"inventory.skipped:{NAME}"]
    back = facts(base=final, final=base)
    assert keys("inventory", back) == []


def test_inventory_moved_with_the_same_body():
    """A test that moved with its package passes under its new id; a changed body is no move."""
    body = "def test_x():\n    assert f() == 1\n"
    base = {"tests": reading({"old/test_a.py::test_x": "pass"})}
    final = {"tests": reading({"new/test_a.py::test_x": "pass"})}
    over = {"tests": reading({"new/test_b.py::test_b": "pass"})}
    old = {"old/test_a.py": body}
    same = facts(base=base, final=final, overlay=over, old=old, new={"new/test_a.py": f"# moved\n{body}"})
    assert keys("inventory", same) == []
    other = facts(
        base=base, final=final, overlay=over, old=old, new={"new/test_a.py": body.replace("1", "f()")}
    )
    assert keys("inventory", other) == ["inventory.deleted:old/test_a.py::test_x"]


def test_inventory_aborted_collections_accuse_nobody():
    """A collection that broke off is red by itself; tests it did not reach are not called deleted."""
    base = {"tests": reading({NAME: "pass", "b.py::t": "pass"})}
    broken = reading({}, "fail", findings=(Finding("collect:b.py", "m"),))
    assert keys("inventory", facts(base=base, final={"tests": broken})) == []
    assert keys("inventory", facts(base=base, final=base, overlay={"tests": broken})) == [
        "inventory.weakened:b.py::t"
    ]


def test_inventory_without_ids():
    """Counts are compared where ids are unknown; with neither, the guard says that it did not apply."""
    many, few = (Reading("pass", "", counts=Counts(passed=n)) for n in (9, 7))
    assert keys("inventory", facts(base={"tests": many}, final={"tests": few})) == ["inventory.fewer:tests"]
    assert keys("inventory", facts(base={"tests": few}, final={"tests": many})) == []
    blind = REGISTRY["inventory"](
        facts(base={"tests": Reading("pass", "")}, final={"tests": Reading("pass", "")})
    )
    assert (blind.applied, blind.findings) == (False, ())
    assert "unknown" in blind.summary
    lost = facts(base={"tests": reading({NAME: "pass"})}, final={"tests": Reading("pass", "")})
    assert keys("inventory", lost) == ["inventory.unknown:tests"]


KEEP = Gate(name="keep", run="x", argv=("x",))
RED = Reading("fail", "exit code 1", findings=(Finding("exit", "m"),))
GREEN = Reading("pass", "")
NO_TESTS = Reading("error", "", cause="no-tests", findings=(Finding("exit", "m"),))


@pytest.mark.parametrize(
    ("gate", "base", "over", "red"),
    [
        (PYTEST, RED, GREEN, False),
        (PYTEST, RED, RED, True),
        (PYTEST, GREEN, RED, True),
        (PYTEST, NO_TESTS, NO_TESTS, False),  # the agent brought the only tests: nothing of the base to run
        (PYTEST, RED, NO_TESTS, True),
        (PYTEST, reading({"a": F}), reading({"a": F}), True),
        (KEEP, RED, RED, False),  # red before and outside the criterion
        (KEEP, GREEN, RED, True),
        (KEEP, reading({"a": F, "b": P}), reading({"a": F, "b": P}), False),
        (KEEP, reading({"a": F, "b": P}), reading({"a": F, "b": F}), True),
        (KEEP, RED, NO_TESTS, True),
    ],
)
def test_base_tests_law(gate, base, over, red):
    """Proof gates are green over the new source, keep-green gates have nothing newly red."""
    given = facts(gates=(gate,), base={gate.name: base}, final={gate.name: GREEN}, overlay={gate.name: over})
    assert bool(keys("base_tests", given)) == red


def test_red_that_nobody_hides():
    """Red before, over the new source and in the result itself accuses nobody; other red does."""
    old, more = reading({"a": F, "b": P}), reading({"a": F, "b": F})
    given = {"base": {"tests": old}, "final": {"tests": old}}
    assert keys("base_tests", facts(overlay={"tests": old}, **given)) == []
    assert keys("base_tests", facts(overlay={"tests": more}, **given)) == ["base_tests.red:b"]


def test_base_tests_that_were_not_run_are_a_finding():
    """An overlay that lacks a required gate proves nothing about it."""
    assert keys("base_tests", facts(overlay={})) == ["base_tests.missing:tests"]
    assert keys("base_tests", facts(overlay=None)) == []


PYPROJECT = '[project]\nname = "x"\ndependencies = []\n[tool.pytest.ini_options]\naddopts = "-q"\n'
PACKAGE = '{"name":"x","scripts":{"test":"node --test"},"dependencies":{}}'
SETUP = "[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n"
OWN = Gate(name="own", run="./check.sh", argv=("./check.sh",), own_files=("check.sh", "package.json"))


@pytest.mark.parametrize(
    ("status", "path", "old", "new", "key"),
    [
        ("M", "ralph.toml", "a", "b", "protected.ralph"),
        ("A", "sub/ralph.toml", None, "b", "protected.ralph"),
        ("M", ".github/workflows/ci.yml", "a", "b", "protected.ci"),
        ("A", ".github/workflows/new.yml", None, "b", ""),
        ("M", ".gitlab-ci.yml", "a", "b", "protected.ci"),
        ("M", "Jenkinsfile", "a", "b", "protected.ci"),
        ("M", "check.sh", "a", "b", "overlay"),
        ("D", "check.sh", "a", None, "overlay"),
        ("M", "conftest.py", "a", "b", "overlay"),
        ("M", "tests/conftest.py", "a", "b", "overlay"),
        ("A", "tests/conftest.py", None, "b", ""),
        ("M", "pytest.ini", "a", "b", "overlay"),
        ("D", "pytest.ini", "a", None, "overlay"),
        ("M", "pytest.ini", "a", "a", ""),
        ("M", ".coveragerc", "a", "b", "overlay"),
        ("M", "mypy.ini", "a", "b", "overlay"),
        ("M", "ruff.toml", "a", "b", "overlay"),
        ("M", "web/jest.config.ts", "a", "b", "overlay"),
        ("M", "vite.config.ts", "a", "b", ""),
        ("M", "vite.config.ts", "test: {}", "test: { exclude }", "overlay"),
        ("M", ".eslintrc.json", "a", "b", "overlay"),
        ("M", "tsconfig.json", "a", "b", "overlay"),
        ("M", "pyproject.toml", PYPROJECT, PYPROJECT.replace("[]", '["rich"]'), ""),
        ("M", "pyproject.toml", PYPROJECT, "# comment\n" + PYPROJECT.replace('= "-q"', "=   '-q'"), ""),
        ("M", "pyproject.toml", PYPROJECT, PYPROJECT.replace("-q", "-q --deselect x"), "overlay"),
        ("M", "pyproject.toml", PYPROJECT, PYPROJECT + "[tool.ralph]\n", "protected.ralph"),
        (
            "M",
            "pyproject.toml",
            PYPROJECT,
            PYPROJECT + '[project.entry-points.pytest11]\nx = "y"\n',
            "overlay",
        ),
        ("M", "pyproject.toml", PYPROJECT, "not toml [", "overlay"),
        ("D", "pyproject.toml", PYPROJECT, None, "overlay"),
        ("M", "setup.cfg", SETUP, SETUP.replace("name = x", "name = y"), ""),
        ("M", "setup.cfg", SETUP, SETUP.replace("-q", "-k nothing"), "overlay"),
        (
            "M",
            "tox.ini",
            "[testenv]\ncommands = pytest\n",
            "[testenv]\ncommands = true\n",
            "overlay",
        ),
        ("M", "package.json", PACKAGE, PACKAGE.replace('s":{}', 's":{"left-pad":"1"}'), ""),
        ("M", "package.json", PACKAGE, PACKAGE.replace("node --test", "true"), "overlay"),
        ("M", "package.json", PACKAGE, PACKAGE.replace('test"}', 'test","fmt":"x"}'), ""),
        ("M", "package.json", PACKAGE, PACKAGE.replace('test"}', 'test","pretest":"x"}'), "overlay"),
        ("M", "package.json", PACKAGE, PACKAGE.replace('"name"', '"jest":{},"name"'), "overlay"),
        ("M", "docs/deep/a.md", "a", "b", "protected.path"),
        ("A", "docs/a.md", None, "b", "protected.path"),
        ("M", "tests/test_a.py", "a", "b", ""),
        ("D", "tests/test_a.py", "a", None, ""),
        ("M", "src/app.py", "a", "b", ""),
    ],
)
def test_protected_law(status, path, old, new, key):
    """What judges the work must not be edited by it; ordinary work beside it is welcome."""
    given = facts(
        gates=(OWN,),
        changes=(Change(status, path),),
        old={path: old} if old is not None else {},
        new={path: new} if new is not None else {},
        protect=("docs/**",),
    )
    assert keys("protected", given) == ([f"{key}:{path}"] if key not in ("", "overlay") else [])
    if key == "overlay":  # settings accuse nobody: the new source is judged by those of the base
        request = overlay_request(given)
        assert request is not None
        assert path in request.restore


def test_settings_moved_away_come_back():
    """A runner's settings under another name are put back for the base's tests."""
    given = facts(
        changes=(Change("R", "old.ini", "pytest.ini"),), old={"pytest.ini": "a"}, new={"old.ini": "a"}
    )
    assert keys("protected", given) == []
    assert overlay_request(given) == Overlay(("pytest.ini",), ())


@pytest.mark.parametrize(
    ("changes", "overlay"),
    [
        ((), None),
        ((Change("M", "src/app.py"), Change("A", "src/new.py")), None),
        ((Change("M", "tests/test_a.py"),), Overlay(("tests/test_a.py",), ())),
        ((Change("D", "tests/test_a.py"),), Overlay(("tests/test_a.py",), ())),
        ((Change("A", "tests/test_b.py"),), Overlay((), ("tests/test_b.py",))),
        (
            (Change("R", "tests/u/test_a.py", "tests/test_a.py"),),
            Overlay(("tests/test_a.py",), ("tests/u/test_a.py",)),
        ),
        ((Change("A", "conftest.py"),), Overlay((), ("conftest.py",))),
        ((Change("A", "sitecustomize.py"),), Overlay((), ("sitecustomize.py",))),
        ((Change("A", "pytest.py"),), Overlay((), ("pytest.py",))),
        ((Change("M", "checks/odd.py"),), Overlay(("checks/odd.py",), ())),  # the runner said it holds tests
        ((Change("M", "web/x.test.tsx"), Change("M", "src/a.py")), Overlay(("web/x.test.tsx",), ())),
        ((Change("A", "tests/test_wanted.py"),), None),  # the user's own check asks for this file
    ],
)
def test_overlay_request(changes, overlay):
    """Changed tests and configs of the base come back, added ones go; nothing of that kind, no overlay."""
    base = {"tests": reading({"checks/odd.py::t": "pass"})}
    wants = Gate(
        name="want", run="pytest tests/test_wanted.py::t", argv=("pytest", "tests/test_wanted.py::t")
    )
    assert overlay_request(facts(base=base, changes=changes, gates=(PYTEST, wants))) == overlay


def test_overlay_leaves_harmless_config_alone():
    """A dependency added to pyproject.toml stays; a changed pytest table is put back."""
    path = "pyproject.toml"
    harmless = facts(changes=(Change("M", path),), old={path: PYPROJECT}, new={path: PYPROJECT + "\n# x"})
    assert overlay_request(harmless) is None
    edited = facts(
        changes=(Change("M", path),), old={path: PYPROJECT}, new={path: PYPROJECT.replace("-q", "-x")}
    )
    assert overlay_request(edited) == Overlay((path,), ())


def test_waivers():
    """A waiver by key or kind takes a finding out of the way, and stays visible with its reason."""
    base, final = (
        {"tests": reading({NAME: "pass", "b.py::t": "pass"})},
        {"tests": reading({"c.py::t": "pass"})},
    )

    def inventory(waivers):
        results = inspect(facts(base=base, final=final, waivers=waivers))
        return next(result for result in results if result.guard == "inventory")

    whole = inventory({"inventory.deleted": "rewritten"})
    assert whole.findings == ()
    assert "rewritten" in whole.summary
    one = inventory({f"inventory.deleted:{NAME}": "obsolete"})
    assert [finding.key for finding in one.findings] == ["inventory.deleted:b.py::t"]
    none = inventory({"inventory": "x", "inventory.del": "x"})
    assert len(none.findings) == 2


def test_every_guard_answers_for_the_tree():
    """Each guard in the table gives one result under its own name."""
    told = Canary(red=("a", "b", "c", "d"), runner={"_pytest.runner:call_and_report": "abc"})
    base, final = reading({NAME: "pass"}, canary=told), reading({NAME: "pass"})
    results = inspect(
        facts(
            base={"tests": base},
            final={"tests": final},
            confirm=3,
            repeats={"tests": (reading({NAME: "pass"}, canary=told), final)},
        )
    )
    assert [result.guard for result in results] == list(REGISTRY)
    assert all(result.applied and not result.findings and result.tree == "t" for result in results)


def test_those_that_cost_nothing_come_first():
    """What is only read is looked at before a further gate call is made, and no guard is in both tables."""
    assert {**READ, **CALLED} == REGISTRY
    assert not READ.keys() & CALLED.keys()
    assert list(REGISTRY) == [*READ, *CALLED]


@pytest.mark.parametrize(
    ("path", "yes"),
    [
        ("test_a.py", True),
        ("pkg/a_test.py", True),
        ("tests/data/x.json", True),
        ("src/__tests__/a.js", True),
        ("a.spec.ts", True),
        ("a.test.cjs", True),
        ("pkg/a_test.go", True),
        ("pkg/testdata/in.txt", True),
        ("test/a.js", True),
        ("src/test/java/A.java", True),
        ("django/test/client.py", False),
        ("src/contest.py", False),
        ("src/latest/a.py", False),
        ("src/testing.py", False),
        ("tests/conftest.py", False),
    ],
)
def test_test_paths(path, yes):
    """Tests are known by name where the runner says nothing, and source is not taken for them."""
    assert is_test(path) is yes


@pytest.mark.parametrize(
    ("pattern", "path", "yes"),
    [
        ("docs/**", "docs/a/b.md", True),
        ("docs/", "docs/a/b.md", True),
        ("docs", "docs/a.md", True),
        ("*.lock", "a/b/uv.lock", True),
        ("/*.lock", "a/uv.lock", False),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/x.py", "src/x.py", True),
        ("src/**/x.py", "src/a/b/x.py", True),
        ("a?c", "abc", True),
        ("a.c", "abc", False),
    ],
)
def test_globs(pattern, path, yes):
    """The user's protect globs mean what they mean in .gitignore."""
    assert matches(path, pattern) is yes
