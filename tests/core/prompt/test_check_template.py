"""A project's own template is refused before any agent is called, with its line; a good one passes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import fields

from ralph.core.model.parts import flat_names
from ralph.core.prompt.check_template import check_names, check_renders
from ralph.core.prompt.facts import CheckLine, PromptFacts
from ralph.core.prompt.standing_rules import KINDS, Kind
from ralph.errors import UserError
from ralph.shell.prompts.sources import shipped_template

PLACE = ".ralph/templates/prompt.md.j2"


@pytest.mark.parametrize("kind", KINDS)
def test_the_templates_that_ralph_brings_pass(kind: Kind) -> None:
    """What is asked of a project holds for Ralph's own."""
    check_names(shipped_template(kind), PLACE)
    check_renders(kind, shipped_template(kind), PLACE)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{{ unheard }}", "'unheard' is not a name"),
        ("{% if steers %}{{ unheard }}{% endif %}", "'unheard' is not a name"),
        ("{% if %}", "Expected an expression"),
        ("{{ task | nofilter }}", "No filter named 'nofilter'"),
        ("{% include 'other' %}", "a template cannot use"),
        ("{% extends 'other' %}", "a template cannot use"),
        ("{% import 'other' as other %}", "a template cannot use"),
    ],
)
def test_what_is_refused_without_executing_it(line: str, words: str) -> None:
    """Syntax, unknown names in any branch and other templates are found by reading alone."""
    with pytest.raises(UserError, match=words) as caught:
        check_names(f"one\ntwo\n{line}\n", PLACE)
    assert (caught.value.code, caught.value.at) == ("E-PROMPT-TEMPLATE", f"{PLACE}:3")


@pytest.mark.parametrize(
    "line",
    [
        "{{ checks[0].name }}",  # the first call of some loops has none
        "{% for check in checks %}{{ check.colour }}{% endfor %}",
        "{% if steers %}{{ 1 / 0 }}{% endif %}",
        "{{ serves[0] }}",
        "{{ limit + 1 }}",  # there may be none
        "{{ task.__class__.__mro__ }}",
    ],
)
def test_what_is_refused_when_it_is_tried(line: str) -> None:
    """A place that only some iterations reach is reached before the first of them."""
    check_names(f"one\n{line}\n", PLACE)
    with pytest.raises(UserError) as caught:
        check_renders("prompt", f"one\n{line}\n", PLACE)
    assert caught.value.at == f"{PLACE}:2"


def test_a_small_template_of_ones_own_passes() -> None:
    """Names of Ralph's, loops, own variables and the engine's own functions may be used."""
    text = "{% set n = 2 %}{% for i in range(n) %}{{ i }}{% endfor %}{{ checks | length }}{{ outputs }}"
    check_names(text, PLACE)
    check_renders("build", text, PLACE)


def test_every_name_is_documented() -> None:
    """docs/prompts.md tells all names that a template may use, and no other."""
    text = (Path(__file__).parents[3] / "docs" / "prompts.md").read_text()
    table = text.partition("| names | what |")[2].partition("\n\n")[0]
    told = set(re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in table.split("\n")[2:])))
    of_a_check = {field.name for field in fields(CheckLine)}
    assert told - of_a_check == set(flat_names(PromptFacts))
