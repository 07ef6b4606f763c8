"""Criteria in words: what is understood, what it becomes, and what is refused."""

import subprocess

import pytest

from ralph.core.criterion import predicate
from ralph.core.criterion.predicate import Predicate, Unclear, as_command, minimum, parse, words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tests pass", ["test checks are green"]),
        ("all tests are green", ["test checks are green"]),
        ("no errors", ["all checks are green"]),
        ("there are no more errors", ["all checks are green"]),
        ("zero errors left", ["all checks are green"]),
        ("nothing fails anymore", ["all checks are green"]),
        ("it's error free", ["all checks are green"]),
        (
            "build, tests and lint are green",
            ["build checks are green", "test checks are green", "lint checks are green"],
        ),
        ("npm run lint and npm test both pass", ["`npm run lint` exits 0", "`npm test` exits 0"]),
        ("mypy and ruff are happy", ["types checks are green", "lint checks are green"]),
        ("lint clean", ["lint checks are green"]),
        ("there isn't a single failing test", ["test checks are green"]),
        ("it is no longer so that tests fail", ["test checks are green"]),
        ("it is no longer so that lint is not clean", ["lint checks are green"]),
        ("it is no longer so that anything fails", ["all checks are green"]),
        ("it is no longer so that there are errors", ["all checks are green"]),
        ("no lint errors", ["lint checks are green"]),
        ("zero type errors", ["types checks are green"]),
        ("it builds", ["build checks are green"]),
        ("coverage > 80%", ["coverage > 80 %"]),
        ("coverage is at least 90 percent", ["coverage >= 90 %"]),
        ("90% coverage", ["coverage >= 90 %"]),
        ("coverage increases", ["coverage rises"]),
        ("no new warnings", ["no new lint findings"]),
        ("no more warnings", ["no new lint findings"]),
        ("fewer than 10 warnings", ["at most 9 lint findings"]),
        ("less than 10 lint warnings", ["at most 9 lint findings"]),
        ("under 10 eslint problems", ["at most 9 lint findings"]),
        ("at most 5 errors", ["at most 5 lint errors"]),
        ("at most 5 findings", ["at most 5 lint findings"]),
        ("no more than 5 warnings", ["at most 5 lint findings"]),
        ("not more than 3 ruff violations", ["at most 3 lint findings"]),
        ("up to 3 warnings", ["at most 3 lint findings"]),
        ("max 3 clippy warnings", ["at most 3 lint findings"]),
        ("10 warnings or fewer", ["at most 10 lint findings"]),
        ("10 lint errors at most", ["at most 10 lint errors"]),
        ("warnings < 20", ["at most 19 lint findings"]),
        ("warnings <= 20", ["at most 20 lint findings"]),
        ("the number of warnings is below 20", ["at most 19 lint findings"]),
        ("warnings down to 5", ["at most 5 lint findings"]),
        ("fewer than 7 type errors", ["at most 6 types errors"]),
        ("mypy errors < 7", ["at most 6 types errors"]),
        ("fewer than 1 warning", ["lint checks are green"]),
        ("at most 0 warnings", ["lint checks are green"]),
        ("zero warnings", ["lint checks are green"]),
        ("no findings", ["lint checks are green"]),
        ("warnings are 0", ["lint checks are green"]),
        ("fewer warnings than now", ["fewer lint findings than now"]),
        ("less lint errors than before", ["fewer lint errors than now"]),
        ("warnings decrease", ["fewer lint findings than now"]),
        ("tests pass and at most 5 warnings", ["test checks are green", "at most 5 lint findings"]),
        ("tests pass and coverage above 75%", ["test checks are green", "coverage > 75 %"]),
        ("`npm test` passes", ["`npm test` exits 0"]),
        ("pytest -q", ["`pytest -q` exits 0"]),
        ("`./app --version` prints 2.0", [r"`./app --version` prints /2\.0/"]),
        ('`./app` never prints "panic"', ["`./app` never prints /panic/"]),
        ("`./bench` < 200", ["the last number of `./bench` < 200"]),
        ("`x` prints /a, b and c/", ["`x` prints /a, b and c/"]),
    ],
)
def test_what_is_understood(text, said):
    """Exit codes, states, numbers, patterns and comparisons are read from ordinary words."""
    found = parse(text)
    assert not isinstance(found, Unclear), found
    assert [words(one) for one in found] == said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("the code is clean", "word that nothing measures"),
        ("it works", "word that nothing measures"),
        ("good enough", "word that nothing measures"),
        ("p95 under 200 ms", "nothing here measures"),
        ("fewer than 3 failing tests", "nothing here measures"),
        ("at most 2 build errors", "nothing here measures"),
        ("more than 10 warnings", "more findings prove nothing"),
        ("at least 3 lint errors", "more findings prove nothing"),
        ("fewer than 0 warnings", "fewer than none"),
        ("at most 2.5 warnings", "fewer than none"),
        ("coverage below 20%", "proves nothing"),
        ("coverage > 180%", "percentage"),
        ("no new things", "not named"),
        ("everyone is happy", "no command"),
        ("it is no longer so that tests are green", "end of what is well"),
        ("it is no longer so that there are no errors", "end of what is well"),
        ("`x` prints /(/", "not one"),
        ("", "says nothing"),
    ],
)
def test_what_is_refused(text, why):
    """What no command, number or check stands behind is refused, with an example of what would do."""
    found = parse(text)
    assert isinstance(found, Unclear)
    assert why in found.why
    assert found.example


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("get the eslint warnings below 20", "at most 19 lint findings"),
        ("reduce the lint warnings", "fewer lint findings than now"),
        ("reduce the mypy errors to 5", "at most 5 types errors"),
        ("keep the number of warnings at most 3, and do not touch vendor/", "at most 3 lint findings"),
        ("fix the lint warnings", None),
        ("show at most 5 warnings in the sidebar", None),
        ("reduce the build time", None),
    ],
)
def test_bounds_in_a_task(task, said):
    """A task that lessens findings names its own bound; one that only speaks of them does not."""
    found = predicate.findings_bound(task)
    assert (words(found) if found else None) == said


def test_measures_of_their_own():
    """Numbers, comparisons and patterns need a check beside a project's gates; states do not."""
    for text in ("coverage > 80%", "fewer than 5 warnings", "fewer warnings than now", "`npm test` passes"):
        assert predicate.names_measure(text), text
    for text in ("", "tests pass", "no new warnings", "green", "it is good enough"):
        assert not predicate.names_measure(text), text


def code(one: Predicate, tmp_path) -> int:
    return subprocess.run(["/bin/sh", "-c", as_command(one)], cwd=tmp_path, check=False).returncode


@pytest.mark.parametrize(
    ("text", "output", "exit_code", "green"),
    [
        ("`./app` prints 2.0", "v2.0", 0, True),
        ("`./app` prints 2.0", "v2x0", 0, False),
        ("`./app` prints 2.0", "v2.0", 3, False),
        (r"`./app` prints /done \d+/", "done 12", 0, True),
        ('`./app` never prints "panic"', "fine", 0, True),
        ('`./app` never prints "panic"', "a panic", 0, False),
        ('`./app` never prints "panic"', "fine", 1, False),
        ("`./app` < 200", "p95: 180", 0, True),
        ("`./app` < 200", "p95: 220", 0, False),
        ("`./app` < 200", "nothing measured", 0, False),
        ("`./app` < 200", "p95: 180", 1, False),
        ("`./app` at least 7.5", "score 7.5", 0, True),
        ("`./app` passes", "x", 1, False),
        ("`./app` exits with code 3", "x", 3, True),
        ("`./app` exits with code 3", "x", 0, False),
    ],
)
def test_predicates_become_commands_that_tell(text, output, exit_code, green, tmp_path):
    """The command made of a predicate is green exactly when it holds, and never when the program failed."""
    app = tmp_path / "app"
    app.write_text(f"#!/bin/sh\necho '{output}'\nexit {exit_code}\n")
    app.chmod(0o755)
    found = parse(text)
    assert isinstance(found, list)
    assert (code(found[0], tmp_path) == 0) is green


def test_minimum_of_coverage():
    """More than 80 is not 80; a rise is measured against the baseline, and unknown without one."""
    above, least = parse("coverage > 80%")[0], parse("coverage >= 80%")[0]
    rises = parse("coverage increases")[0]
    assert (minimum(above), minimum(least)) == (80.01, 80.0)
    assert minimum(rises) is None
    assert minimum(rises, 63.2) == 63.21
    assert minimum(rises, 100.0) == 100.0


def test_long_words_take_no_time():
    """Hostile criteria are read in linear time."""
    for text in ("coverage " * 5000, "`" * 5000, "a and " * 5000, "no new " * 3000, "(" * 5000):
        assert predicate.parse(text) is not None
