"""Green, done by the agent's word, and nothing shows it: DONE_UNPROVEN, which a person may take."""

import json
import re

import pytest
from kit import agent, fixed_calc

from ralph.core.model import events as e

pytestmark = pytest.mark.slow
UNTESTED = agent("claims_done_feature", "untested")


def test_a_feature_without_a_test_is_asked_for_one_and_then_unproven(place):
    """One call is spent on asking for a witness; merge and verify leave the decision to a person. Checks that
    were found and not run are named on the card, in the report and its JSON.
    """
    settings = (
        "[project]\nname = 'calc'\nversion = '1'\n[tool.mypy]\nstrict = true\n[tool.ruff]\nline-length = 99\n"
    )
    place.commit("no bugs", calc__py=fixed_calc(), pyproject__toml=settings)
    done = place.loop(UNTESTED, "--confirm", "1", task="add a function power")
    loop = place.expect(done, "unproven", 3, 2, grade="C", says=("DONE_UNPROVEN (C)", "not proven"))
    name = loop.sealed.loop
    assert "def power" in place.result("calc.py")
    assert "Verified by ralph" not in place.git("log", "-1", "--format=%B", loop.landing.result)
    assert "fails without it" in place.prompt(done.all(e.AgentStarted)[1].prompt)
    assert "ralph merge 1 --unproven" in done.text
    named = loop.sealed.other_checks
    for kind in ("types", "lint"):
        assert re.search(rf"not run +{kind}: {re.escape(named[kind])}", done.text), done.report()
    types = f"types: {named['types']}"
    assert f"found but not run: {types}" in place.ralph("report", name).text
    assert types in json.loads(place.ralph("report", name, "--json").out)["not_run"]
    refused = place.ralph("merge", name)
    assert (refused.code, "E-LAND-UNPROVEN" in refused.text) == (3, True), refused.report()
    looked_at = place.ralph("verify", name)
    assert (looked_at.code, "DONE_UNPROVEN" in looked_at.text) == (3, True), looked_at.report()
    assert "VERIFIED:" not in looked_at.text.replace("NOT VERIFIED:", "")
    taken = place.ralph("merge", name, "--unproven")
    assert (taken.code, "NOT verified" in taken.text) == (0, True), taken.report()


@pytest.mark.soak
@pytest.mark.parametrize(("asked", "outcome", "code"), [("B", "unproven", 3), ("C", "verified", 0)])
def test_a_refactoring_says_done_once(place, asked, outcome, code):
    """Where nothing can be red first, the first COMPLETE ends it, and who asks for C is verified."""
    place.commit("no bugs", calc__py=fixed_calc())
    flags = ("--confirm", "1", "--class", "regression", "--min-grade", asked)
    place.expect(place.loop(UNTESTED, *flags, task="tidy up calc.py"), outcome, code, 1, grade="C")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("touch", "task_class", "says"),
    [
        ("blank", "regression", "only blank lines"),
        ("layout", "docs", "only blank lines"),
        ("blank", "implement-feature", "only blank lines"),
        ("comment", "regression", "only documents, comments or layout"),
        ("readme", "regression", "only documents, comments or layout"),
        ("code", "docs", "no document"),
    ],
)
def test_a_claim_over_no_work_is_neither_verified_nor_unproven(place, touch, task_class, says):
    """Even where C is required: the agent is told what is missing and the way out, and is not accused."""
    place.commit("no bugs", calc__py=fixed_calc(), README__md="calc\n")
    flags = ("--confirm", "1", "--class", task_class, "--min-grade", "C", "--max-iterations", "2")
    done = place.loop(agent("touches", touch), *flags, task="make subtraction simpler")
    loop = done.loop
    assert loop.outcome not in ("verified", "unproven", "blocked"), done.report()
    assert says in done.text
    told = place.prompt(done.all(e.AgentStarted)[1].prompt)
    assert "ALLOW: substance." in told
    assert loop.progress.integrity_hits == 0


@pytest.mark.soak
@pytest.mark.parametrize(
    ("touch", "task_class"), [("code", "regression"), ("docs", "docs"), ("comment", "docs")]
)
def test_work_of_its_class_is_taken(place, touch, task_class):
    """A renamed variable is a refactoring, a sentence or a comment is documentation."""
    place.commit("no bugs", calc__py=fixed_calc(), README__md="calc\n")
    flags = ("--confirm", "1", "--class", task_class, "--min-grade", "C")
    place.expect(place.loop(agent("touches", touch), *flags, task="better sums"), "verified", 0, 1, grade="C")
