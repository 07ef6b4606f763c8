"""A gate's command made to look at canaries as well, or at some files only: option by option."""

import shlex

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.gates.canary_text import canary_names
from ralph.gates.narrow import narrow_to_files, select_tests_too
from ralph.gates.narrow_tests import narrow_to_tests
from ralph.gates.runners import recognise
from ralph.gates.seal import exec_argv, seal

NONCE = "a1b2"
PY_NAMES = " ".join(f"tests/test_a.py::{name}" for name in canary_names("pytest", "test_x", NONCE))
PY_OR = " or ".join(canary_names("pytest", "test_x", NONCE))
NEW = ("tests/test_a.py",)
BASE = frozenset(
    {
        "tests/test_a.py",
        "tests/test_b.py",
        "tests/data.json",
        "test/a.test.mjs",
        "web/test/a.test.mjs",
        "web/tests/test_w.py",
        "test_top.py",
        "src/calc.py",
    }
)
PLACES = BASE | {"tests", "test", "web", "web/test", "web/tests", "src", "."}


def gate(run, cwd="."):
    return seal("g", run, cwd=cwd, tree_paths=BASE)


def chosen(run, path="tests/test_a.py", cwd=".", like="test_x"):
    made = gate(run, cwd)
    runner = recognise(made.argv)
    assert runner is not None
    return shlex.join(select_tests_too(made, path, canary_names(made.read, like, NONCE)).argv)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("pytest", "pytest --maxfail=0"),
        ("pytest -q tests", "pytest -q tests --maxfail=0"),
        ("pytest -x tests", "pytest -x tests --maxfail=0"),
        ("pytest --maxfail=1", "pytest --maxfail=1 --maxfail=0"),
        ("pytest --maxfail 1", "pytest --maxfail 1 --maxfail=0"),
        ("pytest tests/test_a.py", "pytest tests/test_a.py --maxfail=0"),
        ("pytest -- tests", "pytest --maxfail=0 -- tests"),
        ("python3 -m pytest -q", "python3 -m pytest -q --maxfail=0"),
        ("uv run pytest -q", "uv run pytest -q --maxfail=0"),
        ("coverage run -m pytest -q", "coverage run -m pytest -q --maxfail=0"),
        (
            "pytest tests/test_a.py::test_x",
            f"pytest tests/test_a.py::test_x {PY_NAMES} --maxfail=0",
        ),
        (
            "pytest tests/test_a.py::test_x -- tests/test_b.py",
            f"pytest tests/test_a.py::test_x {PY_NAMES} --maxfail=0 -- tests/test_b.py",
        ),
        ("pytest -k calc", f"pytest -k '(calc) or {PY_OR}' --maxfail=0"),
        ("pytest -k 'a and not b' -q", f"pytest -k '(a and not b) or {PY_OR}' -q --maxfail=0"),
        ("pytest -kcalc", f"pytest '-k(calc) or {PY_OR}' --maxfail=0"),
        ("pytest -k a::b", f"pytest -k '(a::b) or {PY_OR}' --maxfail=0"),
        (
            "pytest --deselect tests/test_b.py::test_y",
            "pytest --deselect tests/test_b.py::test_y --maxfail=0",
        ),
    ],
)
def test_canaries_of_pytest(run, expected):
    """Canaries are chosen by every command that chooses their neighbours, and no failure stops it early."""
    assert chosen(run) == expected


@pytest.mark.parametrize(
    ("run", "path", "expected"),
    [
        ("python3 -m unittest", "tests/test_a.py", "python3 -m unittest"),
        ("python3 -m unittest -f -v", "tests/test_a.py", "python3 -m unittest -v"),
        ("python3 -m unittest --failfast", "tests/test_a.py", "python3 -m unittest"),
        ("python3 -m unittest tests.test_a", "tests/test_a.py", "python3 -m unittest tests.test_a"),
        (
            "python3 -m unittest tests.test_a.T.test_x",
            "tests/test_a.py",
            "python3 -m unittest tests.test_a.T.test_x tests.test_a.Testa1b2",
        ),
        (
            "python3 -m unittest discover -s tests",
            "tests/test_a.py",
            "python3 -m unittest discover -s tests",
        ),
        ("python3 -m unittest -k test_x", "tests/test_a.py", "python3 -m unittest -k test_x -k a1b2"),
    ],
)
def test_canaries_of_unittest(run, path, expected):
    """The class of the canaries is chosen beside exact names and patterns, and no failure stops it early."""
    assert chosen(run, path) == expected


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("node --test", "node --test"),
        ("node --test test/a.test.mjs", "node --test test/a.test.mjs"),
        (
            "node --test --test-name-pattern adds",
            "node --test --test-name-pattern=a1b2 --test-name-pattern adds",
        ),
        (
            "node --test-name-pattern=adds --test test",
            "node --test-name-pattern=adds --test --test-name-pattern=a1b2 test",
        ),
    ],
)
def test_canaries_of_node(run, expected):
    """A pattern of names gets a second one, because node takes the tests of any."""
    assert chosen(run, "test/a.test.mjs", like="adds two") == expected


def test_canaries_below_a_folder():
    """Places are those that the command's folder sees."""
    run = "pytest tests/test_w.py::test_x"
    assert chosen(run, "web/tests/test_w.py", "web").startswith(
        "pytest tests/test_w.py::test_x tests/test_w.py::test_x_a1b2_a "
    )


@pytest.mark.parametrize(
    ("run", "files", "expected"),
    [
        ("pytest", NEW, "pytest tests/test_a.py"),
        ("pytest -q tests", NEW, "pytest -q tests/test_a.py"),
        ("pytest -q tests/ test_top.py", NEW, "pytest -q tests/test_a.py"),
        ("pytest ./tests -x", NEW, "pytest -x tests/test_a.py"),
        ("pytest tests/test_b.py::test_y", NEW, "pytest tests/test_a.py"),
        ("pytest -k tests", NEW, "pytest -k tests tests/test_a.py"),
        ("pytest -m tests tests", NEW, "pytest -m tests tests/test_a.py"),
        ("pytest -p tests", NEW, "pytest -p tests tests/test_a.py"),
        ("pytest --ignore tests/test_b.py", NEW, "pytest --ignore tests/test_b.py tests/test_a.py"),
        ("pytest --ignore=tests/test_b.py", NEW, "pytest --ignore=tests/test_b.py tests/test_a.py"),
        ("pytest --rootdir . tests", NEW, "pytest --rootdir . tests/test_a.py"),
        ("pytest --cov src tests", NEW, "pytest --cov src tests/test_a.py"),
        ("pytest --junit-xml tests/data.json", NEW, "pytest --junit-xml tests/data.json tests/test_a.py"),
        ("pytest --pyargs calc", NEW, "pytest --pyargs calc tests/test_a.py"),
        ("pytest -- tests", NEW, "pytest tests/test_a.py --"),
        ("python3 -m pytest tests", NEW, "python3 -m pytest tests/test_a.py"),
        ("uv run --with x pytest tests", NEW, "uv run --with x pytest tests/test_a.py"),
        (
            "pytest tests",
            ("tests/test_b.py", "tests/test_a.py"),
            "pytest tests/test_a.py tests/test_b.py",
        ),
        ("pytest tests", ("tests/data.json", "tests/test_a.py"), "pytest tests/test_a.py"),
        ("pytest tests", ("tests/data.json",), "pytest tests"),
        ("pytest tests", (), "pytest tests"),
        ("pytest tests", ("test/a.test.mjs",), "pytest tests"),
        ("node --test", ("test/a.test.mjs",), "node --test test/a.test.mjs"),
        ("node --test test/", ("test/a.test.mjs",), "node --test test/a.test.mjs"),
        ("node --test 'test/*.mjs'", ("test/a.test.mjs",), "node --test 'test/*.mjs'"),
        ("sh run.sh test/*.mjs", ("test/a.test.mjs",), "/bin/sh -c 'sh run.sh test/*.mjs'"),
        ("pytest -s tests", NEW, "pytest -s tests/test_a.py"),
        ("pytest -- -odd tests", NEW, "pytest tests/test_a.py -- -odd"),
        ("node --test", NEW, "node --test"),
        (
            "node --test --test-name-pattern test test",
            ("test/a.test.mjs",),
            "node --test --test-name-pattern test test/a.test.mjs",
        ),
        (
            "node --import ./x.mjs --test test",
            ("test/a.test.mjs",),
            "node --import ./x.mjs --test test/a.test.mjs",
        ),
        ("python3 -m unittest", NEW, "python3 -m unittest discover -p test_a.py"),
        ("python3 -m unittest -v", NEW, "python3 -m unittest discover -v -p test_a.py"),
        (
            "python3 -m unittest discover -s t -p 't*.py'",
            NEW,
            "python3 -m unittest discover -s t -p test_a.py",
        ),
        ("python3 -m unittest tests.test_a", NEW, "python3 -m unittest tests.test_a"),
        (
            "python3 -m unittest -v",
            (*NEW, "tests/test_b.py"),
            "python3 -m unittest -v tests.test_a tests.test_b",
        ),
        ("python3 -m unittest discover -s t", (*NEW, "tests/test_b.py"), "python3 -m unittest discover -s t"),
        ("npx jest --ci", ("a.test.js", "b.test.ts"), "npx jest --ci --runTestsByPath a.test.js b.test.ts"),
        ("npx jest --maxWorkers 2 x", ("a.test.js",), "npx jest --maxWorkers 2 x"),
        ("npx vitest run", ("a.test.ts",), "npx vitest run a.test.ts"),
        ("npx vitest run --mode ci test", ("test/a.test.mjs",), "npx vitest run --mode ci test/a.test.mjs"),
        ("make test", NEW, "make test"),
        ("ruff check src", NEW, "ruff check src"),
    ],
)
def test_narrowed(run, files, expected):
    """Words that choose tests are replaced, options and their values stay; what is unclear is left whole."""
    made = gate(run)
    quoted = shlex.join(shlex.split(expected))
    assert shlex.join(narrow_to_files(made, files, PLACES.__contains__).argv) == quoted


@pytest.mark.parametrize(
    ("run", "ids", "expected"),
    [
        ("pytest -q tests", ["tests/test_a.py::test_x[1]"], "pytest -q 'tests/test_a.py::test_x[1]'"),
        (
            "python3 -m unittest",
            ["tests.test_a.A.test_x", "tests.test_b.B.test_y"],
            "python3 -m unittest tests.test_a.A.test_x tests.test_b.B.test_y",
        ),
        ("python3 -m unittest discover -s t", ["test_a.A.test_x"], "python3 -m unittest discover -s t"),
        ("go test ./...", ["m/a::TestX", "m/a::TestY/sub"], "go test -run '^(?:TestX|TestY)$' m/a"),
        ("go test -race -count 2 ./...", ["m::TestX"], "go test -race -count 2 -run '^(?:TestX)$' m"),
        ("go test -run TestX ./...", ["m::TestX"], "go test -run TestX ./..."),
        ("cargo test", ["tests/a.rs > adds", "src/lib.rs > t::b"], "cargo test -- --exact adds t::b"),
        (
            "cargo test --workspace -- --nocapture",
            ["a > b"],
            "cargo test --workspace -- --nocapture --exact b",
        ),
        ("cargo test adds", ["tests/a.rs > adds"], "cargo test adds"),
        ("cargo test", ["src/lib.rs > src/lib.rs - add"], "cargo test"),
        ("cargo test", ["src/lib.rs > src/lib.rs -"], "cargo test"),
        ("make test", ["m::TestX"], "make test"),
    ],
)
def test_narrowed_to_single_tests(run, ids, expected):
    """Single tests are chosen as their runner chooses them; what is unclear is left whole."""
    made = narrow_to_tests(gate(run), ids, {one: one.partition("::")[0] for one in ids}, PLACES.__contains__)
    assert shlex.join(made.argv) == shlex.join(shlex.split(expected))


def test_a_script_of_a_package_is_narrowed():
    """What `npm test` starts in the end is told the files, behind its reporter."""
    made = seal(
        "tests",
        "npm test",
        tree_paths=frozenset({"package.json"}),
        content={"package.json": b'{"scripts": {"test": "jest --ci"}}'}.get,
    )
    small = narrow_to_files(made, ("a.test.js",), PLACES.__contains__)
    assert small.reporter[-2:] == ("--runTestsByPath", "a.test.js")


def test_narrowed_below_a_folder():
    """A command in a folder of its own looks at tests below it only."""
    made = gate("pytest -q tests", "web")
    both = ("tests/test_a.py", "web/tests/test_w.py")
    assert narrow_to_files(made, both, PLACES.__contains__).argv == ("pytest", "-q", "tests/test_w.py")
    assert narrow_to_files(made, NEW, PLACES.__contains__) == made


TEXT = (
    "-q -x -k -m tests -- tests/test_b.py tests/test_a.py::t src --tb=short -v --ignore --cov nowhere "
    "--test-name-pattern test -rA . --maxfail=2 -s -kx"
)
WORDS = st.sampled_from(shlex.split(TEXT))


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, database=None, derandomize=True)
@given(
    head=st.sampled_from([("pytest",), ("python3", "-m", "pytest"), ("node", "--test")]),
    rest=st.lists(WORDS, max_size=6),
)
def test_any_words(head, rest):
    """Whatever the command: the runner stays, options stay in order, and a report is still asked for."""
    made = gate(shlex.join([*head, *rest]))
    runner = recognise(made.argv)
    assert runner is not None
    small = narrow_to_files(made, ("tests/test_a.py", "test/a.test.mjs"), PLACES.__contains__)
    wide = select_tests_too(made, "tests/test_a.py", canary_names(made.read, "test_x", NONCE))
    for other in (small, wide):
        assert other.argv[: runner.at] == made.argv[: runner.at]
        assert recognise(other.argv) == runner
        assert made.reporter == other.reporter
        assert exec_argv(other, "/r")
    added = {"tests/test_a.py", "test/a.test.mjs"}
    kept = iter(made.argv)
    assert all(word in added or word in kept for word in small.argv), "words were added or changed places"
    assert len(wide.argv) >= len(made.argv)
