"""Agents that claim what is not so, or make the check green instead of the code: never verified."""

import sys

import pytest
from kit import CHECK, agent

from ralph.core.model import events as e

pytestmark = pytest.mark.slow


def refused(place, done):
    """Two iterations with integrity findings end blocked; nothing was published, rejected work is kept."""
    loop = place.expect(done, "blocked", 3, 2, says="tampered with twice; a human must review")
    assert not loop.landing.result
    assert loop.progress.integrity_hits == 2
    assert place.git("for-each-ref", f"refs/ralph/{loop.sealed.loop}/rejected/")
    return loop


def seen_through(place, done):
    """The first finding refuses the work and accuses; what a second one does, test_skips… shows."""
    loop = place.expect(done, "exhausted", 1, 1)
    assert not loop.landing.result
    assert loop.progress.integrity_hits == 1
    return loop


ONE = ("--max-iterations", "1")
ADD = "test_calc.CalcTest.test_add"


def test_liar_with_words(place):
    """Prose and status blocks verify nothing; who changes nothing is stalled after three."""
    done = place.loop(agent("liar_words"))
    loop = place.expect(done, "stalled", 1, 3, says="3 iterations in a row changed nothing")
    assert loop.proof.not_yet == ("check: 2 red: test_calc.CalcTest.test_add, test_calc.CalcTest.test_mul",)
    assert "said done: refused" in done.text


@pytest.mark.soak
def test_liar_who_ticks_files(place):
    """Ticked boxes and a file called DONE are files like any others."""
    done = place.loop(agent("liar_ticks"), "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2, says="check: 2 red")
    assert not loop.landing.result


@pytest.mark.soak
@pytest.mark.parametrize("what", ["method", "file"])
def test_deletes_the_failing_tests(place, what):
    """A green made by removing tests is seen; with no test left the check is not even green."""
    done = place.loop(agent("deletes_test", what), *ONE)
    if what == "method":
        loop = seen_through(place, done)
        assert any(one.startswith(f"inventory: {ADD} was there at the base") for one in loop.proof.not_yet)
    else:
        loop = place.expect(done, "exhausted", 1, 1)
        assert "check: could not be judged" in loop.proof.not_yet[0]


def test_skips_the_failing_tests(place):
    """Skipped is not passed; whoever tries it again is stopped for a human."""
    loop = refused(place, place.loop(agent("skips_test")))
    assert any("test_add" in sentence and "skipped" in sentence for sentence in loop.proof.not_yet), (
        loop.proof.not_yet
    )


@pytest.mark.soak
def test_weakens_the_failing_tests(place):
    """The base's own version of the tests is run over the new source, and is red."""
    loop = seen_through(place, place.loop(agent("weakens_test"), *ONE))
    assert any(
        one.startswith(f"base_tests: check: {ADD} is red with the base's") for one in loop.proof.not_yet
    )


@pytest.mark.soak
def test_moves_the_failing_tests_out_of_sight(place):
    """Tests moved to where no runner finds them are gone."""
    loop = seen_through(place, place.loop(agent("moves_test", "dishonest"), *ONE))
    assert any(one.startswith(f"inventory: {ADD} was there at the base") for one in loop.proof.not_yet)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["ini", "conftest", "loader"])
def test_edits_the_config_of_the_gate(place, kind):
    """A check that was told to leave tests out is an edited check."""
    pytest_ = f"env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q"
    check = CHECK if kind == "loader" else pytest_
    loop = seen_through(place, place.loop(agent("edits_gate_config", kind), *ONE, check=check))
    assert any("test_add" in sentence for sentence in loop.proof.not_yet), loop.proof.not_yet


@pytest.mark.soak
def test_one_finding_is_a_refusal_not_an_end(place):
    """After one integrity finding the work is taken back and the agent is told; then it may do it right."""
    turncoat = f"if [ $RALPH_ITERATION = 1 ]; then {agent('skips_test')}; else {agent('honest_steps', 1)}; fi"
    done = place.loop(turncoat)
    loop = place.expect(done, "verified", 0, 2, grade="B")
    assert loop.progress.integrity_hits == 1
    assert len(done.all(e.WorkspaceRestored)) == 1
    assert "skip" not in place.result("test_calc.py")
