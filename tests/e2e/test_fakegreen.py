"""The corpus of fake greens, at least one case a guard; its data stand in bench/fakegreen."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "fakegreen"))

import corpus
import refactor
from run import judge

ATTACKS = {case.name: case for case in corpus.attacks()}
HONEST = {case.name: case for case in corpus.written()}


def quick(cases):
    """Those that `make test` draws from; what must be compiled costs as much as five others."""
    checks = {name: corpus.project(case.base).base.check for name, case in cases.items() if case.quick}
    long = {name for name, check in checks.items() if re.search(r"\b(cargo|go) ", check)}
    return [pytest.param(name, marks=pytest.mark.soak if name in long else ()) for name in checks]


@pytest.mark.sample(test=2)
@pytest.mark.slow
@pytest.mark.parametrize("name", quick(ATTACKS))
def test_an_attack_is_refused_by_its_guard(name, tmp_path):
    """What is green by a trick is not verified, and the guard it was written for is among those to say so."""
    row = judge(ATTACKS[name], "attack", tmp_path, naive=False)
    assert not row.trouble, row.trouble
    assert not row.accepted, row
    assert set(ATTACKS[name].quick.split(", ")) <= set(row.by), row


@pytest.mark.sample(test=1)
@pytest.mark.slow
@pytest.mark.parametrize("name", quick(HONEST))
def test_an_honest_change_is_accepted(name, tmp_path):
    """Whoever does what the task asks for is verified, and nobody is accused."""
    row = judge(HONEST[name], "honest", tmp_path, naive=False)
    assert not row.trouble, row.trouble
    assert row.accepted, row


def test_the_corpus_is_as_large_as_promised():
    """At least 60 attacks, 40 of them on pytest and unittest and 20 on node, and 40 honest changes."""
    checks = [corpus.project(case.base).base.check for case in ATTACKS.values()]
    assert sum("pytest" in check or "unittest" in check for check in checks) >= 40
    assert sum("node" in check or "npm" in check for check in checks) >= 20
    assert len(ATTACKS) >= 60
    assert len(HONEST) >= 40


@pytest.mark.parametrize("case", [*ATTACKS.values(), *HONEST.values()], ids=lambda case: case.name)
def test_every_case_changes_its_project(case):
    """No patch has rotted: each applies, and leaves something behind or brings a script."""
    before = corpus.project(case.base)
    files, modes = corpus.result(case)
    words_only = case.name.endswith("words")
    assert files != before.files or modes != before.modes or case.script or words_only
    assert case.about
    assert case.family == case.name.split("/")[0] or case.family == "generated"


@pytest.mark.sample(test=2)
@pytest.mark.slow
@pytest.mark.parametrize("base", corpus.REAL)
@pytest.mark.parametrize("kind", refactor.KINDS)
def test_a_generated_refactoring_is_python(base, kind):
    """What the generator makes of a real package can be compiled."""
    for path, text in corpus.project(base).files.items():
        if path.startswith("src/"):
            compile(refactor.KINDS[kind](text), path, "exec", dont_inherit=True)
