"""The parts of routing one by one: controls, names of loops, what a criterion says, the command in it."""

import pytest

from ralph.core.sentence.match import (
    Ordered,
    command_in,
    controls,
    ending,
    is_vague,
    loops_by_name,
    matches,
    measurable,
    plain_command,
    says_done,
)
from ralph.core.sentence.phrases import languages

ENGLISH = languages()[0]

NAMES = ("fix-auth-7f3a91c2", "docs-91ab44cd")
SHELL = "it holds shell syntax"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("abort that", Ordered("abort", pointed=True)),
        ("abort", Ordered("abort")),
        ("abort fix-auth", Ordered("abort", loop="fix-auth")),
        ("abort the fix-auth loop", Ordered("abort", loop="fix-auth")),
        ("abort loop `fix-auth`", Ordered("abort", loop="fix-auth")),
        ("abort 'fix-auth'", Ordered("abort", loop="fix-auth")),
        ("abort never-seen-0a1b2c3d", Ordered("abort", loop="never-seen-0a1b2c3d")),
        ("abort it, then fix the docs", Ordered("abort", pointed=True, rest="fix the docs")),
        ("abort, then fix the docs", Ordered("abort", rest="fix the docs")),
        ("abort fix-auth and fix the docs", Ordered("abort", loop="fix-auth", rest="fix the docs")),
        ("STATUS", Ordered("status")),
        ("progress", Ordered("status")),
        ("abort the mission", None),
        ("abort the transaction when it fails", None),
    ],
)
def test_controls(text, want):
    """A control is taken for one when its loop is known, looks like a name, or is pointed at."""
    assert controls(text, ENGLISH, NAMES) == want


@pytest.mark.parametrize("text", ["output", "changes", "log", "state", "progress", "Progress"])
def test_a_lonely_noun_is_a_control_only_where_loops_are(text):
    """A single word that is as likely something else asks for nothing while there is no loop."""
    assert controls(text, ENGLISH, ()) is None
    assert controls("status", ENGLISH, ()) == Ordered("status")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("fix", ("fix-auth-7f3a91c2", "fix-docs-91ab44cd")),
        ("FIX-A", ("fix-auth-7f3a91c2",)),
        ("ralph-fix-auth", ("fix-auth-7f3a91c2",)),
        ("fi", ()),
        ("auth", ()),
        ("fix-auth-7f3a91c2", ("fix-auth-7f3a91c2",)),
    ],
)
def test_names_by_their_beginning(text, want):
    """At least three letters of a loop's beginning name it; its whole name goes before a beginning."""
    assert loops_by_name(text, ("fix-auth-7f3a91c2", "fix-docs-91ab44cd")) == want


def test_a_whole_name_beats_a_beginning():
    """A loop whose name is the beginning of another one's is still meant by its own name."""
    assert loops_by_name("abc", ("abc", "abcd")) == ("abc",)


@pytest.mark.parametrize(
    ("criterion", "want"),
    [
        ("`npm test` passes", ("npm test", "")),
        ("`  npm   test ` passes", ("npm test", "")),
        ("`./check.sh` is green", ("./check.sh", "")),
        ("pytest -q tests passes", ("pytest -q tests", "")),
        ("'pytest -q tests' passes", ("pytest -q tests", "")),
        ("npm test", ("npm test", "")),
        ("pytest passes", ("pytest", "")),
        ("everything passes", ("", "")),
        ("the server works", ("", "")),
        *(
            (f"`pytest {sign} x` passes", ("", SHELL))
            for sign in (";", "|", "&", "$", "<", ">", "(", "{", "\\")
        ),
    ],
)
def test_the_command_in_a_criterion(criterion, want):
    """In backticks every plain command counts, elsewhere only a check beyond doubt; shell syntax never."""
    assert command_in(criterion, ENGLISH) == want


def test_deeds_are_no_checks():
    """A command that deletes or publishes is refused with the reason."""
    for text in ("`rm -rf build` passes", "`npm publish` works"):
        command, why = command_in(text, ENGLISH)
        assert (command, bool(why), why != SHELL) == ("", True, True)


@pytest.mark.parametrize("text", ["pytest", "tox", "nox", "rspec", "phpunit", "ctest", "jest", "vitest"])
def test_single_words_that_are_checks(text):
    """A runner's bare name is a command; any other single word is a word."""
    assert plain_command(text)
    assert not plain_command("npm")
    assert not plain_command(text.capitalize() + " -q")
    assert not plain_command(f"{text} -q ")
    assert not plain_command(f"{text} -q; x")


@pytest.mark.parametrize(
    ("criterion", "done", "vague", "measured"),
    [
        ("done", True, False, True),
        ("It works!", True, False, True),
        (" done. ", True, False, True),
        ("it is good enough", False, True, False),
        ("it is good enough.", False, True, False),
        ("the code is better!", False, True, False),
        ("the goodies", False, False, False),
        ("p95 < 200", False, False, True),
        ("it takes 20 ms and is fast", False, False, True),
        ("`./fine` is fine", False, False, True),
        ("`make it`", False, False, True),
        ("lint is clean", False, False, True),
        ("the importer passes", False, False, True),
        ("the bypasses", False, False, False),
        ("the cake is baked", False, False, False),
    ],
)
def test_what_a_criterion_says(criterion, done, vague, measured):
    """ "Done" is to be found, "good enough" is nothing, a number, a command or a state is something."""
    found = (
        says_done(criterion, ENGLISH),
        is_vague(criterion, ENGLISH),
        measurable(criterion, ENGLISH),
    )
    assert found == (done, vague, measured)


@pytest.mark.parametrize(
    ("task", "want"),
    [
        ("fix the importer until `./x` is fine", "`./x` is fine"),
        ("fix the importer until p95 < 200", "p95 < 200"),
        ("fix the importer till the suite passes", "the suite passes"),
        ("wait until the moon is up", ""),
        ("until tests pass", ""),
    ],
)
def test_the_criterion_at_the_end_of_a_task(task, want):
    """`until X` at a task's end is its criterion where a check could decide it, and only there."""
    assert ending(task, ENGLISH) == want


@pytest.mark.parametrize(
    ("text", "task", "criterion"),
    [
        ("run `pytest -q` until it passes", "make `pytest -q` pass", "`pytest -q` passes"),
        ("run pytest -q until it passes", "make `pytest -q` pass", "`pytest -q` passes"),
        ("run the marathon until it passes", None, None),
    ],
)
def test_a_command_in_a_row(text, task, criterion):
    """A row with a command in it fits only a command, with or without its backticks."""
    found = matches(text, ENGLISH, external=False)
    assert (
        (found.task, found.criterion) == (task, criterion)
        if task
        else (found is None or "`" not in found.task)
    )


@pytest.mark.parametrize(
    ("text", "external", "task"),
    [
        ("run this", True, ""),
        ("run this", False, None),
        ("run in the background: port the lexer", False, "port the lexer"),
        ("run slowly: port the lexer", False, None),
        ("work on the importer", True, "work on the importer"),
        ("work on the importer", False, None),
        ("fix the importer until the moon is up", False, None),
        ("fix the importer until p95 < 200", False, "fix the importer"),
    ],
)
def test_rows_that_need_more_than_their_words(text, external, task):
    """Some rows need external wording to ask for a loop, some a criterion that can be measured."""
    found = matches(text, ENGLISH, external=external)
    assert (found.task if found else None) == task


def test_a_named_loop_is_not_pointed_at():
    """Who names a loop means that one, whichever is the newest."""
    found = controls("abort fix-auth", ENGLISH, NAMES)
    assert (found.loop, found.pointed, found.rest) == ("fix-auth", False, "")
