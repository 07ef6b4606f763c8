"""Promise: a task is estimated by its words alone, and what is proposed for it can be typed."""

from __future__ import annotations

import shlex

import pytest

from ralph.core.sentence.classify import classify
from ralph.core.text.clean import clean
from ralph.ui.cli.tree import load_command

TABLE = [
    # task, complexity, density, context, route
    ("fix a typo in the login page", 2, "CONSTANT", "FITS", "FAST_PATH"),
    ("Rename getUser to fetchUser", 2, "CONSTANT", "FITS", "FAST_PATH"),
    ("rename the field in every module", 2, "LINEAR", "CHUNKED", "PARALLEL_CHUNKS"),
    ("fix the typo on each page", 2, "LINEAR", "FITS", "STANDARD"),
    ("add a config option", 4, "CONSTANT", "FITS", "STANDARD"),
    ("add an endpoint for orders", 6, "CONSTANT", "FITS", "STANDARD"),
    ("refactor the parser", 6, "CONSTANT", "FITS", "STANDARD"),
    ("add a feature", 7, "CONSTANT", "FITS", "STANDARD"),
    ("migrate every module of the code-base to asyncio", 7, "LINEAR", "CHUNKED", "PARALLEL_CHUNKS"),
    ("redesign the architecture", 9, "CONSTANT", "FITS", "STANDARD"),
    ("GDPR compliance for all services", 9, "LINEAR", "RECURSIVE", "RECURSIVE_DECOMPOSE"),
    ("compare every pair of handlers", 5, "QUADRATIC", "FITS", "RECURSIVE_DECOMPOSE"),
    ("split the monorepo", 5, "CONSTANT", "RECURSIVE", "RECURSIVE_DECOMPOSE"),
    ("fix a typo and migrate the database", 7, "CONSTANT", "FITS", "STANDARD"),
    ("rename a label without a migration", 2, "CONSTANT", "FITS", "FAST_PATH"),
    ("don\u2019t touch the architecture; fix the typo", 2, "CONSTANT", "FITS", "FAST_PATH"),
    ("make it green", 5, "CONSTANT", "FITS", "STANDARD"),
    ("arregla las pruebas", 5, "CONSTANT", "FITS", "STANDARD"),
    ("authors are listed twice", 5, "CONSTANT", "FITS", "STANDARD"),  # no word inside another one
    ("", 5, "CONSTANT", "FITS", "STANDARD"),
    ("\x1b[31m((*[\\", 5, "CONSTANT", "FITS", "STANDARD"),
]
CAPS = {"FAST_PATH": 3, "STANDARD": 25, "PARALLEL_CHUNKS": 15, "RECURSIVE_DECOMPOSE": 15}


@pytest.mark.parametrize(("task", "complexity", "density", "context", "route"), TABLE)
def test_words_give_the_route(task: str, complexity: int, density: str, context: str, route: str) -> None:
    """The documented levels, routes and caps; a review from 7 on; unknown words give the default."""
    found = classify(task)
    assert {name: found[name] for name in ("complexity", "density", "context", "route")} == {
        "complexity": complexity, "density": density, "context": context, "route": route,
    }  # fmt: skip
    assert found["max_iterations"] == CAPS[route]
    assert found["review"] is (complexity >= 7)


@pytest.mark.parametrize(
    "task", [row[0] for row in TABLE if row[0]] + ["it's $HOME `x`", "-n 4", "@a", "x" * 500]
)
def test_what_is_proposed_can_be_typed(task: str) -> None:
    """Every command parses with the options that exist, and gives the task or names its file."""
    found = classify(task)
    for line in found["commands"]:
        _, verb, *words = shlex.split(line)
        typed = [__file__ if one == "FILE" else one for one in words]
        parsed = load_command(verb).make_context(verb, typed).params
        if verb != "plan":
            assert int(parsed["max_iterations"]) == found["max_iterations"]
            assert (parsed["team"] == "true") is found["review"]
        if verb != "build":
            assert words[:2] == ["--task-file", "FILE"] or words[0] == " ".join(clean(task).split())
    by_file = any("--task-file" in one for one in found["commands"])
    assert by_file is (task[:1] in "-@" or len(task) > 400)
