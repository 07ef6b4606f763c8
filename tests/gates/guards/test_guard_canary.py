"""Canaries by hand: where they are put, what became of them, and what the guard says of it."""

import pytest
from canarykit import ALL, ENDED, NONCE, gate, judged, kinds
from guardkit import as_bytes, facts_of
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Counts, Finding, Reading
from ralph.core.toolchains.load import toolchains
from ralph.gates.canary_text import canary_means, canary_names, runner_digests
from ralph.gates.guards import REGISTRY
from ralph.gates.plant_canary import Planted, plant, take_out_canaries
from ralph.gates.seal import seal

GREEN = Reading("pass", "1 passed", tests={"t.py::test_x": "pass"}, files={"t.py::test_x": "t.py"})
PLAIN = gate("pytest -q")
BIRD = Planted(PLAIN, "t.py", b"", NONCE)


@pytest.mark.parametrize(
    ("made", "reading", "content"),
    [
        (gate("make test"), GREEN, b""),
        (gate("mypy src"), GREEN, b""),
        (gate("/bin/sh -c 'pytest -q; true'"), GREEN, b""),
        (PLAIN, replace(GREEN, tests=None), b""),
        (PLAIN, replace(GREEN, tests={}), b""),
        (PLAIN, replace(GREEN, tests={"t.py::test_x": "fail"}), b""),
        (PLAIN, replace(GREEN, files={}), b""),
        (PLAIN, GREEN, None),
    ],
)
def test_no_place_for_a_canary(made, reading, content):
    """No known runner, no test that passes, no file that is known: no canary."""
    assert plant(made, reading, lambda: ["t.py"], lambda _path: content, NONCE) is None


def test_names():
    """Each kind has its own name, made after its neighbour, and says how it fails."""
    for read, runner in toolchains().runners.items():
        if runner.canary is None:
            continue
        found = canary_means(read)
        assert len(found) in (3, 4)
        assert [name.rsplit("_", 1)[-1] for name in canary_names(read, "test_x", NONCE)] == list(found)
        assert all(
            NONCE in name and name.startswith("test_x") for name in canary_names(read, "test_x", NONCE)
        )


def canaries(**states):
    return {f"t.py::test_x_{NONCE}_{kind}": state for kind, state in states.items()}


def seen(status="fail", *findings, **states):
    tests = {"t.py::test_x": "pass", **canaries(**states)}
    red = tuple(Finding(name, "assert 17 == 71") for name, state in tests.items() if state == "fail")
    files = dict.fromkeys(tests, "t.py")
    return Reading(status, "5 tests", tests=tests, findings=(*red, *findings), files=files)


@pytest.mark.parametrize(
    ("given", "canary", "status"),
    [
        (seen(a="fail", b="fail", c="fail", d="fail"), Canary(red=ENDED), "pass"),
        (
            replace(
                seen(a="fail", b="fail", c="fail", d="fail"), summary="4 failed, although the exit code is 0"
            ),
            Canary(red=ALL, silent=("exit",)),
            "pass",
        ),
        (
            seen(a="pass", b="fail", c="skipped"),
            Canary(red=("b", "exit"), silent=("a", "c"), unseen=("d",)),
            "pass",
        ),
        (seen("pass", a="pass", b="pass", c="pass", d="pass"), Canary(silent=ALL), "pass"),
        (seen("pass"), Canary(unseen=ALL), "pass"),
        (Reading("error", "torn", cause="torn-report"), Canary(unseen=ALL), "error"),
        (replace(seen(a="fail"), cause="timeout"), Canary(red=("a", "exit"), unseen=("b", "c", "d")), "fail"),
        (
            seen("fail", Finding("collect:u.py", "broken"), a="fail"),
            Canary(red=("a", "exit"), unseen=("b", "c", "d")),
            "fail",
        ),
        (
            seen("fail", Finding("exit", "1"), a="fail"),
            Canary(red=("a", "exit"), unseen=("b", "c", "d")),
            "pass",
        ),
    ],
)
def test_harvest(given, canary, status):
    """Canaries are counted by kind and taken out; green only when they were all that was red."""
    left = take_out_canaries(given, BIRD)
    assert left.canary == replace(canary, host=BIRD.path)
    assert left.status == status
    assert not [name for name in left.tests or {} if NONCE in name]
    assert not [name for name in left.files if NONCE in name]
    assert not [finding for finding in left.findings if NONCE in finding.key]
    if left.tests is not None:
        assert left.counts == Counts(1, 0, 0)


def test_harvest_under_parameters():
    """One that failed under one parameter and not under another did not fail."""
    tests = {
        "t.py::test_x": "pass",
        f"t.py::test_x_{NONCE}_a[1]": "fail",
        f"t.py::test_x_{NONCE}_a[2]": "pass",
    }
    assert take_out_canaries(replace(seen(), tests=tests), BIRD).canary == Canary(
        red=("exit",), silent=("a",), unseen=("b", "c", "d"), host=BIRD.path
    )


def test_harvest_of_nothing_but_canaries():
    """Where no other test passed, a red reading does not turn green by taking canaries out."""
    tests = canaries(a="fail")
    assert take_out_canaries(replace(seen(), tests=tests), BIRD).status == "fail"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"AssertionError: {NONCE}|" + ";".join(["abc123"] * 28 + ["-"]) + "|", 28),
        (f"{NONCE}|" + ";".join(["-"] * 29) + "|", 0),
        (f"{NONCE}|abc123;abc123|", 0),
        (f"{NONCE}|x|", 0),
        ("other|" + ";".join(["abc123"] * 29) + "|", 0),
        ("", 0),
    ],
)
def test_told(text, found):
    """The runner's parts are taken from the words of the last canary, all of them or none."""
    parts = runner_digests("pytest", text, NONCE)
    assert len(parts) == found
    assert set(parts.values()) <= {"abc123"}


RUNNER = {"x:run": "1", "x:fail": "2"}
SUNG = Canary(red=ENDED, runner=RUNNER)
LIED = Canary(red=ALL, silent=("exit",), runner=RUNNER)


@pytest.mark.parametrize(
    ("before", "now", "found", "applied"),
    [
        (SUNG, SUNG, [], True),
        (None, SUNG, [], True),
        (SUNG, LIED, ["silent"], True),
        (LIED, LIED, [], True),
        (SUNG, replace(SUNG, red=("a",), silent=("b",), unseen=("c", "d")), ["silent", "unseen"], True),
        (
            replace(SUNG, red=("a", "b", "c"), silent=("d",)),
            replace(SUNG, red=("a", "b", "c"), silent=("d",)),
            [],
            True,
        ),
        (replace(SUNG, red=(), unseen=ALL), replace(SUNG, red=(), unseen=ALL), [], False),
        (None, replace(SUNG, red=(), silent=ALL), ["silent"], True),
        (None, replace(SUNG, red=(), unseen=ALL), [], False),
        (SUNG, replace(SUNG, runner={**RUNNER, "x:run": "3"}), ["runner"], True),
        (SUNG, replace(SUNG, runner={"x:run": "1"}), [], True),
        (replace(SUNG, runner={"x:run": "1"}), SUNG, [], True),
        (SUNG, replace(SUNG, runner={}), [], True),
        (SUNG, None, [], False),
    ],
)
def test_guard(before, now, found, applied):
    """What failed at the base has to fail now, by the same parts of the runner; what never did is spared."""
    result = judged(replace(GREEN, canary=before), replace(GREEN, canary=now), PLAIN)
    assert kinds(result) == found
    assert result.applied is applied
    assert result.integrity


def test_runner_that_is_the_product():
    """A project may develop a part of its own runner: a changed file of it asks, anything else accuses."""
    other = replace(SUNG, runner={**RUNNER, "x:run": "3"})
    for path, old, asks in (
        ("src/x.py", "1", True),
        ("x/__init__.py", "1", True),
        ("src/x.py", None, False),
        ("src/y.py", "1", False),
        ("tests/x.py", "1", False),
    ):
        sides = ({path: old} if old else {}, {path: "2"})
        result = judged(replace(GREEN, canary=SUNG), replace(GREEN, canary=other), PLAIN, *sides)
        assert [finding.asks for finding in result.findings] == [asks]
        assert result.integrity is not asks


@pytest.mark.parametrize(
    ("made", "final"),
    [
        (Gate("tests", "x", ("x",), proof=True), Reading("pass", "exit code 0")),
        (Gate("tests", "x", ("x",), required=False), GREEN),
    ],
)
def test_guard_has_nothing_to_try(made, final):
    """A check that is read by its exit code, and advice, have no place for a canary: nobody is blind."""
    result = judged(final, final, made)
    assert (result.applied, result.summary) == (True, "nothing to try")


def test_guard_never_says_too_much():
    """A sentence names the gate and the kind, and few of many parts."""
    many = {f"x:{number}": "1" for number in range(9)}
    other = dict.fromkeys(many, "2")
    result = judged(
        replace(GREEN, canary=Canary(red=ALL, runner=many)),
        replace(GREEN, canary=Canary(red=ALL, runner=other)),
        PLAIN,
    )
    assert [finding.message for finding in result.findings] == [
        "tests: not what it was at the base: x:0, x:1, x:2 and 6 more"
    ]


SHARED = "class Shared:\n    def test_a(self): ...\n"


@pytest.mark.parametrize(
    ("run", "tests", "files", "host"),
    [
        (
            "pytest",
            {
                "t/__init__.py::t::test_x::TestHeir::test_a": "t/__init__.py",
                "t/test_y.py::test_y": "t/test_y.py",
            },
            {"t/__init__.py": SHARED, "t/test_y.py": "def test_y(): ...\n"},
            "t/test_y.py",
        ),
        ("pytest --doctest-modules", {"src/a.py::a.f": "src/a.py"}, {"src/a.py": "def f(): ...\n"}, None),
        (
            "python3 -m unittest",
            {"test_x.T.test_a": "", "test_y.U.test_b": ""},
            {"test_x.py": "class T: ...\ndef load_tests(): ...\n", "test_y.py": "class U: ...\n"},
            "test_y.py",
        ),
        (
            "npx tape test/*.js",
            {"adds": ""},
            {"test/a_helper.js": "exports.x = 1", "test/b.js": "require('tape')('adds', 1)"},
            "test/b.js",
        ),
        ("npx mocha", {"t.js > adds": "t.js"}, {"t.js": "it('adds', 1)"}, "t.js"),
        ("python3 -m doctest a.py", {"a.f": ""}, {"a.py": 'def f():\n    """>>> 1"""\n'}, "a.py"),
    ],
)
def test_only_where_the_runner_collects(run, tests, files, host):
    """A canary stands only in a file in which its runner would find a new test."""
    made = seal("tests", run, tree_paths=frozenset(files), content=as_bytes(files).get)
    places = {name: path for name, path in tests.items() if path}
    reading = Reading("pass", "", tests=dict.fromkeys(tests, "pass"), files=places)
    bird = plant(made, reading, lambda: list(files), as_bytes(files).get, NONCE)
    assert (bird and bird.path) == host


@pytest.mark.parametrize(
    ("host", "ran", "found"), [("t.py", "t.py", ALL), ("u.py", "t.py", ()), ("u.py", "u.py", ALL)]
)
def test_another_file_than_at_the_base(host, ran, found):
    """Where none stood at the base they accuse only beside tests that did run; else the grade says so."""
    now = replace(seen("pass"), canary=Canary(unseen=ALL, host=host))
    facts = facts_of(
        {},
        {},
        gates=(PLAIN,),
        base={"tests": replace(seen("pass"), canary=Canary(red=ENDED, host="t.py"))},
        final={"tests": replace(seen("pass"), files={"t.py::test_x": ran})},
        repeats={"tests": (now,)},
    )
    result = REGISTRY["canary"](facts)
    assert [finding.key for finding in result.findings] == [f"canary.unseen:tests:{kind}" for kind in found]
    assert result.applied is bool(found)
