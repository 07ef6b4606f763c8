"""Layer 1 of inference: the verb of a task and its object give the class."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_subjects import ROWS

from ralph.core.criterion.named_tools import named_class
from ralph.core.criterion.task_class import task_class
from ralph.core.model.gate import TaskClass

TABLE: dict[str, list[str]] = {
    "test-pass": [
        "fix tests",
        "make tests pass",
        "make the tests pass",
        "Fix the failing auth tests",
        "get the suite green",
        "fix until green",
        "the tests fail, fix them",
        "all tests pass",
        "the test suite is red: fix it",
        "Please make pytest pass",
        "make it pass",
        "fix the test for the lint module",
        "make all checks in packages/api green",
        "fix test_login",
        "fix tests now please",
        "make the tests pass without skips",
        "fix the failing tests, never mark them xfail; keep it small",
        "fix the skip button tests",
        "fix the failing CI checks",
    ],
    "coverage": [
        "increase coverage",
        "raise test coverage to 90%",
        "fix the coverage",
        "coverage above 90 %",
        "add tests until 90 % of the parser is executed",
        "write tests for what is not covered",
    ],
    "type-clean": [
        "fix types",
        "fix type errors",
        "fix all type errors in tests",
        "migrate to typescript",
        "migrate the client to TypeScript",
        "make mypy happy",
        "add type hints",
        "no type errors",
    ],
    "lint-clean": [
        "fix lint",
        "fix the lint errors, do not add noqa",
        "fix lint errors in the tests",
        "clean warnings",
        "clean up all warnings",
        "style",
        "format the code",
        "make ruff pass",
        "remove eslint warnings",
        "zero ruff findings",
    ],
    "build-pass": [
        "build",
        "build the project",
        "make it compile",
        "fix the build",
        "make the build green",
        "fix compilation",
        "make the project compile",
    ],
    "regression": [
        "make the charge handler a class",
        "make the round function pure",
        "make pay and charge share one helper",
        "charge card tests",
        "refactor the auth module",
        "extract a helper from the tests",
        "rename test helpers",
        "migrate to pydantic 2",
        "upgrade django",
        "move the docs folder",
        "split tests in two files",
        "make the code better",
        "improve performance",
        "tidy src/auth",
        "make the type selector blue",
        "make the documentation page load faster",
        "make the build faster",
        "format the date column as ISO",
        "remove the style tag",
        "Remove the black linter",
        "Delete type hints from the examples",
        "migrate the type registry",
        "fix the flaky tests",
        "make the flaky login test pass",
        "fix the skipped tests",
        "make the skipped integration tests pass",
        "fix the tests that are skipped",
        "make the xfail tests pass",
        "remove all type: ignore",
        "fix types: remove `# type: ignore`",
        "remove noqa and fix lint",
        "clean up eslint-disable warnings",
        "remove the suppressed warnings",
        "",
        "???",
    ],
    "implement-feature": [
        "add tests",
        "add unit tests for the parser",
        "write missing tests",
        "fix: more tests for the narrow table",
        "create a test suite",
        "cover the parser with tests",
        "test: add a case for empty strings",
        "Make pay charge twice the sum",
        "make invoices round up",
        "Round totals to two digits",
        "implement login",
        "implement documentation search",
        "add feature flags",
        "add dark mode and tests",
        "add a linter plugin",
        "add a build script",
        "build a login page",
        "build the login page",
        "support TOML",
        "create an endpoint for uploads",
        "add a minor version check",
    ],
    "docs": [
        "document the API",
        "add docs",
        "write a README",
        "update the documentation",
        "fix docs",
        "add docstrings to every public function",
        "fix the comments in the parser",
        "Update comments",
    ],
    "bug-fix": [
        "fix bug",
        "fix the bug in the test runner",
        "resolve issue #12",
        "fix #12",
        "fix the crash when the file is empty",
        "fix auth",
        "fix the type selector",
        "fix the build button",
        "the type selector is wrong, fix it",
        "fix the docs page layout",
        "skip html comments in the charset scan",
        "Preserve comments when a table is copied",
        "Can you debug the parser",
        "crash on empty input",
        "close issue #3 with tests",
        "Fix the range check for an upper bound of zero",
        "fix health checks behind a proxy",
    ],
}


@pytest.mark.parametrize(
    ("expected", "task"), [(name, task) for name, tasks in TABLE.items() for task in tasks]
)
def test_verb_gives_the_class(expected, task):
    """Each wording of the spec's table, and its near neighbours, fall into the class a reader would say."""
    assert task_class(task) == expected


@pytest.mark.parametrize(("expected", "subject"), ROWS)
def test_a_subject_has_the_class_of_what_it_asks(expected, subject):
    """Subjects as commits have them: new, mended, documents, tests, or nothing that a user sees."""
    assert named_class(subject) == expected


def test_the_table_of_subjects_is_large_enough():
    """The figures in docs/inference.md stand on at least two hundred subjects."""
    assert len(ROWS) == len(set(ROWS)) >= 200


@pytest.mark.parametrize(
    ("expected", "task"),
    [
        (
            "implement-feature",
            "Add as_dict option to to_jwk\n\nThe tests and the benchmark now use it.",
        ),
        ("implement-feature", "Support notes in tracebacks. Mention it in the docs"),
        ("bug-fix", "Do not fail when a key cannot be used.\n\n* Add a note to the changelog"),
        ("docs", "Update the README. Handle old names too"),
        ("test-pass", "fix it. The tests fail"),
    ],
)
def test_the_first_sentence_gives_the_class(expected, task):
    """What comes after it tells why, and of documents and tests that come with the work."""
    assert task_class(task) == expected


@given(st.text(max_size=300))
def test_any_text_has_a_class(task):
    """No text makes it raise, and every answer is one of the known classes."""
    assert task_class(task) in TaskClass.__args__


@given(
    st.sampled_from([(name, task) for name, tasks in TABLE.items() for task in tasks]), st.sampled_from("uc ")
)
def test_case_and_space_do_not_matter(row, how):
    """Capital letters and blanks around a task change nothing."""
    expected, task = row
    changed = {"u": task.upper(), "c": task.capitalize(), " ": f"\n  {task}  "}[how]
    assert task_class(changed) == expected


def test_a_huge_task_is_cheap():
    """Megabytes of text are cut, not searched."""
    assert task_class("fix tests. " + "a" * 5_000_000) == "test-pass"


def test_a_named_tool_does_not_bring_back_what_checks_pass_over():
    """mypy is green with its findings suppressed: that it is named makes no make-it-green task of it."""
    for task in ("Remove the `# type: ignore` comments and make Pyright happy", "fix the flaky Biome tests"):
        assert named_class(task) == "regression"
